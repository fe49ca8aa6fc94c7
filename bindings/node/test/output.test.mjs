// The typed final answer: the option `output` as a schema, of an agent and of one run; and options of one run.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { type } from 'arktype'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { z } from 'zod'

import { Agent, Loop, run } from 'agent-loop'
import { fromCanonical } from 'agent-loop/canonical'

import { calls, says, scripted } from './helpers.mjs'

const OSLO = { city: 'Oslo', degrees: 7 }
const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const Weather = z.object({ city: z.string(), degrees: z.int() })

/** A model that calls the final tool with each of these, or says a text. */
const answers = (given, options) =>
  scripted(given.map((one, i) => (typeof one === 'string' ? says(one) : calls([`c${i}`, 'final_answer', one]))), options)

test('the answer is what the schema makes of it', async () => {
  const later = z.object({ city: z.string(), degrees: z.int().transform((n) => `${n} °C`), days: z.int().default(1) })
  for (const [output, given, value] of [
    [Weather, OSLO, OSLO],
    [later, OSLO, { city: 'Oslo', degrees: '7 °C', days: 1 }],
    [z.array(z.string()), { result: ['a'] }, ['a']],
    [z.enum(['a', 'b']), { result: 'b' }, 'b'],
    [z.union([Weather, z.object({ why: z.string() })]), { result: { why: 'no' } }, { why: 'no' }],
    [z.string().nullable(), { result: null }, null],
    [toStandardJsonSchema(v.object({ city: v.string() })), { city: 'Oslo' }, { city: 'Oslo' }],
    [type({ city: 'string' }), { city: 'Oslo' }, { city: 'Oslo' }],
    [CITY, { city: 'Oslo' }, { city: 'Oslo' }],
    [{ schema: Weather, description: 'Where it rains.' }, OSLO, OSLO],
    [{ type: 'object', properties: { city_name: {} } }, { city_name: 'Oslo' }, { city_name: 'Oslo' }],
  ]) {
    const ofAgent = await answers([given], { output }).prompt('go')
    const ofRun = await answers([given]).prompt('go', { output })
    assert.deepEqual([ofAgent.output, ofRun.output], [value, value])
    assert.deepEqual(JSON.parse(JSON.stringify(ofRun)).output, value)
  }
})

test('text or a schema', async () => {
  const agent = answers(['In which country?', OSLO], { output: { schema: Weather, orText: true } })
  assert.equal((await agent.prompt('go')).output, 'In which country?')
  assert.deepEqual((await agent.prompt('Norway')).output, OSLO)
})

test('what the schema refuses goes back to the model', async () => {
  const small = z.object({ n: z.int().refine((n) => n < 4, 'it is too large') })
  const result = await answers([{ n: 5 }, { n: 2 }], { output: small }).prompt('go')
  assert.deepEqual(result.output, { n: 2 })
  assert.equal(result.messages[2].content[0].text, 'the answer does not fit its schema:\n/n: it is too large')
})

test('checkOutput gets the value', async () => {
  const seen = []
  const checkOutput = (weather, context) => {
    seen.push([weather.city, context.signal.aborted])
    return weather.city === 'Oslo' ? undefined : `${weather.city} is not in Norway`
  }
  const result = await answers([{ city: 'Rome', degrees: 20 }, OSLO], { output: Weather, checkOutput }).prompt('go')
  assert.deepEqual([result.output, result.messages[2].content[0].text], [OSLO, 'Rome is not in Norway'])
  assert.deepEqual(seen, [['Rome', false], ['Oslo', false]])
  const plain = []
  const agent = answers([OSLO, OSLO], { output: CITY, checkOutput: (output) => void plain.push(output) })
  await agent.prompt('go')
  agent.setHook('checkOutput', null)
  await agent.prompt('go')
  assert.deepEqual(plain, [OSLO])
})

test('a hook that fails ends the run', async () => {
  const cause = new Error('no connection')
  const agent = answers([OSLO], { output: Weather, checkOutput: () => Promise.reject(cause) })
  const error = await agent.prompt('go').catch((error) => error)
  assert.deepEqual([error.kind, error.cause], ['callback', cause])
})

test('an answer that stays wrong is an error', async () => {
  const agent = answers([{ city: 'Oslo' }, { city: 'Oslo' }], { output: Weather, outputRetries: 1 })
  const error = await agent.prompt('go').catch((error) => error)
  assert.equal(error.kind, 'protocol')
  assert.match(error.message, /is not what output asks for, also after a correction .*\n\/degrees: is required/)
  assert.equal('output' in error.result, false)
})

test('the answer is read while it is written', async () => {
  const agent = scripted([[{ delta: '{"city": "Os' }, { delta: 'lo", "degr' }, { delta: 'ees": 7}' }, { end: 'stop' }]])
  const stream = agent.stream('go', { output: { schema: Weather, mode: 'native' } })
  const seen = []
  let end
  for await (const event of stream) {
    const output = stream.partialOutput(event)
    if (event.type === 'text_delta') seen.push(output)
    if (event.type === 'agent_end') end = [event.output, output, fromCanonical(JSON.parse(JSON.stringify(event))).output]
  }
  assert.deepEqual(seen, [{ city: 'Os' }, { city: 'Oslo' }, OSLO])
  assert.deepEqual(end, [OSLO, undefined, OSLO])
  assert.deepEqual((await stream.result()).output, OSLO)
})

test('the type of one run is its own', async () => {
  const agent = answers([OSLO, { city: 'Rome' }, 'Hello.'], { output: Weather })
  assert.deepEqual((await agent.prompt('go')).output, OSLO)
  assert.deepEqual((await agent.prompt('go', { output: z.object({ city: z.string() }) })).output, { city: 'Rome' })
  // Undefined is the default, whatever the agent has.
  const result = await agent.prompt('go', { output: undefined })
  assert.deepEqual(['output' in result, result.text], [false, 'Hello.'])
})

test('setOptions changes the type', async () => {
  const agent = answers([{ city: 'Rome' }, 'Hello.'], { output: Weather })
  agent.setOptions({ output: z.object({ city: z.string().transform((city) => city.toUpperCase()) }) })
  assert.deepEqual((await agent.prompt('go')).output, { city: 'ROME' })
  agent.setOptions({ output: undefined })
  assert.equal((await agent.prompt('go')).text, 'Hello.')
})

test('stateless runs and stepped loops have an answer too', async () => {
  const model = { provider: 'scripted', id: 's', script: [calls(['c', 'final_answer', OSLO])] }
  assert.deepEqual((await run({}, 'go', { model, output: Weather }).result()).output, OSLO)
  const loop = new Loop({ model: 'openai/gpt-5', prompt: 'go', output: Weather })
  let body
  for (let action; (action = loop.poll(0)); ) if (action.type === 'call_model') body = JSON.parse(action.body)
  assert.equal(body.text.format.name, 'final_answer')
})

test('what cannot be an option of a run', async () => {
  const agent = answers([OSLO])
  const ofAgent = (name) => `option "${name}": it is the agent's, and the same for all of its runs; give it to the agent`
  const noSchema = /^option "output": schema is not a JSON Schema: at "\/type": unknown type "strin"; did you/
  const notWritten = /^option "output": zod cannot write this schema as JSON Schema: .* give its JSON Schema in its place$/
  for (const [options, text] of [
    [{ output: 1 }, 'option "output": expected a JSON Schema or a Standard Schema (of zod, valibot, ArkType), got number'],
    [{ output: { type: 'strin' } }, noSchema],
    [{ output: { schema: {}, nam: 1 } }, 'option "output": unknown field "nam"; did you mean "name"?'],
    [{ output: z.date() }, notWritten],
    [{ maxTurn: 1 }, 'unknown option "maxTurn"; did you mean "maxTurns"?'],
    [{ tools: [] }, ofAgent('tools')],
    [{ onError: () => {} }, ofAgent('onError')],
    [{ apiKey: 'k' }, ofAgent('apiKey')],
    [{ temperature: 'hot' }, 'option "temperature": expected a number, got "hot"'],
  ]) {
    const error = await agent.prompt('go', options).catch((error) => error)
    assert.equal(error.kind, 'invalid_argument')
    if (typeof text === 'string') assert.equal(error.message, text)
    else assert.match(error.message, text)
  }
  assert.equal(agent.messages.length, 0)
})

test('options of one run', async () => {
  const payloads = []
  const agent = scripted([says('a'), says('b')], { onPayload: ({ payload }) => void payloads.push(payload) })
  await agent.prompt('go', { temperature: 0.5, systemPrompt: 'Be brief.' })
  await agent.stream('go').result()
  const seen = payloads.map(({ options, system_prompt }) => [options.temperature, system_prompt])
  assert.deepEqual(seen, [[0.5, 'Be brief.'], [undefined, '']])
})

test('a busy agent keeps the type of its run', async () => {
  const agent = answers([OSLO])
  const stream = agent.stream('go', { output: z.object({ city: z.string().transform((city) => city.length) }) })
  await assert.rejects(agent.prompt('go', { output: Weather }), { kind: 'busy' })
  assert.deepEqual((await stream.result()).output, { city: 4 })
})
