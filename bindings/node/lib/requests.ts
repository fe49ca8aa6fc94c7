/**
 * What an agent changes of each request: the hook `prepareRequest`, and the system prompt where that is a function.
 */

import type { HookContext } from './context.js'
import { expectFunction } from './errors.js'
import type { Hooks, TurnChange } from './hook.js'
import { isObject, kindOf } from './object.js'

/** The system prompt of each request. */
export type SystemPrompt = (context: HookContext) => string | Promise<string>

/** @internal The functions that are asked before each request. */
export class Requests {
  hook: Hooks['prepareRequest'] | undefined
  prompt: SystemPrompt | undefined

  get isAsked(): boolean {
    return this.hook !== undefined || this.prompt !== undefined
  }

  /** Takes a system prompt that is a function out of options. */
  take(options: { systemPrompt?: unknown }): void {
    if (!('systemPrompt' in options)) return
    const { systemPrompt } = options
    if (typeof systemPrompt === 'function') {
      expectFunction('option "systemPrompt"', systemPrompt as SystemPrompt)
      this.prompt = systemPrompt as SystemPrompt
      options.systemPrompt = undefined
    } else this.prompt = undefined
  }

  /** The hook `prepareRequest` as the engine calls it. An answer that is no change is refused by the engine. */
  readonly prepare: Hooks['prepareRequest'] = async (request, context) => {
    const change = await this.hook?.(request, context)
    if (this.prompt === undefined) return change
    const systemPrompt: unknown = await this.prompt(context)
    if (typeof systemPrompt !== 'string') {
      throw new TypeError(`systemPrompt: expected the function to return text, got ${kindOf(systemPrompt)}`)
    }
    if (change === undefined || change === null) return { context: { systemPrompt } }
    return isObject(change) ? { ...change, context: { systemPrompt, ...(change as TurnChange).context } } : change
  }
}
