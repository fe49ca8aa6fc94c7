// Long results and conversations: what one JavaScript string cannot hold crosses in pieces.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { checkEvents } from 'agent-loop/testing'

import { calls, does, moduleOf, play, says, scripted } from './helpers.mjs'

const { native } = moduleOf('native')

/** The longest JavaScript string, of V8. */
const STRING = 2 ** 29 - 24

after(() => native.setTextLimits(32 << 20, STRING))

/** Plays calls of a tool that return texts of these lengths. Returns the agent, the events of the run and of a listener. */
async function playLong(lengths, options = {}) {
  const text = (length) => `${length}:`.padEnd(length, 'x')
  const script = [calls(...lengths.map((length, i) => [`c${i}`, 'long', { length }])), says('done')]
  const agent = scripted(script, { tools: [does('long', ({ length }) => text(length))], ...options })
  const heard = []
  agent.subscribe((event) => void heard.push(event))
  const run = agent.stream('go')
  const events = await play(run)
  return { agent, run, events, heard, texts: lengths.map(text) }
}

const resultsOf = (messages) =>
  messages.filter(({ role }) => role === 'tool_result').map(({ content }) => content[0].text)

async function checkLong(lengths) {
  const { agent, run, events, heard, texts } = await playLong(lengths)
  assert.deepEqual(heard.map(({ type, seq }) => [type, seq]), events.map(({ type, seq }) => [type, seq]))
  assert.deepEqual(events.map(({ seq }) => seq), [...events.keys()])
  const result = await run.result()
  for (const { type, toolResults, messages } of [events, heard].flat()) {
    if (type === 'turn_end' && toolResults.length > 0) assert.deepEqual(resultsOf(toolResults), texts)
    if (type === 'agent_end') assert.deepEqual(resultsOf(messages), texts)
  }
  const ends = events.filter(({ type }) => type === 'tool_execution_end').map(({ result }) => result.content[0].text.length)
  assert.deepEqual(ends.sort(), [...lengths].sort())
  assert.deepEqual([resultsOf(result.messages), result.text], [texts, 'done'])
  assert.deepEqual(resultsOf(agent.messages), texts)
  return events
}

test('found_a10_many_long_results: 60 of 3 MB', async () => {
  const script = [calls(...Array.from({ length: 60 }, (_, i) => [`c${i}`, 'long'])), says('done')]
  const agent = scripted(script, { tools: [does('long', () => 'x'.repeat(3_000_000))] })
  const sizes = {}
  // Nothing is kept: each event has up to 180 MB.
  for await (const { type, seq, toolResults = [], messages = [], message, result } of agent.stream('go')) {
    const texts = [...resultsOf([...toolResults, ...messages, ...(message ? [message] : [])]), result?.content[0].text ?? '']
    const size = texts.reduce((sum, text) => sum + text.length, 0)
    sizes[type] = (sizes[type] ?? 0) + size
    sizes.events = seq + 1
  }
  const all = 180_000_000
  const { events, ...rest } = sizes
  // That the calls are the same one is reported after 3, 6, 12, 24 and 48.
  assert.equal(events, 60 * 3 + 60 * 4 + 15 + 5, 'each call has three events in its message, and four of its own')
  assert.deepEqual(Object.fromEntries(Object.entries(rest).filter(([, size]) => size > 0)), {
    tool_execution_end: all,
    message_start: all,
    message_end: all,
    turn_end: all,
    agent_end: all,
  })
  assert.equal(resultsOf(agent.messages).length, 60)
})

test('found_a10_pieces: lists of messages cross one by one where they are long', async () => {
  native.setTextLimits(10_000, 100_000)
  checkEvents(await checkLong(Array(30).fill(9_000)))
  checkEvents(await checkLong([90_000, 2, 20_000, 9_990, 5, 80_000]))
  // Whether canonical JSON is the same, whole or in pieces.
  const json = async () => {
    const { events } = await playLong([9_000, 9_000], { timestamp: undefined })
    return JSON.stringify(events).replaceAll(/"(run_id|timestamp|duration_ms)":[^,}]*/g, '')
  }
  const inPieces = await json()
  native.setTextLimits(32 << 20, STRING)
  assert.equal(await json(), inPieces)
})

test('found_a10_an_event_longer_than_a_string: a diagnostic says so, and all others arrive', async () => {
  native.setTextLimits(10_000, 50_000)
  const { agent, run, events, heard } = await playLong([20_000, 60_000, 10])
  for (const list of [events, heard]) {
    assert.deepEqual(list.map(({ seq }) => seq), [...list.keys()])
    const left = list.filter(({ code }) => code === 'event_left_out')
    assert.deepEqual(left.map(({ data }) => data.type), ['tool_execution_end', 'message_start', 'message_end'])
    assert.match(
      left[0].message,
      /^the event tool_execution_end was left out: its JSON has 60\d+ characters, and a JavaScript string has at most 50000; /,
    )
    const end = list.at(-1)
    assert.deepEqual([end.type, end.outcome], ['agent_end', 'completed'])
    const roles = ['user', 'assistant', 'tool_result', 'left_out', 'tool_result', 'assistant']
    assert.deepEqual(end.messages.map(({ role }) => role), roles)
  }
  assert.equal((await run.result()).text, 'done')
  const { of, characters } = agent.messages[3]
  assert.deepEqual([of, characters > 60_000], ['tool_result', true])
})

test('found_a10_long_inputs: a hook whose input is too long fails with a clear error', async () => {
  native.setTextLimits(10_000, 50_000)
  const error = await playLong([60_000], { transformContext: () => undefined }).then(({ run }) => run.result()).catch((e) => e)
  assert.equal(error.kind, 'callback')
  assert.match(error.message, /its input has more characters than a JavaScript string can; shorten the conversation$/)
  // Middleware sees the failure of `next`.
  const seen = []
  const around = async (_, next) => next().catch((error) => void seen.push(error.message))
  await playLong([60_000], { middleware: [around] })
  assert.deepEqual(seen, ['the result has more characters than a JavaScript string can'])
})
