// Built-in tools, as agents of Node have them; the rules are in the tests of the core.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { calls, says, scripted, temporary } from './helpers.mjs'

async function approved(agent) {
  let result = await agent.prompt('Go.')
  while (result.outcome === 'suspended') {
    const decisions = Object.fromEntries(result.pending.map((call) => [call.toolCallId, 'approve']))
    result = await agent.resume({ decisions })
  }
  return result
}

test('an agent reads and edits a file, and undoes it', async (t) => {
  const root = temporary(t)
  const file = join(root, 'notes.txt')
  writeFileSync(file, 'one\ntwo\n')
  const script = [
    calls(['a', 'read_file', { path: './notes.txt' }]),
    calls(['b', 'edit_file', { path: 'notes.txt', edits: [{ old_text: 'two', new_text: '2' }] }]),
    calls(['c', 'write_file', { path: 'new/file.txt', content: 'new' }]),
    says('Done.'),
  ]
  const agent = scripted(script, { builtinTools: { tools: ['read_file', 'edit_file', 'write_file'], root } })
  await approved(agent)
  const results = agent.messages.filter((message) => message.role === 'tool_result')
  const texts = results.map((message) => message.content[0].text)
  assert.deepEqual(texts, ['one\ntwo\n', 'notes.txt: replaced 1 place, at line 2.', 'new/file.txt: created, 3 bytes.'])
  assert.equal(readFileSync(file, 'utf8'), 'one\n2\n')

  const removed = { path: 'new/file.txt', action: 'removed', toolCallId: 'c' }
  const restored = { path: 'notes.txt', action: 'restored', toolCallId: 'b' }
  assert.deepEqual(agent.undoWrites(5), { undone: [removed, restored], refused: null })
  assert.deepEqual(readdirSync(root), ['notes.txt'])
  assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\n')
  assert.equal(agent.messages.at(-1).role, 'undo_writes')
  assert.deepEqual(agent.undoWrites(5), { undone: [], refused: null })
})

test('a file that was changed since is refused', async (t) => {
  const root = temporary(t)
  const script = [calls(['a', 'write_file', { path: 'a', content: '1' }]), says('Done.')]
  const agent = scripted(script, { builtinTools: { tools: ['write_file'], root } })
  await approved(agent)
  writeFileSync(join(root, 'a'), 'mine')
  assert.deepEqual(agent.undoWrites(1), { undone: [], refused: { path: 'a', reason: 'it was changed since' } })
})

test('wrong uses are errors', () => {
  assert.throws(() => scripted([says('Hi.')]).undoWrites(1), { kind: 'invalid_state', message: /no built-in tools/ })
  const agent = scripted([says('Hi.')], { builtinTools: ['read_file'] })
  for (const [given, got] of [[undefined, 'undefined'], [null, 'object'], ['a', 'string'], [1.5, 1.5], [NaN, NaN]]) {
    const message = `count: expected a whole number from 0 on, got ${got}`
    assert.throws(() => agent.undoWrites(given), { kind: 'invalid_argument', message })
  }
  const message = 'count: expected a whole number from 0 on, got -1'
  assert.throws(() => agent.undoWrites(-1), { kind: 'invalid_argument', message })
})
