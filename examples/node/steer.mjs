// Steers a run while its tools are running. `node steer.mjs [MODEL [BASE_URL]]`

import { Agent, AgentError, tool } from 'agent-loop'

/** @import { Run } from 'agent-loop' */

// A slow tool. An abort would end its sleep.
const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  executionMode: 'sequential',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: async (_, { sleep }) => {
    await sleep(1000)
    return 'rain, 7 degrees'
  },
})

/**
 * @param {string} [model]
 * @param {string} [baseUrl]
 */
async function main(model = 'anthropic/claude-sonnet-4-5', baseUrl) {
  const agent = new Agent({ model, baseUrl, tools: [weather] })

  let steered = false
  agent.subscribe((event) => {
    // The user steers when the first tool starts.
    if (event.type !== 'tool_execution_start' || steered) return
    steered = true
    agent.steer('Never mind the others.')
  })

  // What was steered when the run had just ended ('queued') waits for another one.
  /** @type {Run | null} */
  let run = agent.stream('Rain in Oslo, Bergen, Tromso?')
  for (; run; run = agent.streamResumeIfQueued()) await show(run)
}

/** @param {Run} run */
async function show(run) {
  for await (const event of run) {
    if (event.type === 'message_start' && event.message.role === 'user') console.log(`User: ${event.message.content[0].text}`)
    if (event.type === 'text_delta') process.stdout.write(event.delta)
    // Also of skipped calls.
    if (event.type === 'tool_execution_end') console.log(`[${event.toolName} -> ${event.result.content[0].text}]`)
  }
  console.log(`\n[${(await run.result()).outcome}]`)
}

await main(...process.argv.slice(2)).catch((error) => {
  if (!(error instanceof AgentError)) throw error
  console.error(`${error.kind}: ${error.message}`)
  process.exitCode = 1
})
