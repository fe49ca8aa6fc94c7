// Stateless runs: over a context that does not change.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { resume, run } from 'agent-loop'
import { checkEvents } from 'agent-loop/testing'

import { calls, does, play, says, toolTexts } from './helpers.mjs'

const model = (...script) => ({ provider: 'scripted', id: 's', script })

test('a run does not change its context', async () => {
  const look = does('look', () => 'seen')
  const context = Object.freeze({
    systemPrompt: 'Be brief.',
    messages: Object.freeze([{ role: 'user', content: 'Hi' }]),
    tools: [look],
  })
  const asked = []
  const started = run(context, 'go', {
    model: model(calls(['a', 'look']), says('done')),
    onPayload: ({ payload }) =>
      void asked.push([payload.system_prompt, payload.messages.length, payload.tools.map((tool) => tool.name)]),
  })
  const events = await play(started)
  checkEvents(events)
  const result = await started.result()
  assert.deepEqual([result.outcome, result.text, toolTexts(result)], ['completed', 'done', [['seen', false]]])
  assert.deepEqual(result.messages.map(({ role }) => role), ['user', 'assistant', 'tool_result', 'assistant'])
  assert.deepEqual(asked, [['Be brief.', 2, ['look']], ['Be brief.', 4, ['look']]])
  assert.deepEqual(result.undelivered, { steering: [], followUp: [] })
})

test('resume continues a context', async () => {
  const messages = [{ role: 'user', content: 'Hi' }]
  const result = await resume({ messages }, { model: model(says('Hello')) }).result()
  assert.deepEqual([result.text, result.messages.length], ['Hello', 1])
  for (const context of [{}, { messages: [...messages, ...result.messages] }]) {
    assert.throws(() => resume(context, { model: model() }), {
      name: 'InvalidStateError',
      message: /^there is nothing to resume/,
    })
  }
})

test('steering and follow-up messages come from the run, and unused ones are returned', async () => {
  const stop = does('stop', () => {
    started.steer('not used')
    started.followUp('nor this')
    started.abort()
  })
  const started = run({ tools: [stop] }, 'go', { model: model(calls(['a', 'stop'])) })
  const result = await started.result()
  const said = (list) => list.map((message) => message.content[0].text)
  assert.deepEqual([said(result.undelivered.steering), said(result.undelivered.followUp)], [['not used'], ['nor this']])
  assert.match(JSON.stringify(result), /"undelivered":\{"steering":\[\{"role":"user".*\],"follow_up":\[/)
  assert.throws(() => started.steer('late'), { name: 'InvalidStateError', message: /^the run is over/ })
})

test('hooks, middleware and a provider', async () => {
  const log = []
  const script = [[{ toolCall: { name: 't', arguments: {} } }], ['done'], ['more']]
  const result = await run({ tools: [does('t', () => void log.push('tool'))] }, 'go', {
    model: 'acme/m',
    provider: () => script.shift(),
    middleware: [async (_, next) => (log.push('in'), await next())],
    getFollowUpMessages: () => (log.push('asked'), log.filter((word) => word === 'asked').length === 1 ? 'again' : null),
    afterRun: ({ outcome }) => void log.push(outcome),
  }).result()
  assert.deepEqual([log, result.text], [['in', 'tool', 'asked', 'asked', 'completed'], 'more'])
})

test('a run cannot be awaited inside its callbacks', async () => {
  const refused = []
  const tools = [does('t', async () => {
    await started.result().catch((error) => refused.push(error.kind))
    // Another run is no problem.
    refused.push((await run({}, 'x', { model: model(says('inner')) }).result()).text)
  })]
  const started = run({ tools }, 'go', { model: model(calls(['a', 't']), says('x')) })
  await started.result()
  assert.deepEqual(refused, ['invalid_state', 'inner'])
})

test('many concurrent runs, each with its own context', async () => {
  const results = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      run({ tools: [does('t', () => i)] }, 'go', { model: model(calls(['a', 't']), says(`x${i}`)) }).result(),
    ),
  )
  assert.deepEqual(results.map((result) => [result.text, toolTexts(result)[0][0]]), results.map((_, i) => [`x${i}`, String(i)]))
})

test('an error names the argument', () => {
  const options = { model: model() }
  for (const [context, given, message] of [
    ['x', options, 'context: expected an object { systemPrompt, messages, tools }'],
    [{ message: [] }, options, 'unknown context field "message"; did you mean "messages"?'],
    [{ system_prompt: '' }, options, 'unknown context field "system_prompt"; did you mean "systemPrompt"?'],
    [{ history: [] }, options, 'unknown context field "history"; known are systemPrompt, messages, tools'],
    [{ systemPrompt: 5 }, options, 'context: systemPrompt: expected text, got number'],
    [{ messages: 'x' }, options, 'context: messages: expected an array of messages, got "x"'],
    [{ messages: [{ role: 'user' }] }, options, 'context: messages: [0]: user message: content is missing'],
    [{ tools: [5] }, options, 'option "tools": [0]: expected a tool made with tool({ … }), got number'],
    [{}, undefined, 'options: expected an object, for example { model: "anthropic/claude-sonnet-4-5" }'],
    [{}, {}, /^option "model" is missing/],
    [{}, { ...options, systemPrompt: 'x' }, 'option "systemPrompt": give it in the context'],
    [{}, { ...options, maxTurn: 1 }, 'unknown option "maxTurn"; did you mean "maxTurns"?'],
    [{}, { ...options, signl: 1 }, 'unknown option "signl"; did you mean "signal"?'],
    [{}, { ...options, raiseError: () => 1 }, 'unknown option "raiseError"; did you mean "raiseErrors"?'],
    [{}, { ...options, colour: 1 }, /^unknown option "colour"; known are model, .*, signal, raiseErrors, /],
  ]) {
    assert.throws(() => run(context, 'go', given), { name: 'InvalidArgumentError', message })
  }
  assert.throws(() => run({}, [], options), { name: 'InvalidArgumentError' })
})
