/**
 * Standard Schemas and Standard JSON Schemas, the common interfaces of libraries of schemas: https://standardschema.dev. No such
 * library is needed here.
 */

import { isObject, isPlain } from './object.js'

/**
 * A Standard Schema: the schemas of zod, ArkType, valibot (with `toStandardJsonSchema` of `@valibot/to-json-schema`) and others.
 * `Output` is what it makes of valid arguments: with defaults, and transformed.
 */
export interface StandardSchema<Output = unknown, Input = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/**
 * A Standard JSON Schema that validates nothing: what describes itself as JSON Schema. The engine validates arguments against
 * that, and a tool gets them as they are.
 */
export interface StandardJsonSchema<Input = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly jsonSchema: { readonly input: (options: { readonly target: 'draft-2020-12' }) => object }
    readonly types?: { readonly input: Input; readonly output: unknown } | undefined
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

/** @internal The properties of a Standard Schema: it validates, describes itself as JSON Schema, or both. */
export interface Standard {
  readonly vendor: string
  readonly validate?: (value: unknown) => StandardResult<unknown> | Promise<StandardResult<unknown>>
  readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => unknown }
}

/** @internal */
export function standardOf(value: unknown): Standard | undefined {
  const standard = isObject(value) || typeof value === 'function' ? (value as { '~standard'?: unknown })['~standard'] : undefined
  if (!isObject(standard)) return undefined
  const { validate, jsonSchema } = standard as Partial<Standard>
  const is = typeof validate === 'function' || typeof jsonSchema?.input === 'function'
  return is ? (standard as unknown as Standard) : undefined
}

/** @internal Whether this is JSON that also validates, as z.toJSONSchema returns it. */
export function isJsonWithStandard(value: unknown): boolean {
  return isObject(value) && isPlain(value) && !Object.keys(value).includes('~standard')
}
