// AbortSignal: aborts a run, whose result then rejects with the signal's reason.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'

import { run as runLoop } from 'agent-loop'

import { calls, does, play, says, scripted } from './helpers.mjs'

const model = (script) => ({ provider: 'scripted', id: 's', script })
const waits = (controller, reason) =>
  does('wait', (_, { signal }) => new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve('stopped'))
    controller.abort(reason)
  }))

test('prompt and resume reject with the signal\'s reason once the agent is idle', async () => {
  const reason = new Error('the page was left')
  const controller = new AbortController()
  const agent = scripted([calls(['a', 'wait']), says('next')], { tools: [waits(controller, reason)] })
  await assert.rejects(agent.prompt('go', { signal: controller.signal }), (error) => error === reason)
  assert.deepEqual([agent.isStreaming, agent.error.kind, agent.messages.length], [false, 'aborted', 3])
  await assert.rejects(agent.resume({ signal: AbortSignal.abort() }), { name: 'AbortError' })
  assert.equal((await agent.resume()).text, 'next')
})

test('a signal that is already aborted', async () => {
  const agent = scripted([says('a')])
  await assert.rejects(agent.prompt('go', { signal: AbortSignal.abort('why') }), (reason) => reason === 'why')
  assert.deepEqual(
    agent.messages.map(({ role, stopReason }) => [role, stopReason]),
    [
      ['user', undefined],
      ['assistant', 'aborted'],
    ],
  )
  const events = await play(agent.streamResume({ signal: AbortSignal.abort() }))
  assert.deepEqual([events[0].type, events.at(-1).outcome], ['agent_start', 'aborted'])
})

test('reading ends with agent_end, and the result rejects', async () => {
  const controller = new AbortController()
  const agent = scripted([calls(['a', 'wait'])], { tools: [waits(controller)] })
  const run = agent.stream('go', { signal: controller.signal })
  const events = await play(run)
  assert.equal(events.at(-1).outcome, 'aborted')
  await assert.rejects(run.result(), (error) => error === controller.signal.reason)
  await run.close()
})

test('a run that was not aborted by its signal has a result', async () => {
  const controller = new AbortController()
  const { signal } = controller
  const endless = [...Array.from({ length: 20_000 }, () => ({ delta: 'x' })), { end: {} }]
  const agent = scripted([says('a'), says('b'), endless])
  assert.equal((await agent.prompt('go', { signal })).text, 'a')
  const read = agent.stream('go', { signal })
  await play(read)
  const other = agent.stream('go', { signal })
  other.abort()
  assert.equal((await other.result()).outcome, 'aborted')
  assert.equal(getEventListeners(signal, 'abort').length, 0, 'runs that are over have nothing to do with it')
  controller.abort()
  assert.equal((await read.result()).text, 'b')
})

test('a run that is garbage-collected releases its signal', async () => {
  const { setFlagsFromString } = await import('node:v8')
  setFlagsFromString('--expose-gc')
  const gc = (await import('node:vm')).runInNewContext('gc')
  const { signal } = new AbortController()
  const agent = scripted([[...Array.from({ length: 20_000 }, () => ({ delta: 'x' })), { end: {} }]])
  ;(() => void agent.stream('go', { signal }))()
  for (let i = 0; i < 200 && (agent.isStreaming || getEventListeners(signal, 'abort').length > 0); i++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    gc()
  }
  assert.deepEqual([agent.isStreaming, getEventListeners(signal, 'abort').length], [false, 0])
})

test('stateless runs accept a signal, too', async () => {
  const run = runLoop({}, 'go', { model: model([says('a')]), signal: AbortSignal.abort() })
  await assert.rejects(run.result(), { name: 'AbortError' })
  const controller = new AbortController()
  assert.equal((await runLoop({}, 'go', { model: model([says('a')]), signal: controller.signal }).result()).text, 'a')
})

test('an invalid signal is refused before anything starts', async () => {
  const agent = scripted([says('a')])
  for (const [options, message] of [
    [{ signal: 'x' }, 'option "signal": expected an AbortSignal, got string'],
    [{ sginal: 1 }, 'unknown option "sginal"; did you mean "signal"?'],
    [AbortSignal.abort(), 'options: expected an object such as { signal }, got an AbortSignal'],
    ['x', 'options: expected an object such as { signal }, got string'],
    [[], 'options: expected an object such as { signal }, got an Array'],
    [Promise.resolve({}), 'options: expected an object such as { signal }, got a Promise'],
    [new AbortController(), 'options: expected an object such as { signal }, got an AbortController'],
    [{ signal: {} }, 'option "signal": expected an AbortSignal, got object'],
    [
      { signal: new AbortController() },
      'option "signal": expected an AbortSignal, got an AbortController; give its signal, as { signal: controller.signal }',
    ],
  ]) {
    const name = 'InvalidArgumentError'
    await assert.rejects(agent.prompt('go', options), { name, message })
    await assert.rejects(agent.resume(options), { name, message })
    assert.throws(() => agent.stream('go', options), { name, message })
    assert.throws(() => agent.streamResume(options), { name, message })
  }
  assert.deepEqual([agent.isStreaming, agent.messages], [false, []])
  assert.equal((await agent.prompt('go', { signal: undefined })).text, 'a')
})
