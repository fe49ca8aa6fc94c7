/**
 * A chat with `useChat` of the AI SDK, served by Express: text, tools, approvals, edits, stop, and a reload in mid-answer.
 *
 *     npm install && npm run build && node app.mjs
 *
 * The page is page.jsx, which the same server in Python (app.py) has, too.
 */

import { Agent, BusyError, InvalidArgumentError, InvalidStateError, UiRequest, tool } from 'agent-loop'
import express from 'express'

const agents = new Map() // in a real application, sessions of a store

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters,
  execute: ({ city }) => {
    if (city === 'Atlantis') throw new Error('no station at 10.0.0.7')
    return { city, sky: 'rain' }
  },
})
const book = tool({
  name: 'book',
  description: 'Books a journey to a city.',
  parameters,
  needsApproval: true,
  execute: ({ city }) => `booked ${city}`,
})

/** The agent of a conversation. Check in your application whose it is. */
function agentOf(id) {
  if (!id) throw new InvalidArgumentError('the request has no id of a conversation')
  if (!agents.has(id)) agents.set(id, new Agent({ model: 'anthropic/claude-sonnet-4-5', tools: [weather, book] }))
  return agents.get(id)
}

const app = express()

app.post('/api/chat', express.json({ limit: '10mb' }), async (request, response) => {
  const asked = UiRequest.fromAiSdk(request.body)
  const agent = agentOf(asked.id)
  await agent.waitForIdle() // the run that was stopped may still be ending
  await agent.streamUI(asked).toUIMessageStream(asked, { resumable: true }).pipe(response)
})

app.get('/api/chat/:id', (request, response) => {
  response.json(agentOf(request.params.id).toUIMessages({ resume: true }))
})

app.get('/api/chat/:id/stream', async (request, response) => {
  const stream = agentOf(request.params.id).resumeUI()
  if (stream === null) response.status(204).end()
  else await stream.pipe(response)
})

app.post('/api/chat/:id/stop', (request, response) => {
  agentOf(request.params.id).abort()
  response.status(204).end()
})

app.use(express.static('public'))

app.use((error, request, response, next) => {
  if (response.headersSent) return next(error)
  const isLate = error instanceof BusyError || error instanceof InvalidStateError
  response.status(isLate ? 409 : 400).json({ error: error.message })
})

app.listen(8000)
