// Canonical JSON, and the way back: what a browser makes of what a server sent.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { fromCanonical } from 'agent-loop'
import { fromCanonical as inBrowser } from 'agent-loop/canonical'

import { calls, does, packageFolder, play, projectFolder, says, scripted } from './helpers.mjs'

test('found_n5_from_canonical: events, messages and results are what they were', async () => {
  const tools = [
    does('t', async (_, { update }) => {
      update({ content: [{ type: 'text', text: 'half' }], details: { in_side: 1 } })
      return { content: [{ type: 'text', text: 'x' }], details: { tool_name: { aB: 1 } } }
    }),
  ]
  const messages = [{ role: 'my_note', some_text: 'ours', inSide: { tool_name: 1 } }]
  const script = [
    calls(['a', 't', { tool_name: 'x', camelCase: { in_side: 1 } }]),
    [...says('done').slice(0, 1), { end: { usage: { input: 5, output: 7 } } }],
  ]
  const agent = scripted(script, { tools, messages })
  const run = agent.stream('go')
  const events = await play(run)
  const result = await run.result()
  for (const convert of [fromCanonical, inBrowser]) {
    for (const value of [...events, ...agent.messages, result, events, agent.messages]) {
      const text = JSON.stringify(value)
      const json = JSON.parse(text)
      const back = convert(json)
      assert.equal(JSON.stringify(back), text, 'and writes itself in the same bytes')
      assert.deepEqual(plain(back), plain(value))
      assert.equal(JSON.stringify(json), text, 'the given JSON has not changed')
    }
  }
  const end = inBrowser(JSON.parse(JSON.stringify(events.at(-1))))
  assert.deepEqual([end.runId, end.usage.cacheRead, end.messages[2].toolCallId], [run.id, 0, 'a'])
  assert.equal(inBrowser({ role: 'my_note', some_text: 'x' }).some_text, 'x', 'a custom message stays as it is')
})

/** The own fields of a value and of all inside, without prototypes. */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]))
}

test('found_n5_scenarios: there and back for the events of all scenarios', () => {
  const folder = join(projectFolder, 'tests/scenarios')
  let count = 0
  for (const name of readdirSync(folder)) {
    if (!existsSync(join(folder, name, 'expected.json'))) continue
    for (const { events } of JSON.parse(readFileSync(join(folder, name, 'expected.json'), 'utf8')).runs ?? []) {
      for (const event of events) {
        assert.equal(JSON.stringify(inBrowser(event)), JSON.stringify(event), `${name}: ${event.type}`)
        count++
      }
    }
  }
  assert.ok(count > 1000, `${count} events`)
})

test('found_n5_no_native_part: the module for browsers requires nothing', () => {
  for (const name of ['canonical.js', 'canonical.mjs']) {
    const text = readFileSync(join(packageFolder, 'dist', name), 'utf8')
    assert.deepEqual(text.match(/require|import |process|native|node:/g), null, name)
  }
})
