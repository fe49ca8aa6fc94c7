// Changes its mind while the model works: `steer` joins the run as soon as it can. `node steer.mjs [MODEL [BASE_URL]]`

import { Agent, tool } from 'agent-loop'

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: async ({ city }, { sleep }) => {
    await sleep(100)
    return { city, sky: 'rain', celsius: 7 }
  },
})

const [model = 'anthropic/claude-sonnet-4-5', baseUrl] = process.argv.slice(2)
const agent = new Agent({ model, baseUrl, systemPrompt: 'Be brief.', tools: [weather] })

const run = agent.stream('Rain in Oslo?')
// For when the work would be done.
run.followUp('Thanks. And what shall I wear?')
for await (const event of run) {
  if (event.type === 'text_delta') process.stdout.write(event.delta)
  if (event.type === 'text_end') console.log()
  if (event.type === 'tool_execution_start') {
    console.log(`[${event.toolName}]`)
    // For as soon as possible: the model reads it with the tool's result.
    run.steer('In Fahrenheit, please.')
  }
}
const { turns } = await run.result()
console.log(`[${turns} turns]`)
