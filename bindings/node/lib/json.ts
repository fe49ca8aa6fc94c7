/**
 * Serializes values of the application as JSON. Values that JSON would drop or change are refused.
 */

import { invalidArgument } from './errors.js'
import { className, instanceOf, isObject, isPlain, isPromise } from './object.js'
import { isA, textOf } from './thrown.js'

/** @internal The message names the part of a value that is not JSON. */
export class NotJson extends Error {}

/** @internal
 * Serializes a value. `undefined` becomes null, as it does in arrays. An unpaired surrogate is written as an escape, which the
 * engine reads as U+FFFD.
 * @throws NotJson for what JSON would silently drop or change: functions, symbols, big integers, NaN, instances of
 * classes without a toJSON, errors, cycles.
 */
export function jsonOf(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value, check)
  } catch (error) {
    if (isA(error, NotJson)) throw error
    const message = textOf(error)
    const isCircular = message.startsWith('Converting circular')
    throw new NotJson(isCircular ? 'it contains itself' : `it cannot be written as JSON: ${message}`)
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
    throw error instanceof NotJson ? new TypeError(`${what}: ${error.message}`) : error
  }
}

/** Called with what contains the value as `this`: the value may be what an object's `toJSON` returned. */
function check(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const found = notJson(value, this[key])
  if (found === undefined) return value
  if (key === '') throw new NotJson(found)
  const isName = /^[\w$]+$/.test(key)
  throw new NotJson(`${Array.isArray(this) ? `[${key}]` : isName ? key : JSON.stringify(key)}: ${found}`)
}

/** What a value is that JSON would drop, change or empty, and what to write instead. */
function notJson(value: unknown, original: unknown): string | undefined {
  switch (typeof value) {
    case 'function':
      return 'a function is not JSON'
    case 'symbol':
      return 'a symbol is not JSON'
    case 'bigint':
      return `the BigInt ${value}n is not JSON`
    case 'number':
      return Number.isFinite(value) ? undefined : `${value} is not JSON`
    case 'object':
      return isObject(original) ? notData(original) : undefined
    default:
      return undefined
  }
}

function notData(value: object): string | undefined {
  if (Array.isArray(value) || isPlain(value)) return undefined
  // They have a toJSON, or might.
  if (isError(value)) return `${instanceOf(value)} is not JSON: throw it, or use its message`
  if (ArrayBuffer.isView(value)) return `${instanceOf(value)} is not JSON: ${ADVICE.ArrayBuffer}`
  if (isWritten(value)) return undefined
  const known = ADVICE[isPromise(value) ? 'Promise' : className(value)]
  const advice = known ?? 'use a plain object with its fields, or give the class a toJSON method'
  return `${instanceOf(value)} is not JSON: ${advice}`
}

/** Whether it is an error, of this realm or another. */
function isError(value: object): boolean {
  return isA(value, Error) || Object.prototype.toString.call(value) === '[object Error]'
}

/** Whether JSON writes what an object is made of: itself, or a text, number or truth value in an object. */
function isWritten(value: object): boolean {
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return true
  return isA(value, String) || isA(value, Number) || isA(value, Boolean)
}

const ITERATE = 'use a list of its values, or yield them from the tool'

/** What to write in place of an instance, by the name of its class. */
const ADVICE: Readonly<Record<string, string>> = {
  Promise: 'await it',
  Map: 'use Object.fromEntries(map)',
  Set: 'use [...set]',
  Response: 'use await response.text(), or await response.json()',
  Headers: 'use Object.fromEntries(headers)',
  FormData: 'use Object.fromEntries(data)',
  URLSearchParams: 'use its text, String(parameters)',
  ReadableStream: 'use its text',
  Blob: 'use await blob.text(), or content with a file',
  File: 'use await file.text(), or content with a file',
  ArrayBuffer: 'use base64 text, or content with a file',
  RegExp: 'use its source',
  Generator: ITERATE,
  AsyncGenerator: ITERATE,
}
