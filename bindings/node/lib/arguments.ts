/**
 * Checks of options that are no JSON for the engine.
 */

import { invalidArgument } from './errors.js'
import { isBuiltIn, isObject, kindOf, shown } from './object.js'

/** @internal Checks that options are an object with known names. Returns an empty one for none. */
export function checkedNames<T extends object>(options: T | null | undefined, known: readonly string[]): Partial<T> {
  if (options === undefined || options === null) return {}
  if (!isObject(options) || isBuiltIn(options)) {
    throw invalidArgument(`options: expected an object such as { ${known[0]} }, got ${kindOf(options)}`)
  }
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const names = known.length === 1 ? `known is ${known[0]}` : `known are ${known.join(', ')}`
    throw invalidArgument(`unknown option ${JSON.stringify(unknown)}; ${names}`)
  }
  return options
}

/** @internal A number of things; `fallback` for none. */
export function wholeNumber(what: string, value: unknown, fallback: number, least = 0): number {
  if (value === undefined || value === null) return fallback
  if (typeof value === 'number' && Number.isInteger(value) && value >= least) return value
  throw invalidArgument(`${what}: expected a whole number of at least ${least}, got ${shown(value)}`)
}

/** @internal A text. */
export function textArgument(what: string, value: unknown): string {
  if (typeof value === 'string') return value
  throw invalidArgument(`${what}: expected text, got ${shown(value)}`)
}

/** @internal A choice; false for none. */
export function flag(what: string, value: unknown): boolean {
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  throw invalidArgument(`${what}: expected true or false, got ${shown(value)}`)
}

/** @internal The key of an export, if there is one. */
export function asBuffer(key: string | Uint8Array | undefined): Buffer | undefined {
  if (key === undefined || key === null) return undefined
  if (typeof key === 'string') return Buffer.from(key)
  if (key instanceof Uint8Array) return Buffer.from(key)
  throw invalidArgument(`key: expected text or bytes, got ${typeof key}`)
}
