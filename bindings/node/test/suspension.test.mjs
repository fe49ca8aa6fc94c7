// Calls that wait for a decision, as tools and agents of Node have them; the rules are in the scenarios.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Agent, resume, run } from 'agent-loop'

import { calls, does, says, scripted, toolTexts } from './helpers.mjs'

const model = (...script) => ({ provider: 'scripted', id: 's', script })
const pay = () =>
  does('pay', ({ n }) => `paid ${n}`, {
    parameters: { type: 'object', properties: { n: { type: 'integer' } } },
    needsApproval: ({ n }) => (n > 10 ? `${n} is a lot` : false),
  })

test('a function of the arguments decides who is asked', async () => {
  const agent = scripted([calls(['a', 'pay', { n: 5 }], ['b', 'pay', { n: '50' }]), says('Done.')], { tools: [pay()] })
  const result = await agent.prompt('Pay.')
  assert.equal(result.outcome, 'suspended')
  const [{ toolCallId, toolName, arguments: args, reason, idempotencyKey }, ...others] = result.pending
  assert.deepEqual([toolCallId, toolName, args, reason, others], ['b', 'pay', { n: 50 }, '50 is a lot', []])
  assert.match(idempotencyKey, /^run_[0-9a-f]{16}\/1\/b$/)
  assert.deepEqual(agent.pending, result.pending)
  assert.equal(JSON.parse(JSON.stringify(result)).pending[0].tool_call_id, 'b')
  for (const { pending } of [result, agent]) assert.equal(JSON.parse(JSON.stringify(pending))[0].tool_call_id, 'b')
  await assert.rejects(agent.prompt('More.'), { kind: 'invalid_state', message: /a call waits for a decision: b \(pay\)/ })
  const last = await agent.resume({ decisions: { b: 'approve' } })
  assert.deepEqual([toolTexts(last), agent.pending], [[['paid 50', false]], []])
})

test('what is decided for always is remembered until it is forgotten', async () => {
  const [ran, asked] = [[], []]
  const run = does('run', ({ command }) => void ran.push(command), {
    parameters: { type: 'object', properties: { command: { type: 'string' } } },
    subject: { argument: 'command', kind: 'command' },
  })
  const onApproval = (call) => {
    asked.push([call.rule, call.reason, call.arguments, call.toolName])
    return call.rule === 'run(git push)' ? 'approve_always' : undefined
  }
  const twice = () => [calls(['a', 'run', { command: 'git push' }], ['b', 'run', { command: 'ls; rm a' }]), says('Done.')]
  const gate = { ask: ['run'], deny: ['run(mv *)'] }
  const agent = scripted([...twice(), ...twice()], { tools: [run], gate, onApproval })
  const { outcome, pending } = await agent.prompt('Go.')
  assert.deepEqual(asked[0], ['run(git push)', 'the rule run asks for approval', { command: 'git push' }, 'run'])
  assert.deepEqual([outcome, pending.map(({ rule }) => rule), ran], ['suspended', ['run(ls; rm a)'], ['git push']])
  await agent.resume({ decisions: { b: { denyAlways: 'not this' } } })
  assert.deepEqual(agent.remembered, { allow: ['run(git push)'], deny: ['run(ls; rm a)'] })

  assert.equal((await agent.prompt('Again.')).outcome, 'completed')
  assert.deepEqual([asked.length, ran], [2, ['git push', 'git push']])
  assert.throws(() => agent.forget('run('), { kind: 'invalid_argument', message: /"run\(" does not end with its parenthesis/ })
  assert.throws(() => agent.forget(5), { kind: 'invalid_argument', message: /^forget: expected a rule, .* got number$/ })
  agent.forget('run(git push)')
  assert.deepEqual(agent.remembered, { allow: [], deny: ['run(ls; rm a)'] })
  agent.forget()
  assert.deepEqual(agent.remembered, { allow: [], deny: [] })
  assert.throws(() => scripted([], { gate: { deny: ['run(git'] } }), { message: /option "gate": deny: the rule "run\(git"/ })
})

test('what goes on has options of its own', async () => {
  const seen = []
  const order = does('order', (_, { deps }) => void seen.push(deps), { needsApproval: true })
  const answer = calls(['b', 'final_answer', { result: 7 }])
  const agent = scripted([calls(['a', 'order']), answer, says('Seven.'), says('More.')], { tools: [order] })
  const output = { type: 'integer' }
  await agent.prompt('Go.', { output, deps: 'first' })
  const result = await agent.resume({ decisions: { a: 'approve' }, output, deps: 'second' })
  assert.deepEqual([result.output, result.outcome, seen], [7, 'completed', ['second']])
  agent.followUp('More?')
  assert.equal((await agent.resumeIfQueued({ temperature: 0 })).text, 'More.')
  await assert.rejects(agent.resume({ maxTurn: 1 }), { message: /unknown option "maxTurn"; did you mean "maxTurns"\?/ })
})

test('a tool suspends itself, also behind middleware that throws something else', async () => {
  const keys = []
  const sign = does('sign', (_, { suspend, idempotencyKey }) => {
    keys.push(idempotencyKey)
    throw suspend('waits for the signature')
  })
  const around = async (_, next) => {
    try {
      return await next()
    } catch (cause) {
      throw new Error('something else', { cause })
    }
  }
  const agent = scripted([calls(['a', 'sign']), says('Done.')], { tools: [sign], middleware: [around] })
  const { pending } = await agent.prompt('Go.')
  assert.deepEqual(pending.map(({ reason }) => reason), ['waits for the signature'])
  await agent.resume({ decisions: { a: 'approve' } })
  assert.deepEqual(keys, [pending[0].idempotencyKey, pending[0].idempotencyKey])
  const result = await agent.resume({ decisions: { a: { result: { content: [{ type: 'text', text: 'no' }], isError: true } } } })
  assert.deepEqual(toolTexts(result), [['no', true]])
})

test('decisions are checked before anything runs', async () => {
  const agent = scripted([calls(['a', 'pay', { n: 50 }]), says('Done.')], { tools: [pay()] })
  await agent.prompt('Pay.')
  for (const [decisions, message] of [
    [{}, /nothing is decided about a \(pay\)/],
    [{ a: 'yes' }, /a: expected "approve"/],
    [{ a: { arguments: { n: 'many' } } }, /the arguments do not fit/],
    [{ a: 'deny', b: 'deny' }, /no call b waits/],
    ['approve', /option "decisions": expected an object/],
  ]) {
    await assert.rejects(agent.resume({ decisions }), { kind: 'invalid_argument', message })
  }
  assert.deepEqual(toolTexts(await agent.resume({ decisions: { a: { deny: 'too dear' } } })), [['too dear', true]])
})

test('a stateless run is suspended and resumed', async () => {
  const tools = [pay()]
  const { messages } = await run({ tools }, 'Pay.', { model: model(calls(['a', 'pay', { n: 50 }])) }).result()
  const later = resume({ tools, messages }, { model: model(says('Done.')), decisions: { a: 'approve' } })
  assert.deepEqual(toolTexts(await later.result()), [['paid 50', false]])
})

test('an exported conversation goes on, and a forged one does not', async () => {
  const tools = [pay()]
  const agent = scripted([calls(['a', 'pay', { n: 50 }])], { tools })
  await agent.prompt('Pay.')
  const key = 'a key of thirty-two random bytes'
  for (const given of [undefined, key, Buffer.from(key)]) {
    const again = Agent.fromExport(agent.export(given), { model: model(says('Done.')), tools }, given)
    assert.deepEqual(again.pending, agent.pending)
    assert.deepEqual(toolTexts(await again.resume({ decisions: { a: 'approve' } })), [['paid 50', false]])
  }
  const signed = agent.export(key)
  assert.equal(Agent.fromExport(JSON.stringify(JSON.parse(signed), null, 1), { model: model() }, key).pending.length, 1)
  for (const [text, given] of [
    [signed.replaceAll('50', '5'), key],
    [signed, 'another key of thirty-two bytes.'],
    [signed, undefined],
    [agent.export(), key],
    ['{}', undefined],
  ]) {
    const message = /^the export cannot be read/
    assert.throws(() => Agent.fromExport(text, { model: model() }, given), { kind: 'invalid_argument', message })
  }
  const message = 'the key of the export has 5 bytes; give at least 32 random ones'
  assert.throws(() => agent.export('short'), { kind: 'invalid_argument', message })
  assert.throws(() => Agent.fromExport(signed, { model: model() }, 'short'), { kind: 'invalid_argument', message })
})

test('an export is refused beside messages, and when it is newer', async () => {
  const agent = scripted([says('Hello.')])
  await agent.prompt('Hi.')
  assert.throws(() => Agent.fromExport(agent.export(), { model: model(), messages: agent.messages }), {
    kind: 'invalid_argument',
    message: 'the export has the messages of its conversation; leave out the option "messages"',
  })
  const newer = JSON.stringify({ ...JSON.parse(agent.export()), version: 2 })
  assert.throws(() => Agent.fromExport(newer, { model: model() }), {
    name: 'NewerVersionError',
    message: 'the export has version 2; this library reads versions up to 1: update it',
  })
})

test('stateless runs with an origin have the same keys', async () => {
  const keys = []
  const pay = does('pay', (_, { idempotencyKey }) => void keys.push(idempotencyKey), { needsApproval: true })
  const tools = [pay]
  const played = async (options) => {
    keys.length = 0
    const first = { model: model(calls(['a', 'pay'])), ...options }
    const { messages, pending } = await run({ tools }, 'Pay.', first).result()
    const then = { model: model(says('Done.')), decisions: { a: 'approve' }, ...options }
    await resume({ tools, messages }, then).result()
    return [...pending.map(({ idempotencyKey }) => idempotencyKey), ...keys]
  }
  assert.deepEqual(await played({ origin: 'invoice 7' }), ['invoice 7/1/a', 'invoice 7/1/a'])
  const [before, after] = await played({})
  assert.notEqual(before, after)
})

test('a hook decides about a call without a result', async () => {
  const seen = []
  const send = does('send', () => 'sent', { onInterrupted: 'ask' })
  const call = { type: 'tool_call', id: 'a', name: 'send', arguments: { n: 1 } }
  const messages = [{ role: 'user', content: 'go' }, { role: 'assistant', content: [call], stopReason: 'tool_use' }]
  const onInterruptedCall = ({ toolCallId, arguments: args }) => {
    seen.push([toolCallId, args])
    return { result: 'it was sent' }
  }
  const agent = scripted([says('Done.')], { tools: [send], messages, onInterruptedCall })
  assert.deepEqual(toolTexts(await agent.resume()), [['it was sent', false]])
  assert.deepEqual(seen, [['a', { n: 1 }]])
})
