// Agents that keep their conversation in a session, as Node has them; the rules are tested in Rust.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'

import { Agent, BusyError, InvalidArgumentError, InvalidStateError, Store, run } from 'agent-loop'

import { calls, does, packageFolder, says, scripted, temporary, toolTexts } from './helpers.mjs'
import { openStore, said, texts } from './stores.mjs'

const TEXTS = ['Rain in Oslo?', 'Yes.', 'And Bergen?', 'Always.']

/** What an agent is given: stores of the program need an open session. */
const given = (kind, session) => (kind === 'custom' ? session.open() : session)

for (const kind of ['sqlite', 'jsonl', 'memory', 'custom']) {
  test(`another agent goes on with the conversation: ${kind}`, async (t) => {
    const store = openStore(kind, temporary(t))
    const agent = scripted([says('Yes.')], { session: await given(kind, store.session('user-7')) })
    assert.deepEqual([agent.interrupted, agent.session.id, agent.messages], [null, 'user-7', []])
    await agent.prompt('Rain in Oslo?')
    assert.equal(agent.steer('And Bergen?'), 'queued')
    await agent.flush()
    await assert.rejects(store.session('user-7').open(), BusyError)
    if (kind !== 'custom') {
      const message = new RegExp(`by process ${process.pid}|pid ${process.pid}`)
      assert.throws(() => scripted([], { session: store.session('user-7') }), { kind: 'busy', message })
    }
    await agent.session.close()
    assert.throws(() => agent.appendMessage({ role: 'user', content: 'More.' }), /the session "user-7" was closed/)

    const other = scripted([says('Always.')], { session: await store.session('user-7').open() })
    // Without a call that would have given the event loop time.
    assert.deepEqual([texts(other.messages), other.hasQueuedMessages()], [TEXTS.slice(0, 2), true])
    await other.resume()
    assert.deepEqual(texts(other.messages), TEXTS)
    await other.session.close()
  })
}

for (const kind of ['sqlite', 'jsonl', 'memory']) {
  test(`changes between runs are kept: ${kind}`, async (t) => {
    const store = openStore(kind, temporary(t))
    const agent = scripted([], { session: store.session('a') })
    agent.appendMessage({ role: 'user', content: 'one' })
    agent.replaceMessages([{ role: 'user', content: 'two' }, { role: 'user', content: 'three' }])
    await agent.session.close()
    const again = scripted([], { session: store.session('a') })
    assert.deepEqual(texts(again.messages), ['two', 'three'])
    again.reset()
    await again.session.close()
    const last = scripted([], { session: store.session('a') })
    assert.deepEqual(last.messages, [])
    await last.session.close()
  })
}

test('what is no session is refused', async (t) => {
  const store = openStore('sqlite', temporary(t))
  const refused = [
    ['agents.db', /^option "session": expected store\.session\(id\), or what its open\(\) gives, got string$/],
    [store, /got a Store$/],
    [store.session('b').open(), /got a promise: await it$/],
    [openStore('custom').session('a'), /event loop cannot wait for the lists: open the session first, .*session\("a"\)\.open/],
    [Store.open('postgres://a@127.0.0.1:1/b').session('a'), /in an event loop cannot wait for .*: open the session first/],
  ]
  for (const [session, message] of refused) {
    assert.throws(() => scripted([], { session }), (error) => {
      assert.match(error.message, message)
      return error instanceof InvalidArgumentError
    })
  }
  const messages = [{ role: 'user', content: 'Hello.' }]
  assert.throws(() => scripted([], { session: store.session('a'), messages }), /^InvalidArgumentError: messages: the session has/)
  assert.throws(() => scripted([], { session: store.session('a'), maxTurn: 3 }), /unknown option "maxTurn"/)
  // It was not left open.
  const session = await store.session('a').open()
  const agent = scripted([], { session })
  assert.throws(() => scripted([], { session }), { kind: 'invalid_state', message: /an agent has, or had, the conversation/ })
  assert.throws(() => agent.setOptions({ session }), /option "session" is not a plain value; use the constructor/)
  await session.close()
  const model = { provider: 'scripted', id: 's', script: [] }
  assert.throws(() => run({}, 'Hello.', { model, session }), /option "session": a run without an agent has no conversation/)
  assert.equal(scripted([]).session, null)
  await scripted([]).flush()
})

test('flush is refused in a callback of the agent, which it would wait for', async (t) => {
  let refused
  const note = does('note', () => agent.flush().catch((error) => (refused = error)) && 'noted')
  const session = openStore('sqlite', temporary(t)).session('a')
  const agent = scripted([calls(['1', 'note']), says('Done.')], { session, tools: [note] })
  await agent.prompt('Note it.')
  assert.ok(refused instanceof InvalidStateError)
  assert.match(refused.message, /^flush inside a listener, hook or tool of the same agent would deadlock/)
  await agent.session.close()
})

test('a run in a custom store outlives its agent', async () => {
  const store = openStore('custom')
  const steps = [{ delta: 'Yes' }, { wait_ms: 5 }, { delta: '.' }, { end: {} }]
  const started = await (async () => {
    const agent = scripted([steps], { session: await store.session('a').open() })
    return agent.stream('Rain in Oslo?')
  })()
  for await (const event of started) if (event.type === 'text_delta') globalThis.gc?.()
  const { text, outcome } = await started.result()
  assert.deepEqual([text, outcome], ['Yes.', 'completed'])
})

const PROGRAM = `
  import { Store } from 'agent-loop'
  import { calls, does, says, scripted } from './helpers.mjs'

  const pay = does('pay', ({ n }) => {
    if (n === 2) process.kill(process.pid, 'SIGKILL')
    return 'paid ' + n
  })
  const script = [calls(['call_0', 'pay', { n: 1 }], ['call_1', 'pay', { n: 2 }]), says('Done.')]
  const session = Store.open(process.argv[1]).session('a')
  await scripted(script, { tools: [pay], toolExecution: 'sequential', session }).prompt('Pay.')`

for (const kind of ['sqlite:agents.db', 'jsonl:sessions']) {
  const skip = process.platform === 'win32' && 'signals of POSIX'
  test(`a run whose process was killed goes on: ${kind}`, { skip }, async (t) => {
    const address = kind.replace(':', `:${join(temporary(t), '/')}`)
    const { signal, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', PROGRAM, address], {
      cwd: join(packageFolder, 'test'),
      encoding: 'utf8',
      timeout: 60_000,
    })
    assert.deepEqual([signal, stderr], ['SIGKILL', ''])

    const agent = scripted([says('Done.')], { session: Store.open(address).session('a') })
    const { runId, of, phase, calls: open } = agent.interrupted
    assert.deepEqual([typeof runId, of, phase], ['string', 'prompt', 'tools'])
    assert.equal(texts(agent.messages).at(-1), 'paid 1')
    assert.deepEqual(JSON.parse(JSON.stringify(open)), [
      {
        tool_call_id: 'call_1',
        tool_name: 'pay',
        arguments: { n: 2 },
        idempotency_key: 'a/1/call_1',
        progress: { state: 'started' },
        is_checked: false,
      },
    ])
    assert.equal(open[0].idempotencyKey, 'a/1/call_1')
    const result = await agent.resume()
    assert.deepEqual([result.text, agent.interrupted], ['Done.', null])
    assert.match(toolTexts(result)[0][0], /not known/)
    await agent.session.close()
  })
}

test('records do not pass the agent by', async () => {
  const store = Store.open('memory:')
  const agent = scripted([], { session: store.session('a') })
  const message = /"a" has an agent, .* append messages with the agent's appendMessages/
  await assert.rejects(agent.session.append([said('past it')]), { kind: 'invalid_state', message })
  await agent.session.append([{ kind: 'info', title: 'Weather' }])
  await agent.session.setInfo({ metadata: { user: 7 } })
  assert.deepEqual([(await store.session('a').info()).metadata, agent.messages], [{ user: 7 }, []])
  await agent.session.close()

  const session = await store.session('a').open()
  await session.append([said('by hand')])
  const refused = { kind: 'invalid_state', message: /records were appended to this open session "a".* open it again/ }
  assert.throws(() => scripted([], { session }), refused)
  await session.close()
  const again = scripted([], { session: store.session('a') })
  assert.deepEqual(texts(again.messages), ['by hand'])
  await again.session.close()
})

test('a prompt uses the answers that the journal has', async () => {
  const session = Store.open('memory:').session('a')
  const call = { type: 'tool_call', id: '1', name: 'pay', arguments: {} }
  const result = { content: [{ type: 'text', text: 'paid' }], details: null, terminate: false }
  const open = await session.open()
  await open.append([
    { kind: 'run_start', run_id: 'r', of: 'prompt' },
    said('Pay.'),
    { kind: 'message', message: { role: 'assistant', content: [call], stopReason: 'tool_use' } },
    { kind: 'tool_start', tool_call_id: '1', tool_name: 'pay', arguments: {}, idempotency_key: 'a/1/1' },
    { kind: 'tool_answer', tool_call_id: '1', result, is_error: false },
  ])
  await open.close()
  const agent = scripted([says('Done.')], { session })
  assert.equal(agent.interrupted.calls[0].progress.result.content[0].text, 'paid')
  assert.deepEqual(toolTexts(await agent.prompt('And now?')), [['paid', false]])
  await agent.session.close()
})

test('an agent that is garbage-collected gives its session back', async (t) => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc')
  const store = openStore('sqlite', temporary(t))
  await (async () => {
    const agent = scripted([says('Yes.')], { session: store.session('a') })
    await agent.prompt('Rain in Oslo?')
  })()
  const opened = async () => {
    await new Promise((resolve) => setTimeout(resolve, 10))
    gc()
    return store.session('a').open()
  }
  let session
  for (let i = 0; i < 500 && session === undefined; i++) {
    session = await opened().catch((error) => assert.ok(error instanceof BusyError, error))
  }
  assert.deepEqual(texts(session.messages), TEXTS.slice(0, 2))
  await session.close()
})

test('onInterrupted of a tool decides about a call of unknown outcome', async (t) => {
  const store = openStore('sqlite', temporary(t))
  const open = await store.session('a').open()
  const call = (id, name) => ({ type: 'tool_call', id, name, arguments: {} })
  await open.append([
    { kind: 'message', message: { role: 'user', content: 'Go.' } },
    { kind: 'message', message: { role: 'assistant', content: [call('1', 'read'), call('2', 'ask')], stopReason: 'tool_use' } },
  ])
  for (const [id, name] of [['1', 'read'], ['2', 'ask']]) {
    await open.append([{ kind: 'tool_start', tool_call_id: id, tool_name: name, arguments: {}, idempotency_key: `a/1/${id}` }])
  }
  await open.close()
  const asked = []
  const agent = scripted([says('Done.')], {
    session: store.session('a'),
    tools: [
      does('read', (_, { idempotencyKey }) => `read as ${idempotencyKey}`, { onInterrupted: 'retry' }),
      does('ask', () => 'never called', { onInterrupted: 'ask' }),
    ],
    onInterruptedCall: ({ idempotencyKey }) => {
      asked.push(idempotencyKey)
      return { result: 'looked up' }
    },
  })
  const result = await agent.resume()
  assert.deepEqual(toolTexts(result), [['read as a/1/1', false], ['looked up', false]])
  assert.deepEqual(asked, ['a/1/2'])
  await agent.session.close()
})

test('calls that wait are decided in another process', async (t) => {
  const store = openStore('sqlite', temporary(t))
  const tools = [does('pay', ({ n }) => `paid ${n}`, { needsApproval: true })]
  const agent = scripted([calls(['1', 'pay', { n: 5 }])], { tools, session: store.session('a') })
  assert.equal((await agent.prompt('Pay.')).outcome, 'suspended')
  await agent.session.close()

  const other = scripted([says('Done.')], { tools, session: store.session('a') })
  assert.deepEqual(other.pending.map(({ toolCallId, idempotencyKey }) => [toolCallId, idempotencyKey]), [['1', 'a/1/1']])
  const result = await other.resume({ decisions: { 1: 'approve' } })
  assert.deepEqual([result.text, toolTexts(result)], ['Done.', [['paid 5', false]]])
  await other.session.close()
})

test('an exported conversation goes on in a session', async (t) => {
  const store = openStore('sqlite', temporary(t))
  const before = scripted([says('Yes.')])
  await before.prompt('Rain in Oslo?')
  const options = { model: { provider: 'scripted', id: 's', script: [] }, session: store.session('a') }
  assert.throws(() => Agent.fromExport('{}', options), /^InvalidArgumentError: the export cannot be read/)
  // What was opened for it is given back.
  while ((await options.session.info()).holder !== null);
  const agent = Agent.fromExport(before.export(), options)
  await agent.session.close()
  const open = await store.session('a').open()
  assert.deepEqual(texts(open.messages), TEXTS.slice(0, 2))
  await open.close()
})

test('the process ends with an agent whose session is open, and others can open it', (t) => {
  const program = `
    import { Store } from 'agent-loop'
    import { says, scripted } from './helpers.mjs'
    const agent = scripted([says('Yes.'), says('Always.')], { session: Store.open(process.argv[1]).session('a') })
    console.log(agent.messages.length)
    await agent.prompt('Rain in Oslo?')
    agent.followUp('And Bergen?')`
  for (const address of [join(temporary(t), 'agents.db'), `jsonl:${temporary(t)}`]) {
    for (const count of [0, 2]) {
      const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program, address], {
        cwd: join(packageFolder, 'test'),
        encoding: 'utf8',
        timeout: 60_000,
      })
      assert.deepEqual([status, stderr, stdout], [0, '', `${count}\n`])
    }
  }
})

test('a worker that is terminated gives its session back', async (t) => {
  const path = join(temporary(t), 'agents.db')
  const program = `
    const { Agent, Store } = require('agent-loop')
    const { parentPort, workerData } = require('node:worker_threads')
    const model = { provider: 'scripted', id: 's', script: [[{ delta: 'Yes.' }, { end: {} }]] }
    globalThis.agent = new Agent({ model, session: Store.open(workerData).session('a') })
    agent.prompt('Rain in Oslo?').then(({ text }) => parentPort.postMessage(text))`
  const worker = new Worker(program, { eval: true, workerData: path })
  const text = await new Promise((resolve, reject) => worker.on('message', resolve).on('error', reject))
  await worker.terminate()
  const session = Store.open(path).session('a')
  // It is given back on another thread.
  while ((await session.info()).holder !== null) await new Promise((resolve) => setTimeout(resolve, 1))
  const agent = scripted([], { session })
  assert.deepEqual([text, texts(agent.messages)], ['Yes.', TEXTS.slice(0, 2)])
  await agent.session.close()
})

for (const kind of ['sqlite', 'jsonl', 'memory']) {
  test(`a follower joins in the middle of an answer: ${kind}`, async (t) => {
    const store = openStore(kind, temporary(t))
    const session = store.session('a')
    let goOn
    const paused = new Promise((resolve) => (goOn = resolve))
    async function* provider() {
      yield 'It is '
      await paused
      yield 'raining.'
    }
    class Page {
      follow = session.follow({ live: true })
      records = []
      text = ''
      whole = []

      async until(isSo) {
        while (!isSo()) {
          const { value } = await this.follow.next()
          if ('event' in value) {
            assert.equal(value.after, this.records.length)
            const { type, message, delta } = value.event
            if (type === 'message_start') this.text = message.content.map((block) => block.text).join('')
            this.text += delta ?? ''
          } else {
            this.records.push(value.kind)
            if (value.kind === 'message') this.whole.push(value.message.content[0].text)
          }
        }
      }
    }
    const agent = new Agent({ model: 'own/model', provider, session })
    const prompted = agent.prompt('Rain?')
    const [first, second] = [new Page(), new Page()]
    await first.until(() => first.text === 'It is ')
    await second.until(() => second.text === 'It is ')
    goOn()
    for (const page of [first, second]) {
      await page.until(() => page.records.at(-1) === 'run_end')
      assert.deepEqual([page.text, page.whole], ['It is raining.', ['Rain?', 'It is raining.']])
      assert.deepEqual(page.records, ['session', 'run_start', 'message', 'message', 'run_end'])
      await page.follow.return()
    }
    await prompted
    assert.throws(() => session.follow({ live: 1 }), { message: 'follow: live: expected true or false, got 1' })
    await agent.session.close()
  })
}
