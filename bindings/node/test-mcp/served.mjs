// An agent that is served, for the clients of tests/mcp/serving.py.

import { appendFileSync } from 'node:fs'

import { Agent, tool } from 'agent-loop'

const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: ({ city }) => {
    console.log('this goes to standard error')
    return `rain in ${city}`
  },
})

const wait = tool({
  name: 'wait',
  description: 'Waits until it is cancelled.',
  parameters: { type: 'object', properties: {} },
  execute: async (_, context) => {
    context.update('it waits')
    await new Promise((resolve) => context.signal.addEventListener('abort', resolve))
    appendFileSync(process.env.NOTES, 'cancelled\n')
    return 'it was cancelled'
  },
})

const script = Array.from({ length: 20 }, () => [{ delta: 'It rains.' }, { end: 'stop' }])
const agent = new Agent({ model: { provider: 'scripted', id: 's', script }, tools: [weather, wait] })
await agent.serveMcp({ name: 'desk', description: 'Knows the weather.', serverName: 'tests', tools: true })
