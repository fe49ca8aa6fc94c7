// The agent of both routes: a scripted model that calls a tool, and then answers.

import { Agent, tool } from 'agent-loop'

const script = [
  [{ delta: { tool_call: { id: 'a', name: 'double', arguments: { n: 21 } } } }, { end: {} }],
  [{ delta: 'It is 42.' }, { end: {} }],
]
const double = tool({ name: 'double', execute: ({ n }) => n * 2 })

export const agent = () => new Agent({ model: { provider: 'scripted', id: 's', script }, tools: [double] })
