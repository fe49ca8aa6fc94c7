/** Model calls, tools, and the functions of tools, as steps of Restate's journal. */

import { deflateSync, inflateSync } from 'node:zlib'

import type { ObjectContext } from '@restatedev/restate-sdk'
import { CancelledError, internal } from '@restatedev/restate-sdk'

import { answerTo } from './bridge.js'
import type { HookContext, ToolContext } from './context.js'
import { AgentError } from './errors.js'
import { Loop } from './loop.js'
import type { ToolOptions } from './tool.js'
import { Tool, resultOf } from './tool.js'
import { toolJson } from './tool-result.js'
import { slept } from './tool-run.js'
import type { ParametersSchema } from './schema.js'
import { Suspension } from './suspension.js'
import { isA, textOf } from './thrown.js'
import type { LoopAction, LoopInput } from './steps.js'

/** @internal A step. */
export interface Step<T> {
  /** Its value, in JSON. `attempt` is aborted when its value is no longer awaited. */
  run(attempt: AbortSignal): Promise<T>
  /** Its value is no longer wanted, or not for long. */
  cancel(): void
}

/** @internal The end of the HTTP of a model call. */
export interface Exchanged {
  status: number | null
  headers: Record<string, string>
  /** Compressed, as frames of a stream repeat themselves; in base64. */
  body: string
  is_complete: boolean
  error: NonNullable<Extract<LoopInput, { type: 'model_end' }>['error']> | null
  last_ms: number
  end_ms: number
}

/** @internal The bytes of a response so far. */
export function bodyOf(done: Exchanged): Uint8Array {
  return inflateSync(Buffer.from(done.body, 'base64'))
}

/** @internal Sends one request. A failed call is a value: whether it is tried again, the loop decides. */
export class ModelStep implements Step<Exchanged> {
  readonly #loop: Loop
  readonly #call: number
  readonly #options: object
  #cancel = () => {}
  #isCancelled = false

  constructor(loop: Loop, call: number, options: object) {
    this.#loop = loop
    this.#call = call
    this.#options = options
  }

  async run(attempt: AbortSignal): Promise<Exchanged> {
    try {
      const exchange = Loop.exchange(this.#loop, this.#call, this.#options)
      this.#cancel = () => exchange.cancel()
      if (this.#isCancelled) exchange.cancel()
      attempt.addEventListener('abort', this.#cancel, { once: true })
      const text = await answerTo((ticket) => exchange.send(ticket))
      const done = JSON.parse(text ?? 'null') as Exchanged
      return { ...done, body: deflateSync(Buffer.from(done.body, 'latin1')).toString('base64') }
    } catch (error) {
      if (!(error instanceof AgentError)) throw error
      const now = Date.now()
      const none = { status: null, headers: {}, body: '', is_complete: false, last_ms: now, end_ms: now }
      return { ...none, error: JSON.parse(JSON.stringify(error)) as Exchanged['error'] }
    }
  }

  cancel(): void {
    this.#isCancelled = true
    this.#cancel()
  }
}

type CallTool = Extract<LoopAction, { type: 'call_tool' }>

/** @internal How a call of a tool ended. */
export type Outcome = { result: unknown } | { error: string } | { suspended: string }

/** @internal The outcome of a call that is not executed, as the run is aborted. */
export const ABORTED: Outcome = { error: 'aborted' }

/** The context of a tool that uses Restate itself. */
export interface RestateContext extends ToolContext {
  /** Restate's own context of the handler. */
  readonly restate: ObjectContext
}

/** The options of a tool that uses Restate itself. */
export interface RestateToolOptions<S = ParametersSchema> extends Omit<ToolOptions<S>, 'execute'> {
  /**
   * Runs the tool, in the handler: what it does is replayed, so it does nothing but through `context.restate`. While it waits,
   * the run waits: its other calls, steering and aborts come after it.
   */
  execute: (args: Parameters<ToolOptions<S>['execute']>[0], context: RestateContext) => unknown
}

const WITH_RESTATE = new WeakSet<Tool>()

/**
 * Creates a tool that uses Restate itself: calls other services, sleeps for days, waits for an awakeable. It is no step of the
 * journal, and only {@link restateAgent} can call it.
 *
 * @param options As of `tool`.
 */
export function restateTool<const S extends ParametersSchema>(options: RestateToolOptions<S>): Tool {
  const made = new Tool(options as ToolOptions)
  WITH_RESTATE.add(made)
  return made
}

/** @internal Whether a tool uses Restate itself. */
export function wantsRestate(tool: Tool): boolean {
  return WITH_RESTATE.has(tool)
}

/** @internal Calls a tool that uses Restate itself. Its failure is a value; a cancelled invocation is no failure. */
export async function callInHandler(tool: Tool, action: CallTool, restate: ObjectContext): Promise<Outcome> {
  const context = { ...contextOf(action, new AbortController()), restate }
  try {
    return { result: JSON.parse(toolJson(await Tool.call(tool, action.arguments, context))) as unknown }
  } catch (error) {
    if (internal.isSuspendedError(error) || error instanceof CancelledError) throw error
    return failed(error)
  }
}

/** @internal Executes a call. A failure is a value: the model reads it. */
export class ToolStep implements Step<Outcome & { at_ms: number }> {
  readonly #tool: Tool
  readonly #action: CallTool
  readonly #cancelled = new AbortController()

  constructor(tool: Tool, action: CallTool) {
    this.#tool = tool
    this.#action = action
  }

  async run(attempt: AbortSignal): Promise<Outcome & { at_ms: number }> {
    attempt.addEventListener('abort', () => this.#cancelled.abort(), { once: true })
    return { ...(await this.#outcome()), at_ms: Date.now() }
  }

  async #outcome(): Promise<Outcome> {
    const { signal } = this.#cancelled
    if (signal.aborted) return ABORTED
    const call = {
      get isCancelled() {
        return signal.aborted
      },
    }
    try {
      const value = await resultOf(this.#tool, this.#action.arguments, call, contextOf(this.#action, this.#cancelled))
      return { result: JSON.parse(toolJson(value)) as unknown }
    } catch (error) {
      return failed(error)
    }
  }

  cancel(): void {
    this.#cancelled.abort()
  }
}

function failed(error: unknown): Outcome {
  return isA(error, Suspension) ? { suspended: error.reason } : { error: textOf(error) }
}

/** The context of a call. Its updates go nowhere: events are not kept in a journal. */
function contextOf(action: CallTool, { signal }: AbortController): ToolContext {
  return {
    deps: undefined,
    toolCallId: action.toolCallId,
    idempotencyKey: action.idempotencyKey,
    signal,
    suspend: (reason) => new Suspension(String(reason)),
    update: (partial) => void toolJson(partial),
    sleep: (ms) => slept(ms, signal),
  }
}

/** @internal Asks `prepare_arguments` or `needs_approval` of a tool. */
export class HookStep implements Step<{ answer?: unknown; error?: string; at_ms: number }> {
  readonly #tool: Tool
  readonly #hook: string
  readonly #arguments: object
  readonly #cancelled = new AbortController()

  constructor(tool: Tool, hook: string, args: object) {
    this.#tool = tool
    this.#hook = hook
    this.#arguments = args
  }

  async run(attempt: AbortSignal): Promise<{ answer?: unknown; error?: string; at_ms: number }> {
    attempt.addEventListener('abort', () => this.#cancelled.abort(), { once: true })
    const { prepareArguments, needsApproval } = this.#tool
    const asked = this.#hook === 'needs_approval' ? needsApproval : prepareArguments
    const { signal } = this.#cancelled
    const context: HookContext = { deps: undefined, signal, sleep: (ms) => slept(ms, signal) }
    try {
      const answer = typeof asked === 'function' ? await asked(this.#arguments as Record<string, unknown>, context) : null
      return { answer: JSON.parse(toolJson(answer)) as unknown, at_ms: Date.now() }
    } catch (error) {
      return { error: textOf(error), at_ms: Date.now() }
    }
  }

  cancel(): void {
    this.#cancelled.abort()
  }
}
