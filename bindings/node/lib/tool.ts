/**
 * Tools: functions of the application that a model can call.
 */

import { enter } from './bridge.js'
import { canonical, isObject } from './canonical.js'
import { expectFunction, invalidArgument } from './errors.js'
import { jsonOfAnswer, jsonOfArgument, textOf } from './json.js'
import type { ImageBlock, TextBlock } from './message.js'
import type { NativeCall, NativeTool } from './native.js'
import { native } from './native.js'
import type { FromSchema, JsonSchema } from './schema.js'
import { withHookContext, withToolContext } from './work.js'
import type { HookContext, ToolContext } from './work.js'

/** A full result. Anything else that a tool gives is shown to the model as text: a string as it is, the rest as JSON. */
export interface ToolResult {
  content: (TextBlock | ImageBlock)[]
  /** Anything for the application; never sent to the model. */
  details?: unknown
  isError?: boolean
  /** Whether the run may end here. */
  terminate?: boolean
}

/** Whether a tool may run beside others of its batch. */
export type ExecutionMode = 'parallel' | 'sequential'

export interface ToolOptions<S = JsonSchema> {
  /** 1 to 64 letters, digits, `_` or `-`; unique in an agent. */
  name: string
  /** For the model. */
  description?: string
  /** A JSON Schema of an object; without it, no arguments. */
  parameters?: S
  /** For people; the name where none is given. */
  label?: string
  /** As the agent says where none is given. */
  executionMode?: ExecutionMode
  /** The longest a call may run, in milliseconds, where that is less than the agent's `toolTimeoutMs`; 0 (default) for no limit. */
  timeoutMs?: number
  /**
   * Puts the model's arguments right before they are checked against `parameters`: for models that get a shape wrong. Gives the
   * arguments as they shall be; nothing leaves them. What it throws is the call's error result.
   */
  prepareArguments?: (args: Record<string, unknown>, context: HookContext) => unknown
  /** Does the work. What it throws goes back to the model as an error result. */
  execute: (args: FromSchema<S>, context: ToolContext) => unknown
}

/** A tool, made by {@link tool}. May be given to any number of agents. */
export class Tool {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly executionMode: ExecutionMode | undefined
  /** In milliseconds; 0 for no limit of its own. */
  readonly timeoutMs: number
  readonly prepareArguments: ((args: Record<string, unknown>, context: HookContext) => unknown) | undefined
  readonly execute: (args: any, context: ToolContext) => unknown
  readonly #native: NativeTool

  /** As {@link tool}, which also knows the type of the arguments. */
  constructor(options: ToolOptions<any>) {
    if (!isObject(options)) throw invalidArgument('tool: expected an object { name, description, parameters, execute }')
    const { execute, prepareArguments, ...described } = options
    const text = jsonOfArgument('tool', described)
    this.#native = enter(() => new native.Tool(text))
    const what = `tool ${JSON.stringify(options.name)}`
    expectFunction(`${what}: execute`, execute)
    if (prepareArguments !== undefined) expectFunction(`${what}: prepareArguments`, prepareArguments)
    this.name = this.#native.name
    this.label = this.#native.label
    this.description = this.#native.description
    this.parameters = options.parameters ?? { type: 'object', properties: {} }
    this.executionMode = this.#native.executionMode ?? undefined
    this.timeoutMs = this.#native.timeoutMs
    this.prepareArguments = prepareArguments
    this.execute = execute
  }

  /** @internal The native half of a tool; nothing for anything else. */
  static inside(value: unknown): NativeTool | undefined {
    return isObject(value) && #native in value ? value.#native : undefined
  }
}

/**
 * Makes a tool. The arguments have the type that `parameters` describes.
 *
 * @throws InvalidArgumentError for a name that no provider takes, or parameters that are not a JSON Schema.
 */
export function tool<const S extends JsonSchema>(options: ToolOptions<S>): Tool {
  return new Tool(options)
}

/** @internal Runs a call and answers it. */
export async function runTool(tool: Tool, call: NativeCall): Promise<void> {
  try {
    const { execute } = tool
    const value = await withToolContext(call, toolJson, (context) => execute(JSON.parse(call.input), context))
    call.respond(toolJson(value))
  } catch (error) {
    call.fail(textOf(error))
  }
}

/** @internal Has a tool put a call's arguments right. */
export async function prepareCall(prepare: NonNullable<Tool['prepareArguments']>, call: NativeCall): Promise<void> {
  try {
    const prepared = await withHookContext(call, (context) => prepare(JSON.parse(call.input), context))
    call.respond(jsonOfAnswer('what prepareArguments gave', prepared))
  } catch (error) {
    call.fail(textOf(error))
  }
}

/** @internal A result as the core reads it. Only a full result has names to map; anything else is the application's own. */
export function resultJson(what: string, value: unknown): string {
  const isBlock = (block: unknown): boolean => isObject(block) && (block.type === 'text' || block.type === 'image')
  const isFull = isObject(value) && Array.isArray(value.content) && value.content.every(isBlock)
  return jsonOfAnswer(what, isFull ? canonical(value) : value)
}

function toolJson(value: unknown): string {
  return resultJson("the tool's result", value)
}
