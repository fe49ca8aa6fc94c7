// The stories that all languages play: what happens in each is what its `expected.json` says. See docs/scenarios.md.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { checkEvents } from 'agent-loop/testing'

import { projectFolder } from '../helpers.mjs'
import { play } from './play.mjs'

const folder = join(projectFolder, 'tests/scenarios')
const stories = readdirSync(folder).filter((name) => existsSync(join(folder, name, 'scenario.json')))
const read = (...names) => JSON.parse(readFileSync(join(folder, ...names), 'utf8'))

// Stories are short, and those that wait for a silent tool need not wait one after the other.
describe('scenarios', { concurrency: 8 }, () => {
  for (const name of stories) {
    const story = read(name, 'scenario.json')
    test(name, { skip: story.skip?.node ?? false }, async () => {
      const happened = await play(story)
      for (const { events } of happened.runs) checkEvents(events)
      assert.deepEqual(happened, read(name, 'expected.json'))
    })
  }
})
