// An agent that hands parts of its work to others, which run at once. `node subagents.mjs [MODEL [BASE_URL]]`

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
  const researcher = new Agent({ model, baseUrl, systemPrompt: 'Find out, and answer in one sentence.', tools: [weather] })
  const description = 'Finds something out. Ask one question.'
  const research = researcher.asTool({ name: 'research', description, events: 'messages' })
  const systemPrompt = 'Research what you do not know, each question by itself. Then be brief.'
  // The limits of the run are those of all that runs in it.
  const agent = new Agent({ model, baseUrl, systemPrompt, tools: [research], maxTotalTokens: 100_000, runTimeoutMs: 120_000 })

  const run = agent.stream('Is it warmer in Oslo or in Bergen?')
  for await (const event of run) {
    if (event.type === 'text_delta') process.stdout.write(event.delta)
    if (event.type === 'tool_execution_start') console.log(`[${event.toolName}] ${event.arguments.prompt}`)
    if (event.type === 'subagent_event' && event.event.type === 'tool_execution_start') {
      console.log(`  [${event.event.toolName}] ${JSON.stringify(event.event.arguments)}`)
    }
    if (event.type === 'tool_execution_end') console.log(`  ${event.result.content.map((block) => block.text).join('')}`)
  }
  const { usage } = await run.result()
  console.log(`\n${usage.total} tokens`)
}

await main(...process.argv.slice(2)).catch((error) => {
  if (!(error instanceof AgentError)) throw error
  console.error(`${error.kind}: ${error.message}`)
  process.exitCode = 1
})
