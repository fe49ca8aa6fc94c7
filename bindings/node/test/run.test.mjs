// Runs: events, results, one reader, closing, the partial message.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Agent, InvalidStateError, ProviderError, resume, run } from 'agent-loop'

import { calls, chatFrames, does, mock, play, program, says, scripted } from './helpers.mjs'

test('found_e19_the_result_says_why_its_answer_ended', async () => {
  const result = await scripted([[{ delta: { thinking: 'Hm, let me' } }, { end: 'length' }]]).prompt('Hi')
  assert.deepEqual([result.outcome, result.text, result.stopReason], ['completed', '', 'length'])
  assert.equal(result.toJSON().stop_reason, 'length')
})

test('found_e20_the_message_says_which_other_model_has_answered', async () => {
  async function* gateway() {
    yield 'Hello.'
    yield { end: { responseModel: 'large' } }
  }
  const { message } = await new Agent({ model: 'mine/auto', provider: gateway }).prompt('Hi')
  assert.deepEqual([message.model, message.responseModel], ['auto', 'large'])
  assert.equal(message.toJSON().response_model, 'large')
  const same = await scripted([[{ delta: 'Hello.' }, { end: { response_model: 's' } }]]).prompt('Hi')
  assert.equal('responseModel' in same.message, false)
})

test('a run emits its events in order and then has its result', async () => {
  const agent = scripted([[{ delta: 'Hel' }, { delta: 'lo' }, { end: { usage: { input: 5, output: 7 } } }]])
  const run = agent.stream('Hi')
  assert.match(run.id, /^run_[0-9a-f]{16}$/)
  const events = await play(run)
  assert.deepEqual(
    events.map((event) => event.type),
    [
      'agent_start',
      'turn_start',
      'message_start',
      'message_end',
      'message_start',
      'text_start',
      'text_delta',
      'text_delta',
      'text_end',
      'message_end',
      'turn_end',
      'agent_end',
    ],
  )
  assert.deepEqual(events.map((event) => event.seq), [...events.keys()])
  assert.ok(events.every((event) => event.runId === run.id && event.turn === (event.type === 'agent_start' ? 0 : 1)))
  assert.deepEqual(
    events.filter((event) => event.type === 'text_delta').map(({ contentIndex, delta }) => [contentIndex, delta]),
    [[0, 'Hel'], [0, 'lo']],
  )
  const { outcome, text, turns, usage, message, messages, error } = await run.result()
  assert.deepEqual([outcome, text, turns, error], ['completed', 'Hello', 1, undefined])
  assert.deepEqual([usage.input, usage.output, usage.cacheRead, usage.total, usage.cost], [5, 7, 0, 12, null])
  assert.deepEqual([message.stopReason, messages.length], ['stop', 2])
})

test('prompt returns the result without events', async () => {
  const agent = scripted([says('one'), says('two')])
  assert.equal((await agent.prompt('a')).text, 'one')
  assert.equal((await agent.prompt('b')).text, 'two')
  assert.deepEqual(agent.messages.map((message) => message.role), ['user', 'assistant', 'user', 'assistant'])
})

test('long streams keep every delta, whatever its text', async () => {
  const texts = Array.from({ length: 5000 }, (_, i) => ['a', '"', '\\', '\n', '🙂', '\u2028', '\u0001', 'é'][i % 8] + i)
  const agent = scripted([[...texts.map((delta) => ({ delta })), { end: {} }]])
  const run = agent.stream('go')
  const deltas = []
  for await (const event of run) if (event.type === 'text_delta') deltas.push(event.delta)
  assert.deepEqual(deltas, texts)
  assert.equal((await run.result()).text, texts.join(''))
})

test('blocks that interleave keep their index', async () => {
  const piece = (type, content_index, more) => ({ delta: { type, content_index, ...more } })
  const agent = scripted([
    [
      piece('text_delta', 0, { delta: 'a' }),
      piece('thinking_delta', 1, { delta: 'b' }),
      piece('text_delta', 0, { delta: 'c' }),
      piece('text_delta', 0, { delta: 'd' }),
      piece('thinking_delta', 1, { delta: 'e' }),
      { end: {} },
    ],
  ])
  const events = await play(agent.stream('go'))
  const deltas = events.filter((event) => event.type.endsWith('_delta'))
  assert.deepEqual(
    deltas.map(({ type, contentIndex, delta }) => `${type} ${contentIndex} ${delta}`),
    ['text_delta 0 a', 'thinking_delta 1 b', 'text_delta 0 c', 'text_delta 0 d', 'thinking_delta 1 e'],
  )
})

test('the run continues while its events are unread, and queues them', async () => {
  const agent = scripted([says('x')])
  const run = agent.stream('go')
  await agent.waitForIdle()
  assert.equal(agent.isStreaming, false)
  assert.equal((await play(run)).at(-1).type, 'agent_end')
})

test('a slow reader slows the run: its queue is bounded', async () => {
  const agent = scripted([[...Array.from({ length: 20_000 }, () => ({ delta: 'x' })), { end: {} }]])
  const run = agent.stream('go')
  await run.next()
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(agent.isStreaming, true, 'the run waits for its reader')
  assert.equal((await run.result()).text.length, 20_000, 'asking for the result lets it go on')
  assert.deepEqual(await run.next(), { value: undefined, done: true }, 'and discards what is unread')
})

test('next after the end stays done', async () => {
  const run = scripted([says('x')]).stream('go')
  await play(run)
  assert.deepEqual([await run.next(), await run.next()], [{ value: undefined, done: true }, { value: undefined, done: true }])
})

test('a run has one reader', async () => {
  const agent = scripted([calls(['a', 'slow']), says('x')], {
    tools: [does('slow', () => new Promise((resolve) => setTimeout(resolve, 50)))],
  })
  const run = agent.stream('go')
  while ((await run.next()).value.type !== 'tool_execution_start');
  const waiting = run.next()
  await assert.rejects(run.next(), (error) => {
    assert.ok(error instanceof InvalidStateError)
    assert.equal(error.message, 'the run is already being read; a run has one reader')
    return true
  })
  assert.equal((await waiting).value.type, 'tool_execution_end')
  assert.equal((await run.result()).outcome, 'completed')
})

test('break aborts the run and waits until the agent is idle', async () => {
  // More than the queue holds: the run cannot be over before its reader leaves.
  const agent = scripted([[...Array.from({ length: 5000 }, () => ({ delta: 'x' })), { end: {} }], says('next')])
  const run = agent.stream('go')
  for await (const event of run) if (event.type === 'text_delta') break
  assert.equal(agent.isStreaming, false)
  assert.equal((await run.result()).outcome, 'aborted')
  assert.equal(agent.error.kind, 'aborted')
  assert.equal((await agent.prompt('again')).text, 'next')
  assert.equal(agent.error, null)
})

test('closing a run that is over changes nothing', async () => {
  const run = scripted([says('x')]).stream('go')
  await play(run)
  await run.close()
  assert.equal((await run.result()).outcome, 'completed')
  assert.deepEqual(await run.return(), { value: undefined, done: true })
})

test('a run that is garbage-collected is aborted', async () => {
  const { setFlagsFromString } = await import('node:v8')
  setFlagsFromString('--expose-gc')
  const gc = (await import('node:vm')).runInNewContext('gc')
  const agent = scripted([[...Array.from({ length: 20_000 }, () => ({ delta: 'x' })), { end: {} }]])
  ;(() => void agent.stream('go'))()
  for (let i = 0; i < 100 && agent.isStreaming; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    gc()
  }
  assert.equal(agent.isStreaming, false)
  assert.equal(agent.error.kind, 'aborted')
})

test('found_p1_collected_runs: one that is collected with its agent calls hooks and listeners to its end', async () => {
  const { setFlagsFromString } = await import('node:v8')
  setFlagsFromString('--expose-gc')
  const gc = (await import('node:vm')).runInNewContext('gc')
  const kept = []
  const refs = []
  const held = []
  const soon = () => new Promise((resolve) => setTimeout(resolve, 10))
  const leave = async (start) => {
    const afterRun = async ({ outcome, message }) => {
      await soon()
      kept.push(['afterRun', outcome, message.content[0].text])
    }
    const listener = async (event) => {
      if (event.type !== 'agent_end') return
      await soon()
      kept.push(['listener', event.outcome, event.messages.at(-1).content[0].text])
    }
    const run = start({ model: 'own/slow', provider: endless, afterRun }, listener)
    for (;;) if ((await run.next()).value.type === 'text_delta') break
    refs.push(new WeakRef(run))
  }
  async function* endless() {
    yield 'so far'
    // As something that a server's answer is awaited with: what nobody holds is collected, and then the provider fails.
    await new Promise((resolve) => held.push(resolve))
  }
  await leave((options, listener) => {
    const agent = new Agent(options)
    refs.push(new WeakRef(agent))
    agent.subscribe(listener)
    return agent.stream('go')
  })
  await leave((options) => run({ messages: [] }, 'go', options))
  for (let i = 0; i < 500 && (kept.length < 3 || refs.some((ref) => ref.deref())); i++) {
    await soon()
    gc()
  }
  const ends = [['afterRun', 'aborted', 'so far'], ['afterRun', 'aborted', 'so far'], ['listener', 'aborted', 'so far']]
  assert.deepEqual(kept.sort(), ends)
  assert.ok(refs.every((ref) => ref.deref() === undefined), 'nothing of them is left')
})

test('the message as it was after each event', async () => {
  const agent = scripted(
    [
      [
        { delta: { type: 'thinking_delta', delta: 'Hm' } },
        { delta: 'Hel' },
        { delta: 'lo' },
        { delta: { type: 'tool_call_start', id: 'c', name: 't' } },
        { delta: { type: 'tool_call_delta', delta: '{"n":' } },
        { delta: { type: 'tool_call_delta', delta: '1}' } },
        { end: {} },
      ],
      says('done'),
    ],
    { tools: [does('t', () => 'ok')] },
  )
  const run = agent.stream('go')
  const events = await play(run)
  const seen = events.map((event) => [event.type, run.partial(event)])
  const brief = (message) =>
    message.content.map((block) => block.text ?? block.thinking ?? block.rawArguments ?? JSON.stringify(block.arguments))
  assert.deepEqual(
    seen.filter(([, message]) => message).map(([type, message]) => [type, brief(message)]),
    [
      ['message_start', []],
      ['thinking_start', ['']],
      ['thinking_delta', ['Hm']],
      ['thinking_end', ['Hm']],
      ['text_start', ['Hm', '']],
      ['text_delta', ['Hm', 'Hel']],
      ['text_delta', ['Hm', 'Hello']],
      ['text_end', ['Hm', 'Hello']],
      ['tool_call_start', ['Hm', 'Hello', '{}']],
      ['tool_call_delta', ['Hm', 'Hello', '{"n":']],
      ['tool_call_delta', ['Hm', 'Hello', '{"n":1}']],
      ['tool_call_end', ['Hm', 'Hello', '{"n":1}']],
      ['message_end', ['Hm', 'Hello', '{"n":1}']],
      ['message_start', []],
      ['text_start', ['']],
      ['text_delta', ['done']],
      ['text_end', ['done']],
      ['message_end', ['done']],
    ],
  )
  const half = seen.find(([type]) => type === 'text_delta')[1]
  assert.deepEqual([half.role, half.stopReason, half.model], ['assistant', null, 's'])
  assert.equal(scripted([]).stream('x').partial(events[5]), null, 'an event of another run')
})

test('raw frames do not disturb the partial message', async (t) => {
  const url = await mock(t, [chatFrames('a', 'b', 'c')])
  const agent = new Agent({ model: 'company/tiny', baseUrl: url, rawEvents: true })
  const run = agent.stream('go')
  const events = await play(run)
  assert.ok(events.filter((event) => event.type === 'raw').length >= 4)
  const texts = events.filter((event) => event.type === 'text_delta').map((event) => run.partial(event).content[0].text)
  assert.deepEqual(texts, ['a', 'ab', 'abc'])
})

test('found_p7_iterating_over_a_failed_run: it throws the error of the result, after all events', async () => {
  const failing = (options = {}) => scripted([[{ delta: 'half' }, { error: { kind: 'provider', message: 'broken' } }]], options)
  const messages = [{ role: 'user', content: 'go' }]
  const model = () => ({ provider: 'scripted', id: 's', script: [[{ error: { kind: 'provider', message: 'broken' } }]] })
  for (const start of [
    (options) => failing().stream('go', options),
    (options) => failing({ messages }).streamResume(options),
    (options) => run({ messages: [] }, 'go', { model: model(), ...options }),
    (options) => resume({ messages }, { model: model(), ...options }),
  ]) {
    const events = []
    const loud = start()
    const read = async () => {
      for await (const event of loud) events.push(event.type)
    }
    const error = await read().then(assert.fail, (error) => error)
    assert.ok(error instanceof ProviderError)
    assert.deepEqual([events.at(-1), error.message, error.result.outcome], ['agent_end', 'broken', 'error'])
    assert.equal(await loud.result().catch((error) => error), error)
    assert.deepEqual(await loud.next(), { value: undefined, done: true }, 'once')
    const silent = start({ raiseErrors: false })
    let last
    for await (const event of silent) last = event
    assert.equal(last.outcome, 'error')
    await assert.rejects(silent.result(), ProviderError)
  }
  for (const options of [{ raiseErrors: 1 }, { raiseError: false }]) {
    assert.throws(() => failing().stream('go', options), { name: 'InvalidArgumentError' })
  }
  const message = /^unknown option "raiseErrors"; known are headers, .*, signal, deps, within$/
  await assert.rejects(failing().prompt('go', { raiseErrors: false }), { message })
})

test('found_p7_silent_forms: listeners, break, an abort, and a run whose result was asked for', async () => {
  const failing = () => scripted([[{ delta: 'half' }, { error: { kind: 'provider', message: 'broken' } }]])
  const agent = failing()
  const seen = []
  agent.subscribe((event) => void seen.push(event.type))
  await agent.prompt('go').catch(() => {})
  assert.equal(seen.at(-1), 'agent_end')
  for await (const event of failing().stream('go')) if (event.type === 'agent_end') break
  const aborted = scripted([says('x')]).stream('go', { signal: AbortSignal.abort() })
  assert.equal((await play(aborted)).at(-1).outcome, 'aborted')
  const discarded = failing().stream('go')
  await discarded.result().catch(() => {})
  assert.deepEqual(await discarded.next(), { value: undefined, done: true })
})

test('found_p7_result_promise: it is never an unhandled rejection', async () => {
  const text = `
    import { Agent } from 'agent-loop'
    const script = [[{ error: { kind: 'provider', message: 'broken' } }]]
    const run = new Agent({ model: { provider: 'scripted', id: 's', script } }).stream('go', { raiseErrors: false })
    run.result()
    run.result()
    for await (const _ of run);
    await new Promise((resolve) => setTimeout(resolve, 20))
    console.log('on')`
  const { code, output, errors } = await program(text)
  assert.deepEqual([code, output, errors], [0, 'on\n', ''])
})

test('a failed run ends like any other, and its result throws', async () => {
  const agent = scripted([[{ delta: 'half' }, { error: { kind: 'provider', message: 'broken' } }]])
  const run = agent.stream('go')
  const events = await play(run)
  const { outcome, error } = events.at(-1)
  assert.deepEqual([outcome, error.kind, error.message, error.retryable], ['error', 'provider', 'broken', false])
  for (const failed of [run.result(), run.result()]) {
    await assert.rejects(failed, (error) => {
      assert.ok(error instanceof ProviderError)
      assert.deepEqual([error.name, error.code, error.message], ['ProviderError', 'provider', 'broken'])
      assert.deepEqual([error.result.outcome, error.result.text, error.result.message.error.kind], ['error', 'half', 'provider'])
      return true
    })
  }
  assert.equal(agent.error.message, 'broken')
  await run.close()
})

test('many concurrent runs', async () => {
  const results = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const agent = scripted([calls(['a', 'echo', { i }]), [{ delta: `${i}` }, { wait_ms: i }, { end: {} }]], {
        tools: [does('echo', async ({ i }) => i)],
      })
      if (i % 2) return (await agent.prompt('go')).text
      let text = ''
      for await (const event of agent.stream('go')) if (event.type === 'text_delta') text += event.delta
      return text
    }),
  )
  assert.deepEqual(results, results.map((_, i) => `${i}`))
})
