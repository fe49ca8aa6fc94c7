/**
 * A provider of the application's own: answers requests piece by piece.
 */

import { answerTo, enter } from './bridge.js'
import { canonical, isObject, withToJson } from './canonical.js'
import { AgentError } from './errors.js'
import type { ErrorInfo, ErrorKind } from './errors.js'
import { jsonOf, jsonOfAnswer, textOf } from './json.js'
import type { Canonical, StandardMessage, StopReason, Usage } from './message.js'
import type { NativeAnswer } from './native.js'
import type { ThinkingBudgets, ThinkingLevel, ToolChoice } from './options.js'
import type { JsonSchema } from './schema.js'
import { LazySignal } from './work.js'

/** What a run asks a model. The key is not part of it. */
export interface ModelRequest extends Canonical {
  /** `provider/id`. */
  model: string
  /** Empty for none. */
  systemPrompt: string
  /** What the model is to see. */
  messages: StandardMessage[]
  /** What it may call. */
  tools: { name: string; description: string; parameters: JsonSchema }[]
  thinkingLevel: ThinkingLevel
  options: {
    temperature?: number
    maxTokens?: number
    stopSequences?: string[]
    toolChoice?: ToolChoice
    sessionId?: string
    cacheRetention?: 'long' | 'none'
    thinkingBudgets?: Required<ThinkingBudgets>
    headers?: Record<string, string>
  }
}

/** What an answer ends with. */
export interface ModelEnd {
  /** By default `tool_use` where there are calls, else `stop`. */
  stopReason?: Exclude<StopReason, 'error' | 'aborted'>
  /** The vendor's own word. */
  rawStopReason?: string
  responseId?: string
  usage?: Partial<Usage>
}

/**
 * A piece of an answer: more text (as it is, or as `text`), more thinking, a whole call, or a step of a block as events have it
 * (blocks start by themselves where that is left out). `end` ends the answer, after which nothing may follow; without it, the end
 * of the generator does. `error` fails it, as throwing does. `diagnostic` is told as an event.
 */
export type ModelPiece =
  | string
  | { text: string }
  | { thinking: string }
  | { toolCall: { id?: string; name: string; arguments?: Record<string, unknown> | string } }
  | { type: 'text_start' | 'thinking_start'; contentIndex?: number }
  | { type: 'tool_call_start'; contentIndex?: number; id?: string; name: string }
  | { type: 'text_delta' | 'thinking_delta' | 'tool_call_delta'; contentIndex?: number; delta: string }
  | { type: 'text_end' | 'thinking_end' | 'tool_call_end'; contentIndex?: number; signature?: string }
  | { end: ModelEnd | NonNullable<ModelEnd['stopReason']> }
  | { error: { kind: ErrorKind; message: string } & Partial<ErrorInfo> }
  | { diagnostic: { code: string; message?: string; data?: unknown } }

/** What a provider gets beside the request. */
export interface ModelContext {
  /** Aborted when the answer is no longer wanted. */
  readonly signal: AbortSignal
}

/**
 * Answers a request with pieces; an async generator, most often. It is asked for the next piece when the run has room for more.
 * When the run is aborted, the signal is, and the generator is closed. What it throws ends the message in an error: an
 * {@link AgentError} keeps its kind, everything else is of the kind `provider`.
 */
export type Provider = (
  request: ModelRequest,
  context: ModelContext,
) => AsyncIterable<ModelPiece> | Iterable<ModelPiece> | PromiseLike<AsyncIterable<ModelPiece> | Iterable<ModelPiece>>

/** @internal Has a provider answer a request. */
export async function runProvider(provider: Provider, answer: NativeAnswer): Promise<void> {
  const signal = new LazySignal(answer)
  const context = {
    get signal() {
      return signal.get()
    },
  }
  try {
    const pieces: unknown = await provider(withToJson<ModelRequest>(JSON.parse(answer.request)), context)
    if (!isIterable(pieces)) {
      const got = pieces === null ? 'null' : typeof pieces
      throw new TypeError(`the provider gave ${got}; expected a generator, or another iterable of pieces`)
    }
    for await (const piece of pieces) {
      const wanted = push(answer, piece) ?? (await hasRoom(answer))
      if (!wanted) {
        signal.abort()
        // Leaving the loop closes the generator.
        break
      }
    }
    answer.finish()
  } catch (error) {
    answer.fail(errorJson(error))
  } finally {
    signal.end()
  }
}

function push(answer: NativeAnswer, piece: unknown): boolean | null | undefined {
  // The text of a language's own error is not among the fields that JSON has.
  if (isObject(piece) && piece.error instanceof Error) throw piece.error
  const text = jsonOfAnswer("the provider's piece", canonical(piece))
  try {
    return enter(() => answer.push(text))
  } catch (error) {
    // The provider's mistake, not that of whoever started the run.
    throw new TypeError(textOf(error))
  }
}

async function hasRoom(answer: NativeAnswer): Promise<boolean> {
  return (await answerTo((ticket) => answer.ready(ticket))) === 'true'
}

function isIterable(value: unknown): value is Iterable<unknown> | AsyncIterable<unknown> {
  return isObject(value) && (Symbol.asyncIterator in value || Symbol.iterator in value)
}

function errorJson(error: unknown): string {
  if (error instanceof AgentError) return jsonOf(error)
  return jsonOf({ kind: 'provider', message: textOf(error) })
}
