/**
 * The typed final answer: the option `output` as a schema, and what the schema makes of an answer.
 */

import { invalidArgument } from './errors.js'
import type { HookContext } from './context.js'
import { isObject, kindOf } from './object.js'
import { schemaOf, violations } from './parameters.js'
import type { ArgumentsOf, ParametersSchema } from './schema.js'
import { standardOf } from './standard.js'

/** A schema of any values, where that of a tool's parameters is of an object. */
export type OutputSchema = ParametersSchema

/** The type of a final answer, with more than its schema. */
export interface OutputSpec<S extends OutputSchema = OutputSchema> {
  /** A JSON Schema, or a Standard Schema (of zod, valibot, ArkType) that describes itself as one. */
  schema: S
  /** The name of the final tool; letters, digits, `_`, `-`. `final_answer` by default. */
  name?: string | undefined
  /** What the model reads about the answer. */
  description?: string | undefined
  /**
   * `native` asks for it in the provider's own way, `tool` by a tool that the model calls with the answer; `auto`, the default,
   * in the provider's way where it has one for this schema.
   */
  mode?: 'auto' | 'native' | 'tool' | undefined
  /** Whether the model may also answer with text, which is then the answer. */
  orText?: boolean | undefined
}

/** What may be the option `output`. */
export type OutputType = OutputSchema | OutputSpec

/** The type of the answer that an option `output` asks for. */
export type OutputOf<T> = T extends { readonly '~standard': unknown }
  ? ArgumentsOf<T>
  : T extends { readonly schema: infer S; readonly orText: true }
    ? ArgumentsOf<S> | string
    : T extends { readonly schema: infer S }
      ? ArgumentsOf<S>
      : ArgumentsOf<T>

/** @internal The type of an answer as the engine gets it, and what its schema makes of an answer. */
export interface Typed {
  readonly json: unknown
  readonly orText: boolean
  /** The value, or what is wrong with it, for the model. Not there if the engine's check is all. */
  readonly read?: (value: unknown) => Promise<{ value: unknown; problem?: undefined } | { problem: string }>
}

/** @internal Reads the option `output`; undefined where none is given. */
export function typedOf(output: unknown): Typed | undefined {
  if (output === undefined || output === null) return undefined
  const what = 'option "output"'
  if (!isObject(output) && typeof output !== 'function') {
    const expected = 'expected a JSON Schema or a Standard Schema (of zod, valibot, ArkType)'
    throw invalidArgument(`${what}: ${expected}, got ${kindOf(output)}`)
  }
  const isSpec = standardOf(output) === undefined && 'schema' in output
  const { schema, ...rest } = isSpec ? (output as unknown as OutputSpec) : { schema: output }
  const { json, standard } = schemaOf(isSpec ? `${what}: schema` : what, schema)
  const orText = (rest as Partial<OutputSpec>).orText === true
  const typed = { json: isSpec ? { ...rest, schema: json } : { schema: json }, orText }
  const validate = standard?.validate
  if (standard === undefined || validate === undefined) return typed
  const read = async (value: unknown): Promise<{ value: unknown } | { problem: string }> => {
    if (orText && typeof value === 'string') return { value }
    const result = await validate(value)
    const lines = violations(standard.vendor, result)
    if (lines.length > 0) return { problem: `the answer does not fit its schema:\n${lines.join('\n')}` }
    return { value: (result as { value: unknown }).value }
  }
  return { ...typed, read }
}

/** The hook of the application. */
type Check = (output: any, context: HookContext) => unknown

/** @internal How an agent's typed answers are read and checked. */
export class Answers {
  /** The agent's own. */
  own: Typed | undefined
  /** That of the active run, if it has one. */
  ofRun: Typed | undefined
  check: Check | undefined

  /** Whether the engine has to ask about answers. */
  isAsked(typed: Typed | undefined): boolean {
    return this.check !== undefined || typed?.read !== undefined
  }

  /** The hook `checkOutput` as the engine calls it. */
  readonly hook = async (output: unknown, context: HookContext): Promise<unknown> => {
    const typed = this.ofRun ?? this.own
    const read = await typed?.read?.(output)
    if (read?.problem !== undefined) return read.problem
    return this.check?.(read === undefined ? output : read.value, context)
  }
}

/** @internal A result whose answer is what the schema makes of it. */
export async function withOutput<R extends { output?: unknown }>(result: R, typed: Typed | undefined): Promise<R> {
  if (typed?.read !== undefined && 'output' in result) {
    const read = await typed.read(result.output)
    if (read.problem === undefined) result.output = read.value
  }
  return result
}
