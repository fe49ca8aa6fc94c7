/**
 * The errors that calls throw: one class per kind of a closed list, all of them an {@link AgentError}.
 */

import { canonicalFields } from './canonical.js'
import type { Thrown } from './causes.js'
import type { RunResult } from './run.js'

/** The kinds of errors: a closed list, the same in every language. */
export type ErrorKind =
  // <generated: kinds>
  | 'authentication'
  | 'permission'
  | 'not_found'
  | 'invalid_request'
  | 'context_overflow'
  | 'rate_limited'
  | 'quota'
  | 'overloaded'
  | 'server'
  | 'timeout'
  | 'connection'
  | 'tls'
  | 'stream_truncated'
  | 'protocol'
  | 'provider'
  | 'callback'
  | 'limit'
  | 'invalid_argument'
  | 'invalid_state'
  | 'busy'
  | 'aborted'
  | 'io'
  | 'damaged'
  | 'newer_version'
  | 'replay'
  | 'panic'
  // </generated>

/** An error, as in messages, events and results. */
export interface ErrorInfo {
  kind: ErrorKind
  /** What went wrong, where, and what to do. Never contains an API key. */
  message: string
  /** The provider that answered, if one did. */
  provider?: string | undefined
  /** The status of the HTTP response. */
  httpStatus?: number | undefined
  /** The provider's id of the failed request, for its support. */
  requestId?: string | undefined
  /** Whether the same request may succeed later. */
  retryable: boolean
  /** How long the provider asks to wait before a retry, in milliseconds. */
  retryAfterMs?: number | undefined
  /**
   * What a hook or a custom provider has thrown, if that is the reason: the same value, also where it is no Error. In errors that
   * are thrown, and in those that `onError` and `afterRun` get, as long as their run exists. No part of their JSON.
   */
  readonly cause?: unknown
}

/** The base class of this library's errors. */
export class AgentError extends Error implements ErrorInfo {
  readonly kind: ErrorKind
  /** Same as `kind`; Node's errors have a `code`. */
  readonly code: ErrorKind
  declare readonly provider?: string
  declare readonly httpStatus?: number
  declare readonly requestId?: string
  readonly retryable: boolean
  declare readonly retryAfterMs?: number
  /** The result of the run, if `prompt`, `resume` or `result` threw the run's error. */
  declare readonly result?: RunResult

  constructor(info: ErrorInfo, result?: RunResult) {
    super(info.message, 'cause' in info ? { cause: info.cause } : undefined)
    this.kind = this.code = info.kind
    this.retryable = info.retryable
    if (info.provider !== undefined) this.provider = info.provider
    if (info.httpStatus !== undefined) this.httpStatus = info.httpStatus
    if (info.requestId !== undefined) this.requestId = info.requestId
    if (info.retryAfterMs !== undefined) this.retryAfterMs = info.retryAfterMs
    if (result !== undefined) {
      // Not enumerable, so not printed with the error: it has the whole conversation.
      Object.defineProperty(this, 'result', { value: result })
    }
  }

  /** Returns the canonical form of the error. */
  toJSON(): Record<string, unknown> {
    const { kind, message, provider, httpStatus, requestId, retryable, retryAfterMs } = this
    const fields = Object.entries({ kind, message, provider, httpStatus, requestId, retryable, retryAfterMs })
    return canonicalFields(Object.fromEntries(fields.filter(([, value]) => value !== undefined)))
  }
}

// <generated: classes>
/** No key, or the provider refused it (HTTP 401). */
export class AuthenticationError extends AgentError {}
/** The key is valid but not allowed to do this (HTTP 403). */
export class PermissionError extends AgentError {}
/** The model or address does not exist (HTTP 404), or the session; in C also a tool, an argument or a listener. */
export class NotFoundError extends AgentError {}
/** The provider rejects the request as malformed (HTTP 400, 409, 422, other 4xx). */
export class InvalidRequestError extends AgentError {}
/** The conversation exceeds the model's context window (HTTP 413, some 400). */
export class ContextOverflowError extends AgentError {}
/** Too many requests; the same request may succeed later (HTTP 429). */
export class RateLimitedError extends AgentError {}
/** The account's credit or quota is used up (HTTP 402, some 429). */
export class QuotaError extends AgentError {}
/** The provider has no capacity now (HTTP 503, 529). */
export class OverloadedError extends AgentError {}
/** The provider failed (other HTTP 5xx). */
export class ServerError extends AgentError {}
/** A time limit passed, here or at a gateway (HTTP 408, 504, 524). */
export class TimeoutError extends AgentError {}
/** No connection, or it broke before the response began. */
export class ConnectionError extends AgentError {}
/** The secure connection could not be set up. */
export class TlsError extends AgentError {}
/** The response ended before its protocol's closing event. */
export class StreamTruncatedError extends AgentError {}
/** The response violates its protocol. */
export class ProtocolError extends AgentError {}
/** A custom provider failed or panicked. */
export class ProviderError extends AgentError {}
/** A hook failed; the message names it. In middleware, the tool failed. */
export class CallbackError extends AgentError {}
/** A size limit was exceeded. */
export class LimitError extends AgentError {}
/** An argument is wrong; the message names it. */
export class InvalidArgumentError extends AgentError {}
/** The call is not possible in the present state, or in this callback. */
export class InvalidStateError extends AgentError {}
/** A run is active on this agent; or the session is open elsewhere, and the message names the holder. */
export class BusyError extends AgentError {}
/** The run was aborted. */
export class AbortedError extends AgentError {}
/** The operating system refused something, or the server of a store. */
export class IoError extends AgentError {}
/** What is stored is not as it was written; the message names the place. What stands before it can be salvaged. */
export class DamagedError extends AgentError {}
/** What is stored is of a newer version of this library: update it. */
export class NewerVersionError extends AgentError {}
/** A run that is replayed does something else than its recording; the message names the place, and both. */
export class ReplayError extends AgentError {}
/** A panic was caught: a bug in this library. Panics of tools, hooks and providers count as their failures. */
export class PanicError extends AgentError {}
// </generated>

const CLASSES: Record<ErrorKind, typeof AgentError> = {
  // <generated: table of classes>
  authentication: AuthenticationError,
  permission: PermissionError,
  not_found: NotFoundError,
  invalid_request: InvalidRequestError,
  context_overflow: ContextOverflowError,
  rate_limited: RateLimitedError,
  quota: QuotaError,
  overloaded: OverloadedError,
  server: ServerError,
  timeout: TimeoutError,
  connection: ConnectionError,
  tls: TlsError,
  stream_truncated: StreamTruncatedError,
  protocol: ProtocolError,
  provider: ProviderError,
  callback: CallbackError,
  limit: LimitError,
  invalid_argument: InvalidArgumentError,
  invalid_state: InvalidStateError,
  busy: BusyError,
  aborted: AbortedError,
  io: IoError,
  damaged: DamagedError,
  newer_version: NewerVersionError,
  replay: ReplayError,
  panic: PanicError,
  // </generated>
}

for (const errorClass of [AgentError, ...Object.values(CLASSES)]) {
  // On the prototype, as with the built-in errors.
  Object.defineProperty(errorClass.prototype, 'name', { value: errorClass.name, configurable: true })
}

/** @internal Creates an error of the class of its kind. */
export function errorOf(info: ErrorInfo, result?: RunResult, thrown?: Thrown): AgentError {
  return new CLASSES[info.kind](thrown === undefined ? info : { ...info, cause: thrown.value }, result)
}

/** @internal */
export function isErrorKind(kind: unknown): kind is ErrorKind {
  return typeof kind === 'string' && Object.hasOwn(CLASSES, kind)
}

/** @internal */
export function invalidArgument(message: string): AgentError {
  return errorOf({ kind: 'invalid_argument', message, retryable: false })
}

/** @internal */
export function invalidState(message: string): AgentError {
  return errorOf({ kind: 'invalid_state', message, retryable: false })
}

/** @internal Throws InvalidArgumentError for anything but a function. */
export function expectFunction(what: string, value: unknown): void {
  if (typeof value === 'function') return
  const got = value === undefined ? 'nothing' : value === null ? 'null' : typeof value
  throw invalidArgument(`${what}: expected a function, got ${got}`)
}
