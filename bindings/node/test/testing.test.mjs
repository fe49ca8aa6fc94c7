// The checker of event streams.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { checkEvents } from 'agent-loop/testing'

import { calls, does, play, says, scripted } from './helpers.mjs'

test('every stream of the loop is valid, however it is stored', async () => {
  const image = { type: 'image', data: 'aGk=', mimeType: 'image/png' }
  const agent = scripted([[{ delta: { thinking: 'Hm' } }, ...calls(['a', 't', { n: 1 }])], says('x')], {
    tools: [does('t', (_, { update }) => (update('half'), { content: [image], details: { aB: 1 } }))],
  })
  const events = await play(agent.stream('go'))
  checkEvents(events)
  checkEvents(new Set(events))
  checkEvents(structuredClone(events))
  checkEvents(JSON.parse(JSON.stringify(events)))
})

test('an invalid stream is refused, with the event', async () => {
  const events = await play(scripted([says('x')]).stream('go'))
  const expected = (message) => ({ name: 'InvalidArgumentError', message })
  assert.throws(() => checkEvents(events.slice(0, -1)), expected('events: the last event must be agent_end'))
  const without = events.filter((event) => event.type !== 'text_start')
  assert.throws(() => checkEvents(without), expected(/^events\[5\] \(text_delta\): /))
  assert.throws(() => checkEvents(5), expected('events: expected a list of events, got number'))
  assert.throws(() => checkEvents([5]), expected(/^events\[0\]/))
})
