// Events as JSON: what JSON.stringify writes is the canonical text, byte for byte.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { Agent } from 'agent-loop'
import { checkEvents } from 'agent-loop/testing'

import { calculator, calls, does, play, projectFolder, says, scripted } from './helpers.mjs'

const folder = join(projectFolder, 'tests/scenarios/calculator')
const model = JSON.parse(readFileSync(join(folder, 'model.json'), 'utf8'))
const expected = readFileSync(join(folder, 'events.jsonl'), 'utf8').trimEnd().split('\n')
const same = (text) => text.replace(/"run_id":"[^"]*"/, '"run_id":"…"').replace(/"(timestamp|duration_ms)":\d+/g, '"$1":0')

test('JSON.stringify writes the text that every language writes, in the iterator and in listeners', async () => {
  const agent = new Agent({ model, tools: [calculator] })
  const heard = []
  agent.subscribe((event) => void heard.push(same(JSON.stringify(event))))
  const events = [
    ...(await play(agent.stream('What is 15 multiplied by 23?'))),
    ...(await play(agent.stream('Now divide that by 5'))),
  ]
  assert.deepEqual(events.map((event) => same(JSON.stringify(event))), expected)
  assert.deepEqual(heard, expected)
})

test('a copy of an event is checked as the event is', async () => {
  const events = await play(new Agent({ model, tools: [calculator] }).stream('What is 15 multiplied by 23?'))
  checkEvents(events.map((event) => structuredClone(event)))
})

test('names of the contract are in camel case, those of the user unchanged', async () => {
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
    new RegExp(
      '^{"outcome":"completed","text":"x","message":{.*"stop_reason":"stop".*},"stop_reason":"stop",' +
        '"messages":\\[.*"cache_read":0.*\\],.*"turns":1}$',
    ),
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
