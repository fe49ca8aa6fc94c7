/**
 * Custom providers: functions of the application that answer requests, chunk by chunk.
 */

import { answerTo, enter } from './bridge.js'
import { canonical, withToJson } from './canonical.js'
import type { Causes } from './causes.js'
import { AgentError, isErrorKind } from './errors.js'
import type { ErrorInfo, ErrorKind } from './errors.js'
import { jsonOf, jsonOfAnswer } from './json.js'
import type { Canonical, StandardMessage, StopReason, Usage } from './message.js'
import type { NativeCall } from './native.js'
import { isObject } from './object.js'
import type { ThinkingBudgets, ThinkingLevel, ToolChoice } from './options.js'
import type { JsonSchema } from './schema.js'
import { isA, report, textOf } from './thrown.js'
import { LazySignal } from './context.js'

/** A request to a model, without the API key. */
export interface ModelRequest extends Canonical {
  /** `provider/id`. */
  model: string
  /** Empty if there is none. */
  systemPrompt: string
  /** The messages for the model. */
  messages: StandardMessage[]
  /** The tools that the model may call. */
  tools: { name: string; description: string; parameters: JsonSchema }[]
  thinkingLevel: ThinkingLevel
  /** The options that were set. */
  options: {
    temperature?: number
    topP?: number
    topK?: number
    seed?: number
    frequencyPenalty?: number
    presencePenalty?: number
    maxTokens?: number
    stopSequences?: string[]
    toolChoice?: ToolChoice
    sessionId?: string
    cacheRetention?: 'long' | 'none'
    thinkingBudgets?: Record<keyof ThinkingBudgets, number>
    extraBody?: Record<string, unknown>
    hostedTools?: Record<string, unknown>[]
    headers?: Record<string, string>
  }
}

/** The end of an answer. */
export interface ModelEnd {
  /** By default `tool_use` if there are tool calls, else `stop`. */
  stopReason?: Exclude<StopReason, 'error' | 'aborted'> | undefined
  /** The provider's word for it. */
  rawStopReason?: string | undefined
  /** The provider's id of the response. */
  responseId?: string | undefined
  /** The model that has answered, where it is another one than was asked for. */
  responseModel?: string | undefined
  usage?: ModelUsage | undefined
}

/** The tokens that a provider has counted. */
export type ModelUsage = { -readonly [Name in keyof Usage]?: Usage[Name] | undefined }

/**
 * A chunk of an answer: more text (a string, or `text`), more thinking, a complete tool call, or the start, delta or end of a
 * block in the form of events (the start may be left out). `end` ends the answer, and no chunk may follow; without it, the end of
 * the generator does. `error` fails the answer, as throwing does. `usage` counts the tokens so far. `diagnostic` is emitted as an
 * event.
 */
export type ModelChunk =
  | string
  | { text: string }
  | { thinking: string }
  | { toolCall: { id?: string | undefined; name: string; arguments?: Record<string, unknown> | string | undefined } }
  | { type: 'text_start' | 'thinking_start'; contentIndex?: number | undefined }
  | { type: 'tool_call_start'; contentIndex?: number | undefined; id?: string | undefined; name: string }
  | { type: 'text_delta' | 'thinking_delta' | 'tool_call_delta'; contentIndex?: number | undefined; delta: string }
  | { type: 'text_end' | 'thinking_end' | 'tool_call_end'; contentIndex?: number | undefined; signature?: string | undefined }
  | { end: ModelEnd | NonNullable<ModelEnd['stopReason']> }
  | { error: { kind: ErrorKind; message: string } & { [Name in keyof ErrorInfo]?: ErrorInfo[Name] | undefined } }
  | { usage: ModelUsage }
  | { diagnostic: { code: string; message?: string | undefined; data?: unknown } }

/** The context of a custom provider. */
export interface ModelContext {
  /** Aborted when the answer is no longer needed. */
  readonly signal: AbortSignal
}

/**
 * A custom provider: answers a request with chunks; usually an async generator. The next chunk is requested when the run can take
 * it. When the run is aborted, the signal is aborted and the generator closed. If the provider throws, the message ends with an
 * error: an {@link AgentError} keeps its kind, any other error is of the kind `provider`. What was thrown is the error's `cause`.
 */
export type Provider = (
  request: ModelRequest,
  context: ModelContext,
) => AsyncIterable<ModelChunk> | Iterable<ModelChunk> | PromiseLike<AsyncIterable<ModelChunk> | Iterable<ModelChunk>>

/** @internal Runs a custom provider and passes its answer on. */
export async function runProvider(provider: Provider, call: NativeCall, causes: Causes): Promise<void> {
  const signal = new LazySignal(call)
  const context = {
    get signal() {
      return signal.get()
    },
  }
  try {
    const chunks: unknown = await provider(withToJson<ModelRequest>(JSON.parse(call.input)), context)
    if (!isIterable(chunks)) {
      const got = chunks === null ? 'null' : typeof chunks
      throw new TypeError(`the provider returned ${got}; expected a generator or another iterable of chunks`)
    }
    for await (const chunk of chunks) {
      const wanted = push(call, chunk) ?? (await hasRoom(call))
      if (!wanted) {
        signal.abort()
        // Leaving the loop closes the generator.
        break
      }
    }
    call.finish()
  } catch (error) {
    report(error, (text) => call.failWith(errorJson(error, text, 'provider'), causes.keep(error)))
  } finally {
    signal.end()
  }
}

function push(call: NativeCall, chunk: unknown): boolean | null | undefined {
  // JSON would drop the text of an Error.
  if (isObject(chunk) && isA(chunk.error, Error)) throw chunk.error
  const text = jsonOfAnswer("the provider's chunk", canonical(chunk))
  try {
    return enter(() => call.push(text))
  } catch (error) {
    // The provider's error, not the one of the caller that started the run.
    throw new TypeError(textOf(error))
  }
}

async function hasRoom(call: NativeCall): Promise<boolean> {
  return (await answerTo((ticket) => call.ready(ticket))) === 'true'
}

function isIterable(value: unknown): value is Iterable<unknown> | AsyncIterable<unknown> {
  return isObject(value) && (Symbol.asyncIterator in value || Symbol.iterator in value)
}

/** @internal An error as JSON: of an {@link AgentError} all its fields, if it still has them; else of this kind. */
export function errorJson(error: unknown, text: string, kind: ErrorKind): string {
  try {
    if (error instanceof AgentError && isErrorKind(error.kind)) return jsonOf(AgentError.prototype.toJSON.call(error))
  } catch {
    // Its class, or who has changed it, made it something else.
  }
  return jsonOf({ kind, message: text })
}
