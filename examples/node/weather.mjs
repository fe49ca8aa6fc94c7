// A program with a tool. `node weather.mjs [MODEL [BASE_URL]]`

import { Agent, AgentError, tool } from 'agent-loop'

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: async ({ city }) => ({ city, sky: 'rain', celsius: 7 }),
})

/**
 * @param {string} [model]
 * @param {string} [baseUrl]
 */
async function main(model = 'anthropic/claude-sonnet-4-5', baseUrl) {
  const agent = new Agent({ model, baseUrl, systemPrompt: 'Be brief.', tools: [weather] })

  const run = agent.stream('Rain in Oslo?')
  for await (const event of run) {
    if (event.type === 'text_delta') process.stdout.write(event.delta)
    if (event.type === 'tool_execution_start') console.log(`[${event.toolName}]`)
  }
  const { usage } = await run.result()
  console.log(`\n${usage.total} tokens`)
}

await main(...process.argv.slice(2)).catch((error) => {
  if (!(error instanceof AgentError)) throw error
  console.error(`${error.kind}: ${error.message}`)
  process.exitCode = 1
})
