// Errors in the user's words: what was wrong, where, and what was expected, with the names as JavaScript spells them.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Agent, run, tool, transcript } from 'agent-loop'
import { checkEvents } from 'agent-loop/testing'

import { calls, says, scripted } from './helpers.mjs'

const JARGON = [
  ...[/enum/, /invalid type/, /variant/, /missing field/, /sequence/, / map\b/, /EOF/, /\bu64\b/, /`/],
  ...[/Failed to convert/, /rust/, /to be String/],
]
const ODD = [undefined, null, 'x', 3, -1, NaN, {}, [1], [{}], () => 1, true, Symbol('x'), 10n, new (class Odd {})(), new Map()]

test('found_p6_no_call_is_refused_in_the_words_of_a_parser_or_of_native_code', async () => {
  const agent = scripted([says('x')])
  const model = { provider: 'scripted', id: 's', script: [] }
  const context = { messages: [] }
  let refused = 0
  for (const odd of ODD) {
    for (const call of [
      () => new Agent(odd),
      () => new Agent({ model: odd }),
      ...['messages', 'tools', 'middleware', 'provider', 'providers', 'fallbacks', 'headers', 'network', 'thinkingBudgets'].map(
        (name) => () => new Agent({ model, [name]: odd }),
      ),
      ...['record', 'replay'].map((name) => () => new Agent({ model, [name]: odd })),
      () => agent.setHook(odd, () => null),
      () => agent.setHook('beforeToolCall', odd),
      () => agent.setProvider(odd, null),
      () => agent.setProvider('p', odd),
      () => agent.addMiddleware(odd),
      () => agent.subscribe(odd),
      () => agent.appendMessages(odd),
      () => agent.replaceMessages(odd),
      () => run(odd, 'hi', { model }).result(),
      () => run(context, 'hi', odd).result(),
      () => tool(odd),
      ...['name', 'description', 'parameters', 'execute', 'label', 'executionMode', 'timeoutMs', 'prepareArguments'].map(
        (name) => () => tool({ name: 't', description: '', execute() {}, [name]: odd }),
      ),
      () => transcript.check(odd, 'openai/gpt-5'),
      () => transcript.check([], odd),
      () => transcript.readHistory(odd),
      () => transcript.recent([], odd),
      () => checkEvents(odd),
    ]) {
      try {
        await call()
      } catch (error) {
        refused += 1
        assert.ok(['InvalidArgumentError', 'TypeError', 'ProviderError'].includes(error.name), `${error.name}: ${error.message}`)
        assert.deepEqual(JARGON.filter((word) => word.test(error.message)), [], error.message)
      }
    }
  }
  assert.ok(refused > 200, `${refused}`)
})

test('found_p6_names_are_spelled_as_in_javascript', async () => {
  const agent = scripted([says('x')])
  const refused = (call, text) => assert.throws(call, { message: text })
  refused(() => agent.appendMessages([{ role: 'toolResult', content: 'x' }, 5]), /^messages: \[1\]: expected a message such as/)
  refused(
    () => agent.appendMessages([{ role: 'tool_result', content: 'x' }]),
    'messages: [0]: tool_result message: toolCallId is missing',
  )
  refused(() => agent.setHook(10n, null), /^unknown hook bigint; known are transformContext, /)
  refused(() => transcript.recent([], 'x'), 'count: expected a whole number of at least 0, got "x"')
  refused(() => agent.appendMessages([{ role: 'user', content: [NaN] }]), 'messages: [0]: NaN is not JSON')
  refused(
    () => checkEvents([{ type: 'agent_start', seq: 0, turn: 0 }]),
    'events[0] (agent_start): runId is missing',
  )
  refused(() => checkEvents([{}]), 'events[0]: expected an event, an object with a type, got {}')
})

test('found_p6_a_wrong_time_to_sleep_is_named', async () => {
  const caught = []
  const work = tool({
    name: 'work',
    description: '',
    async execute(_, { sleep }) {
      for (const ms of ['x', undefined, -1, NaN, Symbol('x')]) await sleep(ms).catch((error) => caught.push(String(error)))
      return 'done'
    },
  })
  const agent = scripted([calls(['a', 'work']), says('end')], { tools: [work] })
  await agent.prompt('go')
  assert.deepEqual(caught, [
    'TypeError: ms: expected milliseconds, got "x"',
    'TypeError: ms: expected milliseconds, got nothing',
    'TypeError: ms: expected milliseconds, got -1',
    'TypeError: ms: expected milliseconds, got NaN',
    'TypeError: ms: expected milliseconds, got symbol',
  ])
})

test('found_names_and_values_of_the_user_are_not_respelled', () => {
  const execute = () => ''
  const text = (call) => {
    try {
      call()
    } catch (error) {
      return error.message
    }
    assert.fail('not refused')
  }
  const model = { provider: 'scripted', id: 's', script: [] }
  const named = (name) => tool({ name, description: '', execute })
  const parameters = (schema) => () => tool({ name: 't', description: '', execute, parameters: { type: 'object', ...schema } })
  for (const [call, given] of [
    [() => new Agent({ model, tools: [named('max_turns'), named('max_turns')] }), '"max_turns"'],
    [parameters({ properties: { url: { type: 'string' } }, required: ['base_url'] }), '"base_url" is not in'],
    [parameters({ properties: { base_url: { type: 'string' } }, required: ['base_ur'] }), '"base_url"'],
    [parameters({ properties: { is_error: { type: 'bool' } } }), '/is_error/'],
    [() => new Agent({ model, headers: { api_key: 'a\nb' } }), '"api_key"'],
    [() => new Agent({ model, headers: { api_key: 5 } }), '"api_key"'],
    [() => new Agent({ model: 'base_url/x' }), 'base_url/x'],
    [() => new Agent({ model, thinkingLevel: 'max_tokens' }), '"max_tokens"'],
    [() => new Agent({ model, maxTurns: { max_turns: 1 } }), '{"max_turns":1}'],
  ]) {
    const message = text(call)
    assert.ok(message.includes(given), message)
  }
  assert.match(text(() => new Agent({ model, network: 5 })), /"caFile"/)
  const result = { role: 'tool_result', toolCallId: 'c', content: [] }
  const of = (fields) => text(() => scripted([]).appendMessages([{ ...result, ...fields }]))
  assert.match(of({ toolNme: 't' }), /tool_result message: unknown field "toolNme"; did you mean "toolName"\?$/)
  assert.match(of({ tool_use_id: 'c' }), /unknown field "tool_use_id"; the id of the call is "toolCallId"; transcript/)
})

test('found_names_of_a_script_are_canonical_also_in_its_errors', () => {
  for (const [step, why] of [
    [{ end: { stopReason: 'stop' } }, 'end: unknown field "stopReason"; did you mean "stop_reason"?'],
    [{ end: { rawStopReason: 'x' } }, 'end: unknown field "rawStopReason"; did you mean "raw_stop_reason"?'],
    [{ end: { usage: { cacheRead: 1 } } }, '"cacheRead"; did you mean "cache_read"?'],
    [{ delta: { type: 'text_delta', delta: 'x', contentIndex: 0 } }, '"contentIndex"; did you mean "content_index"?'],
    [{ waitMs: 1 }, '"waitMs"; did you mean "wait_ms"?'],
  ]) {
    assert.throws(
      () => scripted([[step]]),
      (error) => error.message.startsWith('model "scripted/') && error.message.endsWith(why),
      JSON.stringify(step),
    )
  }
})

test('found_assigning_messages_names_what_replaces_them', () => {
  const agent = scripted([])
  const sloppy = new Function('agent', 'agent.messages = []')
  for (const assign of [() => (agent.messages = []), () => sloppy(agent)]) {
    assert.throws(assign, { name: 'TypeError', message: /replaceMessages/ })
  }
  assert.deepEqual(agent.messages, [])
})
