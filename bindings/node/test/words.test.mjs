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
