// Each tool of MCP's everything-server, over both transports: tests/mcp/with_server.py has the server.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

import { Agent } from 'agent-loop'

const calls = JSON.parse(readFileSync(new URL('../../../tests/mcp/everything.json', import.meta.url), 'utf8'))
const servers = {
  stdio: { command: 'node', args: [process.env.MCP_EVERYTHING] },
  http: { url: process.env.MCP_EVERYTHING_URL },
}

// A model that makes these calls, each in a turn of its own, and then ends.
function scripted(made) {
  const turns = made.map(([name, args], at) => [
    { delta: { tool_call: { id: `c${at}`, name, arguments: args } } },
    { end: 'tool_use' },
  ])
  return { provider: 'scripted', id: 's', script: [...turns, [{ delta: 'done' }, { end: 'stop' }]] }
}

for (const [way, server] of Object.entries(servers)) {
  test(`each tool of the everything-server is called over ${way}`, async () => {
    const model = scripted(calls.map((call) => [call.tool, call.arguments]))
    const agent = new Agent({ model, mcp: [server], maxTurns: 0 })
    const updates = {}
    agent.subscribe((event) => {
      if (event.type === 'tool_execution_update') updates[event.toolName] = (updates[event.toolName] ?? 0) + 1
    })
    const { messages } = await agent.prompt('Call them all.')
    const results = messages.filter((message) => message.role === 'tool_result')
    assert.deepEqual(
      results.map((message) => message.toolName),
      calls.map((call) => call.tool),
    )
    for (const [at, message] of results.entries()) {
      const call = calls[at]
      assert.deepEqual(
        message.content.map((block) => block.type),
        call.blocks,
      )
      const text = message.content.map((block) => block.text ?? '').join('')
      assert.ok(text.includes(call.text), text)
      assert.equal(message.isError, call.is_error ?? false)
      assert.ok((updates[call.tool] ?? 0) >= (call.updates ?? 0))
      if (call.details) assert.ok(message.details[call.details])
    }
    await agent.closeMcp()
  })
}

test('tools are known before a run when it is asked for', async () => {
  const model = scripted([['x_echo', { message: 'hi' }]])
  const agent = new Agent({ model, mcp: [{ ...servers.stdio, prefix: 'x_', include: ['echo'] }] })
  await agent.connectMcp()
  const { messages } = await agent.prompt('Echo.', { toolChoice: { tool: 'x_echo' } })
  assert.equal(messages[2].content[0].text, 'Echo: hi')
})

const asks = ['trigger-sampling-request', 'trigger-elicitation-request']

for (const [way, server] of Object.entries(servers)) {
  test(`the everything-server asks a model and the user over ${way}`, async () => {
    const agent = new Agent({
      model: scripted([
        [asks[0], { prompt: 'Which city?', maxTokens: 7 }],
        [asks[1], {}],
      ]),
      mcp: [{ ...server, name: 'all', include: asks }],
      onMcpSampling: async ({ server, prompt, systemPrompt, maxTokens, request }) => {
        assert.deepEqual([server, systemPrompt, request.maxTokens], ['all', 'You are a helpful test server.', 7])
        return `${prompt} ${maxTokens} Oslo`
      },
      onMcpElicitation: ({ requestedSchema }) => {
        assert.deepEqual(requestedSchema.required, ['name'])
        return { action: 'accept', content: { name: 'Ann', integer: 7 } }
      },
    })
    const tools = await agent.mcpTools()
    assert.deepEqual(tools.map((tool) => tool.name).sort(), [...asks].sort())
    const sampling = tools.find((tool) => tool.name === asks[0])
    assert.deepEqual([sampling.serverTool, sampling.inputSchema.required], [asks[0], ['prompt']])
    assert.equal(sampling.annotations.readOnlyHint, false)
    const { messages } = await agent.prompt('Ask.')
    const results = messages.filter((message) => message.role === 'tool_result')
    const texts = results.map((message) => message.content.map((block) => block.text).join(''))
    assert.ok(texts[0].includes('context: Which city? 7 Oslo'), texts[0])
    assert.ok(texts[1].includes('- Name: Ann') && texts[1].includes('- Favorite Integer: 7'), texts[1])
    await agent.closeMcp()
  })
}

test('a hook that throws is an error for the server alone', async () => {
  const agent = new Agent({
    model: scripted([[asks[0], { prompt: 'x' }]]),
    mcp: [{ ...servers.stdio, include: asks.slice(0, 1) }],
    onMcpSampling: () => {
      throw new Error('secret')
    },
  })
  const { messages, outcome } = await agent.prompt('Ask.')
  assert.equal(outcome, 'completed')
  assert.ok(messages[2].content[0].text.includes('on_mcp_sampling failed'), messages[2].content[0].text)
  await agent.closeMcp()
})
