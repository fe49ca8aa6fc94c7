// The scenarios that every language plays. See docs/scenarios.md.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { Store } from 'agent-loop'
import { checkEvents } from 'agent-loop/testing'

import { projectFolder } from '../helpers.mjs'
import { filled } from './expected.mjs'
import { play } from './player.mjs'

const folder = join(projectFolder, 'tests/scenarios')
const names = readdirSync(folder).filter((name) => existsSync(join(folder, name, 'scenario.json')))
const read = (...path) => JSON.parse(readFileSync(join(folder, ...path), 'utf8'))

test('defaults are filled in', () => {
  const usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0, total: 0, cost: null }
  assert.deepEqual(filled([{ usage: { input: 1 } }], 'list'), [{ usage: { ...usage, input: 1 } }])
  assert.deepEqual(filled([{ role: 'user', content: [] }], 'list'), [{ role: 'user', content: [], timestamp: 0 }])
  assert.deepEqual(filled({ role: 'user', timestamp: 1 }, 'list'), { role: 'user', timestamp: 1 })
})

/** Idempotency keys without the places of messages: those of a session go on when its transcript is replaced. */
const withoutPlaces = (result) =>
  JSON.parse(JSON.stringify(result), (name, value) => (name === 'idempotency_key' ? value.split('/').at(-1) : value))

// Scenarios are short, and some of them block on a tool that never answers.
describe('scenarios', { concurrency: 8 }, () => {
  for (const name of names) {
    const scenario = read(name, 'scenario.json')
    test(name, { skip: scenario.skip?.node ?? false }, async () => {
      const result = await play(scenario)
      for (const { events } of result.runs) checkEvents(events)
      assert.deepEqual(result, filled(read(name, 'expected.json')))
    })
    test(`${name} with a session`, { skip: scenario.skip?.node ?? false }, async () => {
      const result = await play(scenario, Store.open('memory:'))
      assert.deepEqual(withoutPlaces(result), withoutPlaces(filled(read(name, 'expected.json'))))
    })
  }
})
