// Parameters of tools: schemas of other libraries, and what is none.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { tool } from 'agent-loop'
import { type } from 'arktype'
import { Type } from 'typebox'
import * as v from 'valibot'
import { z } from 'zod'
import { zodToJsonSchema } from 'zod-to-json-schema'
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
async function playCalls(parameters, args, options = {}, more = {}) {
  const got = []
  const execute = (given) => void got.push(given)
  const script = [calls(...args.map((given, i) => [`c${i}`, 'weather', given])), says('x')]
  const agent = scripted(script, { tools: [does('weather', execute, { parameters, ...more })], ...options })
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
    ['the arguments of weather do not fit its schema:\n/to: is under water', true],
    ['the arguments of weather do not fit its schema:\n/a~1b/list/1: is empty', true],
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

test('the JSON Schema that a schema does not write is given beside it', async () => {
  const old = z3.object({ city: z3.string().min(2), days: z3.number().default(3) })
  const mini = zodMini.object({ city: zodMini.string().check(zodMini.minLength(2)), days: zodMini._default(zodMini.number(), 3) })
  // An own JSON Schema is replaced by it: what this one transforms JSON cannot describe.
  const dated = z.object({ city: z.string(), days: z.date().or(z.number()).default(3) })
  for (const [parameters, jsonSchema] of [
    [old, zodToJsonSchema(old)],
    [old, zodToJsonSchema(old, 'Weather')],
    [mini, zodMini.toJSONSchema(mini, { io: 'input' })],
    [dated, { type: 'object', properties: { city: { type: 'string', minLength: 2 } }, required: ['city'] }],
  ]) {
    const { got, results, agent } = await playCalls(parameters, [{ city: 'Oslo' }, { city: 'X' }], {}, { jsonSchema })
    assert.deepEqual(got, [{ city: 'Oslo', days: 3 }])
    const short = 'the arguments of weather do not fit its schema:\n/city: "X" is shorter than 2 characters'
    assert.deepEqual(results[1], [short, true])
    const [{ parameters: json }] = agent.tools
    assert.deepEqual([json.type, Object.keys(json.properties)[0], json.required], ['object', 'city', ['city']])
    assert.ok(!('definitions' in json))
  }
  for (const [parameters, jsonSchema, text] of [
    [old, zodToJsonSchema, 'jsonSchema: expected the JSON Schema of the parameters, got a function'],
    [old, { city: z.string() }, /^tool "t": jsonSchema: \/city is a schema of zod/],
    [{ type: 'object' }, {}, 'jsonSchema: it describes a Standard Schema; give a JSON Schema as parameters'],
    [undefined, {}, 'jsonSchema: it describes a Standard Schema; give a JSON Schema as parameters'],
  ]) {
    const message = text instanceof RegExp ? text : `tool "t": ${text}`
    assert.throws(() => tool({ name: 't', parameters, jsonSchema, execute() {} }), { name: 'InvalidArgumentError', message })
  }
  const misspelled = { name: 't', parameters: old, json_schema: {}, execute() {} }
  assert.throws(() => tool(misspelled), /unknown field "json_schema"; did you mean "jsonSchema"\?/)
})

test('schemas of TypeBox are JSON Schemas', async () => {
  const parameters = Type.Object({ city: Type.String({ minLength: 2 }), days: Type.Optional(Type.Integer()) })
  const { got, results } = await playCalls(parameters, [{ city: 'Oslo', days: '2' }, { city: 'X' }])
  assert.deepEqual(got, [{ city: 'Oslo', days: 2 }])
  assert.equal(results[1][1], true)
})

/** A Standard Schema that is what these functions say. */
const standard = (properties) => ({ '~standard': { version: 1, vendor: 'acme', ...properties } })

test('what a Standard Schema may be', async () => {
  const json = { type: 'object', properties: { n: { type: 'number' } } }
  const draft = 'https://json-schema.org/draft/2020-12/schema'
  const writes = (written) => ({ input: () => written })
  const validate = (value) => ({ value: { ...value, made: true } })
  const later = async (args) => ({ ...validate(args), issues: null })
  const only7 = {
    input({ target }) {
      if (target !== 'draft-07') throw new Error(`no ${target}`)
      return json
    },
  }
  const variant = (kind) => ({ type: 'object', properties: { kind: { const: kind } } })
  const tree = { type: 'object', properties: { left: { $ref: '#/$defs/Tree' } } }
  for (const [parameters, written, made] of [
    // Only a description: the engine validates, and the tool gets what it has validated.
    [standard({ jsonSchema: writes(json) }), json, false],
    [standard({ jsonSchema: writes({ $schema: draft, ...json }), validate }), json, true],
    [standard({ jsonSchema: only7, validate }), { $schema: 'http://json-schema.org/draft-07/schema#', ...json }, true],
    // Effect's schemas are functions; those of its classes refer to a definition.
    [Object.assign(() => {}, standard({ jsonSchema: writes({ $ref: '#/$defs/A', $defs: { A: json } }), validate })), json, true],
    [
      standard({ jsonSchema: writes({ $ref: '#/$defs/Tree', $defs: { Tree: tree } }), validate }),
      { ...tree, $defs: { Tree: tree } },
      true,
    ],
    [
      standard({ jsonSchema: writes({ anyOf: [variant('a'), variant('b')] }), validate }),
      { type: 'object', anyOf: [variant('a'), variant('b')] },
      true,
    ],
    [standard({ jsonSchema: writes({}), validate: later }), { type: 'object' }, true],
  ]) {
    const { got, agent } = await playCalls(parameters, [{ kind: 'a' }])
    assert.deepEqual(agent.tools[0].parameters, written)
    assert.deepEqual(got, [made ? { kind: 'a', made: true } : { kind: 'a' }])
  }
  const nothing = standard({ jsonSchema: writes(json), validate() {} })
  assert.deepEqual((await playCalls(nothing, [{}])).results, [['the validate function of the acme schema gave no result', true]])
  const issues = [{ message: 'no' }, { message: 'x', path: [{ key: 0 }] }]
  const pathless = standard({ jsonSchema: writes(json), validate: () => ({ issues }) })
  assert.deepEqual((await playCalls(pathless, [{}])).results, [
    ['the arguments of weather do not fit its schema:\n(the arguments): no\n/0: x', true],
  ])
})

test('found_n1_refused: what is no schema, with what to write', () => {
  class Weather {
    city = 'Oslo'
  }
  const expected = 'expected a JSON Schema or a Standard Schema (of zod, valibot, ArkType)'
  const add = 'add its JSON Schema to the tool, as jsonSchema'
  const zod3 = 'use zod 4.2 or later, or the JSON Schema that zodToJsonSchema(schema) of the package zod-to-json-schema returns'
  const date = 'zod cannot write this schema as JSON Schema: Date cannot be represented in JSON Schema'
  const effect = 'write Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(schema))'
  const effect3 = { ast: {}, [Symbol.for('effect/Schema')]: {} }
  const old = { _def: {}, safeParse() {}, parse() {} }
  for (const [parameters, text] of [
    [
      zodMini.object({}),
      `this zod schema does not describe itself as JSON Schema; ${add}: z.toJSONSchema(schema, { io: 'input' })`,
    ],
    [
      z3.object({}),
      'this zod schema does not describe itself as JSON Schema; ' +
        `use zod 4.2 or later, or ${add}: zodToJsonSchema(schema), of the package zod-to-json-schema`,
    ],
    [old, `a zod 3 schema does not describe itself as JSON Schema; ${zod3}`],
    [
      v.object({}),
      'this valibot schema does not describe itself as JSON Schema; ' +
        'write toStandardJsonSchema(schema), of the package @valibot/to-json-schema',
    ],
    [
      z.object({ at: z.date() }),
      `${date}; give types that JSON has and transform them, or add its JSON Schema to the tool, as jsonSchema`,
    ],
    [standard({ validate() {} }), `this acme schema does not describe itself as JSON Schema; ${add}`],
    [
      standard({ validate() {}, jsonSchema: { input: () => 5 } }),
      `this acme schema does not describe itself as JSON Schema; ${add}`,
    ],
    [standard({ validate() {}, vendor: 'effect' }), `this effect schema does not describe itself as JSON Schema; ${effect}`],
    [
      { ...effect3, ...standard({ validate() {}, vendor: 'effect' }) },
      `this effect schema does not describe itself as JSON Schema; ${add}: JSONSchema.make(schema)`,
    ],
    [Object.assign(() => {}, { ast: {} }), `an Effect schema is no Standard Schema; ${effect}`],
    [
      Object.assign(() => {}, effect3),
      `an Effect schema is no Standard Schema; write Schema.standardSchemaV1(schema), and ${add}: JSONSchema.make(schema)`,
    ],
    [Object.assign(() => {}, { schema: {}, errors: null }), `${expected}, got a function that validates; give its schema`],
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
