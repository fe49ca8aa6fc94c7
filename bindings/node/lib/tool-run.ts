/**
 * Calls of a tool outside of an agent: in tests, and in tools that call tools.
 */

import { checkedNames } from './arguments.js'
import { enter } from './bridge.js'
import { CALL } from './context.js'
import type { HookContext, ToolContext } from './context.js'
import { expectFunction, invalidArgument } from './errors.js'
import { jsonOfAnswer, jsonOfArgument } from './json.js'
import { native } from './native.js'
import type { NativeTool } from './native.js'
import { isObject, isPlain, kindOf, shown } from './object.js'
import { Suspension } from './suspension.js'
import { resultOfReturned, toolJson } from './tool-result.js'

/** The options of a tool's `run`. */
export interface ToolRunOptions {
  /**
   * The context of the call that makes this one: its signal, its clock, its updates and its `suspend` are also those of this
   * call. Of its `idempotencyKey` one is made that is the same when the tool is executed again, if it then makes the same calls
   * in the same order.
   */
  context?: ToolContext | undefined
  /** How the arguments are checked, `coerce` by default. */
  validation?: 'coerce' | 'strict' | 'off' | undefined
  /** The tool's signal, in place of the context's. When it is aborted, a generator is closed at its next `yield`. */
  signal?: AbortSignal | undefined
  /** Called with each update, in place of the context's `update`. */
  onUpdate?: ((partial: unknown) => void) | undefined
  /** What the tool gets as its `sleep`: for a test that does not wait. */
  sleep?: ((ms: number) => Promise<boolean>) | undefined
  /** What the tool gets as its `toolCallId`; a new id by default. */
  toolCallId?: string | undefined
  /** What the tool gets as its `idempotencyKey`; a new key by default. */
  idempotencyKey?: string | undefined
  /** What the tool gets as its `deps`, in place of those of the context. */
  deps?: unknown
}

const NAMES = ['context', 'validation', 'signal', 'onUpdate', 'sleep', 'toolCallId', 'idempotencyKey', 'deps'] as const satisfies
  readonly (keyof ToolRunOptions)[]

/** @internal A tool that is called. */
export interface Called {
  readonly name: string
  readonly inside: NativeTool
  readonly prepare: ((args: Record<string, unknown>, context: HookContext) => unknown) | undefined
  /** Calls `execute`, with what the tool's schema makes of the arguments. */
  readonly execute: (args: unknown, context: ToolContext) => Promise<unknown>
}

/** @internal Calls a tool as a run does, without hooks, middleware, approval and time limits. Gives what it returns. */
export async function runOutside(tool: Called, args: unknown, options: ToolRunOptions | undefined): Promise<unknown> {
  const given = checkedNames(options, NAMES)
  const context = contextOf(tool.name, given)
  context.signal.throwIfAborted()
  const checked = await checkedArguments(tool, args, given.validation, context)
  const call = {
    get isCancelled() {
      return context.signal.aborted
    },
    get reason() {
      return context.signal.reason as unknown
    },
  }
  const value = await resultOfReturned(await tool.execute(checked, context), call, context)
  const wrong = native.Tool.checkResult(toolJson(value))
  if (wrong !== null) throw new TypeError(`the tool's result: ${wrong}`)
  return value
}

/** The arguments as a copy, prepared and validated. */
async function checkedArguments(
  { name, inside, prepare }: Called,
  args: unknown,
  validation: string | null | undefined,
  context: HookContext,
): Promise<unknown> {
  if (!isObject(args) || Array.isArray(args) || !isPlain(args)) {
    throw invalidArgument(`tool ${JSON.stringify(name)}: run: expected an object of arguments, got ${kindOf(args)}`)
  }
  let text = jsonOfArgument(`the arguments of ${name}`, args)
  if (prepare !== undefined) {
    const prepared = await prepare(JSON.parse(text) as Record<string, unknown>, context)
    if (prepared !== undefined && prepared !== null) text = jsonOfAnswer('the answer of prepareArguments', prepared)
  }
  return JSON.parse(enter(() => inside.check(text, validation))) as unknown
}

/** How many calls were made with the context of another one. */
const CALLS = new WeakMap<ToolContext, number>()

function contextOf(name: string, options: ToolRunOptions): ToolContext {
  const { context: outer, onUpdate, sleep } = options
  if (outer !== undefined && outer !== null) expectContext(name, outer)
  if (onUpdate !== undefined && onUpdate !== null) expectFunction(`tool ${JSON.stringify(name)}: run: onUpdate`, onUpdate)
  const signal = options.signal ?? outer?.signal ?? new AbortController().signal
  const id = options.toolCallId ?? `call_${globalThis.crypto.randomUUID()}`
  return {
    [CALL]: outer?.[CALL],
    deps: options.deps ?? outer?.deps,
    toolCallId: id,
    idempotencyKey: options.idempotencyKey ?? (outer ? innerKey(outer, name) : id),
    signal,
    suspend: outer?.suspend ?? ((reason) => new Suspension(String(reason))),
    update: (partial) => {
      toolJson(partial)
      if (onUpdate) onUpdate(partial)
      else outer?.update(partial)
    },
    sleep: sleep ?? outer?.sleep ?? ((ms) => slept(ms, signal)),
  }
}

function expectContext(name: string, outer: ToolContext): void {
  if (isObject(outer) && typeof outer.idempotencyKey === 'string' && typeof outer.update === 'function') return
  const expected = 'expected what the calling tool gets as its second argument'
  throw invalidArgument(`tool ${JSON.stringify(name)}: run: context: ${expected}, got ${kindOf(outer)}`)
}

function innerKey(outer: ToolContext, name: string): string {
  const count = (CALLS.get(outer) ?? 0) + 1
  CALLS.set(outer, count)
  return `${outer.idempotencyKey}/${name}/${count}`
}

/** @internal Whether the time has passed without an abort. */
export async function slept(ms: number, signal: AbortSignal): Promise<boolean> {
  if (typeof ms !== 'number' || !(ms >= 0)) throw new TypeError(`ms: expected milliseconds, got ${shown(ms)}`)
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve(!signal.aborted)
    }
    const timer = setTimeout(end, signal.aborted ? 0 : ms)
    signal.addEventListener('abort', end)
  })
}
