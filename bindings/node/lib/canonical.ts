/**
 * agent-loop/canonical: canonical JSON, the same in every language: names in snake case. `JSON.stringify` writes events, messages
 * and results in it. This module is also for browsers, which receive them from a server; it has no native part.
 *
 * ```ts
 * source.onmessage = ({ data }) => {
 *   const event = fromCanonical(JSON.parse(data) as CanonicalEvent)
 *   if (event.type === 'tool_execution_start') show(event.toolName)
 * }
 * ```
 *
 * Only the contract's names change: never those in arguments, details, metadata, parameters, output or data, and never
 * a value.
 *
 * @packageDocumentation
 */

import type { ErrorInfo } from './errors.js'
import type { AgentEvent } from './event.js'
import type { ContentBlock, Message, StandardMessage, Usage } from './message.js'
import { isBuiltIn, isObject, isPromise } from './object.js'
import type { RunResult } from './run.js'

export type { AgentEvent, ContentBlock, ErrorInfo, Message, RunResult, StandardMessage, Usage }

/** The fields whose values are the user's or a provider's. (A model's names are read in both spellings.) */
type Verbatim =
  | 'arguments'
  | 'data'
  | 'details'
  | 'extraBody'
  | 'headers'
  | 'hostedTools'
  | 'metadata'
  | 'model'
  | 'output'
  | 'parameters'
  | 'payload'

/** A name in snake case. */
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${SnakeCase<Rest>}`
    : `_${Lowercase<First>}${SnakeCase<Rest>}`
  : Name

type CanonicalFields<T> = {
  [Name in keyof T as Name extends 'toJSON' ? never : SnakeCase<Name & string>]: Name extends Verbatim
    ? T[Name]
    : CanonicalOf<T[Name]>
}

/** The canonical form of a type of this package: what JSON has of its values. Custom messages stay as they are. */
export type CanonicalOf<T> = T extends readonly (infer Item)[]
  ? CanonicalOf<Item>[]
  : T extends { role: string }
    ? T extends { role: StandardMessage['role'] }
      ? CanonicalFields<T>
      : T
    : T extends object
      ? CanonicalFields<T>
      : T

/** An event in canonical JSON. */
export type CanonicalEvent = CanonicalOf<AgentEvent>
/** A message in canonical JSON. */
export type CanonicalMessage = CanonicalOf<Message>
/** The result of a run in canonical JSON. */
export type CanonicalResult = CanonicalOf<RunResult>

const VERBATIM: ReadonlySet<string> = new Set<Verbatim>([
  'arguments',
  'data',
  'details',
  'extraBody',
  'headers',
  'hostedTools',
  'metadata',
  'model',
  'output',
  'parameters',
  'payload',
])

/** A message of any other role is the user's. */
const ROLES = new Set<unknown>(['user', 'assistant', 'tool_result'])

/** Deeper than anything of the contract's. */
const MAX_DEPTH = 10

/** @internal What messages and the like inherit. Not printed or compared with them. */
const CANONICAL = Object.defineProperty({}, 'toJSON', {
  value(this: object) {
    return canonicalFields(this)
  },
})

/**
 * @internal Gives what the engine sent a `toJSON` that returns its canonical form: an object (or each of a list), and all
 * messages and suspended calls in it.
 */
export function withToJson<T>(value: T, prototype: object = CANONICAL): T {
  if (Array.isArray(value)) {
    for (const item of value) withToJson(item, prototype)
  } else if (isObject(value) && !isCustom(value)) {
    adoptMessagesIn(value)
    Object.setPrototypeOf(value, prototype)
  }
  return value
}

function adoptMessages(value: unknown): void {
  if (Array.isArray(value)) for (const item of value) adoptMessages(item)
  else if (!isObject(value)) return
  else if ('idempotencyKey' in value) Object.setPrototypeOf(value, CANONICAL)
  else if (!('role' in value)) adoptMessagesIn(value)
  else if (!isCustom(value)) Object.setPrototypeOf(value, CANONICAL)
}

function adoptMessagesIn(object: Record<string, unknown>): void {
  for (const name in object) if (!VERBATIM.has(name)) adoptMessages(object[name])
}

/** @internal The value with canonical names. Those that are canonical already stay, and so does what contains itself. */
export function canonical(value: unknown, outer: readonly object[] = []): unknown {
  if (!isObject(value) || outer.length > MAX_DEPTH || outer.includes(value)) return value
  if (Array.isArray(value)) return value.map((item) => canonical(item, [...outer, value]))
  // What writes itself, as the engine's own objects do, is left to it; promises, maps and the like are refused later.
  if (typeof value.toJSON === 'function' || isBuiltIn(value) || isPromise(value) || isCustom(value)) return value
  return canonicalFields(value, outer)
}

/** @internal As {@link canonical}, for an object that has a `toJSON` made of this. */
export function canonicalFields(object: object, outer: readonly object[] = []): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  const inside = [...outer, object]
  for (const name in object) {
    const value = (object as Record<string, unknown>)[name]
    fields[snakeCase(name)] = VERBATIM.has(name) ? value : canonical(value, inside)
  }
  return fields
}

/**
 * Returns an event, a message, a result, or a list of them, as this package has them: with names in camel case. `JSON.stringify`
 * writes it in canonical form again.
 *
 * @param json Canonical JSON, parsed. It does not change.
 */
export function fromCanonical(json: CanonicalEvent): AgentEvent
export function fromCanonical(json: CanonicalMessage): Message
export function fromCanonical(json: CanonicalResult): RunResult
export function fromCanonical(json: readonly CanonicalEvent[]): AgentEvent[]
export function fromCanonical(json: readonly CanonicalMessage[]): Message[]
export function fromCanonical(json: unknown): unknown {
  return withToJson(camelCase(json))
}

function camelCase(value: unknown): unknown {
  if (!isObject(value) || isCustom(value)) return value
  if (Array.isArray(value)) return value.map(camelCase)
  const fields: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(value)) {
    fields[camelName(name)] = VERBATIM.has(name) ? field : camelCase(field)
  }
  return fields
}

/** @internal The spelling of a canonical name in this package. */
export function camelName(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** @internal The canonical spelling of a name. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function isCustom(value: Record<string, unknown>): boolean {
  return 'role' in value && !ROLES.has(value.role)
}
