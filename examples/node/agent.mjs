// A complete agent, with flags, a chat and sessions: `node agent.mjs --help`.

import { main, tool } from 'agent-loop'

const calculator = tool({
  name: 'calculator',
  description: 'Calculates with two numbers.',
  parameters: {
    type: 'object',
    properties: { operation: { enum: ['add', 'multiply'] }, a: { type: 'number' }, b: { type: 'number' } },
    required: ['operation', 'a', 'b'],
  },
  execute: async ({ operation, a, b }) => (operation === 'add' ? a + b : a * b),
})

await main({ name: 'calculator', systemPrompt: 'Calculate with the tool.', tools: [calculator] })
