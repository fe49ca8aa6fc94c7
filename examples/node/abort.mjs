// Aborts a run in the middle, after ten deltas of text. `node abort.mjs provider/id [BASE_URL]`

import { Agent, AgentError } from 'agent-loop'

/**
 * @param {string} [model]
 * @param {string} [baseUrl]
 */
async function main(model = 'anthropic/claude-sonnet-4-5', baseUrl) {
  const agent = new Agent({ model, baseUrl })

  const run = agent.stream('Count from 1 to 1000.')
  let pieces = 0
  for await (const event of run) {
    if (event.type !== 'text_delta') continue
    process.stdout.write(event.delta)
    if (++pieces === 10) run.abort()
  }
  // The text so far is kept, in the result and in the transcript.
  const result = await run.result()
  console.log(`\n[${result.outcome}] after ${result.text.length} characters`)
}

await main(...process.argv.slice(2)).catch((error) => {
  if (!(error instanceof AgentError)) throw error
  console.error(`${error.kind}: ${error.message}`)
  process.exitCode = 1
})
