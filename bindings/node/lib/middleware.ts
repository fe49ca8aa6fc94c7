/**
 * Middleware: functions around the execution of every tool.
 */

import { enter, outcomeOf } from './bridge.js'
import { contextHere, forgetContext } from './async-context.js'
import type { Causes } from './causes.js'
import type { ToolOutput } from './event.js'
import { frozen } from './frozen.js'
import { jsonOfAnswer, jsonOfArgument } from './json.js'
import type { NativeCall } from './native.js'
import { Suspension } from './suspension.js'
import { isA, isReadable, report } from './thrown.js'
import { withToolContext } from './context.js'
import type { ToolContext } from './context.js'

/** A tool call, as middleware sees it. */
export interface MiddlewareCall {
  /** The id of the call. */
  readonly id: string
  /** The tool's name. */
  readonly name: string
  /** The validated arguments, frozen. Others are given to `next`. */
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
 * change the arguments and the result, and measure the time. It returns what a tool may return, usually the result of `next`. If
 * it throws, the call fails with that error's text; so it does if it returns nothing.
 *
 * `next` throws the `Error` that the tool (or an inner middleware) has thrown, the same object. If that is no `Error`, it is the
 * `cause` of one with its text. Arguments given to it are not validated again.
 */
export type Middleware = (
  call: MiddlewareCall,
  next: (args?: Record<string, unknown>) => Promise<FullToolResult>,
) => unknown

/** @internal Runs a middleware and responds to its call. */
export async function runMiddleware(middleware: Middleware, call: NativeCall, causes: Causes): Promise<void> {
  const json = (value: unknown): string => jsonOfAnswer("the middleware's result", value)
  try {
    const value = await withToolContext(call, causes.deps, json, (context) => {
      const seen = { id: call.id, name: call.name, arguments: frozen(JSON.parse(call.input)), context }
      return middleware(seen, (args) => next(call, causes, args))
    })
    call.respond(json(value))
  } catch (error) {
    if (isA(error, Suspension)) return call.suspend(error.reason)
    report(error, (text) => call.fail(text, causes.keep(error)))
  }
}

async function next(call: NativeCall, causes: Causes, args: Record<string, unknown> | undefined): Promise<FullToolResult> {
  const given = args === undefined ? undefined : jsonOfArgument('next', args)
  const within = contextHere()
  const rest = outcomeOf(causes, (ticket) => enter(() => call.next(given, ticket, within)))
  const { text = '{}', thrown } = await rest.finally(() => forgetContext(within))
  const { result, error } = JSON.parse(text) as { result: FullToolResult; error?: string }
  if (error !== undefined) {
    if (thrown === undefined) throw new Error(error)
    throw isReadable(thrown.value) ? thrown.value : new Error(error, { cause: thrown.value })
  }
  return result
}
