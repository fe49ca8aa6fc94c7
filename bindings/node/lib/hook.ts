/**
 * Hooks: functions of the application that a run asks on its way. They may answer later; the run waits for them.
 */

import { canonical, isObject, withToJson } from './canonical.js'
import type { ErrorInfo } from './errors.js'
import type { ToolOutput } from './event.js'
import { jsonOfAnswer, textOf } from './json.js'
import type {
  AssistantMessage,
  Canonical,
  ImageBlock,
  Message,
  MessageInput,
  PromptInput,
  StandardMessage,
  TextBlock,
  ToolResultMessage,
} from './message.js'
import type { NativeCall } from './native.js'
import type { ModelSpec, ThinkingLevel } from './options.js'
import type { RunResult } from './run.js'
import { Tool } from './tool.js'
import { withHookContext } from './work.js'
import type { HookContext } from './work.js'

/** What a hook may give, now or later; nothing changes nothing. */
export type HookAnswer<T> = T | null | undefined | void | PromiseLike<T | null | undefined | void>

/** A call that is about to run. */
export interface BeforeToolCall extends Canonical {
  toolCallId: string
  toolName: string
  /** Checked. */
  arguments: Record<string, any>
  /** The message that made the call. */
  message: AssistantMessage
}

/** What becomes of a call: it runs; or it does not, and the model is told why; or it runs with other arguments, checked again. */
export type ToolDecision = { block: true; reason?: string } | { block?: false; arguments?: Record<string, unknown> }

/** A call that ran, well or not. */
export interface AfterToolCall extends Canonical {
  toolCallId: string
  toolName: string
  /** What the tool got. */
  arguments: Record<string, any>
  result: ToolOutput
  isError: boolean
}

/** What is to be different in a tool's answer; what is left out stays. */
export interface ToolOverride {
  content?: string | readonly (TextBlock | ImageBlock)[]
  /** Null is a value. */
  details?: unknown
  isError?: boolean
  /** Whether the run may end here. */
  terminate?: boolean
}

/** A turn that is over. */
export interface TurnSummary extends Canonical {
  /** From 1 on. */
  turn: number
  message: AssistantMessage
  toolResults: ToolResultMessage[]
}

/** What is to be different for the rest of the run; what is left out stays. The agent's conversation and state stay too. */
export interface TurnChange {
  context?: {
    systemPrompt?: string
    /** What the model sees from now on; what the run adds comes after it. */
    messages?: readonly MessageInput[]
    /** Those of the agent's tools that are offered, or their names. */
    tools?: readonly (Tool | string)[]
  }
  /** `provider/id`, or an object. */
  model?: string | ModelSpec
  thinkingLevel?: ThinkingLevel
}

/** A request about to be sent. */
export interface Payload extends Canonical {
  provider: string
  /** The model's id there. */
  model: string
  /** The request's body, as the provider has it. */
  payload: Record<string, any>
}

/** The head of an HTTP answer. */
export interface ResponseHead extends Canonical {
  provider: string
  status: number
  /** By lower-case name; several of one name are joined with commas. */
  headers: Record<string, string>
}

/** Something failed. */
export interface Failure extends Canonical {
  error: ErrorInfo
  /** Which try of the model call this was, from 1 on; 0 when it was none. */
  attempt: number
  /** Whether another try follows. */
  willRetry: boolean
}

/**
 * The hooks of an agent. Each gets what it is about, and a context with a signal and `sleep`. What one throws is its failure: of a
 * tool's call, the call's error result; before a model call, an error of the kind `callback` that ends the run; of those that only
 * look on, a `diagnostic`.
 */
export interface Hooks {
  /** Before each model call: gives the messages that the model is to see, for this call only. */
  transformContext: (messages: Message[], context: HookContext) => HookAnswer<readonly MessageInput[]>
  /**
   * Before each model call, after `transformContext`: makes messages of the three standard roles of what there is. Without it,
   * other roles are dropped.
   */
  convertToLlm: (messages: Message[], context: HookContext) => HookAnswer<readonly (StandardMessage | MessageInput)[]>
  /** Before each model call: gives the API key for a provider; nothing for the configured one. */
  getApiKey: (provider: string, context: HookContext) => HookAnswer<string>
  /** Before a tool runs: lets the call run, blocks it with a reason, or replaces its arguments. */
  beforeToolCall: (call: BeforeToolCall, context: HookContext) => HookAnswer<ToolDecision>
  /** After a tool ran, well or not: may replace parts of its answer. */
  afterToolCall: (call: AfterToolCall, context: HookContext) => HookAnswer<ToolOverride>
  /** After each turn that may be followed by another: may change what the rest of the run is made with. */
  prepareNextTurn: (turn: TurnSummary, context: HookContext) => HookAnswer<TurnChange>
  /** After each turn: true ends the run here, with the outcome `stopped`. */
  shouldStopAfterTurn: (turn: TurnSummary, context: HookContext) => HookAnswer<boolean>
  /** With each poll of the steering queue: gives more such messages. */
  getSteeringMessages: (context: HookContext) => HookAnswer<PromptInput | readonly string[]>
  /** With each poll of the follow-up queue: gives more such messages. */
  getFollowUpMessages: (context: HookContext) => HookAnswer<PromptInput | readonly string[]>
  /** Before each model call: sees the request's body; may give another. */
  onPayload: (request: Payload, context: HookContext) => HookAnswer<Record<string, unknown>>
  /** When an answer's head has come, of each try. */
  onResponse: (response: ResponseHead, context: HookContext) => unknown
  /** When a model call fails, and when anything else ends the run in an error. */
  onError: (failure: Failure, context: HookContext) => unknown
  /** Before a run: gets the messages that it begins with; none for `resume`. */
  beforeRun: (prompts: Message[], context: HookContext) => unknown
  /** After a run's last event. */
  afterRun: (result: RunResult, context: HookContext) => unknown
}

/** The name of a hook. */
export type HookName = keyof Hooks

/** The arguments of a hook's function, from its input; and its answer as the engine reads it. */
interface Form {
  readonly input: (value: any) => unknown[]
  readonly answer: (value: unknown) => unknown
}

const whole = (value: unknown): unknown[] => [value]
const none = (): unknown[] => []
const unchanged = (value: unknown): unknown => value
const ignored = (): null => null

/** Tools may be given themselves; the engine wants their names. */
function turnChange(value: unknown): unknown {
  if (!isObject(value) || !isObject(value.context) || !Array.isArray(value.context.tools)) return canonical(value)
  const tools = value.context.tools.map((tool: unknown) => (tool instanceof Tool ? tool.name : tool))
  return canonical({ ...value, context: { ...value.context, tools } })
}

const FORMS: Readonly<Record<HookName, Form>> = {
  transformContext: { input: ({ messages }) => [messages], answer: canonical },
  convertToLlm: { input: ({ messages }) => [messages], answer: canonical },
  getApiKey: { input: ({ provider }) => [provider], answer: unchanged },
  beforeToolCall: { input: whole, answer: unchanged },
  afterToolCall: { input: whole, answer: canonical },
  prepareNextTurn: { input: whole, answer: turnChange },
  shouldStopAfterTurn: { input: whole, answer: unchanged },
  getSteeringMessages: { input: none, answer: canonical },
  getFollowUpMessages: { input: none, answer: canonical },
  onPayload: { input: whole, answer: unchanged },
  onResponse: { input: whole, answer: ignored },
  onError: { input: whole, answer: ignored },
  beforeRun: { input: ({ prompts }) => [prompts], answer: ignored },
  afterRun: { input: whole, answer: ignored },
}

/** @internal All hooks. */
export const HOOKS = Object.keys(FORMS) as readonly HookName[]

/** @internal Asks a hook and answers its call. */
export async function runHook(name: HookName, hook: (...args: any[]) => unknown, call: NativeCall): Promise<void> {
  try {
    const { input, answer } = FORMS[name]
    const given = await withHookContext(call, (context) => hook(...input(withToJson(JSON.parse(call.input))), context))
    call.respond(jsonOfAnswer(`what ${name} gave`, answer(given)))
  } catch (error) {
    call.fail(textOf(error))
  }
}
