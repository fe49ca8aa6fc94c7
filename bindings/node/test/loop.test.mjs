// Loops that are stepped: the program does the HTTP, the timers and the tools.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { Agent, BusyError, InvalidArgumentError, InvalidStateError, Loop, tool } from 'agent-loop'

import { projectFolder } from './helpers.mjs'
import { filled } from './scenarios/expected.mjs'

const folder = join(projectFolder, 'tests/scenarios')
const read = (...path) => readFileSync(join(folder, ...path), 'utf8')
const canonical = (value) => JSON.parse(JSON.stringify(value))

/** Options and inputs of a tape are canonical. */
const spelled = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())
const camel = (fields) => Object.fromEntries(Object.entries(fields).map(([name, value]) => [spelled(name), value]))

function started({ tools, ...options }) {
  const given = tools.map(({ parameters, ...tool }) => ({ ...camel(tool), ...(parameters && { parameters }) }))
  return new Loop({ ...camel(options), tools: given })
}

function inputOf({ options, ...input }) {
  return options ? { ...input, options: camel(options) } : camel(input)
}

/** Plays the tape of a scenario; returns the loop's actions and events. */
function play({ options, at_ms, inputs }, saves) {
  let run = started(options)
  let now = at_ms
  let timer = null
  const [actions, events] = [[], []]
  const poll = () => {
    const action = run.poll(now)
    if (action === undefined) return false
    if (action.type === 'event') events.push(canonical(action.event))
    if (action.type === 'set_timer') timer = action.atMs
    actions.push(canonical(action))
    if (saves) run = Loop.load(run.save())
    return true
  }
  const isOver = () => actions.at(-1)?.type === 'done'
  const pollUntil = (at, isEnough) => {
    while (!isEnough()) {
      if (poll()) continue
      if (now === at) return
      now = Math.min(...[timer, at].filter((time) => time !== null && time > now))
      assert.ok(Number.isFinite(now), 'it waits')
    }
  }
  for (const entry of inputs) {
    pollUntil(entry.at_ms, () => entry.at_once === true && events.length === entry.events)
    assert.equal(events.length, entry.events, JSON.stringify(entry))
    run.handle(inputOf(entry.input))
  }
  pollUntil(null, isOver)
  return { actions, events }
}

describe('scenarios', () => {
  for (const line of read('steps.jsonl').trim().split('\n')) {
    const { scenario, skipped, runs } = JSON.parse(line)
    test(scenario, { skip: skipped ?? false }, () => {
      const expected = filled(JSON.parse(read(scenario, 'expected.json')))
      for (const [place, run] of runs.entries()) {
        const played = play(run, false)
        assert.deepEqual(played.events, expected.runs[place].events)
        assert.deepEqual(play(run, true).actions, played.actions)
      }
    })
  }
})

const all = (run, now = 0) => {
  const actions = []
  for (let action; (action = run.poll(now)); ) actions.push(action)
  return actions
}

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: ({ city }) => `rain in ${city}`,
})

/** The host's own HTTP. */
async function send(run, { call, url, method, headers, auth, body }) {
  const response = await fetch(url, { method, body, headers: { ...headers, [auth.header]: `${auth.prefix}sk-secret` } })
  run.handle({ type: 'model_response', call, status: response.status, headers: Object.fromEntries(response.headers) })
  for await (const chunk of response.body) run.modelBytes(call, chunk)
  run.handle({ type: 'model_end', call })
}

test('a run over HTTP with a tool', async () => {
  const chunk = (delta, end = null) => ({ choices: [{ index: 0, delta, finish_reason: end }] })
  const called = { index: 0, id: 'a', function: { name: 'weather', arguments: '{"city": "Oslo"}' } }
  const answers = [[chunk({ tool_calls: [called] }, 'tool_calls')], [chunk({ content: 'It rains.' }, 'stop')]]
  const keys = []
  const server = createServer((request, response) => {
    keys.push(request.headers.authorization)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const frame of answers.shift()) response.write(`data: ${JSON.stringify(frame)}\n\n`)
    response.end('data: [DONE]\n\n')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const baseUrl = `http://127.0.0.1:${server.address().port}`
  const model = { provider: 'mine', id: 'm', protocol: 'openai_chat', baseUrl }
  const run = new Loop({ model, prompt: 'Rain in Oslo?', tools: [weather], systemPrompt: 'Be brief.' })
  let [text, result] = ['', undefined]
  while (result === undefined) {
    for (const action of all(run)) {
      if (action.type === 'event' && action.event.type === 'text_delta') text += action.event.delta
      if (action.type === 'call_model') {
        assert.deepEqual(run.openActions()[0], action)
        await send(run, action)
      }
      if (action.type === 'call_tool') {
        assert.equal(action.toolCallId, 'a')
        run.handle({ type: 'tool_done', call: action.call, result: weather.execute(action.arguments) })
      }
      if (action.type === 'done') result = action.result
    }
  }
  server.close()
  assert.deepEqual([text, result.text, result.outcome, result.turns], ['It rains.', 'It rains.', 'completed', 2])
  assert.deepEqual(keys, ['Bearer sk-secret', 'Bearer sk-secret'])
  assert.equal(canonical(result).stop_reason, 'stop')
})

const custom = (options = {}) => new Loop({ model: 'mine/parrot', prompt: 'Hi', providers: ['mine'], ...options })

function answer(run, ...chunks) {
  for (const chunk of chunks) run.handle({ type: 'model_chunk', call: 0, chunk })
  run.handle({ type: 'model_end', call: 0 })
}

test('tools are given as tools or described, and hooks answer in camel case', () => {
  const asks = tool({
    name: 'asks',
    description: 'Asks.',
    prepareArguments: (args) => args,
    needsApproval: () => true,
    execute: () => 'done',
  })
  const run = custom({ tools: [weather, asks, { name: 'described', description: 'One.' }], hooks: ['after_tool_call'] })
  const request = all(run).find(({ type }) => type === 'call_custom_model').request
  assert.deepEqual(request.tools.map(({ name }) => name), ['weather', 'asks', 'described'])
  const called = (id, name) => ({ tool_call: { id, name, arguments: {} } })
  answer(run, called('a', 'asks'), called('b', 'described'))
  const asked = () => all(run).filter(({ type }) => type === 'ask_hook')
  const [prepare] = asked()
  assert.equal(prepare.hook, 'prepare_arguments')
  run.handle({ type: 'hook_answer', questionId: prepare.questionId, answer: {} })
  const [approve] = asked()
  assert.deepEqual([approve.hook, { ...approve.input }], ['needs_approval', { toolName: 'asks', arguments: {} }])
  run.handle({ type: 'hook_answer', questionId: approve.questionId, answer: true })
  const [call] = all(run).filter(({ type }) => type === 'call_tool')
  assert.equal(call.toolName, 'described')
  run.handle({ type: 'tool_update', call: call.call, partialResult: 'half' })
  run.handle({ type: 'tool_done', call: call.call, error: 'broken' })
  const [after] = asked()
  assert.equal(after.input.isError, true)
  run.handle({ type: 'hook_answer', questionId: after.questionId, answer: { isError: false } })
  const end = all(run)
  assert.equal(end.find(({ event }) => event?.type === 'tool_execution_end').event.isError, false)
  assert.equal(end.at(-1).result.outcome, 'suspended')
  const again = new Loop({
    model: 'mine/parrot',
    providers: ['mine'],
    tools: [asks],
    export: run.export(),
    decisions: { a: { result: 'paid' } },
  })
  all(again)
  answer(again, 'Thanks.')
  assert.equal(all(again).at(-1).result.text, 'Thanks.')
  const agent = Agent.fromExport(again.export(), { model: { provider: 'scripted', id: 's', script: [] } })
  assert.equal(agent.messages.at(-1).content[0].text, 'Thanks.')
})

test('wrong arguments are errors in the words of JavaScript', () => {
  for (const [wrong, error, text] of [
    [() => new Loop(), InvalidArgumentError, /options: expected an object such as \{ model, prompt \}, got undefined/],
    [() => new Loop({ prompt: 'Hi' }), InvalidArgumentError, /option "model" is missing/],
    [() => custom({ maxTurn: 1 }), InvalidArgumentError, /did you mean "maxTurns"\?/],
    [() => custom({ apiKey: 'sk' }), InvalidArgumentError, /option "apiKey": a loop is not given a key/],
    [() => custom({ tools: [print] }), InvalidArgumentError, /option "tools"/],
    [() => custom({ hooks: 'x' }), InvalidArgumentError, /option "hooks": expected an array, got "x"/],
    [() => custom().poll('now'), TypeError, /nowMs: expected milliseconds, got "now"/],
    [() => custom().poll(-1), TypeError, /nowMs: expected milliseconds, got -1/],
    [() => custom().handle('abort'), InvalidArgumentError, /input: expected an object with a type, got string/],
    [() => custom().handle({ type: 'tool_done' }), InvalidArgumentError, /tool_done: call is missing/],
    [() => custom().handle({ type: 'tool_done', call: 0 }), InvalidArgumentError, /tool_done: give result, .* or error/],
    [() => custom().handle({ type: 'hook_answer' }), InvalidArgumentError, /hook_answer: questionId is missing/],
    [() => custom().modelBytes(0, 'text'), InvalidArgumentError, /data: expected a Uint8Array, got string/],
    [() => custom().export(), BusyError, /^the loop has not ended, and its conversation cannot be exported before/],
    [() => Loop.load('{'), InvalidArgumentError, /the saved loop cannot be loaded/],
    [() => Loop.load(), InvalidArgumentError, /text: expected a string, got undefined/],
    [() => new Loop({ model: 'mine/parrot', providers: ['mine'] }), InvalidStateError, /there is nothing to resume/],
  ]) {
    assert.throws(wrong, (thrown) => {
      assert.match(thrown.message, text)
      return thrown instanceof error
    })
  }
})

const print = console.log

test('the same seed and inputs are the same actions', () => {
  const actions = (seed) => {
    const run = new Loop({ model: 'openai/gpt-4.1', prompt: 'Hello.', runId: 'r', runSeed: seed, maxRetries: 5 })
    const found = []
    for (let nowMs = 0; nowMs < 100_000; nowMs += 500) {
      for (let action; (action = run.poll(nowMs)); ) {
        found.push(canonical(action))
        if (action.type !== 'call_model') continue
        run.handle({ type: 'model_end', call: action.call, error: { kind: 'connection', message: 'no' } })
      }
    }
    return found
  }
  assert.deepEqual(actions(1), actions(1))
  assert.notDeepEqual(actions(1), actions(2))
  assert.throws(() => new Loop({ model: 'openai/gpt-4.1', prompt: 'Hello.', runSeed: 'x' }), InvalidArgumentError)
})
