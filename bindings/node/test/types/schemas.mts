// Tests of the types of parameters: compiled, never run. Lines that must not compile are marked.

import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { Agent, Tool, tool } from 'agent-loop'
import type { ArgumentsOf, InputOf, JsonSchema, ResultOf, StandardJsonSchema, StandardSchema } from 'agent-loop'
import type { ToolContext, ToolOptions, ToolRunOptions } from 'agent-loop'
import { type } from 'arktype'
import * as v from 'valibot'
import { z } from 'zod'
import { zodToJsonSchema } from 'zod-to-json-schema'
import { z as z3 } from 'zod/v3'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function check<T extends true>(): T | void {}

// A schema of a library says what the tool gets: what it makes of the arguments.
const zod = z.object({ city: z.string(), days: z.number().default(3), at: z.string().transform((text) => text.length) })
tool({
  name: 'x',
  parameters: zod,
  execute: (args, { update }) => {
    check<Equal<typeof args, { city: string; days: number; at: number }>>()
    update(args.city)
  },
})
tool({
  name: 'x',
  parameters: type({ city: 'string', 'days?': 'number' }),
  execute: (args) => {
    check<Equal<typeof args, { city: string; days?: number }>>()
  },
})
tool({
  name: 'x',
  parameters: toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number()) })),
  execute: ({ city, days }) => {
    check<Equal<typeof city, string>>()
    check<Equal<typeof days, number | undefined>>()
  },
})
// @ts-expect-error the schema has no such argument
tool({ name: 'x', parameters: zod, execute: ({ town }) => town })
// @ts-expect-error a number, by default
tool({ name: 'x', parameters: zod, execute: ({ days }: { days: string }) => days })
// @ts-expect-error a class is no schema
tool({ name: 'x', parameters: class {}, execute: () => 5 })
check<Equal<ArgumentsOf<StandardSchema<{ n: number }>>, { n: number }>>()

// What zod writes is JSON Schema, and its type is still known.
const written = z.toJSONSchema(zod)
const json: JsonSchema = written
tool({ name: 'x', parameters: written, execute: ({ city }) => city })
tool({ name: 'x', parameters: json, execute: ({ anything }) => anything })

// Tools of the Model Context Protocol come with this type.
declare const inputSchema: {
  [x: string]: unknown
  type: 'object'
  properties?: { [x: string]: object } | undefined
  required?: string[] | undefined
}
tool({ name: 'x', parameters: inputSchema, execute: (args) => args })
declare const older: { type: 'object'; properties?: { [x: string]: unknown } | undefined; required?: string[] | undefined }
tool({ name: 'x', parameters: older, execute: (args) => args })

// Schemas of schemas may be true or false, and fields undefined.
tool({
  name: 'x',
  parameters: {
    type: 'object',
    description: undefined,
    properties: { any: true, list: { type: 'array', items: true }, pair: { type: 'array', items: [{ type: 'string' }, true] } },
    additionalProperties: false,
    required: undefined,
  },
  execute: ({ any, list }) => {
    check<Equal<typeof list, unknown[] | undefined>>()
    return any
  },
})
const options: ToolOptions = { name: 'x', parameters: undefined, execute: () => 5 }
tool(options)

// One that does not write its JSON Schema has it beside it.
const old = z3.object({ city: z3.string(), days: z3.number().default(3) })
tool({
  name: 'x',
  parameters: old,
  jsonSchema: zodToJsonSchema(old),
  execute: (args) => {
    check<Equal<typeof args, { city: string; days: number }>>()
  },
})
// @ts-expect-error it is JSON, not what writes it
tool({ name: 'x', parameters: old, jsonSchema: 'zodToJsonSchema', execute: () => 5 })

// Brands and readonly properties stay.
const branded = z.object({ id: z.string().brand<'Id'>(), tags: z.array(z.string()).readonly() })
tool({
  name: 'x',
  parameters: branded,
  execute: (args) => {
    check<Equal<typeof args, z.output<typeof branded>>>()
    // @ts-expect-error it is readonly
    args.tags.push('x')
  },
})

// What only describes itself changes nothing: the tool gets what it accepts.
declare const described: StandardJsonSchema<{ n: string }>
tool({
  name: 'x',
  parameters: described,
  execute: (args) => {
    check<Equal<typeof args, { n: string }>>()
  },
})
check<Equal<ArgumentsOf<StandardSchema<{ n: number }, { n: string }>>, { n: number }>>()
check<Equal<InputOf<StandardSchema<{ n: number }, { n: string }>>, { n: string }>>()

// A tool takes what its schema accepts, and gives what its function returns.
const weather = tool({ name: 'x', parameters: zod, execute: async ({ city, days }) => ({ city, days }) })
check<Equal<Parameters<typeof weather.run>[0], { city: string; days?: number | undefined; at: string }>>()
check<Equal<Awaited<ReturnType<typeof weather.run>>, { city: string; days: number }>>()
// @ts-expect-error the city is missing
weather.run({ at: 'now' })
// @ts-expect-error a text
weather.run({ city: 'Oslo', at: 5 })
const plain = tool({
  name: 'x',
  parameters: { type: 'object', properties: { n: { type: 'number' }, any: { anyOf: [{ type: 'string' }, { const: 5 }] } } },
  execute: ({ n = 0, any }) => {
    check<Equal<typeof any, string | 5 | undefined>>()
    return n
  },
})
const number: Promise<number> = plain.run({ n: 5, any: 'x' })
// @ts-expect-error it is 5, or a text
plain.run({ any: 6 })
check<Equal<ResultOf<AsyncGenerator<string, number>>, number>>()
check<Equal<ResultOf<AsyncGenerator<string, void>>, string>>()
check<Equal<ResultOf<Generator<Promise<string>, number | undefined>>, string | number>>()
check<Equal<ResultOf<Promise<Generator<string, number>>>, number>>()
check<Equal<ResultOf<Promise<string>>, string>>()
const untyped: Tool = weather
const anything: Promise<any> = untyped.run({ whatever: number })
new Agent({ model: 'a/b', tools: [weather, plain, untyped, tool({ name: 'y', execute: () => anything })] })
const outer = tool({
  name: 'x',
  execute: async (_: object, context: ToolContext) => {
    const { days } = await weather.run({ city: 'Oslo', at: '' }, { context, onUpdate: (partial) => context.update(partial) })
    return days + (await plain.run({}, { context: undefined, signal: undefined, validation: 'off' }))
  },
})
// @ts-expect-error there is no such option
outer.run({}, { update: () => {} })
const runOptions: ToolRunOptions = { sleep: async (ms) => ms > 0, toolCallId: 'a', idempotencyKey: 'b' }
outer.run({}, runOptions)

// A schema of a library says what the answer is, of any type.
async function answers(agent: Agent): Promise<void> {
  const weather = await agent.prompt('x', { output: zod })
  check<Equal<typeof weather.output, { city: string; days: number; at: number } | undefined>>()
  const cities = await agent.prompt('x', { output: z.array(z.string()) })
  check<Equal<typeof cities.output, string[] | undefined>>()
  const named = await agent.prompt('x', { output: { schema: type({ city: 'string' }), name: 'place' } })
  check<Equal<typeof named.output, { city: string } | undefined>>()
  const own = new Agent({ model: 'openai/x', output: z.enum(['a', 'b']) })
  const letter = (await own.prompt('x')).output
  check<Equal<typeof letter, 'a' | 'b' | undefined>>()
}
void answers
