/**
 * Reads what is decided about calls that wait.
 */

import { invalidArgument } from './errors.js'
import { jsonOfArgument } from './json.js'
import { isBuiltIn, isObject, kindOf } from './object.js'
import type { Decisions } from './suspension.js'

/** @internal Takes the decisions out of options, as JSON. */
export function takeDecisions<T extends { decisions?: Decisions | undefined }>(
  options: T | undefined,
): [Omit<T, 'decisions'> | undefined, string | undefined] {
  if (!isObject(options) || isBuiltIn(options)) return [options, undefined]
  const { decisions, ...others } = options as T
  if (decisions === undefined || decisions === null) return [others, undefined]
  if (!isObject(decisions) || isBuiltIn(decisions)) {
    const expected = 'expected an object of decisions by the ids of their calls'
    throw invalidArgument(`option "decisions": ${expected}, got ${kindOf(decisions)}`)
  }
  return [others, jsonOfArgument('decisions', decisions)]
}
