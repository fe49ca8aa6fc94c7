// Tests of the types of TypeBox's schemas, which are JSON Schemas: compiled, never run.

import { tool } from 'agent-loop'
import { Type } from 'typebox'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function check<T extends true>(): T | void {}

const box = Type.Object({
  city: Type.String(),
  days: Type.Optional(Type.Number()),
  either: Type.Union([Type.String(), Type.Null()]),
  list: Type.Array(Type.Object({ on: Type.Boolean() })),
})
tool({
  name: 'x',
  parameters: box,
  execute: (args) => {
    check<Equal<typeof args, { city: string; days?: number; either: string | null; list: { on: boolean }[] }>>()
  },
})

// Those before 1.0 have their type in a field.
interface OlderBox {
  [keyword: string]: any
  static: { city: string; days?: number }
  type: 'object'
  properties: { city: object }
  required?: string[]
}
declare const olderBox: OlderBox
tool({
  name: 'x',
  parameters: olderBox,
  execute: (args) => {
    check<Equal<typeof args, { city: string; days?: number }>>()
  },
})
