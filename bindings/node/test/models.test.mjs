// The catalogue of known models.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Agent, models } from 'agent-loop'

test('the known models are listed, in camel case, and each can be used as it is', () => {
  const list = models()
  assert.ok(list.length > 600)
  const { label, contextWindow, maxOutputTokens, input, thinking, cost } = list.find(
    (model) => model.provider === 'openai' && model.id === 'gpt-5',
  )
  assert.deepEqual({ label, contextWindow, maxOutputTokens, input, thinking }, {
    label: 'GPT-5',
    contextWindow: 400000,
    maxOutputTokens: 128000,
    input: ['text', 'image'],
    thinking: true,
  })
  assert.deepEqual(Object.keys(cost), ['input', 'output', 'cacheRead', 'cacheWrite'])
  assert.ok(cost.input > cost.cacheRead)
  assert.ok(list.some((model) => !('cost' in model)), 'an unknown price is absent')
  const where = { baseUrl: 'http://127.0.0.1:1', project: 'p', location: 'global' }
  for (const model of list) new Agent({ model: { ...model, ...where } })
})

test('found_e7_prices_have_tiers', async () => {
  const gpt = models().find((model) => model.provider === 'openai' && model.id === 'gpt-5.5')
  assert.equal(gpt.cost.tiers.length, 1)
  const [tier] = gpt.cost.tiers
  assert.deepEqual(Object.keys(tier), ['above', 'input', 'output', 'cacheRead', 'cacheWrite'])
  assert.deepEqual([tier.above, tier.input, tier.output], [272000, 10, 45])
  const cached = { above: 10, cacheRead: 2 }
  const script = [[{ delta: 'Hello.' }, { end: { usage: { input: 1, cache_read: 10 } } }]]
  const model = (tier) => ({ provider: 'scripted', id: 'a', script, cost: { cacheRead: 1, tiers: [tier] } })
  const result = await new Agent({ model: model(cached) }).prompt('Hi.')
  assert.equal(result.usage.cost.cacheRead, 0.00002)
  assert.throws(() => new Agent({ model: model({ above: 10, cacheReed: 2 }) }), /did you mean "cacheRead"/)
})

test('the differences of a model are its quirks', () => {
  const kimi = models().find((model) => model.provider === 'moonshot' && model.id === 'kimi-k3')
  assert.equal(kimi.thinking, 'effort')
  assert.deepEqual(kimi.quirks, { efforts: ['low', 'high', 'max'], thinking_off: false })
})
