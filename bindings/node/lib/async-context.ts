/**
 * The contexts of `AsyncLocalStorage` in which callbacks are called: those of a run, of its tool calls, and of the code in which
 * middleware calls `next`.
 */

import { AsyncResource } from 'node:async_hooks'

import { nextNumber } from './bridge.js'

const contexts = new Map<number, AsyncResource>()

function context(name: string): AsyncResource {
  return new AsyncResource(name, { requireManualDestroy: true })
}

/** @internal Keeps the context of the code that calls this. Returns its number. */
export function contextHere(): number {
  const number = nextNumber()
  contexts.set(number, context('agent-loop.next'))
  return number
}

/** @internal */
export function forgetContext(number: number): void {
  contexts.delete(number)
}

/** @internal What a callback is called for: a hook of the run or of a tool call keeps what it sets. */
export type Of = 'run' | 'before call' | 'after call' | 'itself'

/** @internal What a callback is about: a tool call, the message that has made it, the middleware around it. */
export interface About {
  readonly id: string
  readonly batch: number
  readonly within: number | null | undefined
}

/** @internal The contexts of one run. */
export class RunContexts {
  #run = context('agent-loop.run')
  /** Of the tool calls of one message that `beforeToolCall` has seen, by id. */
  readonly #calls = new Map<string, AsyncResource>()
  #batch = 0

  /** Calls a listener, or the function for log records, in the run's context. */
  listener<T>(callback: () => T): T {
    return this.#run.runInAsyncScope(callback)
  }

  /** Calls a callback about a tool call (or none: ''), within the middleware that has the context of this number. */
  call<T>(of: Of, { id, batch, within }: About, callback: () => T): T {
    if (of === 'before call' && batch !== this.#batch) {
      // The calls of the message before have ended, some of them without `afterToolCall`.
      this.#calls.clear()
      this.#batch = batch
    }
    const outer = within === undefined || within === null ? this.#calls.get(id) : contexts.get(within)
    const start = (outer ?? this.#run).runInAsyncScope(() => context('agent-loop.call'))
    if (of === 'after call') this.#calls.delete(id)
    return start.runInAsyncScope(() => {
      const result = callback()
      // `enterWith` has changed the context of what runs here, up to the first `await` of the callback.
      if (of === 'run') this.#run = context('agent-loop.run')
      else if (of === 'before call') this.#calls.set(id, context('agent-loop.call'))
      return result
    })
  }
}
