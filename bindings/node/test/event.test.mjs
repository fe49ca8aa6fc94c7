// Events as JSON: what JSON.stringify writes is the core's own canonical text, byte for byte.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { Agent } from 'agent-loop'

import { calculator, calls, does, packageFolder, play, projectFolder, says, scripted } from './helpers.mjs'

const require = createRequire(import.meta.url)
const { native } = require(join(packageFolder, 'dist/native.js'))
const { readEvent } = require(join(packageFolder, 'dist/event.js'))

/** The canonical texts of all events of a run, as the core writes them: the native module alone, without our JavaScript. */
async function canonical(model, toolAnswers) {
  const texts = []
  await new Promise((resolve) => {
    const bridge = new native.Bridge(() => {
      for (const job of bridge.take()) {
        if (job.kind === 'Settled') return resolve(bridge.release())
        if (job.kind === 'Call') job.call.respond(JSON.stringify(toolAnswers.shift()))
        if (job.kind === 'Event') {
          texts.push(job.text)
          bridge.heard(job.answer, undefined)
        }
      }
    })
    const tool = new native.Tool(JSON.stringify({ name: 'calculator', description: 'Perform basic arithmetic operations' }))
    const agent = new native.Agent(bridge, 1, JSON.stringify({ model }), undefined)
    agent.setTools([tool], [3], [undefined])
    agent.subscribe(1)
    agent.prompt('"What is 15 multiplied by 23?"', 2, false, false)
    bridge.hold()
  })
  return texts
}

const model = JSON.parse(readFileSync(join(projectFolder, 'tests/scenarios/calculator/model.json'), 'utf8'))
const named = (text) => text.replace(/run_[0-9a-f]{16}/g, 'run')

test('each event, read and written again, is the core\'s own text', async () => {
  const texts = await canonical(model, [{ result: 345 }])
  assert.equal(texts.length, 28)
  for (const text of texts) assert.equal(JSON.stringify(readEvent(text)), text)
})

test('a whole run is the same text, from the iterator and from listeners', async () => {
  const texts = (await canonical(model, [{ result: 345 }])).map(named)
  const agent = new Agent({ model, tools: [calculator] })
  const heard = []
  agent.subscribe((event) => void heard.push(named(JSON.stringify(event))))
  const events = await play(agent.stream('What is 15 multiplied by 23?'))
  assert.deepEqual(events.map((event) => named(JSON.stringify(event))), texts)
  assert.deepEqual(heard, texts)
})

test('names are mapped, but not those of the application', async () => {
  const args = { some_name: { other_name: 1 }, otherName: 2 }
  const details = { is_error: true, tool_call_id: 'x', content: [{ mime_type: 'y' }] }
  const agent = scripted([calls(['a', 't', args]), says('x')], {
    tools: [does('t', () => ({ content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }], details }))],
  })
  const events = await play(agent.stream('go'))
  const end = events.find((event) => event.type === 'tool_execution_end')
  assert.deepEqual(end.result, { content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }], details, terminate: false })
  const start = events.find((event) => event.type === 'tool_execution_start')
  assert.deepEqual([start.toolCallId, start.toolName, start.arguments], ['a', 't', args])
  const whole = events.find((event) => event.type === 'tool_call_end')
  assert.deepEqual(whole.block, { type: 'tool_call', id: 'a', name: 't', arguments: args })
  const turn = events.find((event) => event.type === 'turn_end')
  assert.deepEqual([turn.message.stopReason, turn.toolResults[0].toolCallId], ['tool_use', 'a'])
  assert.deepEqual(end.toJSON().result, {
    content: [{ type: 'image', data: 'aGk=', mime_type: 'image/png' }],
    details,
    terminate: false,
  })
})

test('results and errors are canonical JSON too', async () => {
  const done = await scripted([says('x')]).prompt('go')
  assert.match(
    JSON.stringify(done),
    /^\{"outcome":"completed","text":"x","message":\{"role":"assistant",.*"stop_reason":"stop",.*\},"messages":\[.*"cache_read":0.*\],"usage":\{.*\},"turns":1\}$/,
  )
  const error = { kind: 'rate_limited', message: 'slow down', http_status: 429, retryable: false, retry_after_ms: 5 }
  const failed = await scripted([[{ error }]])
    .prompt('go')
    .catch((error) => error)
  assert.equal(
    JSON.stringify(failed),
    '{"kind":"rate_limited","message":"slow down","provider":"scripted","http_status":429,"retryable":false,"retry_after_ms":5}',
  )
  assert.deepEqual(failed.result.toJSON().error, failed.toJSON())
})

test('key order and characters of arguments are kept', async () => {
  const args = '{"z":1,"a":{"y":"ü\\u0001","b":[]},"m":0.1}'
  const agent = scripted([calls(['a', 't', args]), says('x')], { tools: [does('t', (args) => args)] })
  const events = await play(agent.stream('go'))
  assert.equal(JSON.stringify(events.find((event) => event.type === 'tool_execution_start').arguments), args)
  assert.equal(events.find((event) => event.type === 'tool_execution_end').result.content[0].text, args)
})
