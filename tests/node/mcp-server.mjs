// An MCP server on standard input and output, made with MCP's own package.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'

const number = { type: 'number' }
const inputSchema = { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] }

const { server } = new McpServer({ name: 'tests', version: '1.0.0' }, { capabilities: { tools: {} } })
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: [
    { name: 'add', description: 'Adds.', inputSchema },
    { name: 'divide', description: 'Divides.', inputSchema },
  ],
}))
server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: { a, b } } }) => {
  if (name === 'divide' && b === 0) return { content: [{ type: 'text', text: 'division by zero' }], isError: true }
  return { content: [{ type: 'text', text: `${name === 'add' ? a + b : a / b}` }] }
})
await server.connect(new StdioServerTransport())
