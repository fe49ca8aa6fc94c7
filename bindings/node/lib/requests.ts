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

  /** The hook `prepareRequest` as the engine calls it. An answer that is no change is refused by the engine. */
  readonly prepare: Hooks['prepareRequest'] = async (request, context) => {
    const change = await this.hook?.(request, context)
    // A text of this run, or of `prepareNextTurn`, stands in its place.
    if (this.prompt === undefined || request.systemPrompt !== '') return change
    const systemPrompt: unknown = await this.prompt(context)
    if (typeof systemPrompt !== 'string') {
      throw new TypeError(`systemPrompt: expected the function to return text, got ${kindOf(systemPrompt)}`)
    }
    if (change === undefined || change === null) return { context: { systemPrompt } }
    return isObject(change) ? { ...change, context: { systemPrompt, ...(change as TurnChange).context } } : change
  }
}

/** @internal Takes a system prompt that is a function out of options. */
export function promptTaken(options: { systemPrompt?: unknown }): SystemPrompt | undefined {
  const { systemPrompt } = options
  if (typeof systemPrompt !== 'function') return undefined
  expectFunction('option "systemPrompt"', systemPrompt as SystemPrompt)
  options.systemPrompt = undefined
  return systemPrompt as SystemPrompt
}
