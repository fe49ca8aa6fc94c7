/**
 * Middleware: functions around the execution of every tool.
 */

import { answerTo, enter } from './bridge.js'
import type { ToolOutput } from './event.js'
import { jsonOfArgument } from './json.js'
import type { NativeCall } from './native.js'
import { report } from './thrown.js'
import { resultJson } from './tool.js'
import { withToolContext } from './context.js'
import type { ToolContext } from './context.js'

/** A tool call, as middleware sees it. */
export interface MiddlewareCall {
  /** The id of the call. */
  readonly id: string
  /** The tool's name. */
  readonly name: string
  /** The validated arguments. */
  readonly arguments: Record<string, any>
  /** The context that the tool gets, too. */
  readonly context: ToolContext
}

/** A tool result with all its fields. */
export interface FullToolResult extends ToolOutput {
  /** Whether the call failed. */
  isError: boolean
}

/**
 * A function around the execution of tools. It may inspect a call, run the rest of the chain once, several times or not at all,
 * change the arguments and the result, and measure the time. It returns what a tool may return, usually the result of `next`; if
 * it throws, the call fails with that error's text.
 *
 * `next` throws an `Error` with the text that the tool (or an inner middleware) failed with. Arguments given to it are not
 * validated again.
 */
export type Middleware = (
  call: MiddlewareCall,
  next: (args?: Record<string, unknown>) => Promise<FullToolResult>,
) => unknown

/** @internal Runs a middleware and responds to its call. */
export async function runMiddleware(middleware: Middleware, call: NativeCall): Promise<void> {
  const json = (value: unknown): string => resultJson("the middleware's result", value)
  try {
    const value = await withToolContext(call, json, (context) =>
      middleware({ id: call.id, name: call.name, arguments: JSON.parse(call.input), context }, (args) => next(call, args)),
    )
    call.respond(json(value))
  } catch (error) {
    report(error, (text) => call.fail(text))
  }
}

async function next(call: NativeCall, args: Record<string, unknown> | undefined): Promise<FullToolResult> {
  const text = args === undefined ? undefined : jsonOfArgument('next', args)
  const answer = await answerTo((ticket) => enter(() => call.next(text, ticket)))
  const { result, error } = JSON.parse(answer ?? '{}') as { result: FullToolResult; error?: string }
  if (error !== undefined) throw new Error(error)
  return result
}
