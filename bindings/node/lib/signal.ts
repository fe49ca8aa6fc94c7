/**
 * Aborting a run with an `AbortSignal`.
 */

import { isObject } from './canonical.js'
import { invalidArgument } from './errors.js'
import type { NativeAbortHandle } from './native.js'

/** The options of a single run. */
export interface RunOptions {
  /**
   * Aborts the run when it is aborted, or already was. `prompt`, `resume` and `result` then reject with the signal's reason once
   * the agent is idle; iterating over the events ends normally, with `agent_end`.
   */
  signal?: AbortSignal | undefined
}

/** @internal The signal in the options of a run. */
export function signalOf(options: RunOptions | undefined): AbortSignal | undefined {
  if (options === undefined || options === null) return undefined
  if (!isObject(options) || (options as object) instanceof AbortSignal) {
    const got = isObject(options) ? 'an AbortSignal' : typeof options
    throw invalidArgument(`options: expected an object such as { signal }, got ${got}`)
  }
  const unknown = Object.keys(options).find((name) => name !== 'signal')
  if (unknown !== undefined) throw invalidArgument(`unknown option ${JSON.stringify(unknown)}; known is signal`)
  return checkedSignal(options.signal)
}

/** @internal */
export function checkedSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal === null || signal instanceof AbortSignal) return signal ?? undefined
  throw invalidArgument(`option "signal": expected an AbortSignal, got ${typeof signal}`)
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
