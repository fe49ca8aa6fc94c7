// Transcript repair.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { transcript } from 'agent-loop'

import { says, scripted } from './helpers.mjs'

const call = (id) => ({ type: 'tool_call', id, name: 't', arguments: {} })

test('a failed message, a stray result and an unacceptable id are repaired, and reported', () => {
  const saved = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', stopReason: 'error', content: [call('f')] },
    { role: 'tool_result', toolCallId: 'f', toolName: 't', content: 'stray' },
    { role: 'note', by: 'me' },
    { role: 'assistant', content: [call('a b')] },
  ]
  const { messages, repairs } = transcript.repair(saved, 'anthropic/claude-sonnet-4-5')
  assert.deepEqual(messages.map((message) => message.role), ['user', 'assistant', 'tool_result'])
  assert.equal(messages[1].content[0].id, 'a_b')
  assert.deepEqual([messages[2].toolCallId, messages[2].isError], ['a_b', true])
  assert.deepEqual(repairs.map(({ code, messageIndex, contentIndex }) => [code, messageIndex, contentIndex]), [
    ['failed_message', 1, undefined],
    ['stray_result', 2, undefined],
    ['call_id', 4, 0],
    ['missing_result', 4, 0],
  ])
  assert.equal(repairs[2].text, 'the call id "a b" became "a_b"')
  assert.equal(
    JSON.stringify(repairs[2]),
    '{"code":"call_id","message_index":4,"content_index":0,"text":"the call id \\"a b\\" became \\"a_b\\""}',
  )

  assert.deepEqual(transcript.check(saved, { provider: 'anthropic', id: 'any' }), repairs)
  assert.deepEqual(transcript.check(messages, 'anthropic/claude-sonnet-4-5'), [])
})

test('found_e13_unknown_fields: a stored history keeps what is unknown in metadata.unknown, and is reported', async () => {
  const stored = [
    { role: 'user', content: [{ type: 'text', text: 'hi', cache_control: {} }], name: 'Ann', id: 7 },
    { role: 'assistant', content: 'x', tool_calls: [{ fooBar: 1 }], metadata: { fooBar: 1 }, id: 'm' },
    { role: 'assistant', content: 'y', id: 'm' },
  ]
  const text = JSON.stringify(stored)
  const messages = transcript.readHistory(text)
  assert.deepEqual(messages.map(({ metadata }) => metadata), [
    { unknown: { name: 'Ann', id: 7, 'content[0]': { cache_control: {} } } },
    { fooBar: 1, unknown: { tool_calls: [{ fooBar: 1 }] } },
    { unknown: { id: 'm' } },
  ])
  assert.deepEqual(messages.map(({ id }) => id), [undefined, 'm', undefined])
  assert.deepEqual(transcript.check(messages, 'groq/m').map(({ code }) => code), Array(3).fill('unknown_field'))
  // The same object by object, and what was read is taken by a call.
  assert.deepEqual(transcript.readHistory(JSON.parse(JSON.stringify(messages))), messages)
  const agent = scripted([says('hello')], { messages })
  const codes = []
  agent.subscribe((event) => event.type === 'diagnostic' && codes.push(event.code))
  await agent.prompt({ role: 'user', content: 'go', id: 'n', metadata: { toolCalls: 1 } })
  assert.deepEqual(codes, ['transcript_repaired'])
  assert.deepEqual([agent.messages[3].id, agent.messages[3].metadata], ['n', { toolCalls: 1 }])
  assert.deepEqual(JSON.parse(JSON.stringify(agent.messages[1])).metadata, messages[1].metadata)
  for (const [message, text] of [
    [stored[1], /^messages: \[0\]: assistant message: unknown field "tool_calls"; a model's calls are blocks/],
    [{ role: 'system', content: 'x' }, /^messages: \[0\]: the role "system" is of another format; use the system prompt/],
    [{ role: 'user', content: 'x', id: 'm' }, /^the id "m" is another message's already/],
  ]) {
    assert.throws(() => agent.appendMessage(message), { name: 'InvalidArgumentError', message: text })
  }
  assert.throws(() => transcript.readHistory('{}'), { name: 'InvalidArgumentError' })
})

test("an agent's messages and their canonical JSON are accepted", async () => {
  const agent = scripted([says('hello')])
  await agent.prompt('hi')
  const { messages, repairs } = transcript.repair(agent.messages, 'groq/m')
  assert.deepEqual([messages, repairs], [[...agent.messages], []])
  assert.deepEqual(transcript.check(JSON.parse(JSON.stringify(agent.messages)), 'groq/m'), [])
})

test('an invalid model or message is refused', () => {
  for (const [messages, model, text] of [
    [[], 'gpt', /^model "gpt": expected "provider\/id"/],
    [[], { provider: 'groq', id: 'm', qirks: {} }, /^unknown model field "qirks"; did you mean "quirks"\?$/],
    [[], { provider: 'groq', id: 'm', quirks: { callIds: 'none' } }, /^model: quirks: callIds: unknown value "none"/],
    [[{ role: 'user' }], 'groq/m', 'messages: [0]: user message: content is missing'],
    ['hi', 'groq/m', 'messages: expected an array of messages, got "hi"'],
  ]) {
    const expected = { name: 'InvalidArgumentError', message: text }
    assert.throws(() => transcript.repair(messages, model), expected)
    assert.throws(() => transcript.check(messages, model), expected)
  }
})

test('found_d1_a_call_is_never_cut_from_its_result', () => {
  const messages = [
    { role: 'user', content: 'first' },
    { role: 'assistant', content: 'one' },
    { role: 'user', content: 'second' },
    { role: 'assistant', content: [{ type: 'tool_call', id: 'a', name: 't', arguments: {} }] },
    { role: 'tool_result', toolCallId: 'a', toolName: 't', content: 'result' },
  ]
  for (const count of [0, 1, 2, 3, 4]) assert.deepEqual(transcript.recent(messages, count), messages.slice(2))
  assert.deepEqual(transcript.recent(messages, 5), messages)
  assert.ok(transcript.recent(messages, 99).every((message, index) => message === messages[index]))
  assert.throws(() => transcript.recent(messages, -1), /expected a whole number of at least 0, got -1/)
})
