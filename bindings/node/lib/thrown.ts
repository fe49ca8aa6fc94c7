/**
 * What was thrown, as text. JavaScript throws anything: errors whose message is no text, proxies, null. Nothing here throws.
 */

import { types } from 'node:util'

/** How far a message that is no text is followed. */
const MAX_DEPTH = 3

/** How many errors of an AggregateError are described, and how many characters of each. */
const MAX_ERRORS = 5
const MAX_LENGTH = 500

const NO_TEXT = 'the thrown value has no text'

/** @internal The text of any thrown value: an error's message, else its name; of any other value the value itself. */
export function textOf(thrown: unknown): string {
  try {
    return thrown === '' ? 'the thrown text is empty' : (described(thrown, 0) ?? NO_TEXT)
  } catch {
    // Of a proxy, or of a getter.
    return NO_TEXT
  }
}

/** @internal Whether a value is an instance of a class. False for a proxy that does not let itself be asked. */
export function isA<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  try {
    return value instanceof type
  } catch {
    return false
  }
}

/** @internal Whether a thrown value is an Error whose message is a text, as those who catch it expect. */
export function isReadable(thrown: unknown): thrown is Error {
  try {
    return (thrown instanceof Error || types.isNativeError(thrown)) && typeof thrown.message === 'string'
  } catch {
    return false
  }
}

/** @internal Reports a failure. Does not throw: it is called where nothing would catch it. */
export function report(error: unknown, fail: (text: string) => void): void {
  try {
    fail(textOf(error))
  } catch {
    // A text that does not fit in memory, say. What is dropped unanswered fails, too.
  }
}

function described(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return String(value)
  if (depth > MAX_DEPTH) return undefined
  // Errors of other realms, a test runner's for example, are no instances of Error.
  const { message } = value as { message?: unknown }
  const said = message === undefined || message === null ? undefined : described(message, depth + 1)
  const many = depth < MAX_DEPTH && isAggregate(value) ? describedErrors(value.errors, depth) : ''
  if (said !== undefined || many !== '') return many === '' ? said : said === undefined ? many : `${said}: ${many}`
  const { name } = value as { name?: unknown }
  if (isA(value, Error)) return typeof name === 'string' && name !== '' ? name : undefined
  const json = JSON.stringify(value) as unknown
  return typeof json === 'string' && json !== '{}' ? json : undefined
}

function isAggregate(value: object): value is { errors: unknown[] } {
  const { name, errors } = value as { name?: unknown; errors?: unknown }
  return (isA(value, AggregateError) || name === 'AggregateError') && Array.isArray(errors)
}

/** The first errors of an AggregateError, of which its own message says nothing. */
function describedErrors(errors: unknown[], depth: number): string {
  const texts = errors.slice(0, MAX_ERRORS).map((error) => {
    const text = described(error, depth + 1) ?? NO_TEXT
    return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text
  })
  if (errors.length > MAX_ERRORS) texts.push(`and ${errors.length - MAX_ERRORS} more`)
  return texts.join('; ')
}
