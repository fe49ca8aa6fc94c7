// Log records: those that `setLog` gives, with what was thrown.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { afterEach, test } from 'node:test'
import { Worker } from 'node:worker_threads'

import { Agent, AgentError, AuthenticationError, OverloadedError, setLog } from 'agent-loop'

import { awake, calls, does, program, says, scripted } from './helpers.mjs'

const BUSY = [{ error: { kind: 'overloaded', message: 'busy' } }]

class NoDisk extends Error {}

/** Collects records from now on. */
function collect(level) {
  const records = []
  setLog((record) => records.push(record), level)
  return records
}

afterEach(() => setLog(null))

const lines = (records) => records.map(({ level, code, message }) => `${level} ${code} ${message}`)

for (const kind of ['plain', 'async']) {
  test(`found_e15_log_of_what_fails: ${kind} functions`, async () => {
    const records = collect('debug')
    const errors = { tool: new Error('it rains'), listener: new NoDisk('no screen'), hook: new NoDisk('no disk') }
    const fail = (error) => {
      if (kind === 'plain') throw error
      return Promise.reject(error)
    }
    const tools = [does('forecast', () => fail(errors.tool))]
    const agent = scripted([BUSY, calls(['c1', 'forecast']), says('Done.')], { tools, afterRun: () => fail(errors.hook) })
    agent.subscribe((event) => (event.type === 'turn_start' ? fail(errors.listener) : undefined))
    const result = await agent.prompt('Go.')
    assert.equal(result.outcome, 'completed')
    assert.deepEqual(lines(records), [
      'warn listener_error a listener failed: no screen',
      'warn retry a model call failed and is retried: busy',
      'debug model_call a model call ended',
      'warn tool_error the tool forecast failed: it rains',
      'debug tool_call a tool call ended',
      'warn listener_error a listener failed: no screen',
      'debug model_call a model call ended',
      'warn hook_error the hook after_run failed: no disk',
      'debug run_end the run ended',
    ])
    const [first, retry, called, tool, ended, , , hook, end] = records
    assert.deepEqual(records.map(({ turn }) => turn), [1, 1, 1, 1, 1, 2, 2, 2, 2])
    assert.ok(records.every(({ conversationId }) => conversationId === first.runId))
    const tokens = { latency_ms: 0, input_tokens: 0, output_tokens: 0 }
    assert.deepEqual(called.data, { model: 'scripted/s', outcome: 'tool_use', ...tokens })
    assert.deepEqual([ended.data.tool_call_id, ended.data.outcome], ['c1', 'error'])
    assert.equal(new Set(records.map(({ runId }) => runId)).size, 1)
    assert.match(first.runId, /^run_/)
    assert.deepEqual(first.data, { listener: 1, event: 'turn_start' })
    assert.equal(first.error, errors.listener, 'the same object')
    assert.ok(retry.error instanceof OverloadedError)
    assert.deepEqual(tool.data, { tool_call_id: 'c1', tool_name: 'forecast' })
    assert.equal(tool.error, errors.tool)
    assert.deepEqual(hook.data, { hook: 'after_run' })
    assert.equal(hook.error, errors.hook)
    assert.deepEqual(end.data, { outcome: 'completed', turns: 2, ...tokens, latency_ms: end.data.latency_ms })
    assert.ok(!('error' in end))
  })
}

const HOOKS = {
  beforeRun: 'before_run',
  transformContext: 'transform_context',
  convertToLlm: 'convert_to_llm',
  getApiKey: 'get_api_key',
  beforeToolCall: 'before_tool_call',
  afterToolCall: 'after_tool_call',
  prepareNextTurn: 'prepare_next_turn',
  shouldStopAfterTurn: 'should_stop_after_turn',
  getSteeringMessages: 'get_steering_messages',
  getFollowUpMessages: 'get_follow_up_messages',
  afterRun: 'after_run',
}

for (const [name, hook] of Object.entries(HOOKS)) {
  test(`found_e15_log_of_each_hook: ${name}`, async () => {
    const records = collect()
    const thrown = new NoDisk(name)
    const broken = () => {
      throw thrown
    }
    const tools = [does('fine', () => 'ran')]
    const agent = scripted([calls(['c1', 'fine']), says('Done.')], { tools, [name]: broken })
    await agent.prompt('Go.').catch(() => {})
    const [{ code, data, error }] = records
    assert.deepEqual([code, data], ['hook_error', { hook }])
    assert.equal(error, thrown)
  })
}

test('found_e15_log_of_prepare_arguments_middleware_and_a_provider', async () => {
  const records = collect()
  const thrown = new NoDisk('no line')
  const fail = () => {
    throw thrown
  }
  const script = () => [calls(['c1', 'fine']), says('Done.')]
  await scripted(script(), { tools: [does('fine', () => 'ran', { prepareArguments: fail })] }).prompt('Go.')
  await scripted(script(), { tools: [does('fine', () => 'ran')], middleware: [fail] }).prompt('Go.')
  await assert.rejects(new Agent({ model: 'acme/m', provider: fail, maxRetries: 0 }).prompt('Go.'), AgentError)
  assert.deepEqual(lines(records), [
    'warn hook_error prepare_arguments of the tool fine failed: no line',
    'warn tool_error the tool fine failed: no line',
    'error run_error the run failed: no line',
  ])
  assert.deepEqual(records.map(({ error }) => error), [thrown, thrown, thrown])
})

test('found_e15_log_of_a_failed_run', async () => {
  const records = collect('error')
  const refused = [{ error: { kind: 'authentication', message: 'no key' } }]
  await assert.rejects(scripted([refused], { afterRun: () => Promise.reject(new NoDisk()) }).prompt('Go.'))
  assert.deepEqual(lines(records), ['error run_error the run failed: no key'])
  assert.ok(records[0].error instanceof AuthenticationError)
})

test('found_e15_log_of_what_does_not_return', async () => {
  const records = collect()
  let release
  const released = new Promise((resolve) => (release = resolve))
  const agent = scripted(Array(1000).fill(says('Hello.')), {
    listenerTimeoutMs: 50,
    afterRun: () => released.then(() => Promise.reject(new NoDisk('too late'))),
  })
  agent.subscribe(() => released)
  await agent.prompt('Go.')
  const codes = () => records.map(({ code }) => code)
  assert.deepEqual(codes(), ['listener_left', 'hook_left'])
  assert.deepEqual(records[0].data, { listener: 1, event: 'agent_start' })
  release()
  while (!codes().includes('listener_back') || !codes().includes('hook_error')) await agent.prompt('Go.')
  const back = records.find(({ code }) => code === 'listener_back')
  assert.equal(back.level, 'info')
  assert.ok(back.data.missed > 0)
})

test('found_e15_log_levels', async () => {
  const played = async (level) => {
    const records = collect(level)
    const options = { afterRun: () => Promise.reject(new NoDisk()) }
    await scripted([BUSY, says('Hello.')], options).prompt('Go.')
    return records.map(({ code }) => code)
  }
  assert.deepEqual(await played('error'), [])
  assert.deepEqual(await played('warn'), ['retry', 'hook_error'])
  assert.deepEqual(await played(undefined), ['retry', 'hook_error'])
  assert.deepEqual(await played('debug'), ['retry', 'model_call', 'hook_error', 'run_end'])
  setLog(undefined)
  await scripted([BUSY, says('Hello.')]).prompt('Go.')
})

test('found_e15_log_in_the_context_of_the_run', async () => {
  const storage = new AsyncLocalStorage()
  const seen = []
  setLog(({ code }) => seen.push([code, storage.getStore()]))
  const play = (request) => storage.run(request, () => scripted([BUSY, says('Hello.')]).prompt('Go.'))
  await Promise.all(['a', 'b'].map(play))
  assert.deepEqual(seen.sort(), [
    ['retry', 'a'],
    ['retry', 'b'],
  ])
})

test('found_e15_log_functions_that_fail_change_nothing', async () => {
  const warned = once(process, 'warning')
  let count = 0
  setLog(() => {
    if (count++ % 2) throw new NoDisk('no log')
    return Promise.reject(new NoDisk('no log'))
  })
  const options = { afterRun: () => Promise.reject(new NoDisk()) }
  const result = await scripted([BUSY, says('Hello.')], options).prompt('Go.')
  assert.equal(result.text, 'Hello.')
  assert.equal(count, 2)
  const [warning] = await awake(warned)
  assert.equal(warning.message, 'the function given to setLog failed: no log')
})

test('found_e15_log_functions_may_use_the_library', async () => {
  let inner
  setLog(() => (inner = scripted([says('From the log.')]).prompt('Go.')))
  await scripted([BUSY, says('Hello.')]).prompt('Go.')
  assert.equal((await inner).text, 'From the log.')
})

test('found_e15_log_wrong_arguments', () => {
  assert.throws(() => setLog('console'), { message: 'setLog: expected a function, got string' })
  assert.throws(() => setLog(() => {}, 'loud'), {
    kind: 'invalid_argument',
    message: 'setLog: level: expected "error", "warn", "info", "debug", got loud',
  })
})

test('found_e15_log_of_a_worker_is_its_own', async () => {
  const records = collect()
  const index = JSON.stringify(new URL('../dist/index.mjs', import.meta.url).href)
  const thread = new Worker(
    `
    const { parentPort } = require('node:worker_threads')
    import(${index}).then(async ({ Agent, setLog }) => {
      const records = []
      setLog(({ code }) => records.push(code))
      const script = [[{ error: { kind: 'overloaded', message: 'busy' } }], [{ delta: 'Hello.' }, { end: {} }]]
      await new Agent({ model: { provider: 'scripted', id: 's', script } }).prompt('Go.')
      parentPort.postMessage(records)
    })`,
    { eval: true },
  )
  const [[message]] = await Promise.all([once(thread, 'message'), scripted([BUSY, says('Hello.')]).prompt('Go.')])
  assert.deepEqual(message, ['retry'])
  assert.deepEqual(records.map(({ code }) => code), ['retry'])
  await once(thread, 'exit')
})

test('found_e15_log_keeps_no_process_alive', async () => {
  const { code, output, errors } = await program(`import { Agent, setLog } from 'agent-loop'
    setLog(({ code }) => console.log(code))
    const script = [[{ error: { kind: 'overloaded', message: 'busy' } }], [{ delta: 'Hello.' }, { end: {} }]]
    await new Agent({ model: { provider: 'scripted', id: 's', script } }).prompt('Go.')
    console.log('over')`)
  assert.deepEqual([code, output, errors], [0, 'retry\nover\n', ''])
})
