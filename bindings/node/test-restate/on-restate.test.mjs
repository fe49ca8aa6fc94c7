// Agents on a real Restate server, with workers that are killed: with_server.py -- node --test test-restate/*.test.mjs
//
// The script of the model is that of bindings/python/tests-restate.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const { RESTATE_INGRESS: INGRESS, RESTATE_ADMIN: ADMIN } = process.env
const here = fileURLToPath(new URL('.', import.meta.url))
const root = join(here, '../../..')
const LIMIT_MS = 60_000

const call = (name, args, id) => ({ name, arguments: args, id })
const calls = (...made) => ({ message: { tool_calls: made } })
const text = (said) => ({ message: { text: said } })
const on = (path, last, body, more = {}) => ({ when: { path: `/${path}/v1/chat/completions`, last }, body, ...more })
// Each with the one after which its call returns: all have to run at a time.
const CITIES = [['Oslo', 'Bern'], ['Rome'], ['Bern', 'Rome']]
const SLOW = 'slow '.repeat(48)
const answers = [
  on('weather', 'user', calls(call('weather', { city: 'Oslo' }, 'c1'))),
  on('weather', 'tool_result', text('It rains.')),
  on('parallel', 'user', calls(...CITIES.map(([city, after], i) => call('weather', { city, ...(after && { after }) }, `c${i}`)))),
  on('parallel', 'tool_result', text('Rain everywhere.')),
  on('gated', 'user', calls(call('gate', { name: 'a' }, 'g1')), { times: 1 }),
  on('gated', 'user', text('Steered.')),
  on('gated', 'tool_result', text('Not steered.')),
  // Two letters each half second: an answer that takes a minute.
  on('stalled', 'user', { message: { text: SLOW, piece: 2 } }, { frame_delay_ms: 500 }),
  on('endless', 'user', calls(call('forever', {}, 'f1'))),
  on('approval', 'user', calls(call('pay', { amount: 5 }, 'p1'), call('weather', { city: 'Oslo' }, 'p2'))),
  on('approval', 'tool_result', text('Done.')),
  on('retried', 'user', { error: 'overloaded' }, { times: 2 }),
  on('retried', 'user', text('At last.')),
  on('refused', 'user', { error: 'authentication' }),
  on('late', 'user', text('Too late.'), { delay_ms: 3000 }),
  on('durable', 'user', calls(call('nap', {}, 'n1'))),
  on('durable', 'tool_result', text('Awake.')),
  on('failing', 'user', calls(call('fail', {}, 'f1'), call('missing', {}, 'f2'))),
  on('failing', 'tool_result', text('It failed.')),
  on('bounded', 'user', text('Yes.')),
  on('swelling', 'user', calls(call('gate', { name: 'swell' }, 's1')), { times: 1 }),
  on('swelling', 'user', text('Much. '.repeat(1000)), { times: 1 }),
  on('swelling', 'user', text('Little.')),
  on('archiving', 'user', calls(call('archive', { name: 'large' }, 'a1')), { times: 1 }),
  on('archiving', 'user', calls(call('archive', { name: 'killed' }, 'a2')), { times: 1 }),
  on('archiving', 'tool_result', text('It may be in the archive.')),
  on('calling', 'user', calls(call('deliver', {}, 'd1'))),
  on('calling', 'tool_result', text('Not delivered.')),
]

let folder, mock, address, port, isRegistered, worker

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'restate-'))
  writeFileSync(join(folder, 'script.json'), JSON.stringify({ answers }))
  const program = process.env.AGENT_MOCK ?? join(root, 'target/ci/agent-mock')
  mock = spawn(program, [join(folder, 'script.json')], { stdio: ['pipe', 'pipe', 'inherit'] })
  ;[address] = await once(createInterface(mock.stdout), 'line')
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  port = probe.address().port
  probe.close()
})

after(async () => {
  await stop()
  mock.stdin.end()
  rmSync(folder, { recursive: true })
})

beforeEach(async () => {
  writeFileSync(join(folder, 'ledger'), '')
  await stop()
  await start()
})

const notes = () =>
  readFileSync(join(folder, 'ledger'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
const noted = (name) => notes().flatMap((line) => (name in line ? [line[name]] : []))

/** Starts a process of the worker. One that kills itself is followed by another one. */
function launch(killAt = 0) {
  const env = { ...process.env, RESTATE_LOGGING: 'ERROR', MOCK: address, LEDGER: join(folder, 'ledger'), GATES: folder }
  const made = spawn(process.execPath, [join(here, 'worker.mjs'), port, killAt], { env, stdio: ['pipe', 'inherit', 'inherit'] })
  made.on('exit', () => worker === made && launch())
  worker = made
}

/** Starts a worker, and waits until it listens. */
async function start(killAt) {
  launch(killAt)
  const { pid } = worker
  await until(() => noted('worker').includes(pid))
  if (isRegistered) return
  await request(`${ADMIN}/deployments`, { uri: `http://127.0.0.1:${port}` })
  isRegistered = true
}

async function stop() {
  const ended = worker
  worker = undefined
  if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return
  ended.kill('SIGKILL')
  await once(ended, 'exit')
}

async function until(condition) {
  const deadline = Date.now() + LIMIT_MS
  for (;;) {
    const found = await condition()
    if (found) return found
    assert.ok(Date.now() < deadline, 'it does not come to that')
    await sleep(20)
  }
}

async function request(url, body, method = 'POST') {
  const headers = { accept: 'application/json', ...(body !== undefined && { 'content-type': 'application/json' }) }
  const sent = { headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const response = await fetch(url, { method, ...sent, signal: AbortSignal.timeout(LIMIT_MS) })
  const said = await response.text()
  const value = said === '' ? undefined : JSON.parse(said)
  if (!response.ok) throw Object.assign(new Error(value?.message), { status: response.status })
  return value
}

/** What Restate's own tools show. */
const query = async (sql) => (await request(`${ADMIN}/query`, { query: sql })).rows

/** The names of the steps and timers in the journals of a session. */
async function stepsOf(agent, session) {
  const ids = `select id from sys_invocation where target_service_name = '${agent}' and target_service_key = '${session}'`
  const sql = `select name from sys_journal where id in (${ids}) and entry_type in ('Command: Run', 'Command: Sleep')`
  return (await query(`${sql} order by "index"`)).map(({ name }) => name)
}

const ask = (agent, session, handler, body) => request(`${INGRESS}/${agent}/${session}/${handler}`, body)

/** Role, id and text of each message. */
const summary = (messages) =>
  messages.map((one) => [one.role, one.tool_call_id ?? '', one.content.map((block) => block.text ?? block.name).join(' ')])

const results = (messages) => summary(messages).filter(([role]) => role === 'tool_result')
const OF_CITIES = CITIES.map(([city], i) => ['tool_result', `c${i}`, `rain in ${city}`])

async function requestsOf(name) {
  const all = await request(`${address}/__requests`, undefined, 'GET')
  return all.filter((one) => one.path === `/${name}/v1/chat/completions`)
}

test('a conversation with a tool', async () => {
  const first = await ask('weather', 'oslo', 'prompt', 'Rain in Oslo?')
  assert.deepEqual([first.outcome, first.text, first.turns], ['completed', 'It rains.', 2])
  await ask('weather', 'oslo', 'prompt', { role: 'user', content: 'And now?' })
  const state = await ask('weather', 'oslo', 'state')
  assert.deepEqual(summary(state.messages).slice(0, 5), [
    ['user', '', 'Rain in Oslo?'],
    ['assistant', '', 'weather'],
    ['tool_result', 'c1', 'rain in Oslo'],
    ['assistant', '', 'It rains.'],
    ['user', '', 'And now?'],
  ])
  assert.deepEqual([state.messages.length, state.pending, state.is_running, state.waiting], [8, [], false, []])
  await assert.rejects(ask('weather', 'oslo%23inbox', 'prompt', 'Rain?'), { status: 400 })
})

test('parallel tools have their results in order', async () => {
  const result = await ask('parallel', 'cities', 'prompt', 'Rain?')
  assert.deepEqual(results(result.messages), OF_CITIES)
  assert.deepEqual(noted('ran'), ['Rome', 'Bern', 'Oslo'])
})

test('steering joins the run that is active, or waits for the next', async () => {
  const running = ask('gated', 's', 'prompt', 'Go.')
  await until(() => noted('began').includes('a'))
  assert.equal((await ask('gated', 's', 'state')).is_running, true)
  assert.equal(await ask('gated', 's', 'steer', 'Stop that.'), 'joined')
  assert.equal(await ask('gated', 's', 'follow_up', 'And then?'), 'joined')
  writeFileSync(join(folder, 'a'), '')
  assert.deepEqual(summary((await running).messages).slice(2), [
    ['tool_result', 'g1', 'open'],
    ['user', '', 'Stop that.'],
    ['assistant', '', 'Steered.'],
    ['user', '', 'And then?'],
    ['assistant', '', 'Steered.'],
  ])
  assert.equal(await ask('weather', 'later', 'steer', 'In Oslo.'), 'queued')
  const { messages } = await ask('weather', 'later', 'prompt', 'Rain?')
  assert.deepEqual(summary(messages).slice(0, 2), [['user', '', 'Rain?'], ['user', '', 'In Oslo.']])
  await assert.rejects(ask('weather', 'later', 'steer', { rolle: 'user' }), { status: 400, message: /^message: / })
})

test('an abort interrupts a model call', async () => {
  let said = ''
  for (let seconds = 1; said === '' && seconds < 20; seconds *= 4) {
    const session = `s${seconds}`
    const count = (await requestsOf('stalled')).length
    const running = ask('stalled', session, 'prompt', 'Say much.')
    await until(async () => (await requestsOf('stalled')).length > count)
    await sleep(seconds * 1000) // for the first pieces, if the machine is not too slow
    assert.equal(await ask('stalled', session, 'abort'), true)
    const { outcome, messages } = await running
    assert.equal(outcome, 'aborted')
    said = summary(messages).at(-1)[2]
    assert.equal(await ask('stalled', session, 'abort'), false)
  }
  assert.ok(said.length > 0 && said.length < SLOW.length && SLOW.startsWith(said))
})

test('an abort cancels a tool, and so does a cancelled invocation', async () => {
  const running = ask('endless', 's', 'prompt', 'Wait.')
  await until(() => noted('began').length === 1)
  assert.equal(await ask('endless', 's', 'abort'), true)
  const { outcome, messages } = await running
  assert.deepEqual([outcome, messages.find((one) => one.role === 'tool_result').is_error], ['aborted', true])
  const { invocationId } = await ask('endless', 'cancelled', 'prompt/send', 'Wait.')
  await until(() => noted('began').length === 2)
  await request(`${ADMIN}/invocations/${invocationId}/cancel`, undefined, 'PATCH')
  const state = await until(async () => {
    const now = await ask('endless', 'cancelled', 'state')
    return now.messages.length > 0 && !now.is_running && now
  })
  assert.equal(state.messages.find((one) => one.role === 'tool_result').is_error, true)
})

test('failures are results, and retries the loop’s', async () => {
  const retried = await ask('retried', 's', 'prompt', 'Please.')
  assert.deepEqual([retried.outcome, retried.text, (await requestsOf('retried')).length], ['completed', 'At last.', 3])
  assert.deepEqual(await stepsOf('retried', 's'), ['model call 0', 'timer', 'model call 1', 'timer', 'model call 2'])
  const refused = await ask('refused', 's', 'prompt', 'Please.')
  assert.deepEqual([refused.outcome, refused.error.kind, refused.error.http_status], ['error', 'authentication', 401])
  assert.equal((await ask('refused', 's', 'resume')).error.kind, 'authentication')
  const late = await ask('late', 's', 'prompt', 'Please.')
  assert.equal(late.error.kind, 'timeout')
  assert.match(late.error.message, /request_timeout_ms \(200\)/)
})

test('a tool that throws is called once', async () => {
  const { outcome, text: said, messages } = await ask('failing', 's', 'prompt', 'Please.')
  assert.deepEqual([outcome, said], ['completed', 'It failed.'])
  const [[, , failed], [, , unknown]] = results(messages)
  assert.match(failed, /no disk/)
  assert.match(unknown, /there is no tool named "missing"/)
  assert.deepEqual(noted('ran'), ['fail'])
  assert.deepEqual(await stepsOf('failing', 's'), ['model call 0', 'fail f1', 'model call 1'])
})

/** How many bytes the stored conversation of a session has. */
async function storedBytes(agent, session) {
  const of = `service_name = '${agent}' and service_key = '${session}' and key = 'conversation'`
  const [{ value }] = await query(`select value from state where ${of}`)
  return value.length / 2 // hexadecimal
}

test('a message that there is no room for is refused', async () => {
  for (const handler of ['prompt', 'steer', 'follow_up']) {
    await assert.rejects(ask('bounded', 'full', handler), { status: 400, message: /^message: expected text, .* got null$/ })
  }
  await ask('bounded', 'full', 'prompt', 'Hello.')
  const [requests, stored] = [(await requestsOf('bounded')).length, await storedBytes('bounded', 'full')]
  const advice = 'and max_conversation_bytes is 3000: send a shorter one, or begin a new session, with a summary of this one'
  for (const handler of ['prompt', 'steer', 'follow_up']) {
    const message = `the conversation would have ${stored + 3002} bytes with this message, ${advice}`
    await assert.rejects(ask('bounded', 'full', handler, 'x'.repeat(3000)), { status: 413, message })
  }
  // The model was not asked.
  assert.equal((await requestsOf('bounded')).length, requests)
  // Two hundred bytes are left, with the quotes.
  assert.equal(await ask('bounded', 'full', 'steer', 'x'.repeat(2798 - stored)), 'queued')
  const message = `the conversation would have 3001 bytes with what waits and this message, ${advice}`
  await assert.rejects(ask('bounded', 'full', 'follow_up', 'x'.repeat(199)), { status: 413, message })
  assert.equal(await ask('bounded', 'full', 'follow_up', 'x'.repeat(198)), 'queued')
  assert.equal((await ask('bounded', 'full', 'state')).waiting.length, 2)
})

test('a conversation that gets too large stays as it was, and what the run took in goes', async () => {
  await ask('bounded', 's', 'prompt', 'Hello.')
  // There is room for it, and none for an answer.
  assert.equal(await ask('bounded', 's', 'steer', 'x'.repeat(2998 - (await storedBytes('bounded', 's')))), 'queued')
  const left = 'it stays as it was before this run, whose prompt, steering and follow-ups are dropped'
  const tooLarge = { status: 413, message: new RegExp(`^the conversation would have \\d+ bytes, and .*: ${left}; begin a new`) }
  await assert.rejects(ask('bounded', 's', 'prompt', 'Hello.'), tooLarge)
  const state = await ask('bounded', 's', 'state')
  assert.deepEqual([state.messages.length, state.is_running, state.waiting], [2, false, []])
  assert.equal((await ask('bounded', 's', 'prompt', 'Hello.')).text, 'Yes.')

  const running = assert.rejects(ask('swelling', 's', 'prompt', 'Go.'), tooLarge)
  await until(() => noted('began').includes('swell'))
  assert.equal(await ask('swelling', 's', 'steer', 'In full.'), 'joined')
  writeFileSync(join(folder, 'swell'), '')
  await running
  const { messages, is_running, waiting } = await ask('swelling', 's', 'state')
  assert.deepEqual([messages, is_running, waiting], [[], false, []])
  const again = await ask('swelling', 's', 'prompt', 'Again.')
  assert.deepEqual(summary(again.messages), [['user', '', 'Again.'], ['assistant', '', 'Little.']])
})

test('a message that is sent twice is taken once', async () => {
  const message = { role: 'user', content: 'In Oslo.', id: 'm1' }
  for (const _ of [1, 2]) assert.equal(await ask('weather', 'twice', 'steer', message), 'queued')
  const { messages } = await ask('weather', 'twice', 'prompt', 'Rain?')
  const users = summary(messages).filter(([role]) => role === 'user')
  assert.deepEqual(users.map(([, , said]) => said), ['Rain?', 'In Oslo.'])
  assert.deepEqual((await ask('weather', 'twice', 'state')).waiting, [])
})

test('a tool uses Restate itself', async () => {
  const { messages } = await ask('durable', 's', 'prompt', 'Sleep.')
  assert.deepEqual(results(messages), [['tool_result', 'n1', 'rested as durable/s/1/1/n1']])
})

test('a run that fails in Restate gives its inputs back', async () => {
  const { invocationId } = await ask('endless', 'failed', 'prompt/send', 'Wait.')
  await until(() => noted('began').length > 0)
  assert.equal(await ask('endless', 'failed', 'steer', 'In short.'), 'joined')
  await request(`${INGRESS}/courier/spoil`, invocationId)
  const state = await until(async () => {
    const now = await ask('endless', 'failed', 'state')
    return !now.is_running && now
  })
  // It was read, but it is not in the stored conversation.
  assert.deepEqual(state.waiting, [{ type: 'steer', message: 'In short.' }])
  assert.equal(await ask('endless', 'failed', 'abort'), false)
})

test('a cancelled callee is a failed call, and the run’s own cancellation is an abort', async () => {
  const cancel = (id) => request(`${ADMIN}/invocations/${id}/cancel`, undefined, 'PATCH')
  const running = ask('calling', 's', 'prompt', 'Deliver.')
  const [courier] = await until(() => noted('courier').length > 0 && noted('courier'))
  await cancel(courier)
  const { outcome, text: said, messages } = await running
  assert.deepEqual([outcome, said], ['completed', 'Not delivered.'])
  assert.equal(messages.find((one) => one.role === 'tool_result').is_error, true)
  const { invocationId } = await ask('calling', 'cancelled', 'prompt/send', 'Deliver.')
  await until(() => noted('courier').length > 1)
  await cancel(invocationId)
  const state = await until(async () => {
    const now = await ask('calling', 'cancelled', 'state')
    return now.messages.length > 0 && !now.is_running && now
  })
  assert.equal(state.messages.find((one) => one.role === 'tool_result').is_error, true)
})

test('an approval needs no worker', async () => {
  const { invocationId } = await ask('approval', 's', 'prompt/send', 'Pay.')
  const { pending } = await until(async () => {
    const now = await ask('approval', 's', 'state')
    return now.pending.length > 0 && now
  })
  assert.deepEqual(pending.map((one) => [one.tool_call_id, one.reason]), [['p1', '5 euros']])
  await assert.rejects(ask('approval', 's', 'decide', { p9: 'approve' }), { status: 400 })
  await stop()
  await start()
  await ask('approval', 's', 'decide', { p1: 'approve' })
  const result = await request(`${INGRESS}/restate/invocation/${invocationId}/attach`, undefined, 'GET')
  assert.deepEqual([result.outcome, result.text], ['completed', 'Done.'])
  assert.equal(noted('ran').filter((one) => one === 'pay 5').length, 1)
  await assert.rejects(ask('approval', 's', 'decide', { p1: 'approve' }), { status: 400 })
})

test('an awakeable that does not come from decide decides nothing', async () => {
  const awakeable = async () => {
    const rows = await query(`select value_utf8 from state where service_name = 'approval' and service_key = 'forged#inbox'`)
    return rows.length > 0 && JSON.parse(rows[0].value_utf8).suspended?.awakeable
  }
  const running = ask('approval', 'forged', 'prompt', 'Pay.')
  for (const [action, body] of [['reject', 'forged'], ['resolve', { p9: 'approve' }], ['resolve', 5]]) {
    const id = await until(awakeable)
    await request(`${INGRESS}/restate/awakeables/${id}/${action}`, body)
    await until(async () => ![false, undefined, id].includes(await awakeable()))
  }
  await ask('approval', 'forged', 'decide', { p1: 'approve' })
  assert.equal((await running).text, 'Done.')
  assert.equal(noted('ran').filter((one) => one === 'pay 5').length, 1)
})

test('a run that was killed in Restate leaves its calls and its inputs', async () => {
  const { invocationId } = await ask('approval', 'killed', 'prompt/send', 'Pay.')
  await until(async () => (await ask('approval', 'killed', 'state')).pending.length > 0)
  assert.equal(await ask('approval', 'killed', 'steer', 'In cash.'), 'joined')
  await request(`${ADMIN}/invocations/${invocationId}/kill`, undefined, 'PATCH')
  await assert.rejects(ask('approval', 'killed', 'prompt', 'Pay!'), { status: 409, message: /call resume$/ })
  let result
  const again = ask('approval', 'killed', 'resume').then((value) => (result = value))
  await until(async () => {
    await ask('approval', 'killed', 'decide', { p1: { deny: 'no money' } }).catch(() => {})
    return result
  })
  await again
  assert.deepEqual([result.outcome, result.text], ['completed', 'Done.'])
  const users = summary((await ask('approval', 'killed', 'state')).messages).filter(([role]) => role === 'user')
  assert.deepEqual(users.map(([, , said]) => said), ['Pay.', 'In cash.'])
})

test('a call that was approved and whose result was lost does not run again', async () => {
  const waits = async (session) => (await ask('archiving', session, 'state')).pending.length > 0
  writeFileSync(join(folder, 'large'), '')
  const running = assert.rejects(ask('archiving', 'large', 'prompt', 'Archive it.'), { status: 413 })
  await until(() => waits('large'))
  await ask('archiving', 'large', 'decide', { a1: 'approve' })
  await running

  const { invocationId } = await ask('archiving', 'killed', 'prompt/send', 'Archive it.')
  await until(() => waits('killed'))
  await ask('archiving', 'killed', 'decide', { a2: 'approve' })
  await until(() => noted('began').includes('killed'))
  await request(`${ADMIN}/invocations/${invocationId}/kill`, undefined, 'PATCH')

  for (const [session, id] of [['large', 'a1'], ['killed', 'a2']]) {
    const state = await ask('archiving', session, 'state')
    assert.deepEqual([summary(state.messages).map(([role]) => role), state.pending], [['user', 'assistant'], []])
    const refused = { status: 409, message: /^no call of this session waits for a decision/ }
    await assert.rejects(ask('archiving', session, 'decide', { [id]: 'approve' }), refused)
    const { outcome, text: said, messages } = await ask('archiving', session, 'resume')
    assert.deepEqual([outcome, said], ['completed', 'It may be in the archive.'])
    const ended = messages.filter((one) => one.role === 'tool_result')
    assert.deepEqual(ended.map((one) => [one.tool_call_id, one.is_error]), [[id, true]])
    assert.match(results(messages)[0][2], /is not known/)
  }
  assert.deepEqual(noted('began'), ['large', 'killed'])
})

test('an abort denies calls that wait, and so does a cancelled invocation', async () => {
  const waits = async (session) => (await ask('approval', session, 'state')).pending.length > 0
  const failures = (messages) => messages.filter((one) => one.is_error).map((one) => one.tool_call_id)
  const running = ask('approval', 'aborted', 'prompt', 'Pay.')
  await until(() => waits('aborted'))
  assert.equal(await ask('approval', 'aborted', 'abort'), true)
  const { outcome, messages } = await running
  assert.deepEqual([outcome, failures(messages)], ['aborted', ['p1']])
  const { invocationId } = await ask('approval', 'cancelled', 'prompt/send', 'Pay.')
  await until(() => waits('cancelled'))
  await request(`${ADMIN}/invocations/${invocationId}/cancel`, undefined, 'PATCH')
  const state = await until(async () => {
    const now = await ask('approval', 'cancelled', 'state')
    return !now.is_running && now
  })
  assert.deepEqual(failures(state.messages), ['p1'])
  assert.ok(!noted('ran').includes('pay 5'))
})

test('a worker that is killed at each step', async (t) => {
  let points = 0
  do {
    points++
    writeFileSync(join(folder, 'ledger'), '')
    await stop()
    await start(points)
    const result = await ask('parallel', `killed-${points}`, 'prompt', 'Rain?')
    assert.deepEqual([result.outcome, result.text], ['completed', 'Rain everywhere.'], `point ${points}`)
    assert.deepEqual(results(result.messages), OF_CITIES, `point ${points}`)
    assert.deepEqual(result.messages.length, 6)
  } while (noted('killed').length > 0)
  t.diagnostic(`${points - 1} points`)
  assert.ok(points > 10)
})
