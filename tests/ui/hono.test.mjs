/** A real Hono on its server for Node: a chat, and a client that leaves. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'

import { serve } from '@hono/node-server'
import { DefaultChatTransport, readUIMessageStream } from 'ai'
import { Hono } from 'hono'

import { Agent, UiRequest } from '../../bindings/node/dist/esm.mjs'

const asked = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] }

/** A server for one agent, its transport in the browser, and the run that was started last. */
async function serving(agent) {
  const app = new Hono()
  const served = {}
  app.post('/api/chat', async (c) => {
    const request = UiRequest.fromAiSdk(await c.req.json())
    served.run = agent.streamUI(request)
    return served.run.toUIMessageStream(request).toResponse()
  })
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  if (!server.listening) await once(server, 'listening')
  const transport = new DefaultChatTransport({ api: `http://127.0.0.1:${server.address().port}/api/chat` })
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { served, transport, close }
}

const send = (transport, abortSignal) =>
  transport.sendMessages({ trigger: 'submit-message', chatId: 'chat', messageId: undefined, messages: [asked], abortSignal })

test('Hono answers a chat', async () => {
  const script = [[{ delta: 'Hello.' }, { end: 'stop' }]]
  const { transport, close } = await serving(new Agent({ model: { provider: 'scripted', id: 's', script } }))
  let last
  for await (const message of readUIMessageStream({ stream: await send(transport) })) last = message
  assert.deepEqual(
    last.parts.map(({ type, text }) => text ?? type),
    ['step-start', 'Hello.'],
  )
  assert.equal(last.metadata.outcome, 'completed')
  close()
})

test('a client that leaves Hono aborts the run', async () => {
  const agent = new Agent({ model: { provider: 'scripted', id: 's', script: [[{ delta: 'No.' }, { end: 'stop' }]] } })
  agent.setHook('onPayload', () => new Promise(() => {}))
  const { served, transport, close } = await serving(agent)
  const leaving = new AbortController()
  const stream = await send(transport, leaving.signal)
  assert.equal((await stream.getReader().read()).value.type, 'start')
  leaving.abort()
  assert.equal((await served.run.result()).outcome, 'aborted')
  close()
})
