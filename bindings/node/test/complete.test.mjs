// One model call, without a loop.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { complete, streamComplete, tool } from 'agent-loop'
import { checkEvents } from 'agent-loop/testing'

import { calls, does, play, says } from './helpers.mjs'

const fails = (kind, message) => [{ error: { kind, message } }]
const model = (...script) => ({ provider: 'scripted', id: 's', script })
const never = does('double', () => assert.fail('it is not executed'))

test('a model and a text are enough', async () => {
  const answer = await complete(model(says('Hello.')), 'Hi.')
  assert.deepEqual([answer.role, answer.content[0].text, answer.stopReason], ['assistant', 'Hello.', 'stop'])
})

test('the model gets the messages, the prompt, the tools and the options', async () => {
  const seen = []
  async function* provider({ systemPrompt, messages, tools, options }) {
    seen.push([systemPrompt, messages.map(({ content }) => content[0].text), tools.map(({ name }) => name), options.temperature])
    yield 'ok'
  }
  const answer = await complete(model(says('two')), 'one')
  const messages = [{ role: 'user', content: 'one' }, answer, { role: 'user', content: 'three' }]
  const triple = { name: 'triple', description: 'Triples.', parameters: { type: 'object' } }
  const options = { systemPrompt: 'Be brief.', tools: [never, triple], provider, temperature: 0.5, maxTurns: undefined }
  await complete('own/m', messages, options)
  await complete('own/m', { role: 'user', content: 'alone' }, { provider })
  assert.deepEqual(seen, [
    ['Be brief.', ['one', 'two', 'three'], ['double', 'triple'], 0.5],
    ['', ['alone'], [], undefined],
  ])
})

test('its tool calls are the caller\'s', async () => {
  const answer = await complete(model(calls(['a', 'double', { n: 2 }])), '2 doubled?', { tools: [never] })
  assert.equal(answer.stopReason, 'tool_use')
  const [{ name, arguments: given }] = answer.content.filter(({ type }) => type === 'tool_call')
  assert.deepEqual([name, given], ['double', { n: 2 }])
})

test('its events are those of one turn', async () => {
  const call = streamComplete(model(says('Hello.')), 'Hi.')
  const events = await play(call)
  checkEvents(events)
  const types = events.map(({ type }) => type).filter((type) => !type.startsWith('text_'))
  assert.deepEqual(types, ['agent_start', 'turn_start', 'message_start', 'message_end', 'turn_end', 'agent_end'])
  const { outcome, message, messages } = await call.result()
  assert.deepEqual([outcome, message.content[0].text, messages.length], ['completed', 'Hello.', 1])
})

test('a failed call throws its error', async () => {
  const failing = () => model(fails('permission', 'no'))
  const refused = { name: 'PermissionError', kind: 'permission' }
  await assert.rejects(complete(failing(), 'Hi.'), (error) => {
    assert.equal(error.result.message.stopReason, 'error')
    return error.kind === 'permission'
  })
  await assert.rejects(async () => {
    for await (const event of streamComplete(failing(), 'Hi.')) assert.ok(event)
  }, refused)
  assert.equal((await play(streamComplete(failing(), 'Hi.', { raiseErrors: false }))).at(-1).type, 'agent_end')
})

test('a signal aborts a call', async () => {
  const controller = new AbortController()
  async function* provider(_, { signal }) {
    yield 'Well,'
    controller.abort(new Error('enough'))
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  }
  await assert.rejects(complete('own/m', 'Hi.', { provider, signal: controller.signal }), { message: 'enough' })
  await assert.rejects(complete(model(says('Never sent.')), 'Hi.', { signal: controller.signal }), { message: 'enough' })

  const call = streamComplete(model([{ delta: 'Well,' }, { wait_ms: 1000 }]), 'Hi.', { beforeRun: () => {} })
  const text = 'steer: one model call takes no further messages; make another call with them'
  assert.throws(() => call.steer('More.'), { name: 'InvalidStateError', message: text })
  call.abort()
  const { outcome, message } = await call.result()
  assert.deepEqual([outcome, message.stopReason], ['aborted', 'aborted'])
})

test('what has no use is refused', async () => {
  const unused = 'one model call has no further turn and no queue, and executes no tool; leave the option out, or use run'
  const f = () => {}
  for (const [name, value] of Object.entries({
    maxTurns: 3,
    toolExecution: 'parallel',
    beforeToolCall: f,
    shouldStopAfterTurn: f,
    getSteeringMessages: f,
    middleware: [],
  })) {
    await assert.rejects(complete(model(), 'Hi.', { [name]: value }), {
      name: 'InvalidArgumentError',
      message: `option ${JSON.stringify(name)}: ${unused}`,
    })
  }
  for (const [messages, options, message] of [
    ['Hi.', { maxToken: 3 }, /^unknown option "maxToken"; did you mean "maxTokens"/],
    ['Hi.', { messages: [] }, /^option "messages": give it before the options$/],
    ['Hi.', { raiseErrors: false }, /^option "raiseErrors": complete throws the error/],
    ['Hi.', 5, /^options: expected an object/],
    ['Hi.', { tools: [5] }, /^option "tools": \[0\]: expected a tool/],
    [[], {}, /^messages: the list is empty/],
    [' ', {}, /^messages: the user message is empty/],
    [[{ role: 'user', content: 'a' }, { role: 'assistant', content: 'b' }], {}, /^messages: the last one is the model's answer/],
    [5, {}, /^messages: expected text/],
  ]) {
    await assert.rejects(complete(model(), messages, options), { name: 'InvalidArgumentError', message })
  }
  assert.throws(() => streamComplete(model(), ''), { name: 'InvalidArgumentError' })
  assert.equal(tool({ name: 't', execute: f }).name, 't')
})
