// Plugins, those of examples/plugin, which are compiled here.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { Agent, InvalidArgumentError, InvalidStateError, NotFoundError } from 'agent-loop'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'agent-loop-plugins-'))

/** Compiles a plugin, and gives its path. */
function plugin(name) {
  const path = join(folder, `${name}.so`)
  const source = join(ROOT, 'examples', 'plugin', `${name}.c`)
  execFileSync('cc', ['-shared', '-fPIC', `-I${join(ROOT, 'include')}`, source, '-o', path])
  return path
}

const scripted = (...script) => ({ provider: 'scripted', id: 's', script })
const call = (name, args) => [{ delta: { tool_call: { id: '1', name, arguments: args } } }, { end: 'tool_use' }]
const DONE = [{ delta: 'Done.' }, { end: 'stop' }]
const results = (messages) => messages.filter(({ role }) => role === 'toolResult' || role === 'tool_result')

test('tools and hooks of a plugin work, and stay when the tools are replaced', async () => {
  const model = scripted(call('roll_dice', { dice: 2 }), call('roll_dice', { dice: 200 }), DONE)
  const agent = new Agent({ model, plugins: [plugin('dice')] })
  agent.tools = []
  const [rolled, refused] = results((await agent.prompt('Roll.')).messages).map((message) => JSON.stringify(message))
  assert.match(rolled, /2 dice: /)
  assert.match(refused, /at most 100 dice/)
})

test('a provider of a plugin answers', async () => {
  const agent = new Agent({ model: 'echo/any', plugins: [plugin('echo')] })
  assert.equal((await agent.prompt('Is there an echo?')).text, 'Is there an echo?')
})

test('what cannot be added is explained', () => {
  const agent = new Agent({ model: scripted(DONE), beforeToolCall: () => undefined })
  const path = plugin('dice')
  const isA = (kind, text) => (error) => error instanceof kind && text.test(error.message)
  assert.throws(() => agent.addPlugin(path), isA(InvalidStateError, /dice.so: it has the hook before_tool_call/))
  assert.throws(() => agent.addPlugin('./none.so'), isA(NotFoundError, /there is no such file/))
  const made = (plugins) => () => new Agent({ model: scripted(DONE), plugins })
  assert.throws(made(['dice.so']), isA(InvalidArgumentError, /plugin dice.so: a path with a folder is needed/))
  assert.throws(made('./dice.so'), isA(InvalidArgumentError, /option "plugins": expected a list of paths/))
  assert.throws(() => agent.setOptions({ plugins: [path] }), /use addPlugin/)
  assert.throws(() => agent.addPlugin(7), InvalidArgumentError)
})
