// A tool that is called outside of an agent, by a test or by another tool.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { tool } from 'agent-loop'
import { z } from 'zod'

import { calls, does, play, says, scripted, toolTexts } from './helpers.mjs'

const parameters = {
  type: 'object',
  properties: { city: { type: 'string', minLength: 2 }, days: { type: 'integer' }, max_turns: { type: 'integer' } },
  required: ['city'],
  additionalProperties: false,
}
const given = does('weather', (args) => args, { parameters })

test('the tool gets a copy of the arguments, converted, and its own value comes back', async () => {
  const args = { city: 'Oslo', days: '3' }
  const got = await given.run(args)
  assert.deepEqual([got, args], [{ city: 'Oslo', days: 3 }, { city: 'Oslo', days: '3' }])
  const typed = does('t', (given) => given, { parameters: z.object({ at: z.iso.date().transform((text) => new Date(text)) }) })
  assert.deepEqual(await typed.run({ at: '2026-05-17' }), { at: new Date('2026-05-17') })
  for (const [returned, value] of [
    [undefined, undefined],
    ['text', 'text'],
    [new Date(0), new Date(0)],
    [{ content: [{ type: 'text', text: 'a' }], isError: true }, { content: [{ type: 'text', text: 'a' }], isError: true }],
  ]) {
    assert.deepEqual(await does('t', async () => returned).run({}), value)
  }
})

test('arguments that do not fit throw what a model reads', async () => {
  const upper = z.object({ city: z.string().refine((text) => text !== 'x', 'is no city') })
  const whole = z.object({ a: z.int(), b: z.int() }).refine(({ a, b }) => a < b, 'a must be less than b')
  for (const [schema, args, text] of [
    [parameters, { days: 'many' }, '/days: "many" is not of type "integer"\n/city: is required'],
    [parameters, { city: 'Oslo', town: 1 }, '/town: is not a parameter'],
    // No name of ours: it is not respelled.
    [parameters, { city: 'Oslo', max_turns: 'x' }, '/max_turns: "x" is not of type "integer"'],
    [{ type: 'object', minProperties: 1 }, {}, '(the arguments): {} has less than 1 property'],
    [upper, { city: 'x' }, '/city: is no city'],
    [whole, { a: 2, b: 1 }, '(the arguments): a must be less than b'],
  ]) {
    const weather = does('weather', () => assert.fail('not reached'), { parameters: schema })
    const message = `the arguments of weather do not fit its schema:\n${text}`
    await assert.rejects(weather.run(args), { name: 'InvalidArgumentError', kind: 'invalid_argument', message })
    const agent = scripted([calls(['a', 'weather', args]), says('x')], { tools: [weather] })
    assert.deepEqual(toolTexts(await agent.prompt('go')), [[message, true]])
  }
})

test('strict and off', async () => {
  await assert.rejects(given.run({ city: 'Oslo', days: '3' }, { validation: 'strict' }), /\/days: "3" is not of type "integer"/)
  assert.deepEqual(await given.run({ days: 'x' }, { validation: 'off' }), { days: 'x' })
  assert.deepEqual(await given.run({ city: 'Oslo', days: '3' }, { validation: 'coerce' }), { city: 'Oslo', days: 3 })
  await assert.rejects(given.run({ city: 'Oslo' }, { validation: 'lax' }), {
    kind: 'invalid_argument',
    message: 'validation: expected "coerce", "strict" or "off"',
  })
})

test('prepareArguments is called before', async () => {
  const prepareArguments = ({ town, ...rest }, { signal }) =>
    town === undefined ? undefined : { ...rest, city: town, days: signal.aborted ? 0 : '1' }
  const prepared = does('weather', (args) => args, { parameters, prepareArguments })
  assert.deepEqual(await prepared.run({ town: 'Oslo' }), { city: 'Oslo', days: 1 })
  assert.deepEqual(await prepared.run({ city: 'Bergen' }), { city: 'Bergen' })
  const wrong = does('weather', () => 1, { prepareArguments: () => 5 })
  await assert.rejects(wrong.run({}), { kind: 'invalid_argument', message: /expected an object, got 5/ })
})

test('what cannot be called like that is refused', async () => {
  for (const [args, options, message] of [
    [undefined, undefined, 'tool "weather": run: expected an object of arguments, got undefined'],
    [['Oslo'], undefined, 'tool "weather": run: expected an object of arguments, got an Array'],
    [new Map(), undefined, 'tool "weather": run: expected an object of arguments, got a Map'],
    [{ city: 5n }, undefined, 'the arguments of weather: city: the BigInt 5n is not JSON'],
    [{ city: 'Oslo' }, { update() {} }, /^unknown option "update"; known are context, validation, signal, onUpdate, sleep/],
    [{ city: 'Oslo' }, { onUpdate: 5 }, /^tool "weather": run: onUpdate: expected a function/],
    [
      { city: 'Oslo' },
      { context: { signal: null } },
      'tool "weather": run: context: expected what the calling tool gets as its second argument, got object',
    ],
  ]) {
    await assert.rejects(given.run(args, options), { kind: 'invalid_argument', message })
  }
})

test('a failure is what the tool throws; a result that is not JSON, or is meant as a full one, is a TypeError', async () => {
  const cause = new RangeError('too far')
  await assert.rejects(does('t', () => { throw cause }).run({}), (error) => error === cause)
  await assert.rejects(does('t', () => ({ n: 1n })).run({}), {
    name: 'TypeError',
    message: "the tool's result: n: the BigInt 1n is not JSON",
  })
  const meant = does('t', () => ({ content: [{ type: 'text' }], isErr: true }))
  const agent = scripted([calls(['a', 't']), says('x')], { tools: [meant] })
  const [[text]] = toolTexts(await agent.prompt('go'))
  await assert.rejects(meant.run({}), { name: 'TypeError', message: text })
})

test('generators: updates, and a result', async () => {
  const updates = []
  const count = does('count', async function* () {
    yield 'a'
    yield { b: 1 }
    return 'end'
  })
  assert.equal(await count.run({}, { onUpdate: (partial) => updates.push(partial) }), 'end')
  assert.deepEqual(updates, ['a', { b: 1 }])
  assert.equal(await count.run({}), 'end')
  assert.equal(await does('t', function* () { yield 1; yield 2 }).run({}), 2)
  await assert.rejects(does('t', function* () { yield 1n }).run({}), /the BigInt 1n is not JSON/)
  await assert.rejects(does('t', (_, { update }) => update(1n)).run({}), /the BigInt 1n is not JSON/)
})

test('the signal reaches the tool and closes a generator', async () => {
  const log = []
  const controller = new AbortController()
  const endless = does('t', async function* (_, { signal }) {
    try {
      yield 'a'
      controller.abort(new Error('enough'))
      yield signal.aborted
      log.push('not reached')
    } finally {
      log.push('closed')
    }
  })
  await assert.rejects(endless.run({}, { signal: controller.signal }), /enough/)
  assert.deepEqual(log, ['closed'])
  await assert.rejects(endless.run({}, { signal: controller.signal }), /enough/)
  assert.deepEqual(log, ['closed'], 'it does not begin')
  const waits = does('t', async (_, { sleep }) => [await sleep(1), await sleep(0)])
  assert.deepEqual(await waits.run({}), [true, true])
  assert.deepEqual(await waits.run({}, { sleep: async (ms) => ms > 0 }), [true, false])
  await assert.rejects(does('t', (_, { sleep }) => sleep(-1)).run({}), /ms: expected milliseconds, got -1/)
  const abort = new AbortController()
  const sleeps = does('t', (_, { sleep }) => {
    setImmediate(() => abort.abort())
    return sleep(3_600_000)
  })
  assert.equal(await sleeps.run({}, { signal: abort.signal }), false)
})

test('ids and keys are new for each call, unless they are given', async () => {
  const who = does('t', (_, { toolCallId, idempotencyKey }) => [toolCallId, idempotencyKey])
  const [first, second] = [await who.run({}), await who.run({})]
  assert.match(first[0], /^call_[0-9a-f-]{36}$/)
  assert.equal(new Set([...first, ...second]).size, 2)
  assert.deepEqual(await who.run({}, { toolCallId: 'a', idempotencyKey: 'b' }), ['a', 'b'])
})

test('a tool that calls tools: they have its updates, its clock, its signal, and keys made of its own', async () => {
  const keys = []
  const inner = does('inner', async function* ({ n }, { idempotencyKey, sleep }) {
    keys.push(idempotencyKey)
    // A day on the virtual clock.
    await sleep(86_400_000)
    yield `inner ${n}`
    return n
  })
  const sum = does('sum', async (_, context) => {
    const numbers = await Promise.all([inner.run({ n: 1 }, { context }), inner.run({ n: 2 }, { context })])
    return numbers.reduce((a, b) => a + b)
  })
  const agent = scripted([calls(['a', 'sum']), says('x')], { tools: [sum] })
  const events = await play(agent.stream('go'))
  assert.deepEqual(toolTexts({ messages: agent.messages }), [['3', false]])
  const updates = events.filter(({ type }) => type === 'tool_execution_update')
  assert.deepEqual(updates.map(({ toolCallId, partialResult }) => [toolCallId, partialResult.content[0].text]), [
    ['a', 'inner 1'],
    ['a', 'inner 2'],
  ])
  assert.match(keys[0], /^run_[0-9a-f]{16}\/1\/a\/inner\/1$/)
  assert.equal(keys[1], keys[0].replace(/1$/, '2'))
})

test('an inner tool suspends the outer call', async () => {
  const sign = does('sign', (_, { suspend }) => {
    throw suspend('waits for the signature')
  })
  const order = does('order', (_, context) => sign.run({}, { context }))
  const agent = scripted([calls(['a', 'order']), says('x')], { tools: [order] })
  const { outcome, pending } = await agent.prompt('go')
  assert.deepEqual([outcome, pending.map(({ reason }) => reason)], ['suspended', ['waits for the signature']])
  await assert.rejects(sign.run({}), { name: 'Suspension', reason: 'waits for the signature' })
})

test('neither approval nor the time limit of the tool applies', async () => {
  const asked = does('t', async (_, { sleep }) => sleep(5), { needsApproval: () => assert.fail('not asked'), timeoutMs: 1 })
  assert.equal(await asked.run({}), true)
  assert.equal(await tool({ name: 't', needsApproval: true, execute: () => 1 }).run({}), 1)
})
