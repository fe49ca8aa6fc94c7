// The programs of docs/web-approvals.md, as they stand there, in server processes that are killed while calls wait. Only the
// model and the port are others, and the tool writes into a file what it has paid, and with which idempotency key.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { features, written } from './documentation.mjs'

const { Agent } = createRequire(import.meta.url)(fileURLToPath(new URL('../../bindings/node', import.meta.url)))

const PROGRAMS = features('web-approvals.md')
const [STORE, BROWSER, DATABASE] = ['a store', 'the browser', 'a database'].map((what) => `In ${what}, with Express`)
const KEY = '0123456789abcdef0123456789abcdef'

// Pays Ann, then Bob, and says what came of it.
const MODEL = `
import { appendFileSync } from 'node:fs'

async function* provider({ messages }) {
  const results = messages.filter(({ role }) => role === 'tool_result').map(({ content }) => content[0].text)
  const to = ['Ann', 'Bob'][results.length]
  yield to ? { toolCall: { id: 'call_' + to, name: 'pay', arguments: { to, amount: 50 } } } : results.join('; ')
}
`
const PAYS = '({ to, amount }, context) => `paid ${amount} to ${to}`'
const WRITES = `async ({ to, amount }, context) => {
    appendFileSync('paid', to + ' ' + context.idempotencyKey + '\\n')
    if (amount === 13) await context.sleep(600_000) // until the process is killed
    return 'paid ' + amount + ' to ' + to
  }`
const REPLACED = [
  ["'anthropic/claude-sonnet-4-5'", "'own/model', provider"],
  [PAYS, WRITES],
  ['app.listen(3000)', "const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port))"],
]

/** A server process in a folder of its own, which may be killed and started again. */
class Service {
  #program
  #process
  #port

  static async start(context, title) {
    const service = new Service()
    service.#program = written(context, PROGRAMS.get(title).program, REPLACED, MODEL)
    context.after(() => service.#process.kill('SIGKILL'))
    await service.#start()
    return service
  }

  async #start() {
    this.#process = spawn(process.execPath, [this.#program], {
      cwd: dirname(this.#program),
      env: { ...process.env, APPROVALS_KEY: KEY },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(this.#process, 'exit').then(([code]) => assert.fail(`the server ended with ${code}`))
    ended.catch(() => {}) // It ends after the test.
    const [line] = await Promise.race([once(createInterface(this.#process.stdout), 'line'), ended])
    this.#port = line
  }

  async restart() {
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
    await this.#start()
  }

  /** The status and the body of an answer. */
  async post(path, body) {
    const response = await fetch(`http://127.0.0.1:${this.#port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return [response.status, await response.json()]
  }

  /** Decides about what an answer said that it waits. */
  decide(waiting, decisions) {
    const { id, state } = waiting
    return id === undefined ? this.post('/decide', { state, decisions }) : this.post(`/decide/${id}`, decisions)
  }

  paid() {
    const path = join(dirname(this.#program), 'paid')
    if (!existsSync(path)) return []
    return readFileSync(path, 'utf8').trim().split('\n').map((line) => line.split(' '))
  }
}

/** What an answer says that waits, and of the calls, those who are paid. */
function waiting([status, body]) {
  assert.equal(status, 200, JSON.stringify(body))
  return [body, body.pending.map((call) => call.arguments.to)]
}

const ask = (service) => service.post('/chat', { text: 'Pay Ann and Bob.' })
const ONCE = [409, { error: 'this was decided already' }]

test('each program is tested', () => assert.deepEqual([...PROGRAMS.keys()], [STORE, BROWSER, DATABASE]))

/** Kills the process while a decided call runs, and starts it again. */
async function cutOff(service, first, decisions) {
  const cut = assert.rejects(service.decide(first, decisions), TypeError)
  // Far longer than it takes, so that a failure ends.
  for (let i = 0; i < 6000 && service.paid().length === 0; i++) await setTimeout(10)
  await service.restart()
  await cut
}

test(`${STORE}: a decision counts once`, async (context) => {
  const service = await Service.start(context, STORE)
  const [first] = waiting(await ask(service))
  const decide = () => service.decide(first, { call_Ann: 'approve' })
  const statuses = (await Promise.all(Array.from({ length: 8 }, decide))).map(([status]) => status)
  // While it is open, 409; after that, Ann does not wait any more.
  assert.equal(statuses.filter((status) => status === 200).length, 1)
  assert.ok(statuses.every((status) => [200, 400, 409].includes(status)), `${statuses}`)
  await service.restart()
  const [status, { error }] = await decide()
  assert.equal(status, 400)
  assert.match(error, /call_Ann/)
  assert.deepEqual(service.paid().map(([to]) => to), ['Ann'])
})

test(`${STORE}: a run that was cut off goes on`, async (context) => {
  const service = await Service.start(context, STORE)
  const [first] = waiting(await ask(service))
  const decisions = { call_Ann: { arguments: { to: 'Ann', amount: 13 } } }
  await cutOff(service, first, decisions)
  const [second, bob] = waiting(await service.decide(first, decisions))
  assert.deepEqual([bob, service.paid().map(([to]) => to)], [['Bob'], ['Ann']])
  const [, { text }] = await service.decide(second, { call_Bob: 'approve' })
  assert.match(text, /not known.*; paid 50 to Bob$/s)
})

for (const title of [STORE, BROWSER, DATABASE]) {
  test(`${title}: a decision comes after a restart`, async (context) => {
    const service = await Service.start(context, title)
    const [first, ann] = waiting(await ask(service))
    assert.deepEqual(ann, ['Ann'])
    await service.restart()
    const [second, bob] = waiting(await service.decide(first, { call_Ann: 'approve' }))
    assert.deepEqual(bob, ['Bob'])
    await service.restart()
    // The same key as before the call waited, and another one for another call.
    assert.deepEqual(service.paid(), [['Ann', first.pending[0].idempotency_key]])
    assert.notEqual(first.pending[0].idempotency_key, second.pending[0].idempotency_key)
    const last = await service.decide(second, { call_Bob: { deny: 'too dear' } })
    assert.deepEqual(last, [200, { text: 'paid 50 to Ann; too dear' }])
  })

  test(`${title}: decisions that do not fit leave the call waiting`, async (context) => {
    const service = await Service.start(context, title)
    const [first] = waiting(await ask(service))
    for (const [decisions, pattern] of [
      [{ call_Eve: 'approve' }, /^decisions: no call call_Eve waits for a decision; those that wait are call_Ann \(pay\)/],
      [{}, /^decisions: nothing is decided about call_Ann \(pay\)/],
      [{ call_Ann: 'perhaps' }, /^decisions: call_Ann: expected "approve"/],
      [{ call_Ann: { arguments: { to: 'Eve', amount: 'all' } } }, /^decisions: call_Ann: the arguments do not fit/],
    ]) {
      const [status, { error }] = await service.decide(first, decisions)
      assert.equal(status, 400)
      assert.match(error, pattern)
      await service.restart()
    }
    assert.deepEqual(service.paid(), [])
    const decisions = { call_Ann: { arguments: { to: 'Ann', amount: 40 } } }
    assert.deepEqual(waiting(await service.decide(first, decisions))[1], ['Bob'])
  })
}

for (const title of [BROWSER, DATABASE]) {
  test(`${title}: a decision counts once`, async (context) => {
    const service = await Service.start(context, title)
    const [first] = waiting(await ask(service))
    const decide = () => service.decide(first, { call_Ann: 'approve' })
    const answers = await Promise.all(Array.from({ length: 8 }, decide))
    assert.deepEqual(answers.map(([status]) => status).sort(), [200, ...Array(7).fill(409)])
    await service.restart()
    assert.deepEqual(await decide(), ONCE)
    if (first.state) {
      const state = JSON.stringify(JSON.parse(first.state), null, 2)
      assert.deepEqual(await service.decide({ state }, { call_Ann: 'approve' }), ONCE)
    }
    assert.deepEqual(service.paid().map(([to]) => to), ['Ann'])
  })

  test(`${title}: a call that ran when the process ended is not run again`, async (context) => {
    const service = await Service.start(context, title)
    const [first] = waiting(await ask(service))
    const decisions = { call_Ann: { arguments: { to: 'Ann', amount: 13 } } }
    await cutOff(service, first, decisions)
    assert.deepEqual(await service.decide(first, decisions), ONCE)
    assert.deepEqual(service.paid().map(([to]) => to), ['Ann'])
  })
}

test(`${BROWSER}: a forged state is refused`, async (context) => {
  const service = await Service.start(context, BROWSER)
  const [first] = waiting(await ask(service))
  await service.restart()
  const { signature, ...unsigned } = JSON.parse(first.state)
  assert.match(signature, /^hmac-sha256:[0-9a-f]{64}$/)
  const foreign = Agent.fromExport(first.state, { model: { provider: 'scripted', id: 'none', script: [] } }, KEY)
  const changed = /^the export cannot be read: it was changed, or signed with another key$/
  for (const [state, pattern] of [
    [first.state.replaceAll('"amount":50', '"amount":500'), changed],
    [foreign.export('another key of thirty-two bytes.'), changed],
    [JSON.stringify(unsigned), /^the export cannot be read: it is not signed, and a key is given/],
    ['{}', /^the export cannot be read: it is not signed, and a key is given/],
    ['no state', /^the export cannot be read: it is not JSON/],
    [undefined, /^export: expected text, got undefined/],
  ]) {
    const [status, { error }] = await service.decide({ state }, { call_Ann: 'approve' })
    assert.equal(status, 400)
    assert.match(error, pattern)
  }
  assert.deepEqual(service.paid(), [])
  waiting(await service.decide(first, { call_Ann: 'approve' }))
})

for (const title of [STORE, DATABASE]) {
  test(`${title}: an unknown id is not found`, async (context) => {
    const service = await Service.start(context, title)
    for (const id of ['00000000-0000-0000-0000-000000000000', '..%2Fapp', '..%2Fpackage']) {
      const [status] = await service.decide({ id }, { call_Ann: 'approve' })
      assert.equal(status, 404)
    }
  })
}
