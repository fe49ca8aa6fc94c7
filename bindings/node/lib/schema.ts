/**
 * Infers the types of a tool's arguments and result: of the arguments from its schema.
 */

import type { StandardJsonSchema, StandardSchema } from './standard.js'

/**
 * A JSON Schema: the keywords that determine the inferred type, and any others. What `z.toJSONSchema` returns is one, and so is
 * the `inputSchema` of a tool of the Model Context Protocol.
 */
export interface JsonSchema {
  readonly type?: string | readonly string[] | undefined
  readonly description?: string | undefined
  readonly enum?: readonly unknown[] | undefined
  readonly const?: unknown
  /** Schemas. Types of other libraries often say less about them. */
  readonly properties?: { readonly [name: string]: unknown } | undefined
  readonly required?: readonly string[] | undefined
  readonly items?: SubSchema | readonly SubSchema[] | undefined
  readonly [keyword: string]: unknown
}

/** A schema inside of another. */
export type SubSchema = JsonSchema | object | boolean

/** A JSON Schema whose type names its own keywords only, as those of TypeBox do. */
export interface ObjectSchema {
  readonly type: 'object'
}

/** What may be a tool's `parameters`. */
export type ParametersSchema = JsonSchema | ObjectSchema | StandardSchema | StandardJsonSchema

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
    ? S extends { readonly items: infer I extends object }
      ? I extends readonly unknown[]
        ? unknown[]
        : FromSchema<I>[]
      : unknown[]
    : T extends 'object'
      ? S extends { readonly properties: infer P }
        ? string extends keyof P
          ? Record<string, any>
          : OfObject<P, Required<S>>
        : Record<string, any>
      : any

/** The types that a Standard Schema names. */
type Types<S> = S extends { readonly '~standard': { readonly types?: infer T } } ? NonNullable<T> : never

/**
 * The type of the arguments that a tool with this schema gets: of a Standard Schema what it makes of valid arguments, of any
 * other schema what it accepts.
 */
export type ArgumentsOf<S> = S extends { readonly '~standard': { readonly validate: (...args: never[]) => unknown } }
  ? Types<S> extends { readonly output: infer Output }
    ? Output
    : any
  : InputOf<S>

/** The type of the arguments that this schema accepts. */
export type InputOf<S> = S extends { readonly '~standard': unknown }
  ? Types<S> extends { readonly input: infer Input }
    ? Input
    : any
  : FromSchema<S>

/** The type of a tool's result, by what its function returns. */
export type ResultOf<R> = ResultOfAwaited<Awaited<R>>

type ResultOfAwaited<V> = V extends
  | AsyncGenerator<infer Yielded, infer Returned, any>
  | Generator<infer Yielded, infer Returned, any>
  ? Awaited<undefined extends Returned ? Exclude<Returned, undefined | void> | Yielded : Returned>
  : V

/** The type of the values that a schema accepts; `any` where the schema does not determine it. */
export type FromSchema<S> = S extends { readonly static: infer Static }
  ? Static
  : S extends { readonly const: infer C }
    ? C
    : S extends { readonly enum: readonly (infer E)[] }
      ? unknown extends E
        ? any
        : E
      : S extends { readonly type: infer T }
        ? T extends readonly (infer U)[]
          ? OfType<U, S>
          : OfType<T, S>
        : S extends { readonly anyOf: readonly (infer U)[] }
          ? FromSchema<U>
          : S extends { readonly oneOf: readonly (infer U)[] }
            ? FromSchema<U>
            : any
