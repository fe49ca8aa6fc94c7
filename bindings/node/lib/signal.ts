/**
 * Aborting a run with an `AbortSignal`.
 */

import { checkedNames } from './arguments.js'
import { invalidArgument } from './errors.js'
import type { NativeAbortHandle } from './native.js'
import { isBuiltIn, isObject, kindOf } from './object.js'

/** The options of a single run. */
export interface RunOptions {
  /**
   * Aborts the run when it is aborted, or already was. `prompt`, `resume` and `result` then reject with the signal's reason once
   * the agent is idle; iterating over the events ends normally, with `agent_end`.
   */
  signal?: AbortSignal | undefined
}

/** The options of a run whose events are read. */
export interface StreamOptions extends RunOptions {
  /**
   * Whether iterating over the events of a run that fails (outcome `error`) throws its error after the last one; true by default.
   * `result` throws it in any case.
   */
  raiseErrors?: boolean | undefined
}

/** @internal The options of a run, checked. `known` are the names that may be given. */
export function checkedOptions(options: StreamOptions | undefined, known: readonly string[]): StreamOptions {
  if (options === undefined || options === null) return {}
  const { signal, raiseErrors } = checkedNames(options, known)
  return { signal: checkedSignal(signal), raiseErrors: checkedRaiseErrors(raiseErrors) }
}

/** @internal Options of these names, and the others, which are the engine's. */
export function split(options: object | undefined, names: readonly string[]): [own: StreamOptions | undefined, others: object] {
  // What is no object of options is refused with the others.
  if (!isObject(options) || isBuiltIn(options)) return [options as StreamOptions | undefined, {}]
  const entries = Object.entries(options)
  const [own, others] = [true, false].map((is) => Object.fromEntries(entries.filter(([name]) => names.includes(name) === is)))
  return [own as StreamOptions, others as object]
}

/** @internal The names of {@link RunOptions}. */
export const RUN_OPTIONS = ['signal'] as const

/** @internal The names of {@link StreamOptions}. */
export const STREAM_OPTIONS = [...RUN_OPTIONS, 'raiseErrors'] as const

function checkedSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal === null || signal instanceof AbortSignal) return signal ?? undefined
  const hint = signal instanceof AbortController ? '; give its signal, as { signal: controller.signal }' : ''
  throw invalidArgument(`option "signal": expected an AbortSignal, got ${kindOf(signal)}${hint}`)
}

function checkedRaiseErrors(raise: unknown): boolean {
  if (raise === undefined || raise === null || typeof raise === 'boolean') return raise ?? true
  throw invalidArgument(`option "raiseErrors": expected true or false, got ${typeof raise}`)
}

/** @internal Aborts a run when a signal is aborted, until the run is over. */
export class Cancellation {
  readonly #signal: AbortSignal
  #handle: NativeAbortHandle | null | undefined
  #fired = false
  readonly #onAbort = (): void => {
    this.#fired = true
    this.#handle?.abort()
  }

  constructor(signal: AbortSignal, handle: NativeAbortHandle | null | undefined) {
    this.#signal = signal
    this.#handle = handle
    if (signal.aborted) this.#onAbort()
    else signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Stops listening to the signal: the run is over. */
  end(): void {
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#handle = undefined
  }

  /** Throws the signal's reason if the signal aborted the run. */
  check(): void {
    if (this.#fired) throw this.#signal.reason
  }
}
