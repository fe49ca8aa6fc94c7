// The smallest program: one prompt, the answer as it comes. `node hello.mjs provider/id [BASE_URL]`

import { Agent, AgentError } from 'agent-loop'

/**
 * @param {string} [model]
 * @param {string} [baseUrl]
 */
async function main(model = 'anthropic/claude-sonnet-4-5', baseUrl) {
  const agent = new Agent({ model, baseUrl })

  for await (const event of agent.stream('Say hello.')) {
    if (event.type === 'text_delta') process.stdout.write(event.delta)
  }
  console.log()
}

await main(...process.argv.slice(2)).catch((error) => {
  if (!(error instanceof AgentError)) throw error
  console.error(`${error.kind}: ${error.message}`)
  process.exitCode = 1
})
