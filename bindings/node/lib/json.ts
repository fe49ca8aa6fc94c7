/**
 * Values of the application on their way into JSON text, with a word for what is not JSON.
 */

import { invalidArgument } from './errors.js'

/** @internal Says what in a value is not JSON. */
export class NotJson extends Error {}

/** @internal
 * The value's JSON text. `undefined` is null, as it is in arrays. Half a character stands in it as an escape; the engine reads
 * U+FFFD.
 * @throws NotJson for what JSON would drop or change without a word: functions, symbols, big integers, NaN, maps, cycles.
 */
export function jsonOf(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value, check)
  } catch (error) {
    if (error instanceof NotJson) throw error
    const message = String((error as Error)?.message ?? error)
    throw new NotJson(message.startsWith('Converting circular') ? 'it contains itself' : message)
  }
  return text ?? 'null'
}

/** @internal
 * As {@link jsonOf}, for an argument of a call.
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
 * As {@link jsonOf}, for what a callback gives.
 * @throws TypeError that begins with `what`.
 */
export function jsonOfAnswer(what: string, value: unknown): string {
  try {
    return jsonOf(value)
  } catch (error) {
    throw error instanceof NotJson ? new TypeError(`${what} is not JSON: ${error.message}`) : error
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

function check(key: string, value: unknown): unknown {
  const found = odd(value)
  if (found === undefined) return value
  throw new NotJson(key === '' ? `${found} is not JSON` : `${JSON.stringify(key)}: ${found} is not JSON`)
}

function odd(value: unknown): string | undefined {
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
