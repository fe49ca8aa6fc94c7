/**
 * Tools: functions of the application that a model can call.
 */

import { enter, forget, nextNumber, whenSettled } from './bridge.js'
import { invalidArgument } from './errors.js'
import { NotJson, jsonOf } from './json.js'
import { BLOCK } from './message.js'
import type { ImageBlock, TextBlock } from './message.js'
import type { NativeCall, NativeTool } from './native.js'
import { native } from './native.js'
import type { FromSchema, JsonSchema } from './schema.js'
import { Shape, isObject } from './shape.js'

/** What a tool gets beside its arguments. Every part may be taken out of it and used alone. */
export interface ToolContext {
  readonly toolCallId: string
  /** Aborted when the run is. */
  readonly signal: AbortSignal
  /** Tells how far the tool is; read like a result. After the answer it is dropped with a `diagnostic`. */
  readonly update: (partial: unknown) => void
  /** Waits in the engine's time (which the scripted model makes pass at once). False when the run was aborted meanwhile. */
  readonly sleep: (ms: number) => Promise<boolean>
}

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
  readonly execute: (args: any, context: ToolContext) => unknown
  readonly #native: NativeTool
  readonly #number = nextNumber()

  /** As {@link tool}, which also knows the type of the arguments. */
  constructor(options: ToolOptions<any>) {
    if (!isObject(options)) throw invalidArgument('tool: expected an object { name, description, parameters, execute }')
    const { execute, ...described } = options
    const text = toolJson(described)
    this.#native = enter(() => new native.Tool(text, this.#number))
    if (typeof execute !== 'function') {
      const got = execute === undefined ? 'nothing' : typeof execute
      throw invalidArgument(`tool ${JSON.stringify(options.name)}: execute: expected a function, got ${got}`)
    }
    this.name = this.#native.name
    this.label = this.#native.label
    this.description = this.#native.description
    this.parameters = options.parameters ?? { type: 'object', properties: {} }
    this.executionMode = this.#native.executionMode ?? undefined
    this.execute = execute
  }

  /** @internal The native half and the number of a tool; nothing for anything else. */
  static inside(value: unknown): { native: NativeTool; number: number } | undefined {
    return isObject(value) && #native in value ? { native: value.#native, number: value.#number } : undefined
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
export async function answer(tool: Tool, call: NativeCall): Promise<void> {
  let watch: number | undefined
  try {
    let controller: AbortController | undefined
    const { execute } = tool
    const value = await execute(JSON.parse(call.arguments), {
      toolCallId: call.id,
      get signal() {
        // Made when asked for: most tools never do.
        if (controller === undefined) {
          const made = (controller = new AbortController())
          if (call.isCancelled) made.abort()
          else call.watch((watch = whenSettled(() => made.abort())))
        }
        return controller.signal
      },
      update: (partial) => call.update(resultJson(partial)),
      sleep: (ms) => new Promise((resolve) => call.sleep(Number(ms), whenSettled((whole) => resolve(whole === 'true')))),
    })
    call.respond(resultJson(value))
  } catch (error) {
    call.fail(textOf(error))
  } finally {
    if (watch !== undefined) forget(watch)
  }
}

const RESULT = new Shape(['is_error'], { content: BLOCK })

/** A result as the core reads it. Only a full result has names to map; anything else is the application's own. */
function resultJson(value: unknown): string {
  const isBlock = (block: unknown): boolean => isObject(block) && (block.type === 'text' || block.type === 'image')
  const isFull = isObject(value) && Array.isArray(value.content) && value.content.every(isBlock)
  try {
    return jsonOf(isFull ? RESULT.canonical(value) : value)
  } catch (error) {
    throw error instanceof NotJson ? new TypeError(`the tool's result is not JSON: ${error.message}`) : error
  }
}

function toolJson(described: object): string {
  try {
    return jsonOf(described)
  } catch (error) {
    throw error instanceof NotJson ? invalidArgument(`tool: ${error.message}`) : error
  }
}

/** @internal The text of anything thrown. */
export function textOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name
  try {
    return String(error)
  } catch {
    return 'something was thrown that has no text'
  }
}
