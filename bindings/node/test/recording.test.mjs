// Recorded runs: played again, with recorded answers, and the helper for node:test.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

import {
  Agent,
  AuthenticationError,
  DamagedError,
  InvalidArgumentError,
  InvalidStateError,
  IoError,
  NewerVersionError,
  ReplayError,
  replay,
} from 'agent-loop'
import { agentRecording } from 'agent-loop/testing'

import { calls, chatFrames, does, mock, packageFolder, play, says, scripted, temporary } from './helpers.mjs'

const written = (events) => events.map((event) => JSON.stringify(event))
const find = (text = 'found') => does('find', () => text)

/** Records a run with a tool and gives its events. */
async function recorded(file) {
  return written(await play(scripted([calls(['c1', 'find']), says('Done.')], { record: file, tools: [find()] }).stream('go')))
}

test('a recorded run is played again', async (t) => {
  const record = join(temporary(t), 'runs.jsonl')
  let ran = 0
  const counts = does('count', () => `ran ${++ran}`)
  const agent = scripted([calls(['c1', 'count']), says('Done.'), says('Again.')], { record, tools: [counts] })
  const first = written(await play(agent.stream('go')))
  const second = written(await play(agent.stream('go')))
  assert.deepEqual(written(await play(replay(record))), first)
  const played = replay(record, { run: 2 })
  assert.deepEqual(written(await play(played)), second)
  assert.equal((await played.result()).text, 'Again.')
  assert.equal(ran, 1)
})

test('a run that is played takes no messages, and can be left', async (t) => {
  const record = join(temporary(t), 'runs.jsonl')
  // More events than a run's queue holds: it is not over before they are read.
  await scripted([[...Array(3000).fill({ delta: 'x' }), { end: {} }]], { record }).prompt('go')
  const left = replay(record)
  assert.throws(() => left.steer('no'), InvalidStateError)
  for await (const event of left) if (event.type === 'turn_start') break
  assert.equal((await left.result()).outcome, 'aborted')
  const controller = new AbortController()
  controller.abort()
  await assert.rejects(replay(record, { signal: controller.signal }).result(), { name: 'AbortError' })
})

test('tools run with recorded answers', async (t) => {
  const file = join(temporary(t), 'runs.jsonl')
  const first = await recorded(file)
  const agent = scripted([], { replay: { path: file, run: 1 }, tools: [find()] })
  assert.deepEqual(written(await play(agent.stream('go'))), first)
  const none = /runs\.jsonl: it has no further run/
  await assert.rejects(agent.prompt('go'), (error) => error instanceof ReplayError && none.test(error.message))
})

test('the first difference is shown', async (t) => {
  const file = join(temporary(t), 'runs.jsonl')
  await recorded(file)
  const difference = async (prompt, options) => {
    const error = await scripted([], { replay: file, tools: [find()], ...options }).prompt(prompt).catch((error) => error)
    assert.ok(error instanceof ReplayError && error.kind === 'replay' && !error.retryable, error)
    assert.ok(error.message.startsWith(`the recording ${file}: line `), error)
    return error.message
  }
  assert.match(await difference('stop'), /request\.messages\[0\]\.content\[0\]\.text is "stop", and was recorded as "go"/)
  const changed = /request\.messages\[2\]\.content\[0\]\.text is "found nothing", and was recorded as "found"/
  assert.match(await difference('go', { tools: [find('found nothing')] }), changed)
  // Left over, and missing.
  assert.match(await difference('go', { maxTurns: 1 }), /the run has ended, and request 2 of run 1 was recorded and not made/)
  const more = [[{ role: 'user', content: 'more' }]]
  const missing = await difference('go', { getFollowUpMessages: () => more.shift() ?? [] })
  assert.match(missing, /request 3 \(to scripted\/s\) was not recorded: run 1 has 2 of them/)
})

test('over HTTP, and without its server', async (t) => {
  const file = join(temporary(t), 'runs.jsonl')
  const refused = { status: 401, body: { json: { error: { message: 'no: sk-secret', type: 'sk-header' } } } }
  const baseUrl = await mock(t, [chatFrames('It ', 'rains.'), refused])
  const model = { provider: 'openai', id: 'tiny', protocol: 'openai_chat', baseUrl }
  const keys = { apiKey: 'sk-secret', headers: { 'x-key': 'sk-header' } }
  const agent = new Agent({ model, systemPrompt: 'Be brief.', record: { path: file, frames: true }, ...keys })
  const first = written(await play(agent.stream('Rain?')))
  await assert.rejects(agent.prompt('Snow?'), AuthenticationError)
  const text = readFileSync(file, 'utf8')
  assert.doesNotMatch(text, /sk-/)
  assert.ok(text.includes('[key]') && text.includes('Be brief.') && text.split('\n{"frame":').length > 3)

  // Nothing listens there, and there is no key.
  const gone = { model: { ...model, baseUrl: 'http://127.0.0.1:9' }, replay: file }
  assert.deepEqual(written(await play(replay(file))), first)
  await assert.rejects(replay(file, { run: 2 }).result(), { name: 'AuthenticationError', message: /no: \[key\]/ })
  assert.equal((await new Agent({ ...gone, systemPrompt: 'Be brief.' }).prompt('Rain?')).text, 'It rains.')
  await assert.rejects(new Agent({ ...gone, systemPrompt: 'Be kind.' }).prompt('Rain?'), {
    kind: 'replay',
    message: /body\.messages\[0\]\.content is "Be kind\.", and was recorded as "Be brief\."/,
  })
})

test('what cannot be played', async (t) => {
  const file = join(temporary(t), 'runs.jsonl')
  assert.throws(() => replay(file), (error) => error instanceof IoError && /record it first/.test(error.message))
  await recorded(file)
  const text = readFileSync(file, 'utf8')
  for (const [wrong, kind, why] of [
    ['[]\n', DamagedError, /: line 1: this is no recording/],
    [text.slice(0, text.indexOf('\n') + 10), DamagedError, /: line 2: it cannot be read \(it ends too early\)/],
    [text.slice(0, text.lastIndexOf('{"end"')), DamagedError, /: line \d+: the run 1 begins in line 1 and has no end/],
    [text.replace(':1,', ':2,'), NewerVersionError, /: line 1: the run has version 2, of a newer agent-loop/],
  ]) {
    writeFileSync(file, wrong)
    assert.throws(() => replay(file), (error) => error instanceof kind && why.test(error.message))
    await assert.rejects(scripted([], { replay: file }).prompt('go'), (error) => error instanceof kind && why.test(error.message))
  }
  writeFileSync(file, text)
  assert.throws(() => replay(file, { run: 2 }), { name: 'InvalidArgumentError', message: /has 1 run, and run 2 is asked for/ })
  for (const call of [
    () => replay(5),
    () => replay(''),
    () => replay(file, 5),
    () => replay(file, { run: 0 }),
    () => replay(file, { run: 1.5 }),
    () => replay(file, { runs: 1 }),
    () => scripted([], { record: 5 }),
    () => scripted([], { record: { path: file, frame: true } }),
  ]) {
    assert.throws(call, InvalidArgumentError)
  }
})

// ---- the helper for node:test -----------------------------------------------------------------------------------------------

const program = (baseUrl, prompt) => `
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Agent } from 'agent-loop'
import { agentRecording } from 'agent-loop/testing'

const model = ${JSON.stringify({ provider: 'openai', id: 'tiny', protocol: 'openai_chat', baseUrl })}

describe('rain', () => {
  for (const city of ['Oslo', 'a/b']) {
    it('in ' + city, async (t) => {
      const agent = new Agent({ model, ...agentRecording(t) })
      assert.equal((await agent.prompt('${prompt} in ' + city + '?')).text, 'It rains.')
      // Another agent of the test has its run in the same file.
      const other = new Agent({ model, ...agentRecording(t) })
      assert.equal((await other.prompt('Snow?')).text, 'It rains.')
    })
  }
})
`

/** A folder with a test, which is run in a process of its own. */
class Project {
  constructor(t) {
    this.folder = temporary(t)
    this.recordings = join(this.folder, 'recordings')
    mkdirSync(join(this.folder, 'node_modules'))
    symlinkSync(packageFolder, join(this.folder, 'node_modules/agent-loop'), 'junction')
  }

  write(baseUrl, prompt = 'Rain') {
    writeFileSync(join(this.folder, 'city.test.mjs'), program(baseUrl, prompt))
  }

  files() {
    const names = readdirSync(this.recordings)
    return Object.fromEntries(names.map((name) => [name, readFileSync(join(this.recordings, name), 'utf8')]))
  }

  async run(environment = {}, ...options) {
    const { AGENT_LOOP_RECORD: _record, OPENAI_API_KEY: _key, NODE_TEST_CONTEXT: _context, ...others } = process.env
    const child = spawn(process.execPath, ['--test', ...options, join(this.folder, 'city.test.mjs')], {
      cwd: this.folder,
      env: { ...others, ...environment },
    })
    let output = ''
    child.stdout.on('data', (data) => (output += data))
    const [code] = await once(child, 'close')
    return [code, output]
  }
}

const NOWHERE = 'http://127.0.0.1:9'

test('the helper records and replays', async (t) => {
  const project = new Project(t)
  project.write(NOWHERE)
  const [without, why] = await project.run()
  assert.equal(without, 1)
  assert.match(why, /there is no recording .*recordings.city\..*: run the test with AGENT_LOOP_RECORD=1/)
  assert.ok(!existsSync(project.recordings))

  project.write(await mock(t, [{ ...chatFrames('It rains.'), times: 99 }]))
  const [recording, output] = await project.run({ AGENT_LOOP_RECORD: '1' })
  assert.equal(recording, 0, output)
  const files = project.files()
  const names = Object.keys(files)
  assert.equal(names.length, 2)
  assert.ok(names.every((name) => /^city\.(rain\.)?in-/.test(name)), names)
  assert.deepEqual(Object.values(files).map((text) => text.split('agent_loop_recording').length - 1), [2, 2])

  // Nothing listens there.
  project.write(NOWHERE)
  const [replayed, again] = await project.run({ AGENT_LOOP_RECORD: '0' })
  assert.equal(replayed, 0, again)
  assert.deepEqual(project.files(), files)
  project.write(NOWHERE, 'Hail')
  const [changed, differences] = await project.run()
  assert.equal(changed, 1)
  assert.match(differences, /is "Hail in Oslo\?", and was recorded as "Rain in Oslo\?"/)
})

test('the helper records anew', async (t) => {
  const project = new Project(t)
  const url = await mock(t, [{ ...chatFrames('It rains.'), times: 99 }])
  for (const prompt of ['Rain', 'Hail']) {
    project.write(url, prompt)
    const [code, output] = await project.run({ AGENT_LOOP_RECORD: '1' }, '--test-name-pattern=Oslo')
    assert.equal(code, 0, output)
  }
  const texts = Object.values(project.files())
  assert.equal(texts.length, 1)
  assert.match(texts[0], /Hail in Oslo\?/)
  assert.doesNotMatch(texts[0], /Rain in Oslo\?/)
})

test('the file of a test', (t) => {
  const folder = temporary(t)
  const message = (test) => {
    try {
      agentRecording(test)
    } catch (error) {
      assert.ok(error instanceof InvalidStateError, error)
      return error.message
    }
    assert.fail('there is a recording')
  }
  for (const filePath of [join(folder, 'rain.spec.ts'), pathToFileURL(join(folder, 'rain.mjs')).href]) {
    const file = join(folder, 'recordings', 'rain.in-Oslo.jsonl')
    assert.ok(message({ name: 'in Oslo', filePath }).includes(` ${file}: `))
    assert.ok(message({ name: 'Oslo', fullName: 'in Oslo', filePath }).includes(` ${file}: `))
  }
  assert.ok(message({ name: 'x' }).includes(join('recordings', basename(process.argv[1], '.test.mjs'))))
  for (const wrong of [undefined, 5, {}, { name: 5 }, { name: 'x', fullName: 5 }, { name: 'x', filePath: 5 }]) {
    assert.throws(() => agentRecording(wrong), InvalidArgumentError)
  }
})
