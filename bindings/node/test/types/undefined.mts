// Tests of optional fields: compiled under exactOptionalPropertyTypes, never run. What may be left out may be undefined, so that
// an application can pass its own settings on: `new Agent({ model, temperature: settings.temperature })`.

import { Agent, tool, transcript } from 'agent-loop'
import type {
  AgentOptions,
  Context,
  ErrorInfo,
  LoopOptions,
  ModelEnd,
  ModelSpec,
  Network,
  OptionChanges,
  PriceTier,
  RunOptions,
  StreamOptions,
  TextBlock,
  ThinkingBlock,
  ThinkingBudgets,
  ToolCallBlock,
  ToolOptions,
  ToolOverride,
  ToolResult,
  ToolRunOptions,
  TurnChange,
} from 'agent-loop'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function check<T extends true>(): T | void {}

/** The names of fields that may be left out and may not be undefined. */
type Strict<T> = {
  [Name in keyof T]-?: {} extends Pick<T, Name> ? (undefined extends Required<T>[Name] ? never : Name) : never
}[keyof T]

check<Equal<Strict<{ a?: string; b?: string | undefined; c: string }>, 'a'>>()
check<Equal<Strict<AgentOptions>, never>>()
check<Equal<Strict<LoopOptions>, never>>()
// A model has no default that undefined would restore.
check<Equal<Strict<OptionChanges>, 'model'>>()
check<Equal<Strict<RunOptions>, never>>()
check<Equal<Strict<StreamOptions>, never>>()
check<Equal<Strict<Context>, never>>()
check<Equal<Strict<ToolOptions>, never>>()
check<Equal<Strict<ToolResult>, never>>()
check<Equal<Strict<ToolRunOptions>, never>>()
check<Equal<Strict<ModelSpec>, never>>()
check<Equal<Strict<NonNullable<ModelSpec['cost']>>, never>>()
check<Equal<Strict<PriceTier>, never>>()
check<Equal<Strict<Network>, never>>()
check<Equal<Strict<ThinkingBudgets>, never>>()
check<Equal<Strict<ToolOverride>, never>>()
check<Equal<Strict<TurnChange>, never>>()
check<Equal<Strict<NonNullable<TurnChange['context']>>, never>>()
check<Equal<Strict<ModelEnd>, never>>()
check<Equal<Strict<ErrorInfo>, never>>()
check<Equal<Strict<TextBlock>, never>>()
// These have no text, not even undefined.
check<Equal<Strict<ThinkingBlock>, 'text'>>()
check<Equal<Strict<ToolCallBlock>, 'text'>>()

declare const settings: { temperature?: number; timeoutMs?: number; label?: string; stop?: string[] }
const agent = new Agent({ model: 'p/m', temperature: settings.temperature, stopSequences: settings.stop, tools: undefined })
agent.setOptions({ temperature: settings.temperature, network: { caFile: undefined } })
tool({ name: 'x', label: settings.label, timeoutMs: settings.timeoutMs, prepareArguments: undefined, execute: () => 5 })
transcript.check([{ role: 'assistant', content: 'x', stopReason: undefined, usage: undefined }], 'p/m')
