// Plays a recorded run again and prints its events, one a line. `node replay.mjs FILE [RUN]`

import { AgentError, replay } from 'agent-loop'

/**
 * @param {string} recording
 * @param {string} [run]
 */
async function main(recording, run = '1') {
  for await (const event of replay(recording, { run: Number(run) })) console.log(JSON.stringify(event))
}

const [recording = '', run] = process.argv.slice(2)
await main(recording, run).catch((error) => {
  if (!(error instanceof AgentError)) throw error
  console.error(`${error.kind}: ${error.message}`)
  process.exitCode = 1
})
