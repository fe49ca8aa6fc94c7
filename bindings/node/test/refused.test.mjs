// Changes that are refused: they change nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Agent } from 'agent-loop'

import { does, says, scripted } from './helpers.mjs'

test('found_e18_a_refused_change_changes_nothing', async () => {
  const known = does('known', async () => 'ran')
  const agent = scripted([says('One.')], { tools: [known], systemPrompt: 'Be brief.' })
  agent.setOptions({ model: { provider: 'scripted', id: 'second', script: [says('Two.'), says('Three.')] } })
  const state = () => ({
    model: agent.model,
    systemPrompt: agent.systemPrompt,
    thinkingLevel: agent.thinkingLevel,
    tools: agent.tools,
    messages: agent.messages,
  })
  const before = state()
  const refused = [
    () => (agent.model = 'nobody/x'),
    () => (agent.model = 'no-slash'),
    () => (agent.model = { provider: 'scripted', id: 'x' }),
    () => (agent.model = { provider: 'openai', id: 'x', cost: { inptu: 1 } }),
    () => (agent.thinkingLevel = 'immense'),
    () => (agent.tools = [known, known]),
    () => (agent.tools = [known, 5]),
    () => agent.setOptions({ model: 'nobody/x', systemPrompt: 'Be rude.' }),
    () => agent.setOptions({ systemPrompt: 'Be rude.', fallbacks: ['nobody/x'] }),
    () => agent.setOptions({ systemPrompt: 'Be rude.', maxTurns: 'many' }),
    () => agent.setOptions({ systemPrompt: 'Be rude.', model: 'ollama/x', baseUrl: 'no address' }),
    () => agent.setHook('noSuchHook', () => null),
    () => agent.setHook('beforeToolCall', 5),
    () => agent.replaceMessages([{ role: 'user', content: 'x' }, { role: 'user', content: 1 }]),
    () => agent.appendMessages([{ role: 'user', content: 'x' }, { content: 'x' }]),
  ]
  for (const change of refused) {
    assert.throws(change, { code: 'invalid_argument' }, String(change))
    assert.deepEqual(state(), before, String(change))
  }
  assert.equal((await agent.prompt('Hi')).text, 'Two.')
  assert.throws(() => (agent.model = 'nobody/x'), { code: 'invalid_argument' })
  assert.equal(agent.model, 'scripted/second')
  assert.equal((await agent.prompt('Hi')).text, 'Three.')
  for (const model of ['nobody/x', 'x', { provider: 'nobody', id: 'x' }]) {
    assert.throws(() => new Agent({ model }), { code: 'invalid_argument' })
  }
})
