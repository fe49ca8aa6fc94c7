// Stores and sessions, as Node has them; the rules of stores are tested in Rust.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { spawnSync } from 'node:child_process'
import { chmodSync, appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import zlib from 'node:zlib'

import { BusyError, InvalidArgumentError, NotFoundError, OpenSession, Session, Store, fromCanonical } from 'agent-loop'

import { packageFolder, temporary } from './helpers.mjs'
import { Lists, openStore, said, texts } from './stores.mjs'

const KINDS = ['sqlite', 'jsonl', 'memory', 'custom']

/** The output of a program in a new process. */
function node(program, ...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program, ...args], {
    cwd: join(packageFolder, 'test'),
    encoding: 'utf8',
    timeout: 60_000,
  })
  assert.deepEqual([status, stderr], [0, ''])
  return stdout
}

for (const kind of KINDS) {
  test(`what is appended is there when the session is opened again: ${kind}`, async (t) => {
    const store = openStore(kind, temporary(t))
    const session = store.session('user-7')
    assert.ok(session instanceof Session)
    assert.equal(await session.info(), null)
    const open = await session.open()
    assert.ok(open instanceof OpenSession)
    assert.deepEqual([open.id, open.last, open.messages, open.diagnostics], ['user-7', 1, [], []])
    assert.equal(await open.append([said('a'), said('b')]), 3)
    await open.setInfo({ title: 'Letters', metadata: { user_id: 7 } })
    await open.flush()
    await assert.rejects(session.open(), BusyError)
    await open.close()
    await open.close()
    await assert.rejects(open.append([said('c')]), { kind: 'invalid_state', message: /"user-7" was closed; open it again/ })

    const again = await session.open()
    assert.deepEqual(texts(again.messages), ['a', 'b'])
    assert.ok(Object.isFrozen(again.messages[0]))
    const { start, info } = again.rebuilt
    assert.deepEqual([start.id, info], ['user-7', { title: 'Letters', metadata: { user_id: 7 } }])
    await again[Symbol.asyncDispose]()

    const { id, title, metadata, holder, createdMs } = await session.info()
    assert.deepEqual([id, title, metadata, holder], ['user-7', 'Letters', { user_id: 7 }, null])
    assert.ok(createdMs > 1_600_000_000_000)
    const records = await session.records()
    assert.deepEqual(records.map((record) => record.kind), ['session', 'message', 'message', 'info'])
    assert.equal(records[0].created_ms, start.created_ms)
    assert.deepEqual((await session.records({ after: 1, limit: 2 })).map((record) => record.seq), [2, 3])
    await session.setInfo({ title: '' })
    assert.equal((await session.info()).title, null)
  })

  test(`a fork and an import have what the session had: ${kind}`, async (t) => {
    const store = openStore(kind, temporary(t))
    const session = store.session('a')
    const open = await session.open()
    await open.append([said('one'), said('two')])
    await open.setInfo({ title: 'A' })
    await open.close()
    const fork = await session.fork({ id: 'b', at: 2 })
    assert.equal((await fork.info()).title, 'A')
    const forked = await fork.open()
    assert.deepEqual([texts(forked.messages), forked.rebuilt.start.forked_from], [['one'], { id: 'a', seq: 2 }])
    await forked.close()
    const text = await session.export()
    const copy = await store.import(text, { id: 'c' })
    assert.deepEqual((await copy.export()).split('\n').slice(1), text.split('\n').slice(1))
    await assert.rejects(store.import(text), { kind: 'invalid_argument', message: /there is a session "a" already/ })
    await assert.rejects(store.import(text.replace('one', 'eno'), { id: 'd' }), /line 2: its checksum does not match/)
    await fork.delete()
    await assert.rejects(fork.delete(), NotFoundError)
    const ids = []
    for await (const info of store.listAll()) ids.push(info.id)
    assert.deepEqual(ids.sort(), ['a', 'c'])
  })

  test(`a follower sees each record once: ${kind}`, async (t) => {
    const session = openStore(kind, temporary(t)).session('a')
    const open = await session.open()
    const seen = []
    const following = (async () => {
      for await (const record of session.follow()) {
        seen.push(record.seq)
        if (seen.length === 21) break
      }
    })()
    for (let n = 0; n < 20; n++) await open.append([said(String(n))])
    await following
    assert.deepEqual(seen, Array.from({ length: 21 }, (_, i) => i + 1))
    // `return` ends one that waits.
    const follow = session.follow({ after: 21 })
    const waiting = follow.next()
    await follow.return()
    assert.deepEqual([await waiting, await follow.next()].map(({ done }) => done), [true, true])
    await open.close()
  })
}

test('records are in the JSON of the journal, and messages in them may be as an agent has them', async (t) => {
  const session = openStore('sqlite', temporary(t)).session('a')
  const open = await session.open()
  const call = { type: 'tool_call', id: 'call_a', name: 'add', arguments: { first_number: 1 } }
  const answer = { role: 'assistant', content: [call], stopReason: 'tool_use' }
  await open.append([
    { kind: 'message', message: answer },
    { kind: 'tool_start', tool_call_id: 'call_a', tool_name: 'add', arguments: { first_number: 1 }, idempotency_key: 'k' },
    { kind: 'appended', messages: [{ role: 'tool_result', toolCallId: 'call_a', toolName: 'add', content: '1' }] },
  ])
  await open.close()
  const [, message, start, appended] = await session.records()
  assert.equal(message.message.stop_reason, 'tool_use')
  assert.deepEqual(Object.keys(start), ['seq', 'at', 'kind', 'tool_call_id', 'tool_name', 'arguments', 'idempotency_key'])
  assert.equal(fromCanonical(appended.messages)[0].toolCallId, 'call_a')
  const again = await session.open()
  assert.equal(again.messages[0].stopReason, 'tool_use')
  assert.deepEqual(again.messages[0].content[0].arguments, { first_number: 1 })
  await again.close()
})

test('records keep the order of the calls', async (t) => {
  const open = await openStore('sqlite', temporary(t)).session('a').open()
  const numbers = await Promise.all(Array.from({ length: 50 }, (_, n) => open.append([said(String(n))])))
  assert.deepEqual(numbers, Array.from({ length: 50 }, (_, n) => n + 2))
  await open.close()
})

test('a list has pages, times and metadata', async (t) => {
  const store = openStore('sqlite', temporary(t))
  for (let n = 0; n < 5; n++) await store.session(`s${n}`).setInfo({ metadata: { n } })
  const first = await store.list({ limit: 2 })
  const second = await store.list({ limit: 3, cursor: first.next })
  const ids = [...first.sessions, ...second.sessions].map((info) => info.id)
  assert.deepEqual([ids.sort(), second.next], [['s0', 's1', 's2', 's3', 's4'], null])
  assert.deepEqual((await store.list({ metadata: { n: 3 } })).sessions.map((info) => info.id), ['s3'])
  assert.equal((await store.list({ updatedBefore: 1_000 })).sessions.length, 0)
  assert.equal((await store.list({ updatedFrom: 1_000 })).sessions.length, 5)
})

test('wrong arguments are refused in the words of JavaScript', async (t) => {
  const folder = temporary(t)
  const store = openStore('sqlite', folder)
  const refused = [
    [() => Store.open('mysql:x'), /the address "mysql:x" is not known/],
    [() => Store.open(3), /store: address: expected text, got 3/],
    [() => Store.open('memory:', 'full'), /^store: options: expected an object, got "full"$/],
    [() => store.list(3), /^list: expected an object, got 3$/],
    [() => Store.open('memory:', { leaseMs: 3 }), /^store: leaseMs: at least 100 ms, got 3$/],
    [() => Store.open('memory:', { lease: 3 }), /^unknown store option "lease"; did you mean "leaseMs"\?$/],
    [() => Store.open('memory:', { sync: 'ful' }), /^store: sync: unknown value "ful"; did you mean "full"\?$/],
    [() => Store.open('memory:', { network: { caFiles: 'x' } }), /unknown network field "caFiles"; did you mean "caFile"\?/],
    [() => store.session(''), /the id "" cannot be used: it is empty/],
    [() => store.list({ updatedFrom: -1 }), /^list: updatedFrom: expected a whole number of at least 0, got -1$/],
    [() => store.list({ update: 1 }), /^unknown list option "update"/],
    [() => store.session('a').records({ after: '1' }), /^records: after: expected a whole number of at least 0, got "1"$/],
    [() => store.session('a').records({ form: 1 }), /^unknown option "form"; known are after, limit$/],
    [() => store.session('a').fork({}), /^fork: id: expected text, got nothing$/],
    [() => store.session('a').setInfo({ title: 3 }), /^setInfo: title: expected text, got 3$/],
    [() => Store.custom({}), /^store: acquire: expected a function, got nothing$/],
    [() => Store.custom(new Lists(), { sync: 'full' }), /^unknown option "sync"; known are leaseMs, holder$/],
  ]
  for (const [call, message] of refused) {
    const isRefused = (error) => error instanceof InvalidArgumentError && message.test(error.message)
    await assert.rejects(async () => call(), isRefused, `${message}`)
  }
  const open = await store.session('a').open()
  const records = [
    ['x', /^records: expected an array of records, got "x"$/],
    [[said('a'), { kind: 'mesage' }], /^records\[1\]: unknown kind "mesage"; did you mean "message"\?$/],
    [[{ kind: 'info', tilte: 'x' }], /^records\[0\]: info: unknown field "tilte"; did you mean "title"\?$/],
    [[{ kind: 'tool_start', tool_name: 'x' }], /^records\[0\]: tool_start: tool_call_id is missing$/],
    [[{ kind: 'reset', at: () => {} }], /^records: at: a function is not JSON$/],
  ]
  for (const [given, message] of records) {
    await assert.rejects(open.append(given), (error) => message.test(error.message), `${message}`)
  }
  assert.equal(await open.append([said('a')]), 2)
  await open.close()
  await assert.rejects(store.session('none').records(), { kind: 'not_found', message: /there is no session "none"/ })
  const gone = store.session('none').follow({ after: 5 })
  await assert.rejects(gone.next(), NotFoundError)
  // There is nothing behind an error.
  assert.deepEqual(await gone.next(), { done: true, value: undefined })
  const early = store.session('early').follow().next()
  await (await store.session('early').open()).close()
  assert.equal((await early).value.seq, 1)
  for (const refused of [() => store.session('a').records({ limit: 0 }), () => store.list({ limit: 0 })]) {
    await assert.rejects(refused, { kind: 'invalid_argument', message: /limit: expected a whole number of at least 1, got 0/ })
  }
})

test('every option is taken', async (t) => {
  const path = join(temporary(t), 'agents.db')
  const store = Store.open(path, { sync: 'full', leaseMs: 500, holder: 'tests', network: { roots: 'system' } })
  const open = await store.session('a').open()
  assert.equal((await store.session('a').info()).holder, 'tests')
  assert.equal(store.name, `the SQLite store ${path}`)
  await open.close()
})

test('a session has one writer in all processes', async (t) => {
  const path = join(temporary(t), 'agents.db')
  const open = await Store.open(path, { holder: 'worker 1' }).session('a').open()
  await open.append([said('here')])
  const program = `
    import { Store } from 'agent-loop'
    const session = Store.open(process.argv[1]).session('a')
    await session.open().catch((error) => console.log(error.kind, error.message))
    console.log((await session.records())[1].message.content[0].text)`
  const [busy, text] = node(program, path).split('\n')
  assert.match(busy, /^busy the session "a" is open elsewhere, by worker 1, and has one writer at a time/)
  assert.equal(text, 'here')
  await open.close()
})

test('a damaged session is salvaged', async (t) => {
  const folder = temporary(t)
  const store = openStore('jsonl', folder)
  const open = await store.session('a').open()
  await open.append([said('one'), said('two'), said('three')])
  await open.close()
  const file = join(folder, 'sessions/a.jsonl')
  writeFileSync(file, readFileSync(file, 'utf8').replace('two', 'owt'))
  await assert.rejects(store.session('a').open(), { kind: 'damaged', message: /is damaged at record 3: its checksum/ })
  const { records, text, damage } = await store.session('a').salvage()
  assert.deepEqual([records.map(({ seq }) => seq), damage], [[1, 2], 'record 3: its checksum does not match'])
  const copy = await (await store.import(text, { id: 'b' })).open()
  assert.deepEqual(texts(copy.messages), ['one'])
  await copy.close()
  appendFileSync(join(folder, 'sessions/b.jsonl'), '{"seq":3,"at":17')
  const torn = await store.session('b').open()
  const [{ code, data }] = torn.diagnostics
  assert.deepEqual([code, data], ['journal_torn', { session: 'b', bytes: 16 }])
  await torn.close()
})

test('a session of a newer version is refused', { skip: zlib.crc32 === undefined && 'this Node has no crc32' }, async (t) => {
  const folder = temporary(t)
  mkdirSync(join(folder, 'sessions'))
  const line = '{"seq":1,"at":1,"kind":"session","version":2,"id":"a","created_ms":1'
  const crc = zlib.crc32(line).toString(16).padStart(8, '0')
  writeFileSync(join(folder, 'sessions/a.jsonl'), `${line},"crc":"${crc}"}\n`)
  await assert.rejects(openStore('jsonl', folder).session('a').open(), { kind: 'newer_version', message: /update agent-loop/ })
})

test('a folder that cannot be written', { skip: process.platform === 'win32' && 'permissions of POSIX' }, (t) => {
  const folder = temporary(t)
  chmodSync(folder, 0o555)
  // As an unprivileged user, whom permissions stop.
  const program = `
    import { Store } from 'agent-loop'
    if (process.getuid() === 0) process.setuid(65534)
    for (const address of ['jsonl:' + process.argv[1], process.argv[1] + '/agents.db']) {
      try {
        await Store.open(address).session('a').open()
      } catch (error) {
        console.log(error.name)
      }
    }`
  assert.equal(node(program, folder), 'IoError\nIoError\n')
  chmodSync(folder, 0o755)
})

test('the process ends with a session that is open, and others can open it', (t) => {
  for (const address of [join(temporary(t), 'agents.db'), `jsonl:${temporary(t)}`, 'memory:', 'custom']) {
    const program = `
      import { Store } from 'agent-loop'
      import { Lists, said } from './stores.mjs'
      const store = process.argv[1] === 'custom' ? Store.custom(new Lists()) : Store.open(process.argv[1])
      globalThis.open = await store.session('a').open()
      console.log(open.messages.length)
      await open.append([said('a')])`
    assert.equal(node(program, address), '0\n')
    if (address !== 'memory:' && address !== 'custom') assert.equal(node(program, address), '1\n')
  }
})

test('a store in a worker, which is terminated while it follows', async (t) => {
  const path = join(temporary(t), 'agents.db')
  const program = `
    const { Store } = require('agent-loop')
    const { parentPort, workerData } = require('node:worker_threads')
    const follow = Store.open(workerData).session('a').follow()
    follow.next().then(({ value }) => { parentPort.postMessage(value.kind); return follow.next() })`
  const open = await Store.open(path).session('a').open()
  const worker = new Worker(program, { eval: true, workerData: path })
  const [kind] = await new Promise((resolve, reject) => {
    worker.on('message', (...args) => resolve(args))
    worker.on('error', reject)
  })
  assert.equal(kind, 'session')
  await worker.terminate()
  await open.append([said('a')])
  await open.close()
})

test('an error of a custom store keeps its kind', async () => {
  const failing = (thrown) => {
    const lists = new Lists()
    lists.read = () => {
      throw thrown
    }
    return Store.custom(lists).session('a').records()
  }
  const mine = Object.assign(new Error('none'), { kind: 'not_found' })
  for (const [thrown, kind, message] of [
    [new BusyError({ kind: 'busy', message: 'Ann has it', retryable: false }), 'busy', 'Ann has it'],
    [mine, 'not_found', 'none'],
    [new Error('no connection'), 'io', 'the lists: read: no connection'],
    [Object.assign(new Error('odd'), { kind: 'odd' }), 'io', 'the lists: read: odd'],
    ['a text', 'io', 'the lists: read: a text'],
  ]) {
    await assert.rejects(failing(thrown), (error) => {
      assert.deepEqual([error.kind, error.message, error.cause], [kind, message, thrown])
      return true
    })
  }
})

test('a wrong answer of a custom store says what is wrong', async () => {
  const lists = new Lists()
  const text = (answer) => {
    lists.acquire = () => answer
    return Store.custom(lists).session('a').open().catch(({ kind, message }) => `${kind}: ${message}`)
  }
  assert.match(await text(7), /^io: the lists: acquire: its answer cannot be used: .*got 7/)
  assert.match(await text([7]), /^io: the lists: acquire: its answer cannot be used: expected an object, got an array/)
  assert.match(await text(null), /^io: the lists: acquire: its answer cannot be used: expected an object, got null/)
  assert.match(await text(undefined), /^io: the lists: acquire: its answer cannot be used: expected an object, got null/)
  assert.match(await text({}), /^io: the lists: acquire: its answer cannot be used: token is missing/)
  assert.match(await text({ token: 'x' }), /^io: the lists: acquire: its answer cannot be used: token: expected a whole number/)
  assert.match(await text({ token: 1n }), /^io: the lists: acquire: its answer: token: the BigInt 1n is not JSON/)
})

test('a custom store may say how many lines a session had', async () => {
  const lists = new Lists()
  const read = lists.read.bind(lists)
  let last
  lists.read = async (...given) => ({ lines: await read(...given), last })
  const session = Store.custom(lists).session('a')
  await (await session.open()).close()
  assert.equal((await session.records()).length, 1)
  last = 2
  for (const reading of [() => session.records(), () => session.export()]) {
    await assert.rejects(reading, { kind: 'damaged', message: /its records from 2 on are missing, of 2 that it had/ })
  }
})

test('a custom store reports to followers what has changed, in the context of who has made it', async () => {
  const storage = new AsyncLocalStorage()
  const seen = []
  class Changing extends Lists {
    changes = []

    changed(id, after) {
      seen.push([storage.getStore(), id, after])
      return new Promise((resolve) => this.changes.push(resolve))
    }
  }
  const lists = new Changing()
  const store = storage.run('made', () => Store.custom(lists))
  const open = await store.session('a').open()
  const next = store.session('a').follow({ after: 1 }).next()
  while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  await open.append([said('a')])
  for (const resolve of lists.changes) resolve()
  assert.equal((await next).value.seq, 2)
  assert.deepEqual(seen[0], ['made', 'a', 1])
  await open.close()
})
