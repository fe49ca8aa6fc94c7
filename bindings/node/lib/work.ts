/**
 * What callbacks get beside their input: a signal, and waiting in the engine's time.
 */

import { answerTo, forget, whenSettled } from './bridge.js'
import type { NativeCall } from './native.js'

/** What every hook gets beside its input. Every part may be taken out of it and used alone. */
export interface HookContext {
  /** Aborted when the answer is no longer wanted: the run was aborted, or a time limit has passed. */
  readonly signal: AbortSignal
  /** Waits in the engine's time (which the scripted model makes pass at once). False when the signal was aborted meanwhile. */
  readonly sleep: (ms: number) => Promise<boolean>
}

/** What a tool gets beside its arguments. Every part may be taken out of it and used alone. */
export interface ToolContext extends HookContext {
  readonly toolCallId: string
  /** Tells how far the tool is; read like a result. After the answer it is dropped with a `diagnostic`. */
  readonly update: (partial: unknown) => void
}

/** @internal Something that can be cancelled. */
export interface Cancellable {
  readonly isCancelled: boolean
  /** Settles the ticket when it is. */
  watch(ticket: number): void
}

/** @internal The signal of something that can be cancelled, made when asked for: most callbacks never do. */
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

  /** Somebody found out before the signal did. */
  abort(): void {
    this.#controller?.abort()
  }

  /** The work is done: from now on the signal stays as it is. */
  end(): void {
    if (this.#ticket !== undefined) forget(this.#ticket)
  }
}

/** Waits in the engine's time. */
async function sleep(call: NativeCall, ms: number): Promise<boolean> {
  return (await answerTo((ticket) => call.sleep(Number(ms), ticket))) === 'true'
}

/** @internal Does the work of a hook; its signal ends with it. */
export async function withHookContext<T>(call: NativeCall, work: (context: HookContext) => T | Promise<T>): Promise<T> {
  const signal = new LazySignal(call)
  try {
    return await work({
      get signal() {
        return signal.get()
      },
      sleep: (ms) => sleep(call, ms),
    })
  } finally {
    signal.end()
  }
}

/** @internal Does the work of a tool or middleware; its signal ends with it. `json` writes an update. */
export async function withToolContext<T>(
  call: NativeCall,
  json: (partial: unknown) => string,
  work: (context: ToolContext) => T | Promise<T>,
): Promise<T> {
  const signal = new LazySignal(call)
  try {
    return await work({
      toolCallId: call.id,
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
