// Abort, in each phase of a run.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Agent } from 'agent-loop'

import { calls, does, mock, play, says, scripted, toolTexts } from './helpers.mjs'

/** Plays a run and aborts at the first event that fits, from a listener: the run waits for it. */
async function abortedAt(agent, fits) {
  const unsubscribe = agent.subscribe((event) => {
    if (fits(event)) agent.abort()
  })
  const run = agent.stream('go')
  const events = await play(run)
  unsubscribe()
  const result = await run.result()
  assert.equal(result.outcome, 'aborted')
  assert.deepEqual([result.error.kind, result.error.message], ['aborted', 'the run was aborted'])
  assert.deepEqual([events.at(-1).type, events.at(-1).outcome, events.at(-1).error.kind], ['agent_end', 'aborted', 'aborted'])
  return { events, result }
}

test('at the start: the prompt is still in the transcript', async () => {
  const { result } = await abortedAt(scripted([says('x')]), (event) => event.type === 'agent_start')
  assert.deepEqual(
    result.messages.map((message) => [message.role, message.stopReason]),
    [
      ['user', undefined],
      ['assistant', 'aborted'],
    ],
  )
})

test('in the middle of the text: the text so far is kept', async () => {
  const agent = scripted([[{ delta: 'one' }, { delta: 'two' }, { delta: 'three' }, { end: {} }], says('fresh')])
  const { result } = await abortedAt(agent, (event) => event.delta === 'two')
  assert.equal(result.text, 'onetwo')
  assert.deepEqual([result.message.stopReason, result.message.error.kind], ['aborted', 'aborted'])
  assert.equal((await agent.prompt('again')).text, 'fresh')
})

test('while a tool runs: its signal fires, and its result is kept', async () => {
  const agent = scripted([calls(['a', 'polite'], ['b', 'throws'], ['c', 'sleeps'])], {
    tools: [
      does('polite', async (_, { signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        return `stopped: ${signal.reason.name}`
      }),
      does('throws', async (_, { signal }) => {
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      }),
      does('sleeps', async (_, { sleep, update, signal }) => {
        update('here')
        // The first ends at the abort; until then, time stands still.
        const whole = await sleep(60_000)
        return `whole: ${whole}, aborted: ${signal.aborted}`
      }),
    ],
  })
  const { result } = await abortedAt(agent, (event) => event.type === 'tool_execution_update')
  assert.deepEqual(toolTexts(result), [['stopped: AbortError', false], ['aborted', true], ['whole: false, aborted: true', false]])
})

test('found: a call that is cancelled on its way to its tool does not begin', async () => {
  for (const middleware of [[], [async (_, next) => next()]]) {
    let begun = 0
    const execute = () => {
      begun += 1
      // The other calls come to this thread meanwhile, which cannot take them.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
      agent.abort()
      return 'done'
    }
    const agent = scripted([calls(['a', 't'], ['b', 't'], ['c', 't'])], { middleware, tools: [does('t', execute)] })
    const result = await agent.prompt('go')
    assert.equal(result.outcome, 'aborted')
    assert.equal(begun, 1)
    assert.equal(toolTexts(result).filter(([text, isError]) => text === 'aborted' && isError).length, 2)
  }
})

test('a signal first used after the abort is aborted', async () => {
  let aborted
  const agent = scripted([calls(['a', 't'])], {
    tools: [
      does('t', async (_, context) => {
        agent.abort()
        aborted = context.signal.aborted
      }),
    ],
  })
  const { outcome } = await agent.prompt('go')
  assert.deepEqual([outcome, aborted], ['aborted', true])
})

test('a tool that ignores the abort is abandoned after the grace time', async (t) => {
  const call = { id: 'a', index: 0, type: 'function', function: { name: 'deaf', arguments: '{}' } }
  const frames = [
    { choices: [{ index: 0, delta: { tool_calls: [call] } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
  ]
  const body = [...frames.map((frame) => JSON.stringify(frame)), '[DONE]'].map((text) => `data: ${text}\n\n`).join('')
  const url = await mock(t, [{ body }])
  let answer
  const agent = new Agent({
    model: 'company/tiny',
    baseUrl: url,
    abortGraceMs: 10,
    tools: [does('deaf', () => new Promise((resolve) => (answer = resolve)))],
  })
  agent.subscribe((event) => {
    if (event.type === 'tool_execution_start') setTimeout(() => agent.abort(), 20)
  })
  const result = await agent.prompt('go')
  assert.deepEqual([result.outcome, toolTexts(result)], ['aborted', [['aborted', true]]])
  // Too late, and harmless.
  answer('never seen')
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(agent.messages.length, 3)
})

test('after a turn: the run ends without another model call', async () => {
  const agent = scripted([calls(['a', 't']), says('never')], { tools: [does('t', () => 'ok')] })
  const { result } = await abortedAt(agent, (event) => event.type === 'turn_end')
  assert.deepEqual([result.turns, toolTexts(result)], [1, [['ok', false]]])
})

test('before the first byte of an answer that never comes', async (t) => {
  const url = await mock(t, [{ body: '', stall: true }])
  const agent = new Agent({ model: 'openai/tiny', baseUrl: url })
  const run = agent.stream('go')
  setTimeout(() => run.abort(), 50)
  assert.equal((await run.result()).outcome, 'aborted')
})

test('abort does nothing without a run, and may be repeated', async () => {
  const agent = scripted([says('x')])
  agent.abort()
  const run = agent.stream('go')
  await play(run)
  run.abort()
  run.abort()
  agent.abort()
  assert.equal((await run.result()).outcome, 'completed')
})

test('prompt returns the result of an aborted run', async () => {
  const agent = scripted([calls(['a', 't'])], { tools: [does('t', () => agent.abort())] })
  const result = await agent.prompt('go')
  assert.deepEqual([result.outcome, result.error.kind, agent.error.kind], ['aborted', 'aborted', 'aborted'])
})
