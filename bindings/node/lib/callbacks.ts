/**
 * An agent's callbacks (tools, hooks, middleware, a provider, listeners), called on the environment's own thread.
 */

import { AsyncResource } from 'node:async_hooks'

import type { Host } from './bridge.js'
import { nextNumber, register } from './bridge.js'
import { Causes } from './causes.js'
import type { AgentEvent } from './event.js'
import { readEvent } from './event.js'
import type { NativeCall } from './native.js'
import { isInside, runInside } from './scope.js'
import { report, textOf } from './thrown.js'

/** A function that is called with each event. The run waits for it, and for the promise it returns. */
export type Listener = (event: AgentEvent) => void | Promise<void>

/** @internal Responds to a call; never throws. */
export type Callback = (call: NativeCall, causes: Causes) => Promise<void>

/** @internal Native threads reference callbacks by number, not the functions. */
export class Callbacks implements Host {
  readonly number = nextNumber()
  readonly #calls = new Map<number, Callback>()
  readonly #listeners = new Map<number, Listener>()
  #context: AsyncResource | undefined
  /** What the run's callbacks throw. It belongs to the run. */
  #causes: WeakRef<Causes> | undefined

  constructor() {
    register(this.number, this)
  }

  /** Whether the current code runs inside one of these callbacks. */
  get isInside(): boolean {
    return isInside(this.number)
  }

  /** A run begins: its callbacks get the `AsyncLocalStorage` context of this call. The run keeps what they throw. */
  begin(): Causes {
    this.#context = new AsyncResource('agent-loop.run', { requireManualDestroy: true })
    const causes = new Causes()
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
  keep(callback: Callback): number {
    const number = nextNumber()
    this.#calls.set(number, callback)
    return number
  }

  gone(number: number): void {
    this.#calls.delete(number)
  }

  call(number: number, call: NativeCall): void {
    const callback = this.#calls.get(number)
    // Without its callback the call is dropped, which fails it.
    if (callback) {
      const causes = this.#causes?.deref() ?? new Causes()
      this.#run(() => callback(call, causes)).catch((error: unknown) => report(error, (text) => call.fail(text)))
    }
  }

  forget(cause: number): void {
    this.#causes?.deref()?.drop(cause)
  }

  async event(
    number: number,
    text: string,
    pieces: readonly string[] | undefined,
  ): Promise<{ text: string; cause: number | undefined } | undefined> {
    const listener = this.#listeners.get(number)
    if (listener === undefined) return undefined
    try {
      await this.#run(() => listener(readEvent(text, pieces)))
      return undefined
    } catch (error) {
      return { text: textOf(error), cause: this.#causes?.deref()?.keep(error) }
    }
  }

  #run<T>(callback: () => T | Promise<T>): Promise<T> {
    const run = (): Promise<T> => runInside(this.number, callback)
    return this.#context === undefined ? run() : this.#context.runInAsyncScope(run)
  }
}
