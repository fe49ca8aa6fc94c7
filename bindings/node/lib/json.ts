/**
 * Serializes values of the application as JSON. Values that JSON would drop or change are refused.
 */

import { invalidArgument } from './errors.js'
import { isA, textOf } from './thrown.js'

/** @internal The message names the part of a value that is not JSON. */
export class NotJson extends Error {}

/** @internal
 * Serializes a value. `undefined` becomes null, as it does in arrays. An unpaired surrogate is written as an escape, which the
 * engine reads as U+FFFD.
 * @throws NotJson for what JSON would silently drop or change: functions, symbols, big integers, NaN, maps, sets, cycles.
 */
export function jsonOf(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value, check)
  } catch (error) {
    if (isA(error, NotJson)) throw error
    const message = textOf(error)
    throw new NotJson(message.startsWith('Converting circular') ? 'it contains itself' : message)
  }
  return text ?? 'null'
}

/** @internal
 * Same as {@link jsonOf}, for an argument of a call.
 * @throws InvalidArgumentError that begins with `what`.
 */
export function jsonOfArgument(what: string, value: unknown): string {
  try {
    return jsonOf(value)
  } catch (error) {
    throw error instanceof NotJson ? invalidArgument(`${what}: ${error.message}`) : error
  }
}

/** @internal
 * Same as {@link jsonOf}, for the answer of a callback.
 * @throws TypeError that begins with `what`.
 */
export function jsonOfAnswer(what: string, value: unknown): string {
  try {
    return jsonOf(value)
  } catch (error) {
    throw error instanceof NotJson ? new TypeError(`${what} is not JSON: ${error.message}`) : error
  }
}

function check(key: string, value: unknown): unknown {
  const found = notJson(value)
  if (found === undefined) return value
  throw new NotJson(key === '' ? `${found} is not JSON` : `${JSON.stringify(key)}: ${found} is not JSON`)
}

function notJson(value: unknown): string | undefined {
  switch (typeof value) {
    case 'function':
      return 'a function'
    case 'symbol':
      return 'a symbol'
    case 'bigint':
      return `the BigInt ${value}n`
    case 'number':
      return Number.isFinite(value) ? undefined : String(value)
    case 'object':
      return value instanceof Map ? 'a Map' : value instanceof Set ? 'a Set' : undefined
    default:
      return undefined
  }
}
