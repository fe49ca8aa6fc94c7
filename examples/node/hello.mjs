// The smallest program: one prompt, the answer as it comes. `node hello.mjs provider/id [BASE_URL]`

import { Agent } from 'agent-loop'

const [model = 'anthropic/claude-sonnet-4-5', baseUrl] = process.argv.slice(2)
const agent = new Agent({ model, baseUrl })

const run = agent.stream('Say hello.')
for await (const event of run) {
  if (event.type === 'text_delta') process.stdout.write(event.delta)
}
console.log()
await run.result()
