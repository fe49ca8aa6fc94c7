/**
 * Infers the type of a tool's arguments from its JSON Schema.
 */

/** A JSON Schema: the keywords that determine the inferred type, and any others. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: { readonly [name: string]: JsonSchema }
  readonly required?: readonly string[]
  readonly items?: JsonSchema | boolean
  readonly [keyword: string]: unknown
}

type Simplify<T> = { [K in keyof T]: T[K] }

type Required<S> = S extends { readonly required: readonly (infer R extends string)[] } ? R : never

type OfObject<P, R extends string> = Simplify<
  { -readonly [K in keyof P as K extends R ? K : never]: FromSchema<P[K]> } & {
    -readonly [K in keyof P as K extends R ? never : K]?: FromSchema<P[K]>
  }
>

interface Primitives {
  string: string
  number: number
  integer: number
  boolean: boolean
  null: null
}

type OfType<T, S> = T extends keyof Primitives
  ? Primitives[T]
  : T extends 'array'
    ? S extends { readonly items: infer I extends JsonSchema }
      ? FromSchema<I>[]
      : unknown[]
    : T extends 'object'
      ? S extends { readonly properties: infer P }
        ? string extends keyof P
          ? Record<string, any>
          : OfObject<P, Required<S>>
        : Record<string, any>
      : any

/** The type of the values that a schema accepts; `any` where the schema does not determine it. */
export type FromSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? unknown extends E
      ? any
      : E
    : S extends { readonly type: infer T }
      ? T extends readonly (infer U)[]
        ? OfType<U, S>
        : OfType<T, S>
      : any
