/** A server in Node, and the client of AG-UI: a text, a call that is approved, and one that fails. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

import { HttpAgent } from '@ag-ui/client'

import { Agent, UiRequest, tool } from '../../bindings/node/dist/esm.mjs'

const parameters = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] }
const pay = tool({
  name: 'pay',
  description: 'Pays.',
  parameters,
  needsApproval: true,
  execute: ({ to }) => {
    if (to === 'bob') throw new Error('no account at 10.0.0.7')
    return `paid ${to}`
  },
})

const calls = (id, to) => [{ delta: { tool_call: { id, name: 'pay', arguments: { to } } } }, { end: 'tool_use' }]
const says = (words) => [{ delta: words }, { end: 'stop' }]

test('the client of AG-UI approves calls, and has the conversation of the server', async () => {
  const script = [says('Hello.'), calls('1', 'ann'), calls('2', 'bob'), says('Done.')]
  const agent = new Agent({ model: { provider: 'scripted', id: 's', script }, tools: [pay] })
  const server = createServer(async (request, response) => {
    const asked = UiRequest.fromAgUi(await text(request))
    await agent.streamUI(asked).toAgUiStream(asked).pipe(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  const client = new HttpAgent({ url: `http://127.0.0.1:${server.address().port}`, threadId: 'chat' })
  const say = (content) => client.addMessage({ id: content, role: 'user', content })
  const approve = (id) => ({ resume: [{ interruptId: id, status: 'resolved', payload: { approved: true } }] })
  say('Hi.')
  await client.runAgent()
  assert.equal(client.messages.at(-1).content, 'Hello.')
  say('Pay Ann and Bob.')
  await client.runAgent()
  await client.runAgent(approve('1'))
  await client.runAgent(approve('2'))
  const seen = client.messages.map(({ role, content, toolCalls }) => content ?? [role, toolCalls[0].function.arguments])
  assert.deepEqual(seen, [
    'Hi.',
    'Hello.',
    'Pay Ann and Bob.',
    ['assistant', '{"to":"ann"}'],
    'paid ann',
    ['assistant', '{"to":"bob"}'],
    'An error occurred.',
    'Done.',
  ])
  server.close()
  server.closeAllConnections()
})
