// Transcripts of other programs.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { transcript } from 'agent-loop'

import { says, scripted } from './helpers.mjs'

const chat = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Rain in Oslo?', name: 'Ann' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: '1', type: 'function', function: { name: 'weather', arguments: '{"cityName":"Oslo"}' } }],
  },
  { role: 'tool', tool_call_id: '1', content: 'rain' },
  { role: 'assistant', content: 'Yes.' },
]

test("OpenAI's messages come in and go out", () => {
  const { messages, systemPrompt, losses } = transcript.fromOpenai(chat)
  assert.deepEqual([systemPrompt, losses, messages.length], ['Be brief.', [], 4])
  assert.deepEqual(messages[0].metadata, { openai_chat: { name: 'Ann' } })
  assert.deepEqual(messages[1].content[0].arguments, { cityName: 'Oslo' })
  assert.deepEqual([messages[2].toolCallId, messages[2].toolName], ['1', 'weather'])
  assert.equal(JSON.parse(JSON.stringify(messages[2])).tool_name, 'weather')
  assert.deepEqual(transcript.toOpenai(messages, { systemPrompt }), { messages: chat, losses: [] })
  assert.deepEqual(transcript.importMessages('openai_chat', JSON.stringify(chat)).messages, messages)
})

test('each format has two functions', () => {
  const { messages } = transcript.fromOpenai(chat.slice(2))
  for (const name of ['Openai', 'OpenaiResponses', 'Anthropic', 'Gemini', 'AiSdk', 'Pi']) {
    const written = transcript[`to${name}`](messages)
    const again = transcript[`from${name}`](written.messages)
    assert.deepEqual([written.losses, again.losses], [[], []], name)
    const texts = again.messages.map(({ content }) => content.map(({ text = '' }) => text).join(''))
    assert.deepEqual(texts, ['', 'rain', 'Yes.'], name)
    assert.deepEqual(again.messages[0].content[0].arguments, { cityName: 'Oslo' }, name)
  }
})

test('names of other formats stay as they are', () => {
  const part = { type: 'data-some_thing', data: { some_field: 1, otherField: 2 } }
  const theirs = [{ id: 'a', role: 'assistant', parts: [{ type: 'step-start' }, part] }]
  const { messages } = transcript.fromAiSdk(theirs)
  assert.deepEqual(messages[0].content[0].data, part)
  assert.deepEqual(transcript.toAiSdk(messages).messages, theirs)
})

test('losses are reported', () => {
  const video = { type: 'video_url', video_url: { url: 'https://example.com/cat.mp4' } }
  const [loss] = transcript.fromOpenai([...chat, { role: 'user', content: [video] }]).losses
  assert.deepEqual([loss.index, loss.code], [5, 'file'])
  const { losses } = transcript.toAnthropic([{ role: 'note' }], { systemPrompt: 'Be brief.' })
  assert.deepEqual(losses.map(({ code }) => code), ['system_prompt', 'custom_message'])
})

test('what was read is taken by an agent', async () => {
  const thinking = { type: 'thinking', thinking: 'hm', signature: 's' }
  const model = 'anthropic/claude-sonnet-4-5'
  const read = transcript.fromAnthropic([{ role: 'assistant', content: [thinking] }], { model })
  const { provider, protocol, model: id } = read.messages[0]
  assert.deepEqual([provider, protocol, id], ['anthropic', 'anthropic', 'claude-sonnet-4-5'])
  const agent = scripted([says('hello')], { messages: transcript.fromOpenai(chat).messages })
  await agent.prompt('Thanks')
  assert.deepEqual(transcript.toOpenai(agent.messages).messages.at(-1), { role: 'assistant', content: 'hello' })
})

test('what is wrong is refused', () => {
  for (const [call, message] of [
    [() => transcript.fromOpenai([{ content: 'x' }]), 'messages: /0: role is missing'],
    [() => transcript.fromOpenaiResponses([{ type: 'function_call', name: 't' }]), 'messages: /0: call_id is missing'],
    [() => transcript.fromAnthropic([{ role: 'user', content: [{ type: 'tool_result' }] }]), /: tool_use_id is missing$/],
    [() => transcript.importMessages('antropic', []), 'format: unknown format "antropic"; did you mean "anthropic"?'],
    [() => transcript.fromOpenai([], { model: 'gpt' }), /^model "gpt": expected "provider\/id"/],
    [() => transcript.fromOpenai([5n]), 'messages: [0]: the BigInt 5n is not JSON'],
    [() => transcript.importMessages(chat, 'openai_chat'), 'format: expected text, got an array'],
    [() => transcript.fromOpenai(chat, 'openai/gpt-5'), 'options: expected an object such as { model }, got string'],
    [() => transcript.toOpenai([], { system_prompt: 'x' }), 'unknown option "system_prompt"; known is systemPrompt'],
  ]) {
    assert.throws(call, { name: 'InvalidArgumentError', message })
  }
  const tool = { role: 'tool', content: 'x' }
  const names = { name: 'InvalidArgumentError', message: /transcript import reads such messages \(format "openai_chat"\)$/ }
  assert.throws(() => scripted([says('hello')]).appendMessage(tool), names)
})
