// Calls that wait for approval, from one process to the next:
//
//     node approvals.mjs [--events] [--store] MODEL STATE PROMPT
//     node approvals.mjs [--events] [--store] MODEL STATE --decide DECISIONS
//
// STATE is a file with the conversation, which the programs of all languages read and write; with the variable
// AGENT_STATE_KEY it is signed. With `--store`, STATE is a store, such as `agents.db`, which has it in the session
// `approvals`. DECISIONS is JSON, such as `{"call_1": "approve"}`. `--events` prints each event's JSON instead of the
// transcript.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

import { Agent, AgentError, Store, tool } from 'agent-loop'

/** @import { Run } from 'agent-loop' */

const item = { type: 'string' }
const tools = [
  tool({
    name: 'price',
    description: 'The price of an item.',
    parameters: { type: 'object', properties: { item }, required: ['item'] },
    execute: (given) => `${given.item}: 12.50`,
  }),
  tool({
    name: 'order',
    description: 'Orders an item, or several.',
    parameters: {
      type: 'object',
      properties: { item, count: { type: 'integer' }, options: { type: 'object' } },
      required: ['item'],
    },
    needsApproval: true,
    execute: async (given, { sleep }) => {
      await sleep(10 * (given.count ?? 1))
      return `ordered: ${given.item}`
    },
  }),
  tool({
    name: 'pay',
    description: 'Pays an amount, one payment at a time.',
    parameters: {
      type: 'object',
      properties: { to: { type: 'string' }, amount: { type: 'number' } },
      required: ['to', 'amount'],
    },
    needsApproval: true,
    executionMode: 'sequential',
    execute: ({ to }) => `paid to ${to}`,
  }),
]

/**
 * @param {Run} run
 * @param {boolean} asEvents
 */
async function show(run, asEvents) {
  for await (const event of run) {
    if (asEvents) console.log(JSON.stringify(event))
    else if (event.type === 'text_delta') process.stdout.write(event.delta)
    else if (event.type === 'tool_execution_end') console.log(`[${event.toolName} -> ${event.result.content[0].text}]`)
  }
  if (asEvents) return
  const { outcome, pending = [] } = await run.result()
  console.log(`\n[${outcome}]`)
  for (const call of pending) {
    console.log(`${call.toolCallId} ${call.toolName} ${JSON.stringify(call.arguments)}: ${call.reason}`)
  }
}

const USAGE = 'usage: approvals [--events] [--store] MODEL STATE (PROMPT | --decide DECISIONS)'

const { model, state, prompt, decisions, asEvents, inStore } = readArguments()
const key = process.env.AGENT_STATE_KEY
try {
  const agent = open()
  const run = decisions === undefined ? agent.stream(prompt) : agent.streamResume({ decisions: JSON.parse(decisions) })
  await show(run, asEvents)
  if (!inStore) writeFileSync(state, agent.export(key))
} catch (error) {
  if (!(error instanceof AgentError)) throw error
  console.error(`${error.kind}: ${error.message}`)
  process.exitCode = 1
}

function open() {
  if (inStore) return new Agent({ model, tools, session: Store.open(state).session('approvals') })
  return existsSync(state) ? Agent.fromExport(readFileSync(state, 'utf8'), { model, tools }, key) : new Agent({ model, tools })
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      options: {
        events: { type: 'boolean', default: false },
        store: { type: 'boolean', default: false },
        decide: { type: 'string' },
        help: { type: 'boolean' },
      },
      allowPositionals: true,
    })
    if (values.help) {
      console.log(USAGE)
      process.exit()
    }
    const [model, state, prompt = '', ...rest] = positionals
    if (model && state && rest.length === 0 && (prompt === '') === (values.decide !== undefined)) {
      return { model, state, prompt, decisions: values.decide, asEvents: values.events, inStore: values.store }
    }
  } catch {
    // An unknown option.
  }
  console.error(USAGE)
  process.exit(2)
}
