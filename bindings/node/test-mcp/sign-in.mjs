// A client that MCP's conformance suite runs: `sign-in.mjs ADDRESS` signs in to a server, and calls each of its tools.

import { Agent } from 'agent-loop'

const agent = new Agent({
  model: { provider: 'scripted', id: 'none', script: [] },
  mcp: [{ url: process.argv[2], oauth: true }],
  // As a browser whose user is signed in already: it is sent on to where the engine listens.
  onMcpSignIn: async ({ url }) => console.log(await (await fetch(url)).text()),
})
const calls = (await agent.mcpTools()).map(({ name }) => ({ delta: { tool_call: { name, arguments: {} } } }))
agent.model = { provider: 'scripted', id: 's', script: [[...calls, { end: 'tool_use' }], [{ delta: 'done' }, { end: 'stop' }]] }
console.log((await agent.prompt('Call them all.')).messages)
await agent.closeMcp()
