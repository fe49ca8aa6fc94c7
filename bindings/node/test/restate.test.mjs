// agent-loop/restate without a server: what restateAgent makes and refuses. test-restate has the runs.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'

import { InvalidArgumentError, tool } from 'agent-loop'

// Restate's SDK needs it, and Node has it since 22. The tests also run on 20.
Promise.withResolvers ??= () => assert.fail('not called here')

const model = 'openai/gpt-4.1'
const HANDLERS = ['prompt', 'resume', 'steer', 'follow_up', 'abort', 'decide', 'state']

test('an agent is a virtual object with its handlers, in both kinds of modules', async () => {
  const imported = await import('agent-loop/restate')
  const required = createRequire(import.meta.url)('agent-loop/restate')
  assert.deepEqual(Object.keys(imported).sort(), ['restateAgent', 'restateTool'])
  for (const { restateAgent } of [imported, required]) {
    const agent = restateAgent('assistant', { model, tools: [tool({ name: 't', execute: () => 1 })] })
    assert.equal(agent.name, 'assistant')
    const names = Object.keys(agent.object)
    assert.deepEqual(names.filter((name) => !name.startsWith('inbox_')), HANDLERS)
  }
})

test('wrong options are refused when the program starts', async () => {
  const { restateAgent } = await import('agent-loop/restate')
  for (const [options, text] of [
    [{ maxTurn: 3 }, /maxTurn/],
    [{ apiKey: 7 }, /option "apiKey": expected text, got 7/],
    [{ network: { proxi: 'x' } }, /proxi/],
    [{ hooks: [] }, /option "hooks": a run on Restate cannot replay hooks/],
    [{ messages: [] }, /option "messages": the conversation of a session is kept by Restate/],
    [{ model: 'nobody/x' }, /unknown provider "nobody"/],
    [{ maxConversationBytes: 0 }, /^option "maxConversationBytes": expected a whole number of at least 1, got 0$/],
    [{ maxConversationBytes: NaN }, /at least 1, got NaN$/],
    [{ maxConversationBytes: '1000' }, /at least 1, got "1000"$/],
  ]) {
    assert.throws(
      () => restateAgent('assistant', { model, ...options }),
      (error) => error instanceof InvalidArgumentError && text.test(error.message),
    )
  }
})

test('a Node that is too old for Restate’s SDK is refused when the program starts', async () => {
  const { restateAgent } = await import('agent-loop/restate')
  const { withResolvers } = Promise
  delete Promise.withResolvers
  try {
    assert.throws(() => restateAgent('assistant', { model }), { name: 'InvalidStateError', message: /needs Node 22 or later/ })
  } finally {
    Promise.withResolvers = withResolvers
  }
})
