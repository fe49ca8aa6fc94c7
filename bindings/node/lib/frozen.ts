/**
 * Values that the engine keeps, too: a change of the copy here would be seen and not be sent.
 */

import { isObject } from './object.js'

/** @internal Freezes a value of JSON and all that is in it. With a list, as arguments and details may be nested deeply. */
export function frozen<T>(value: T): T {
  const rest: unknown[] = [value]
  while (rest.length > 0) {
    const next = rest.pop()
    if (!isObject(next)) continue
    Object.freeze(next)
    for (const inner of Object.values(next)) if (isObject(inner)) rest.push(inner)
  }
  return value
}
