// Parameters of tools: schemas of other libraries, and what is none.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { tool } from 'agent-loop'
import { type } from 'arktype'
import * as v from 'valibot'
import { z } from 'zod'
import * as zodMini from 'zod/mini'
import { z as z3 } from 'zod/v3'

import { calls, does, says, scripted, toolTexts } from './helpers.mjs'

/** The same schema in each library: a city, and how many days, 3 unless given. */
const LIBRARIES = {
  zod: z.object({ city: z.string().min(2), days: z.int().min(1).default(3) }),
  valibot: toStandardJsonSchema(
    v.object({ city: v.pipe(v.string(), v.minLength(2)), days: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), 3) }),
  ),
  arktype: type({ city: 'string >= 2', days: 'number.integer >= 1 = 3' }),
}

/** Plays calls of a tool with these parameters. Returns what it got, the texts of the results and the agent. */
async function playCalls(parameters, args, options = {}) {
  const got = []
  const execute = (given) => void got.push(given)
  const script = [calls(...args.map((given, i) => [`c${i}`, 'weather', given])), says('x')]
  const agent = scripted(script, { tools: [does('weather', execute, { parameters })], ...options })
  return { got, results: toolTexts(await agent.prompt('go')), agent }
}

test('found_n1_standard_schemas: the model gets JSON Schema, the tool valid arguments with their defaults', async () => {
  for (const [name, parameters] of Object.entries(LIBRARIES)) {
    const args = [{ city: 'Oslo' }, { city: 'Bergen', days: '2' }, { city: 'X' }, {}, { city: 'Oslo', days: 0.5 }]
    const { got, results, agent } = await playCalls(parameters, args, { toolExecution: 'sequential' })
    assert.deepEqual(got, [{ city: 'Oslo', days: 3 }, { city: 'Bergen', days: 2 }], name)
    assert.deepEqual(results.map(([, isError]) => isError), [false, false, true, true, true], name)
    const [{ parameters: json }] = agent.tools
    assert.deepEqual([json.type, json.required, json.$schema], ['object', ['city'], undefined], name)
    assert.deepEqual(Object.keys(json.properties), ['city', 'days'], name)
  }
})

test('found_n1_validation: what JSON Schema cannot say is checked as well, and transformed', async () => {
  const parameters = z.object({
    from: z.string().transform((text) => text.length),
    to: z.string().refine(async (text) => text !== 'Atlantis', 'is under water'),
    'a/b': z.object({ list: z.array(z.string().refine((text) => text !== '', 'is empty')) }).optional(),
  })
  const args = [
    { from: 'Oslo', to: 'Bergen' },
    { from: 'Oslo', to: 'Atlantis' },
    { from: '', to: 'X', 'a/b': { list: ['a', ''] } },
  ]
  const seen = []
  const hooks = { beforeToolCall: ({ arguments: given }) => void seen.push(given) }
  const { got, results } = await playCalls(parameters, args, hooks)
  assert.deepEqual(got, [{ from: 4, to: 'Bergen' }])
  assert.deepEqual(results.slice(1), [
    ["the arguments do not fit the tool's schema:\n/to: is under water", true],
    ["the arguments do not fit the tool's schema:\n/a~1b/list/1: is empty", true],
  ])
  assert.deepEqual(seen, args, 'hooks have what the model gave')
  const throwing = { '~standard': { ...LIBRARIES.zod['~standard'], validate: () => { throw new Error('broken schema') } } }
  assert.deepEqual((await playCalls(throwing, [{ city: 'Oslo' }])).results, [['broken schema', true]])
})

test('found_n1_json_schema_of_libraries: it is taken as it is', async () => {
  const json = z.toJSONSchema(LIBRARIES.zod, { io: 'input' })
  const { got, agent } = await playCalls(json, [{ city: 'Oslo' }, {}])
  assert.deepEqual(got, [{ city: 'Oslo', days: 3 }])
  assert.equal(agent.tools[0].parameters, json)
  const plain = JSON.parse(JSON.stringify(json))
  assert.deepEqual((await playCalls(plain, [{ city: 'Oslo' }, {}])).got, [{ city: 'Oslo' }])
  const { got: nothing } = await playCalls(undefined, [{}])
  assert.deepEqual(nothing, [{}])
})

test('found_n1_refused: what is no schema, with what to write', () => {
  class Weather {
    city = 'Oslo'
  }
  const expected = 'expected a JSON Schema or a Standard Schema (of zod, valibot, ArkType)'
  const zod3 =
    'use a schema of zod 4, or the JSON Schema that zodToJsonSchema(schema) of the package zod-to-json-schema returns'
  const old = { _def: {}, safeParse() {}, parse() {} }
  for (const [parameters, text] of [
    [zodMini.object({}), 'this zod schema does not describe itself as JSON Schema; write z.toJSONSchema(schema)'],
    [z3.object({}), `this zod schema does not describe itself as JSON Schema; ${zod3}`],
    [old, `a zod 3 schema does not describe itself as JSON Schema; ${zod3}`],
    [
      v.object({}),
      'this valibot schema does not describe itself as JSON Schema; ' +
        'write toStandardJsonSchema(schema), of the package @valibot/to-json-schema',
    ],
    [z.object({ at: z.date() }), 'zod cannot write this schema as JSON Schema: Date cannot be represented in JSON Schema'],
    [
      { '~standard': { version: 1, vendor: 'acme', validate() {} } },
      'this acme schema does not describe itself as JSON Schema; convert it to JSON Schema',
    ],
    [
      { city: z.string() },
      '/city is a schema of zod, and what contains it is not; give one schema for all arguments, such as z.object({ … })',
    ],
    [
      { type: 'object', properties: { city: v.string() } },
      '/properties/city is a schema of valibot, and what contains it is not; ' +
        'give one schema for all arguments, such as z.object({ … })',
    ],
    [{ city: old }, `/city is a zod 3 schema; ${zod3}`],
    [{ type: 'object', properties: { city: new Weather() } }, '/properties/city is an instance of Weather'],
    [Weather, `${expected}, got the class Weather`],
    [() => ({ type: 'object' }), `${expected}, got a function`],
    [new Weather(), `${expected}, got an instance of Weather`],
    [new Map(), `${expected}, got an instance of Map`],
    [Promise.resolve({}), `${expected}, got a Promise; await it`],
    ['object', `${expected}, got string`],
    [[], `${expected}, got a list`],
  ]) {
    const expectedError = { name: 'InvalidArgumentError', message: `tool "t": parameters: ${text}` }
    assert.throws(() => tool({ name: 't', parameters, execute() {} }), expectedError)
  }
  // An object's schema, but not of an object.
  assert.throws(() => tool({ name: 't', parameters: z.string(), execute() {} }), /arguments are an object/)
})
