// Listeners: order, waiting, failures, unsubscribing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMainThread } from 'node:worker_threads'

import { InvalidStateError } from 'agent-loop'

import { awake, calls, does, play, says, scripted } from './helpers.mjs'

test('listeners get each event, in the order they subscribed, and the run waits for them', async () => {
  const agent = scripted([says('Hello')])
  const received = []
  agent.subscribe((event) => void received.push(`first ${event.type}`))
  agent.subscribe(async (event) => {
    await new Promise((resolve) => setImmediate(resolve))
    assert.ok(isMainThread)
    received.push(`second ${event.type}`)
  })
  const run = agent.stream('go')
  const types = (await play(run)).map((event) => event.type)
  assert.deepEqual(received, types.flatMap((type) => [`first ${type}`, `second ${type}`]))
})

test('listeners get the events of the run', async () => {
  const agent = scripted([calls(['a', 't']), says('x')], { tools: [does('t', (_, { update }) => update(1))] })
  const received = []
  agent.subscribe((event) => void received.push(JSON.stringify(event)))
  const events = await play(agent.stream('go'))
  assert.deepEqual(received, events.map((event) => JSON.stringify(event)))
})

test('the agent is idle after the last listener', async () => {
  const agent = scripted([says('x')])
  let left = false
  agent.subscribe(async (event) => {
    if (event.type !== 'agent_end') return
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(agent.isStreaming, true)
    left = true
  })
  await agent.prompt('go')
  assert.deepEqual([left, agent.isStreaming], [true, false])
})

test('a failing listener is counted and reported, and the run continues', async () => {
  const agent = scripted([says('x')])
  agent.subscribe((event) => {
    if (event.type === 'turn_start') throw new Error('I fail')
  })
  agent.subscribe(async (event) => {
    if (event.type === 'turn_start') throw new Error('me too')
    if (event.type === 'agent_end') throw new Error('at the end, silently')
  })
  const events = await play(agent.stream('go'))
  const diagnostics = events.filter((event) => event.type === 'diagnostic')
  assert.deepEqual(
    diagnostics.map(({ code, message, data }) => [code, message, data]),
    [
      ['listener_error', 'a listener failed on turn_start: I fail', { event: 'turn_start', error: 'I fail' }],
      ['listener_error', 'a listener failed on turn_start: me too', { event: 'turn_start', error: 'me too' }],
    ],
  )
  assert.equal(agent.listenerErrors, 3)
  assert.equal(events.at(-1).outcome, 'completed')
})

test('an unsubscribed listener is not called again, a new one gets the next event', async () => {
  const agent = scripted([says('a'), says('b')])
  const received = []
  const leave = agent.subscribe((event) => {
    received.push(`first ${event.type}`)
    leave()
    leave()
    agent.subscribe((event) => void received.push(`late ${event.type}`))
  })
  await agent.prompt('go')
  assert.deepEqual(received.slice(0, 3), ['first agent_start', 'late turn_start', 'late message_start'])
  assert.equal(received.filter((entry) => entry.startsWith('first')).length, 1)
})

test('starting or awaiting a run inside a listener is refused', async () => {
  const agent = scripted([says('x')])
  const refused = []
  agent.subscribe(async (event) => {
    if (event.type !== 'turn_start') return
    for (const attempt of [() => agent.prompt('go'), () => agent.waitForIdle()]) {
      await attempt().catch((error) => refused.push([error instanceof InvalidStateError, error.message]))
    }
  })
  await agent.prompt('go')
  const text = 'inside a listener, hook or tool of the same agent would deadlock; do it after the run'
  assert.deepEqual(refused, [[true, `starting a run ${text}`], [true, `waitForIdle ${text}`]])
  assert.equal(agent.listenerErrors, 0)
})

test('a listener is a function', () => {
  assert.throws(() => scripted([]).subscribe({}), {
    name: 'InvalidArgumentError',
    message: 'subscribe: expected a function, got object',
  })
})

test('found_e4_a_listener_that_returns_late_gets_events_again', async () => {
  const agent = scripted(Array(1000).fill(says('x')), { listenerTimeoutMs: 50 })
  const heard = []
  let release
  const released = new Promise((resolve) => (release = resolve))
  agent.subscribe(async ({ type }) => {
    heard.push(type)
    if (type === 'turn_start') await released
  })
  const reports = (events) => events.filter(({ type }) => type === 'diagnostic').map(({ code, data }) => [code, data])
  let events = await awake(play(agent.stream('go')))
  const data = { listener: 1, event: 'turn_start', limit: 'listener_timeout_ms', limit_ms: 50 }
  assert.deepEqual(reports(events), [['listener_left', data]])
  assert.deepEqual(heard, ['agent_start', 'turn_start'])
  assert.equal(agent.listenerErrors, 1)

  release()
  let emitted = events.length
  let back = []
  while (back.length === 0) {
    events = await play(agent.stream('again'))
    emitted += events.length
    back = reports(events)
  }
  assert.deepEqual(back, [['listener_back', { listener: 1, missed: emitted - heard.length }]])
})

test('found_e4_an_abort_frees_a_run_from_its_listener', async () => {
  const agent = scripted([says('x')], { listenerTimeoutMs: 0, abortGraceMs: 50 })
  const never = new Promise(() => {})
  agent.subscribe(() => {
    agent.abort()
    return never
  })
  assert.equal((await awake(agent.prompt('go'))).outcome, 'aborted')
  await agent.waitForIdle()
})

test('found_a3_an_after_run_without_answer_holds_up_nothing', async () => {
  let release
  const released = new Promise((resolve) => (release = resolve))
  let ended
  const isOver = new Promise((resolve) => (ended = resolve))
  const afterRun = async () => {
    await released
    ended()
  }
  const agent = scripted([says('x'), says('y')], { listenerTimeoutMs: 50, afterRun })
  assert.equal((await awake(agent.prompt('go'))).text, 'x')
  await agent.waitForIdle()
  release()
  // It was left, not cancelled.
  await isOver
  assert.equal((await agent.prompt('again')).text, 'y')
})
