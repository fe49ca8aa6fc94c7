// A web server with Express whose clients leave in mid-answer: nothing of the answers is lost.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import express from 'express'

const { Agent, AgentError } = createRequire(import.meta.url)(fileURLToPath(new URL('../../bindings/node', import.meta.url)))

const CLIENTS = 20

/** The conversations that each of an application's places has kept, by client. */
const kept = {}
/** The errors that no code of the application has caught. */
const uncaught = []
let server
let address

/** A model that goes on until it is aborted. */
async function* endless(_, { signal }) {
  for (let i = 0; !signal.aborted; i++) {
    yield `word ${i} `
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** An agent whose answers are kept by a hook and by a listener, both of which take their time. */
function keeping(client) {
  const keep = async (place, answer) => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    ;(kept[place] ??= new Map()).set(client, answer)
  }
  const agent = new Agent({
    model: 'own/model',
    provider: endless,
    afterRun: ({ outcome, text }) => keep('afterRun', { outcome, text }),
  })
  agent.subscribe(async (event) => {
    if (event.type !== 'agent_end') return
    const [{ text }] = event.messages.at(-1).content
    await keep('listener', { outcome: event.outcome, text })
  })
  return { agent, keep }
}

/** Ways to notice that a client has left. */
const ROUTES = {
  /** The iteration ends with the run, which the end of the connection aborts. */
  async abort(run, response) {
    response.on('close', () => run.abort())
    for await (const event of run) if (event.type === 'text_delta') response.write(event.delta)
  },
  /** Leaving the loop aborts the run. */
  async break(run, response) {
    for await (const event of run) {
      if (response.closed) break
      if (event.type === 'text_delta') response.write(event.delta)
    }
  },
  /** The handler fails, as code behind a write does. */
  async throw(run, response) {
    for await (const event of run) {
      if (response.closed) throw new Error('the client is gone')
      if (event.type === 'text_delta') response.write(event.delta)
    }
  },
}

before(async () => {
  const application = express()
  for (const [name, answer] of Object.entries(ROUTES)) {
    application.get(`/${name}/:client`, async (request, response) => {
      const { agent, keep } = keeping(request.params.client)
      try {
        await answer(agent.stream('Count.'), response)
      } finally {
        // The agent is idle here: all of its answer is in its conversation.
        const { stopReason, content } = agent.messages.at(-1)
        await keep('finally', { outcome: stopReason, text: content[0].text })
        response.end()
      }
    })
  }
  application.get('/signal/:client', async (request, response) => {
    const { agent, keep } = keeping(request.params.client)
    const controller = new AbortController()
    response.on('close', () => controller.abort())
    agent.subscribe((event) => void (event.type === 'text_delta' && response.write(event.delta)))
    try {
      await agent.prompt('Count.', { signal: controller.signal })
    } finally {
      const { stopReason, content } = agent.messages.at(-1)
      await keep('finally', { outcome: stopReason, text: content[0].text })
    }
  })
  // The handlers above may fail after their answer has begun.
  application.use((error, request, response, next) => void [error, request, next, response.destroy()])
  server = application.listen(0, '127.0.0.1')
  await once(server, 'listening')
  address = `http://127.0.0.1:${server.address().port}`
  for (const name of ['uncaughtException', 'unhandledRejection']) process.on(name, (error) => uncaught.push(error))
})
after(() => server.close())

for (const route of [...Object.keys(ROUTES), 'signal']) {
  test(`express: ${CLIENTS} clients leave in mid-answer, noticed by ${route}`, async () => {
    for (const place in kept) delete kept[place]
    const leave = async (client) => {
      const controller = new AbortController()
      const { body } = await fetch(`${address}/${route}/${client}`, { signal: controller.signal })
      const reader = body.getReader()
      await reader.read()
      // Not all at the same point of their answer.
      await new Promise((resolve) => setTimeout(resolve, client))
      controller.abort()
    }
    await Promise.all(Array.from({ length: CLIENTS }, (_, client) => leave(client)))
    const places = ['afterRun', 'finally', 'listener']
    const isKept = () => places.every((place) => kept[place]?.size === CLIENTS)
    // Far longer than it takes, so that a failure ends.
    for (let i = 0; i < 2000 && !isKept(); i++) await new Promise((resolve) => setTimeout(resolve, 5))
    for (const place of places) {
      assert.equal(kept[place]?.size, CLIENTS, place)
      for (const [client, { outcome, text }] of kept[place]) {
        assert.equal(outcome, 'aborted', place)
        assert.match(text, /^word 0 (word \d+ )*$/, place)
        assert.equal(text, kept.finally.get(client).text, 'the same text in each place')
      }
    }
    assert.deepEqual(uncaught, [])
  })
}

test('express: a run that fails is the answer of the error handler', async () => {
  const application = express()
  application.get('/', async (request, response) => {
    const provider = async function* () {
      throw new Error(`no model for ${request.path}`)
    }
    for await (const event of new Agent({ model: 'own/model', provider }).stream('Hi')) void event
    response.end('not reached')
  })
  application.use((error, request, response, next) => {
    void [request, next]
    response.status(error instanceof AgentError ? 502 : 500).end(error.message)
  })
  const failing = application.listen(0, '127.0.0.1')
  await once(failing, 'listening')
  const response = await fetch(`http://127.0.0.1:${failing.address().port}`)
  assert.deepEqual([response.status, await response.text()], [502, 'no model for /'])
  failing.close()
})
