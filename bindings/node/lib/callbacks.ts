/**
 * An agent's tools and listeners, called on the main thread.
 */

import { AsyncResource } from 'node:async_hooks'

import type { Host } from './bridge.js'
import { nextNumber, register } from './bridge.js'
import type { AgentEvent } from './event.js'
import { readEvent } from './event.js'
import type { NativeCall } from './native.js'
import { isInside, runInside } from './scope.js'
import { Tool, answer, textOf } from './tool.js'

/** Is told each event; the run waits for it, and for its promise. */
export type Listener = (event: AgentEvent) => void | Promise<void>

/** @internal Its numbers, not the objects, are what native threads know. */
export class Callbacks implements Host {
  readonly number = nextNumber()
  tools: readonly Tool[] = []
  readonly #listeners = new Map<number, Listener>()
  #context: AsyncResource | undefined

  constructor() {
    register(this.number, this)
  }

  /** Whether the code that runs now is in one of these callbacks. */
  get isInside(): boolean {
    return isInside(this.number)
  }

  /** A run begins: its callbacks see what `AsyncLocalStorage` gave here. */
  begin(): void {
    this.#context = new AsyncResource('agent-loop.run', { requireManualDestroy: true })
  }

  listen(number: number, listener: Listener): void {
    this.#listeners.set(number, listener)
  }

  unlisten(number: number): void {
    this.#listeners.delete(number)
  }

  call(number: number, call: NativeCall): void {
    const tool = this.tools.find((tool) => Tool.inside(tool)?.number === number)
    if (tool === undefined) call.fail('the tool was taken away from its agent')
    else void this.#run(() => answer(tool, call))
  }

  async event(number: number, text: string): Promise<string | undefined> {
    const listener = this.#listeners.get(number)
    if (listener === undefined) return undefined
    try {
      await this.#run(() => listener(readEvent(text)))
      return undefined
    } catch (error) {
      return textOf(error)
    }
  }

  #run<T>(callback: () => T | Promise<T>): Promise<T> {
    const run = (): Promise<T> => runInside(this.number, callback)
    return this.#context === undefined ? run() : this.#context.runInAsyncScope(run)
  }
}
