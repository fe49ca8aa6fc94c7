// bench-node: the engine through its Node API. The command line is that of benches/README.md.

import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

import { Agent, tool } from 'agent-loop'

const PROMPT = 'What is 15 multiplied by 23?'
const ANSWER = '15 multiplied by 23 equals 345.'

const calculator = tool({
  name: 'calculator',
  description: 'Perform basic arithmetic operations.',
  parameters: {
    type: 'object',
    properties: { operation: { type: 'string' }, a: { type: 'number' }, b: { type: 'number' } },
    required: ['operation', 'a', 'b'],
  },
  execute: async ({ a, b }) => ({ result: a * b }),
})
const echo = tool({
  name: 'echo',
  description: 'Says how long a text is.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  execute: async ({ text }) => `${Buffer.byteLength(text)} bytes`,
})

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: 'string' },
    format: { type: 'string' },
    model: { type: 'string', default: 'calc' },
    repeats: { type: 'string', default: '5' },
    runs: { type: 'string', default: '1000' },
  },
})
const models = {
  anthropic: { provider: 'anthropic' },
  chat: { provider: 'openai' },
  // openai uses Chat at any address but its own.
  responses: { provider: 'openai', protocol: 'openai_responses' },
  gemini: { provider: 'google' },
}

const cpuNow = () => {
  const { user, system } = process.cpuUsage()
  return user + system
}
// CPU time at the first delta, and at the end of each turn.
let first
let turns = []

async function run(model) {
  const named = { ...models[values.format], id: model }
  const agent = new Agent({ model: named, baseUrl: values.url, tools: [calculator, echo], maxTurns: 0 })
  const read = process.env.BENCH_READ
  let deltas = 0
  let bytes = 0
  if (read === 'ui') {
    for await (const frames of agent.stream(PROMPT).toUIMessageStream()) bytes += frames.length
    return { deltas, bytes }
  }
  if (read === 'none') {
    await agent.prompt(PROMPT)
    return { deltas, bytes }
  }
  const events = agent.stream(PROMPT)
  for await (const event of events) {
    if (event.type === 'turn_end') turns.push(cpuNow())
    if (event.type === 'text_delta' || event.type === 'tool_call_delta') {
      first ??= cpuNow()
      deltas += 1
      bytes += event.delta.length
    }
  }
  const { outcome, text } = await events.result()
  if (outcome !== 'completed' || (/^(calc|turns)/.test(model) && text !== ANSWER)) {
    throw new Error(`the run ended ${outcome} with ${JSON.stringify(text)}`)
  }
  return { deltas, bytes }
}

async function stream() {
  await run(values.model)
  const cpu = []
  let tally
  let ends = []
  for (let i = 0; i < Number(values.repeats); i += 1) {
    turns = []
    const before = cpuNow()
    tally = await run(values.model)
    cpu.push(cpuNow() - before)
    ends = [before, ...turns]
  }
  return { cpu_us: cpu, turn_us: turns.map((end, i) => end - ends[i]), ...tally }
}

async function start() {
  await run(values.model)
  return { first_us: first }
}

const kilobytes = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))[1])

async function concurrent() {
  const runs = Number(values.runs)
  await run(values.model)
  const idle = kilobytes('VmRSS')
  try {
    writeFileSync('/proc/self/clear_refs', '5')
  } catch {
    // The peak then includes the time before.
  }
  const before = cpuNow()
  const ends = await Promise.allSettled(Array.from({ length: runs }, () => run(`${values.model}-${runs}`)))
  const failures = ends.filter((end) => end.status === 'rejected')
  if (failures.length > 0) console.error(`the first failure: ${failures[0].reason.message}`)
  return { cpu_us: cpuNow() - before, idle_kb: idle, peak_kb: kilobytes('VmHWM'), runs, failures: failures.length }
}

const [task] = positionals
const tasks = { stream, concurrent, start }
if (!values.url || !models[values.format] || !tasks[task]) {
  console.error('usage: bench.mjs stream|concurrent|start --url URL --format FORMAT …; see benches/README.md')
  process.exit(1)
}
console.log(JSON.stringify(await tasks[task]()))
