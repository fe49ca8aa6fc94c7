/**
 * Middleware: functions around the execution of every tool.
 */

import { answerTo, enter } from './bridge.js'
import type { ToolOutput } from './event.js'
import { jsonOfArgument, textOf } from './json.js'
import type { NativeCall } from './native.js'
import { resultJson } from './tool.js'
import { withToolContext } from './work.js'
import type { ToolContext } from './work.js'

/** A tool's call on its way through the middleware. */
export interface MiddlewareCall {
  readonly id: string
  /** The tool's name. */
  readonly name: string
  /** The arguments, checked. */
  readonly arguments: Record<string, any>
  /** What the tool gets too. */
  readonly context: ToolContext
}

/** What a tool answered, in full. */
export interface FullToolResult extends ToolOutput {
  isError: boolean
}

/**
 * Stands around the execution of tools: may look at a call, run the rest of the chain (once, not at all, or again), with other
 * arguments if given, change the result, and time it. Gives what a tool may give, most often the result of `next`; what it throws
 * is the call's error result.
 *
 * `next` throws an `Error` with the text of what the tool (or a middleware after this one) failed with. The arguments given to it
 * are not checked again.
 */
export type Middleware = (
  call: MiddlewareCall,
  next: (args?: Record<string, unknown>) => Promise<FullToolResult>,
) => unknown

/** @internal Runs a middleware and answers its call. */
export async function runMiddleware(middleware: Middleware, call: NativeCall): Promise<void> {
  const json = (value: unknown): string => resultJson("the middleware's result", value)
  try {
    const value = await withToolContext(call, json, (context) =>
      middleware({ id: call.id, name: call.name, arguments: JSON.parse(call.input), context }, (args) => next(call, args)),
    )
    call.respond(json(value))
  } catch (error) {
    call.fail(textOf(error))
  }
}

async function next(call: NativeCall, args: Record<string, unknown> | undefined): Promise<FullToolResult> {
  const text = args === undefined ? undefined : jsonOfArgument('next', args)
  const said = await answerTo((ticket) => enter(() => call.next(text, ticket)))
  const { result, error } = JSON.parse(said ?? '{}') as { result: FullToolResult; error?: string }
  if (error !== undefined) throw new Error(error)
  return result
}
