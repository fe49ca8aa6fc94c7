/**
 * The result of a tool: what it returns, or what a generator yields and returns.
 */

import type { ToolContext } from './context.js'
import { jsonOfAnswer } from './json.js'
import { isObject } from './object.js'

/** @internal What may be cancelled. */
export interface Cancelling {
  readonly isCancelled: boolean
  /** What a generator that is closed then fails with; an error "aborted" by default. */
  readonly reason?: unknown
}

/** @internal The result of a tool as JSON. */
export function toolJson(value: unknown): string {
  return jsonOfAnswer("the tool's result", value)
}

/** @internal The result of a call whose tool has returned this. */
export function resultOfReturned(returned: unknown, call: Cancelling, context: ToolContext): unknown {
  return isGenerator(returned) ? lastOf(returned, call, context) : returned
}

type AnyGenerator = AsyncGenerator | Generator

function isGenerator(value: unknown): value is AnyGenerator {
  if (!isObject(value) || typeof value.next !== 'function') return false
  return Symbol.asyncIterator in value || Symbol.iterator in value
}

/**
 * Reports what a generator yields, and returns its result: what it returns, or else what it has yielded last. When the call is
 * cancelled the generator is closed at its next `yield`.
 */
async function lastOf(generator: AnyGenerator, call: Cancelling, { update }: ToolContext): Promise<unknown> {
  let last: unknown
  let isOver = false
  try {
    while (!call.isCancelled) {
      const { value, done } = await generator.next()
      if (done) {
        isOver = true
        return value === undefined ? last : await value
      }
      last = await value
      update(last)
    }
    throw call.reason ?? new Error('aborted')
  } finally {
    if (!isOver) await generator.return?.(undefined)
  }
}
