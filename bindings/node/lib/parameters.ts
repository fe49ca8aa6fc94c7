/**
 * Parameters of tools: a JSON Schema, or a Standard Schema that describes itself as one.
 */

import { invalidArgument } from './errors.js'
import { ADD, adviceFor, notJsonSchema } from './no-schema.js'
import { isObject } from './object.js'
import { isJsonWithStandard, standardOf } from './standard.js'
import type { Standard, StandardIssue, StandardResult } from './standard.js'
import { textOf } from './thrown.js'

/** @internal */
export interface Parameters {
  /** As the model gets them. */
  readonly json: unknown
  /** Makes of arguments what the tool gets. Throws an error that says what is wrong with them, of the tool with this name. */
  readonly read?: (args: unknown, name: string) => Promise<unknown>
}

/** @internal
 * Reads the parameters of a tool, and the JSON Schema that is given beside a Standard Schema.
 * @throws InvalidArgumentError for anything that is neither.
 */
export function parametersOf(what: string, parameters: unknown, beside: unknown): Parameters {
  const standard = standardOf(parameters)
  if (standard === undefined) {
    const problem = notJsonSchema(parameters, 'expected a JSON Schema or a Standard Schema (of zod, valibot, ArkType)')
    if (problem !== undefined) throw invalidArgument(`${what}: parameters: ${problem}`)
    if (beside === undefined || beside === null) return { json: parameters }
    throw invalidArgument(`${what}: jsonSchema: it describes a Standard Schema; give a JSON Schema as parameters`)
  }
  const json = besideSchema(what, beside) ?? ofItself(`${what}: parameters`, parameters, standard, ofObject)
  if (standard.validate === undefined) return { json }
  return { json, read: async (args, name) => valid(name, standard.vendor, await standard.validate?.(args)) }
}

/** @internal
 * Reads a schema of any value: its JSON Schema, and the Standard Schema that it may be.
 * @throws InvalidArgumentError for anything that is neither.
 */
export function schemaOf(what: string, schema: unknown): { json: unknown; standard?: Standard } {
  const standard = standardOf(schema)
  if (standard !== undefined) {
    try {
      return { json: ofItself(what, schema, standard, (json) => json), standard }
    } catch (error) {
      // The advice for tools: here, there is one place for a schema.
      throw invalidArgument(textOf(error).replace(ADD, 'give its JSON Schema in its place'))
    }
  }
  const problem = notJsonSchema(schema, 'expected a JSON Schema or a Standard Schema (of zod, valibot, ArkType)')
  if (problem !== undefined) throw invalidArgument(`${what}: ${problem}`)
  return { json: schema }
}

function ofItself(what: string, schema: unknown, standard: Standard, form: (json: Json) => unknown): unknown {
  return isJsonWithStandard(schema) ? schema : ownSchema(what, schema, standard, form)
}

function besideSchema(what: string, beside: unknown): unknown {
  if (beside === undefined || beside === null) return undefined
  const problem = notJsonSchema(beside, 'expected the JSON Schema of the parameters')
  if (problem !== undefined) throw invalidArgument(`${what}: jsonSchema: ${problem}`)
  return ofObject(beside as Json)
}

type Json = Readonly<Record<string, unknown>>

/** The JSON Schema that a schema writes of itself. */
function ownSchema(what: string, schema: unknown, standard: Standard, form: (json: Json) => unknown): unknown {
  const { vendor, jsonSchema } = standard
  const { toJsonSchema } = schema as { toJsonSchema?: () => unknown }
  let json: unknown
  try {
    if (typeof jsonSchema?.input === 'function') json = written((target) => jsonSchema.input({ target }))
    else if (typeof toJsonSchema === 'function') json = withoutDraft(toJsonSchema.call(schema))
  } catch (error) {
    const advice = `give types that JSON has and transform them, or ${ADD}`
    throw invalidArgument(`${what}: ${vendor} cannot write this schema as JSON Schema: ${textOf(error)}; ${advice}`)
  }
  if (isObject(json)) return form(json)
  const advice = adviceFor(schema, vendor)
  throw invalidArgument(`${what}: this ${vendor} schema does not describe itself as JSON Schema; ${advice}`)
}

const DRAFT_7 = 'http://json-schema.org/draft-07/schema#'

/** In the draft that the engine assumes, else in the other one that libraries should know. */
function written(write: (target: string) => unknown): unknown {
  try {
    return withoutDraft(write('draft-2020-12'))
  } catch (error) {
    let json: unknown
    try {
      json = write('draft-07')
    } catch {
      throw error
    }
    return isObject(json) ? { $schema: DRAFT_7, ...json } : json
  }
}

/** Its draft is the one that is assumed without it. */
function withoutDraft(json: unknown): unknown {
  if (!isObject(json)) return json
  const { $schema, ...rest } = json
  return rest
}

/** Providers want an object at the top: neither a reference, as libraries write it for classes, nor only a union. */
function ofObject(json: Json): unknown {
  if (json.type !== undefined) return json
  const { $ref, ...rest } = json
  if ($ref === undefined) return { type: 'object', ...json }
  const [, place = '', name = ''] = (typeof $ref === 'string' && /^#\/(\$defs|definitions)\/([^/]+)$/.exec($ref)) || []
  const { [place]: all, ...others } = rest
  if (!isObject(all) || !isObject(all[name])) return json
  const { [name]: found, ...defined } = all
  const top = { ...(found as Json), ...others }
  // One that refers to itself is needed under its name, too.
  if (JSON.stringify(all).includes(JSON.stringify($ref))) return ofObject({ ...top, [place]: all })
  return ofObject(Object.keys(defined).length === 0 ? top : { ...top, [place]: defined })
}

/** The value that a schema has made of arguments. What it objects to is reported as by the engine. */
function valid(name: string, vendor: string, result: StandardResult<unknown> | undefined): unknown {
  const lines = violations(vendor, result, '(the arguments)')
  if (lines.length === 0) return (result as { value: unknown }).value
  throw invalidArgument(`the arguments of ${name} do not fit its schema:\n${lines.join('\n')}`)
}

/** @internal A line for each thing that a schema objects to, with its place; of the whole value `root`. */
export function violations(vendor: string, result: StandardResult<unknown> | undefined, root = '(the answer)'): string[] {
  if (!isObject(result)) throw new TypeError(`the validate function of the ${vendor} schema gave no result`)
  return (result.issues ?? []).map(({ path, message }) => `${pointer(path, root)}: ${message}`)
}

/** A JSON pointer, as the engine writes it. */
function pointer(path: StandardIssue['path'], root: string): string {
  if (!path || path.length === 0) return root
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part))
  return keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
