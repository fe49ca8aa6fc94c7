/**
 * What kind of object a value is.
 */

/** @internal */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** @internal Whether an object is of a class of JavaScript or the platform, such as an array, a Promise or an AbortSignal. */
export function isBuiltIn(value: object): boolean {
  const tag = Object.prototype.toString.call(value)
  return tag !== '[object Object]' && tag !== '[object Module]'
}

/** @internal Whether an object is a Promise, of any library. */
export function isPromise(value: object): boolean {
  return typeof (value as { then?: unknown }).then === 'function'
}

/** @internal Whether an object has no class, in this realm or another. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return !isObject(prototype) || Object.getPrototypeOf(prototype) === null
}

/** @internal A value of a wrong type in an error: itself if it is short and plain, else its type. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string' && value.length <= 80) return JSON.stringify(value)
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value)
  return Array.isArray(value) ? 'an array' : typeof value
}

/** @internal What a value of a wrong type is: its class with an article, or its type; null is no object. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return isObject(value) && !isPlain(value) ? instanceOf(value) : typeof value
}

/** @internal The name of an object's class with an article. */
export function instanceOf(value: object): string {
  const name = className(value) || 'instance of a class'
  return `${/^[AEIO]/i.test(name) ? 'an' : 'a'} ${name}`
}

/** @internal The name of an object's class; empty if it has none. */
export function className(value: object): string {
  const { constructor } = value as { constructor?: unknown }
  if (typeof constructor === 'function' && constructor !== Object) return constructor.name
  // The classes of generators have no names, and no constructors.
  return Object.prototype.toString.call(value).slice('[object '.length, -1)
}
