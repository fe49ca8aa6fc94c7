/**
 * Parameters of tools: a JSON Schema, or a Standard Schema that describes itself as one (zod, valibot, ArkType). See
 * https://standardschema.dev; no library of schemas is needed here.
 */

import { invalidArgument } from './errors.js'
import { className, isObject, isPlain } from './object.js'
import { isA, textOf } from './thrown.js'

/**
 * A Standard Schema: the schemas of zod, ArkType, valibot (with `toStandardJsonSchema` of `@valibot/to-json-schema`) and others.
 * `Output` is what it makes of valid arguments: with defaults, and transformed.
 */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

/** What a Standard Schema finds: the value, or what is wrong with it. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

/** Something that is wrong with a value. */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** @internal */
export interface Parameters {
  /** As the model gets them. */
  readonly json: unknown
  /** Makes of arguments what the tool gets. Throws an error that says what is wrong with them. */
  readonly read?: (args: unknown) => unknown
}

/** Says what to write in place of schemas that do not describe themselves as JSON Schema. */
const ADVICE: Readonly<Record<string, string>> = {
  zod: 'write z.toJSONSchema(schema)',
  zod3: 'use a schema of zod 4, or the JSON Schema that zodToJsonSchema(schema) of the package zod-to-json-schema returns',
  valibot: 'write toStandardJsonSchema(schema), of the package @valibot/to-json-schema',
}

/** @internal
 * Reads the parameters of a tool.
 * @throws InvalidArgumentError for anything that is neither.
 */
export function parametersOf(what: string, parameters: unknown): Parameters {
  const standard = standardOf(parameters)
  if (standard === undefined) {
    const problem = notJsonSchema(parameters)
    if (problem !== undefined) throw invalidArgument(`${what}: parameters: ${problem}`)
    return { json: parameters }
  }
  return {
    json: isJsonWithStandard(parameters) ? parameters : jsonSchemaOf(what, parameters, standard),
    read: async (args) => valid(await standard.validate(args)),
  }
}

function standardOf(value: unknown): StandardSchema['~standard'] | undefined {
  const standard = isObject(value) || typeof value === 'function' ? (value as Partial<StandardSchema>)['~standard'] : undefined
  return isObject(standard) && typeof standard.validate === 'function' ? standard : undefined
}

/** Whether this is JSON that also validates, as z.toJSONSchema returns it. */
function isJsonWithStandard(value: unknown): boolean {
  return isObject(value) && isPlain(value) && !Object.keys(value).includes('~standard')
}

function jsonSchemaOf(what: string, schema: unknown, { vendor, ...standard }: StandardSchema['~standard']): unknown {
  const { jsonSchema } = standard as { jsonSchema?: { input?: (options: { target: string }) => unknown } }
  const { toJsonSchema } = schema as { toJsonSchema?: () => unknown }
  let json: unknown
  try {
    if (typeof jsonSchema?.input === 'function') json = jsonSchema.input({ target: 'draft-2020-12' })
    else if (typeof toJsonSchema === 'function') json = toJsonSchema.call(schema)
  } catch (error) {
    throw invalidArgument(`${what}: parameters: ${vendor} cannot write this schema as JSON Schema: ${textOf(error)}`)
  }
  if (!isObject(json)) {
    const advice = ADVICE[kindOf(schema, vendor)] ?? 'convert it to JSON Schema'
    throw invalidArgument(`${what}: parameters: this ${vendor} schema does not describe itself as JSON Schema; ${advice}`)
  }
  // Its draft is the one that is assumed without it.
  const { $schema, ...rest } = json
  return rest
}

/** Distinguishes versions of one library. */
function kindOf(schema: unknown, vendor: string): string {
  return vendor === 'zod' && !('_zod' in (schema as object)) ? 'zod3' : vendor
}

function valid(result: StandardResult<unknown>): unknown {
  if (result.issues === undefined) return result.value
  const lines = result.issues.map(({ path = [], message }) => `${pointer(path)}: ${message}`)
  throw new Error(`the arguments do not fit the tool's schema:\n${lines.join('\n')}`)
}

/** A JSON pointer. */
function pointer(path: NonNullable<StandardIssue['path']>): string {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part))
  return keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** What is wrong with a value that cannot be JSON Schema; undefined if it may be one. */
function notJsonSchema(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  const expected = 'expected a JSON Schema or a Standard Schema (of zod, valibot, ArkType)'
  if (typeof value === 'function') return `${expected}, got ${isClass(value) ? `the class ${value.name}` : 'a function'}`
  if (!isObject(value) || Array.isArray(value)) return `${expected}, got ${Array.isArray(value) ? 'a list' : typeof value}`
  if ('_def' in value && 'safeParse' in value) return `a zod 3 schema does not describe itself as JSON Schema; ${ADVICE.zod3}`
  if (!isPlain(value)) return `${expected}, got ${instance(value)}`
  return notJsonInside(value, '', [])
}

/** Schemas of a library inside of an object: the object is not one of them. */
function notJsonInside(value: Record<string, unknown>, at: string, outer: readonly object[]): string | undefined {
  for (const [key, inner] of Object.entries(value)) {
    const place = `${at}/${key}`
    const vendor = standardOf(inner)?.vendor
    if (vendor !== undefined && !isJsonWithStandard(inner)) {
      const advice = 'give one schema for all arguments, such as z.object({ … })'
      return `${place} is a schema of ${vendor}, and what contains it is not; ${advice}`
    }
    if (!isObject(inner) || outer.includes(inner)) continue
    if ('_def' in inner && 'safeParse' in inner) return `${place} is a zod 3 schema; ${ADVICE.zod3}`
    if (!Array.isArray(inner) && !isPlain(inner) && typeof inner.toJSON !== 'function') return `${place} is ${instance(inner)}`
    const found = notJsonInside(inner, place, [...outer, inner])
    if (found !== undefined) return found
  }
  return undefined
}

function instance(value: object): string {
  return isA(value, Promise) ? 'a Promise; await it' : `an instance of ${className(value) || 'a class'}`
}

function isClass(value: object): boolean {
  return Function.prototype.toString.call(value).startsWith('class')
}
