/**
 * Names of fields in two spellings: canonical (snake case) in JSON, camel case in JavaScript. Only the fields of the contract
 * are mapped, never what is inside arguments, details, parameters or data, and never a value.
 */

type Fields = { readonly [field: string]: unknown }

/** @internal An object's fields that are spelled differently, and those that are objects with such fields themselves. */
export class Shape {
  readonly #camel: ReadonlyMap<string, string>
  readonly #canonical: ReadonlyMap<string, string>
  readonly #nested: ReadonlyMap<string, Shape>
  readonly #prototype: object
  readonly #applies: (value: Fields) => boolean

  /**
   * `fields` and the names in `nested` are canonical. Objects in camel case get `prototype`. Where `applies` says no, an object
   * stays as it is.
   */
  constructor(
    fields: readonly string[],
    nested: Readonly<Record<string, Shape>> = {},
    { prototype = Object.prototype, applies = () => true }: { prototype?: object; applies?: (value: Fields) => boolean } = {},
  ) {
    const pairs = [...fields, ...Object.keys(nested)].map((name) => [name, camelCase(name)] as const)
    this.#camel = new Map(pairs)
    this.#canonical = new Map(pairs.map(([canonical, camel]) => [camel, canonical]))
    this.#nested = new Map(Object.entries(nested))
    this.#prototype = prototype
    this.#applies = applies
  }

  /** As the constructor; the objects in camel case have a `toJSON` that gives their canonical form. */
  static written(fields: readonly string[], nested: Readonly<Record<string, Shape>> = {}, applies?: (value: Fields) => boolean): Shape {
    const prototype = {}
    const shape: Shape = new Shape(fields, nested, applies ? { prototype, applies } : { prototype })
    // Not shown when an object is printed or compared.
    Object.defineProperty(prototype, 'toJSON', {
      value(this: unknown) {
        return shape.canonical(this)
      },
    })
    return shape
  }

  /** The value, or each of a list, with names in camel case. An object in which nothing changes is given back itself. */
  camel(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.camel(item))
    if (!isObject(value) || !this.#applies(value) || this.#isPlain(value)) return value
    const out: Record<string, unknown> = Object.create(this.#prototype)
    for (const name in value) {
      const nested = this.#nested.get(name)
      out[this.#camel.get(name) ?? name] = nested ? nested.camel(value[name]) : value[name]
    }
    return out
  }

  #isPlain(value: Fields): boolean {
    if (this.#prototype !== Object.prototype) return false
    for (const name of this.#camel.keys()) if (name in value) return false
    return true
  }

  /** The value, or each of a list, with canonical names. Those that have them already keep them. */
  canonical(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.canonical(item))
    if (!isObject(value) || !this.#applies(value)) return value
    const out: Record<string, unknown> = {}
    for (const name in value) {
      const canonical = this.#canonical.get(name) ?? name
      const nested = this.#nested.get(canonical)
      out[canonical] = nested ? nested.canonical(value[name]) : value[name]
    }
    return out
  }
}

/** @internal */
export const ERROR = new Shape(['http_status', 'request_id', 'retry_after_ms'])

/** @internal */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function camelCase(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
}

/** @internal The canonical spelling of a name. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
