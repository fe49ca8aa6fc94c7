/**
 * Tools: functions of the application that a model can call.
 */

import { enter } from './bridge.js'
import { setCauses } from './causes.js'
import type { Causes } from './causes.js'
import { expectFunction, invalidArgument } from './errors.js'
import { frozen } from './frozen.js'
import { jsonOfAnswer, jsonOfArgument } from './json.js'
import type { InputBlock } from './message.js'
import type { NativeCall, NativeTool } from './native.js'
import { native } from './native.js'
import { isObject } from './object.js'
import { parametersOf } from './parameters.js'
import type { Parameters } from './parameters.js'
import type { ArgumentsOf, InputOf, JsonSchema, ParametersSchema, ResultOf } from './schema.js'
import { Suspension } from './suspension.js'
import { isA, report } from './thrown.js'
import { resultOfReturned, toolJson } from './tool-result.js'
import type { Cancelling } from './tool-result.js'
import { runOutside } from './tool-run.js'
import type { ToolRunOptions } from './tool-run.js'
import { withHookContext, withToolContext } from './context.js'
import type { HookContext, ToolContext } from './context.js'

/**
 * A full result. Any other value that a tool returns goes to the model as text: a string unchanged, the rest as JSON. What is
 * meant as a full result, but has a wrong field (`content` that is no array of blocks, `isErr`), makes the call fail.
 */
export interface ToolResult {
  /** What the model sees. */
  content: readonly InputBlock[]
  /** Data for the application; never sent to the model. */
  details?: unknown
  /** Whether the call failed. */
  isError?: boolean | undefined
  /** Whether the run may end after this call. */
  terminate?: boolean | undefined
}

/** Whether a tool may run concurrently with other calls of the same message. */
export type ExecutionMode = 'parallel' | 'sequential'

/** What becomes of a call without a result that `resume` finds. */
export type OnInterrupted = 'report' | 'retry' | 'ask'

/** What of a tool's calls the patterns of the option `gate` are compared with: an argument, and how. */
export interface ToolSubject {
  argument: string
  /** `text` by default. */
  kind?: 'text' | 'path' | 'command' | 'url' | undefined
}

/** Whether a call needs approval: true, false, or the reason. */
export type NeedsApproval = (
  args: Record<string, unknown>,
  context: HookContext,
) => boolean | string | null | undefined | Promise<boolean | string | null | undefined>

/** The options of a tool. */
export interface ToolOptions<S = ParametersSchema, R = unknown> {
  /** 1 to 64 letters, digits, `_` or `-`; unique within an agent. */
  name: string
  /** What the tool does, for the model. */
  description?: string | undefined
  /**
   * A JSON Schema of type object, or a schema of zod, valibot, ArkType or another library with Standard Schema; without it the
   * tool has no parameters. Such a schema also makes the arguments that `execute` gets, with its defaults and transformations.
   * Hooks, middleware and events have the model's.
   */
  parameters?: S | undefined
  /**
   * The JSON Schema of the arguments, for the model, where `parameters` is a Standard Schema that does not write one, or not this
   * one: of zod 3 what `zodToJsonSchema` of the package zod-to-json-schema returns.
   */
  jsonSchema?: object | undefined
  /** The tool's name for display; `name` by default. */
  label?: string | undefined
  /** The agent's `toolExecution` by default. */
  executionMode?: ExecutionMode | undefined
  /** The time limit of a call in milliseconds; 0 (default) for none. The agent's `toolTimeoutMs` applies as well. */
  timeoutMs?: number | undefined
  /**
   * Changes the model's arguments before they are validated against `parameters`, for models that get them wrong. Returns the new
   * arguments, or nothing to keep them. If it throws, the call fails with that error's text.
   */
  prepareArguments?: ((args: Record<string, unknown>, context: HookContext) => unknown) | undefined
  /**
   * Whether calls wait for a decision before they run (`resume` of the agent): all of them, or those for which the function,
   * which gets the validated arguments, returns true or the reason, a text for the person who decides.
   */
  needsApproval?: boolean | NeedsApproval | undefined
  /**
   * What becomes of a call without a result that `resume` finds, as the process has ended while it ran. `report` (default): the
   * model reads that its outcome is not known; `retry`: it runs again; `ask`: the hook `onInterruptedCall` decides (without
   * it as `report`).
   */
  onInterrupted?: OnInterrupted | undefined
  /**
   * What of its calls the patterns of the option `gate` are compared with, in place of the JSON of all arguments; see
   * `docs/gate.md`.
   */
  subject?: ToolSubject | undefined
  /**
   * Runs the tool. If it throws, the model gets the error's text as an error result. Of a generator, each value that it yields is
   * an update, and what it returns is the result; if it returns nothing, the last value is.
   */
  execute: (args: ArgumentsOf<S>, context: ToolContext) => R
}

/** A tool, created by {@link tool}. Any number of agents may use it. `Input` is what {@link Tool.run} takes. */
export class Tool<Input = any, Result = any> {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly executionMode: ExecutionMode | undefined
  /** In milliseconds; 0 for none. */
  readonly timeoutMs: number
  readonly prepareArguments: ((args: Record<string, unknown>, context: HookContext) => unknown) | undefined
  readonly needsApproval: boolean | NeedsApproval
  readonly execute: (args: any, context: ToolContext) => unknown
  readonly #native: NativeTool
  readonly #read: Parameters['read']

  /** Same as {@link tool}, which also infers the type of the arguments. */
  constructor(options: ToolOptions<any, any>) {
    if (!isObject(options)) throw invalidArgument('tool: expected an object { name, description, parameters, execute }')
    const { execute, prepareArguments, needsApproval, jsonSchema, ...others } = options
    const described = { ...others, needsApproval: typeof needsApproval === 'function' ? 'ask' : needsApproval }
    const what = typeof options.name === 'string' ? `tool ${JSON.stringify(options.name)}` : 'tool'
    refuseCanonical(what, others)
    const { json: parameters, read } = parametersOf(what, options.parameters, jsonSchema)
    const text = describedJson(what, { ...described, ...(parameters === undefined ? {} : { parameters }) })
    this.#native = enter(() => new native.Tool(text))
    this.#read = read
    expectFunction(`${what}: execute`, execute)
    if (prepareArguments !== undefined && prepareArguments !== null) {
      expectFunction(`${what}: prepareArguments`, prepareArguments)
    }
    this.name = this.#native.name
    this.label = this.#native.label
    this.description = this.#native.description
    this.parameters = (parameters as JsonSchema | undefined) ?? { type: 'object', properties: {} }
    this.executionMode = this.#native.executionMode ?? undefined
    this.timeoutMs = this.#native.timeoutMs
    this.prepareArguments = prepareArguments ?? undefined
    this.needsApproval = needsApproval ?? false
    this.execute = execute
  }

  /**
   * Calls the tool outside of an agent: in a test, or in another tool. As in a run, `prepareArguments` is called, the arguments
   * are converted and validated, and the updates and the result must be JSON. There are no hooks, no middleware, no approval and
   * no time limit.
   *
   * @param args The arguments; the tool gets a copy.
   * @returns What the tool returns: the value itself, or a full result; of a generator its result.
   * @throws InvalidArgumentError for arguments that do not fit: its message is what a model would read. TypeError for a result
   * that is not JSON. Else what the tool throws, and the signal's reason when that is aborted.
   */
  async run(args: Input, options?: ToolRunOptions): Promise<Result> {
    const { name, prepareArguments: prepare } = this
    const execute = (checked: unknown, context: ToolContext) => Tool.call(this, checked, context)
    return (await runOutside({ name, inside: this.#native, prepare, execute }, args, options)) as Result
  }

  /** @internal The native tool; undefined if the value is not a tool. */
  static inside(value: unknown): NativeTool | undefined {
    return isObject(value) && #native in value ? value.#native : undefined
  }

  /** @internal Calls `execute`, with what the tool's schema makes of the arguments. */
  static async call(tool: Tool, args: unknown, context: ToolContext): Promise<unknown> {
    const read = tool.#read
    const { execute } = tool
    return execute(read === undefined ? args : await read(args, tool.name), context)
  }
}

/** The engine knows the canonical names of these, and would leave them unused. */
function refuseCanonical(what: string, options: object): void {
  for (const [unknown, meant] of [['prepare_arguments', 'prepareArguments'], ['json_schema', 'jsonSchema']] as const) {
    if (unknown in options) throw invalidArgument(`${what}: unknown field "${unknown}"; did you mean "${meant}"?`)
  }
}

/** A tool's description as JSON. */
function describedJson(what: string, described: Record<string, unknown>): string {
  try {
    return jsonOfArgument(what, described)
  } catch (error) {
    // An unknown name is the likelier mistake, as of `execute`, whose value is a function: it is reported first.
    const names = Object.fromEntries(Object.keys(described).map((name) => [name, null]))
    const name = typeof described.name === 'string' ? described.name : 'any'
    enter(() => new native.Tool(JSON.stringify({ ...names, name })))
    throw error
  }
}

/**
 * Creates a tool. The type of its arguments is inferred from `parameters`.
 *
 * @param options The name, description, parameters and function of the tool.
 * @throws InvalidArgumentError for a name that providers do not accept, or parameters that are no schema; it says what to write.
 */
export function tool<const S extends ParametersSchema, R = unknown>(options: ToolOptions<S, R>): Tool<InputOf<S>, ResultOf<R>> {
  return new Tool(options)
}

/** @internal Runs a call and responds to it. */
export async function runTool(tool: Tool, call: NativeCall, causes: Causes): Promise<void> {
  setCauses(call, causes)
  try {
    const value = await withToolContext(call, causes.deps, toolJson, (context) => {
      return resultOf(tool, JSON.parse(call.input), call, context)
    })
    call.respond(toolJson(value))
  } catch (error) {
    if (isA(error, Suspension)) return call.suspend(error.reason)
    report(error, (text) => call.fail(text, causes.keep(error)))
  }
}

/** @internal The result of a call. */
export async function resultOf(tool: Tool, args: unknown, call: Cancelling, context: ToolContext): Promise<unknown> {
  return resultOfReturned(await Tool.call(tool, args, context), call, context)
}

/** @internal Runs a tool's `prepareArguments` and responds with the arguments. */
export async function prepareCall(
  prepare: NonNullable<Tool['prepareArguments']>,
  call: NativeCall,
  causes: Causes,
): Promise<void> {
  try {
    const prepared = await withHookContext(call, causes.deps, (context) => prepare(JSON.parse(call.input), context))
    call.respond(jsonOfAnswer('the answer of prepareArguments', prepared))
  } catch (error) {
    report(error, (text) => call.fail(text, causes.keep(error)))
  }
}

/** @internal Asks a tool's `needsApproval` and responds with its answer. */
export async function approveCall(approve: NeedsApproval, call: NativeCall, causes: Causes): Promise<void> {
  try {
    const answer = await withHookContext(call, causes.deps, (context) => approve(frozen(JSON.parse(call.input)), context))
    call.respond(jsonOfAnswer('the answer of needsApproval', answer))
  } catch (error) {
    report(error, (text) => call.fail(text, causes.keep(error)))
  }
}
