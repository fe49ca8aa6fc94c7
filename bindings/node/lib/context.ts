/**
 * The contexts that tools and hooks get beside their input.
 */

import { answerTo, forget, whenSettled } from './bridge.js'
import type { NativeCall } from './native.js'
import { shown } from './object.js'
import { Suspension } from './suspension.js'

/** @internal The native call of a tool's context, where it is one of a run. */
export const CALL : unique symbol = Symbol('call')

/** The context of a hook. Its members may be destructured. */
export interface HookContext {
  /** What the application has given for its tools and hooks: the option `deps` of the agent or of the run. */
  readonly deps: any
  /** Aborted when the answer is no longer needed: the run was aborted, or a time limit has passed. */
  readonly signal: AbortSignal
  /**
   * Waits for a number of milliseconds on the run's clock (with the scripted model that clock is virtual). Resolves to false,
   * early, when the signal is aborted.
   */
  readonly sleep: (ms: number) => Promise<boolean>
}

/** The context of a tool call. Its members may be destructured. */
export interface ToolContext extends HookContext {
  /** The id of the call. */
  readonly toolCallId: string
  /**
   * The same however often this call is executed, in this run or in one that goes on with it elsewhere, and different for each
   * other call: for a service that does the same thing once.
   */
  readonly idempotencyKey: string
  /**
   * Makes what to throw if the call's answer comes from elsewhere, later: `throw suspend('waits for the signature')`. The call
   * then waits for a decision, and the run ends with the outcome `suspended`. The reason is for the person who decides. An
   * approved call is executed again, from its start.
   */
  readonly suspend: (reason: string) => Suspension
  /**
   * Reports progress, as a `tool_execution_update` event; the value is read like a result. Does not wait: at most 64 updates of
   * a call wait to be emitted. Then the newest takes the place of the one before it, which a `diagnostic` event
   * (`updates_replaced`) counts at the end of the call. An update after the call has returned is dropped with a `diagnostic`
   * (`late_update`), one after an abort without.
   *
   * @throws TypeError for a value that is not JSON.
   */
  readonly update: (partial: unknown) => void
  /** @internal */
  readonly [CALL]?: NativeCall | undefined
}

/** @internal A native call that can be cancelled. */
export interface Cancellable {
  readonly isCancelled: boolean
  /** Settles the ticket when it is cancelled. */
  watch(ticket: number): void
}

/** @internal The signal of a native call, created on first use: most callbacks do not use it. */
export class LazySignal {
  readonly #of: Cancellable
  #controller: AbortController | undefined
  #ticket: number | undefined

  constructor(of: Cancellable) {
    this.#of = of
  }

  get(): AbortSignal {
    if (this.#controller === undefined) {
      const made = (this.#controller = new AbortController())
      if (this.#of.isCancelled) made.abort()
      else this.#of.watch((this.#ticket = whenSettled(() => made.abort())))
    }
    return this.#controller.signal
  }

  /** Aborts the signal, without waiting for native code to report it. */
  abort(): void {
    this.#controller?.abort()
  }

  /** The call is over: the signal does not change any more. */
  end(): void {
    if (this.#ticket !== undefined) forget(this.#ticket)
  }
}

/** Waits on the run's clock. */
async function sleep(call: NativeCall, ms: number): Promise<boolean> {
  if (typeof ms !== 'number' || !(ms >= 0)) throw new TypeError(`ms: expected milliseconds, got ${shown(ms)}`)
  return (await answerTo((ticket) => call.sleep(ms, ticket))) === 'true'
}

/** @internal Calls a hook's function with its context; the signal ends with the call. */
export async function withHookContext<T>(
  call: NativeCall,
  deps: unknown,
  work: (context: HookContext) => T | Promise<T>,
): Promise<T> {
  const signal = new LazySignal(call)
  try {
    return await work({
      deps,
      get signal() {
        return signal.get()
      },
      sleep: (ms) => sleep(call, ms),
    })
  } finally {
    signal.end()
  }
}

/** @internal Calls a tool or middleware with its context; the signal ends with the call. `json` serializes an update. */
export async function withToolContext<T>(
  call: NativeCall,
  deps: unknown,
  json: (partial: unknown) => string,
  work: (context: ToolContext) => T | Promise<T>,
): Promise<T> {
  const signal = new LazySignal(call)
  try {
    return await work({
      deps,
      [CALL]: call,
      toolCallId: call.id,
      idempotencyKey: call.idempotencyKey,
      suspend: (reason) => new Suspension(String(reason)),
      get signal() {
        return signal.get()
      },
      update: (partial) => call.update(json(partial)),
      sleep: (ms) => sleep(call, ms),
    })
  } finally {
    signal.end()
  }
}
