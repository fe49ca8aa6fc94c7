/**
 * Canonical JSON, the same in every language: names in snake case. The engine sends JavaScript its names in camel case; the way
 * back is here. Only the contract's names change: never those in arguments, details, parameters or data, and never a value.
 */

import { isObject } from './object.js'

/** What may be inside these fields is the user's or a provider's. (A model's names are read in both spellings.) */
const VERBATIM = new Set(['arguments', 'data', 'details', 'headers', 'model', 'parameters', 'payload'])

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
 * messages in it.
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
  // What writes itself, as the engine's own objects do, is left to it; maps and sets are refused later.
  const isLeft = typeof value.toJSON === 'function' || value instanceof Map || value instanceof Set || isCustom(value)
  return isLeft ? value : canonicalFields(value, outer)
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

/** @internal The canonical spelling of a name. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function isCustom(value: Record<string, unknown>): boolean {
  return 'role' in value && !ROLES.has(value.role)
}
