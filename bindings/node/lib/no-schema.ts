/**
 * What is wrong with a value that is given as a schema and is none, and what to write in its place.
 */

import { className, isObject, isPlain } from './object.js'
import { isJsonWithStandard, standardOf } from './standard.js'
import { isA } from './thrown.js'

/** @internal What to do with a schema of a tool that does not describe itself. */
export const ADD = 'add its JSON Schema to the tool, as jsonSchema'

/** What to write for schemas of these libraries that do not describe themselves as JSON Schema. */
const ADVICE: Readonly<Record<string, string>> = {
  zod: `${ADD}: z.toJSONSchema(schema, { io: 'input' })`,
  zod3: `use zod 4.2 or later, or ${ADD}: zodToJsonSchema(schema), of the package zod-to-json-schema`,
  valibot: 'write toStandardJsonSchema(schema), of the package @valibot/to-json-schema',
  arktype: 'use arktype 2.1.28 or later',
  effect: 'write Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(schema))',
  effect3: `${ADD}: JSONSchema.make(schema)`,
  yup: `${ADD}: convertSchema(schema), of the package @sodaru/yup-to-json-schema`,
}

/** Of zod before 3.24, whose schemas are no Standard Schemas. */
const OLD_ZOD =
  'use zod 4.2 or later, or the JSON Schema that zodToJsonSchema(schema) of the package zod-to-json-schema returns'

/** @internal What to write in place of a Standard Schema that does not describe itself as JSON Schema. */
export function adviceFor(schema: unknown, vendor: string): string {
  return ADVICE[versionOf(schema as object, vendor)] ?? ADD
}

/** Distinguishes versions of one library. */
function versionOf(schema: object, vendor: string): string {
  if (vendor === 'zod') return '_zod' in schema ? 'zod' : 'zod3'
  return vendor === 'effect' && Symbol.for('effect/Schema') in schema ? 'effect3' : vendor
}

/** @internal What is wrong with a value that cannot be JSON Schema; undefined if it may be one. */
export function notJsonSchema(value: unknown, expected: string): string | undefined {
  if (value === undefined || value === null) return undefined
  const effect = notStandardEffect(value)
  if (effect !== undefined) return effect
  if (typeof value === 'function') return `${expected}, got ${functionShown(value)}`
  if (!isObject(value) || Array.isArray(value)) return `${expected}, got ${Array.isArray(value) ? 'a list' : typeof value}`
  if (isOldZod(value)) return `a zod 3 schema does not describe itself as JSON Schema; ${OLD_ZOD}`
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
    if (isOldZod(inner)) return `${place} is a zod 3 schema; ${OLD_ZOD}`
    if (!Array.isArray(inner) && !isPlain(inner) && typeof inner.toJSON !== 'function') return `${place} is ${instance(inner)}`
    const found = notJsonInside(inner, place, [...outer, inner])
    if (found !== undefined) return found
  }
  return undefined
}

function isOldZod(value: object): boolean {
  return '_def' in value && 'safeParse' in value
}

/** Schemas of Effect become Standard Schemas by a call. They are functions. */
function notStandardEffect(value: unknown): string | undefined {
  if (typeof value !== 'function' || !isObject((value as { ast?: unknown }).ast)) return undefined
  const isOld = Symbol.for('effect/Schema') in value
  const advice = isOld ? `write Schema.standardSchemaV1(schema), and ${ADVICE.effect3}` : ADVICE.effect
  return `an Effect schema is no Standard Schema; ${advice}`
}

function functionShown(value: object): string {
  if (isClass(value)) return `the class ${(value as { name?: unknown }).name}`
  // What Ajv compiles.
  return isObject((value as { schema?: unknown }).schema) ? 'a function that validates; give its schema' : 'a function'
}

function instance(value: object): string {
  return isA(value, Promise) ? 'a Promise; await it' : `an instance of ${className(value) || 'a class'}`
}

function isClass(value: object): boolean {
  return Function.prototype.toString.call(value).startsWith('class')
}
