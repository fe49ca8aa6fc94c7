/**
 * An agent's callbacks (tools, hooks, middleware, a provider, listeners), called on the environment's own thread.
 */

import { RunContexts } from './async-context.js'
import type { Of } from './async-context.js'
import type { Host } from './bridge.js'
import { nextNumber, register } from './bridge.js'
import type { Thrown } from './causes.js'
import { Causes } from './causes.js'
import type { AgentEvent } from './event.js'
import { readEvent } from './event.js'
import type { NativeCall } from './native.js'
import { isInside, runInside } from './scope.js'
import type { OpenSession } from './session.js'
import { report, textOf } from './thrown.js'
import type { TracerProvider } from './traces.js'
import { insideSpan } from './traces.js'

/** A function that is called with each event. The run waits for it, and for the promise it returns. */
export type Listener = (event: AgentEvent) => void | Promise<void>

/** @internal Responds to a call; never throws. */
export type Callback = (call: NativeCall, causes: Causes) => Promise<void>

/** @internal Native threads reference callbacks by number, not the functions. */
export class Callbacks implements Host {
  readonly number = nextNumber()
  /** Who makes the spans of its runs: null for the global tracer provider, undefined for none. */
  tracerProvider: TracerProvider | null | undefined
  /** The agent's session, which may have a store of JavaScript. A run keeps these, and not its agent. */
  session: OpenSession | null = null
  readonly #calls = new Map<number, { callback: Callback; of: Of }>()
  readonly #listeners = new Map<number, Listener>()
  #contexts: RunContexts | undefined
  /** What the run's callbacks throw. It belongs to the run. */
  #causes: WeakRef<Causes> | undefined
  /** Of the latest run, as the application gives it. */
  #deps: unknown

  constructor() {
    register(this.number, this)
  }

  /** Whether the current code runs inside one of these callbacks. */
  get isInside(): boolean {
    return isInside(this.number)
  }

  /** A run begins: its callbacks get the `AsyncLocalStorage` context of this call. The run keeps what they throw. */
  begin(deps?: unknown): Causes {
    this.#contexts = new RunContexts()
    this.#deps = deps
    const causes = new Causes(deps)
    this.#causes = new WeakRef(causes)
    return causes
  }

  listen(number: number, listener: Listener): void {
    this.#listeners.set(number, listener)
  }

  unlisten(number: number): void {
    this.#listeners.delete(number)
  }

  /** Keeps a function until native code drops its last reference. Returns the number of the callback. */
  keep(callback: Callback, of: Of = 'itself'): number {
    const number = nextNumber()
    this.#calls.set(number, { callback, of })
    return number
  }

  gone(number: number): void {
    this.#calls.delete(number)
  }

  call(number: number, call: NativeCall): void {
    const kept = this.#calls.get(number)
    // Without its callback the call is dropped, which fails it.
    if (kept) {
      const causes = this.#causes?.deref() ?? new Causes(this.#deps)
      const run = (): Promise<void> =>
        runInside(this.number, () => insideSpan(call.span, () => kept.callback(call, causes)))
      const called = this.#contexts === undefined ? run() : this.#contexts.call(kept.of, call, run)
      called.catch((error: unknown) => report(error, (text) => call.fail(text)))
    }
  }

  forget(cause: number): void {
    this.#causes?.deref()?.drop(cause)
  }

  log(cause: number | undefined, write: (thrown: Thrown | undefined) => void): void {
    const thrown = cause === undefined ? undefined : this.#causes?.deref()?.find(cause)
    if (this.#contexts === undefined) write(thrown)
    else this.#contexts.listener(() => write(thrown))
  }

  async event(
    number: number,
    text: string,
    pieces: readonly string[] | undefined,
  ): Promise<{ text: string; cause: number | undefined } | undefined> {
    const listener = this.#listeners.get(number)
    if (listener === undefined) return undefined
    try {
      const run = (): Promise<void> => runInside(this.number, () => listener(readEvent(text, pieces)))
      await (this.#contexts === undefined ? run() : this.#contexts.listener(run))
      return undefined
    } catch (error) {
      return { text: textOf(error), cause: this.#causes?.deref()?.keep(error) }
    }
  }
}
