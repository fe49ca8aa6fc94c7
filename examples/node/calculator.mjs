// A conversation with a tool: `node calculator.mjs [--events] MODEL [BASE_URL [SECOND_MODEL]]`
//
// A model is `provider/id`, or a JSON object. SECOND_MODEL takes over for the second prompt. `--events` prints each
// event's JSON instead of the transcript.

import { parseArgs } from 'node:util'

import { Agent, AgentError, tool } from 'agent-loop'

/** @import { AgentEvent } from 'agent-loop' */

/** The tool: arithmetic on two numbers. The model gets what it throws as an error result. */
const calculator = tool({
  name: 'calculator',
  description: 'Perform basic arithmetic operations',
  parameters: {
    type: 'object',
    properties: {
      operation: { type: 'string', enum: ['add', 'subtract', 'multiply', 'divide'] },
      a: { type: 'number' },
      b: { type: 'number' },
    },
    required: ['operation', 'a', 'b'],
  },
  execute({ operation, a, b }) {
    switch (operation) {
      case 'add':
        return { result: a + b }
      case 'subtract':
        return { result: a - b }
      case 'multiply':
        return { result: a * b }
      case 'divide':
        if (b === 0) throw new Error('division by zero')
        return { result: a / b }
      default:
        throw new Error(`unknown operation ${operation}`)
    }
  },
})

/**
 * Runs one prompt and prints its events.
 * @param {Agent} agent
 * @param {string} prompt
 * @param {boolean} asEvents
 */
async function ask(agent, prompt, asEvents) {
  if (!asEvents) console.log(`User: ${prompt}`)
  for await (const event of agent.stream(prompt)) {
    if (asEvents) console.log(JSON.stringify(event))
    else show(event)
  }
}

/** @param {AgentEvent} event */
function show(event) {
  switch (event.type) {
    case 'turn_start':
      return console.log(`[turn ${event.turn}]`)
    case 'text_delta':
      return process.stdout.write(event.delta)
    case 'text_end':
      return console.log()
    case 'tool_execution_start':
      return console.log(`[calling ${event.toolName} ${JSON.stringify(event.arguments)}]`)
    case 'tool_execution_end':
      return console.log(`[${event.toolName} -> ${event.result.content.map((block) => block.text).join('')}]`)
    case 'agent_end':
      return console.log(`[${event.outcome}]`)
  }
}

const USAGE = 'usage: calculator [--events] MODEL [BASE_URL [SECOND_MODEL]]'

const { asEvents, model, baseUrl, secondModel } = readArguments()
try {
  const agent = new Agent({
    model,
    tools: [calculator],
    ...(baseUrl && { baseUrl, temperature: 0 }),
  })
  await ask(agent, 'What is 15 multiplied by 23?', asEvents)
  if (secondModel) agent.model = secondModel
  await ask(agent, 'Now divide that by 5', asEvents)
  if (!asEvents) console.log(`Conversation: ${agent.messages.map((message) => message.role).join(', ')}`)
} catch (error) {
  if (!(error instanceof AgentError)) throw error
  console.error(`${error.kind}: ${error.message}`)
  process.exitCode = 1
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      options: { events: { type: 'boolean', default: false }, help: { type: 'boolean' } },
      allowPositionals: true,
    })
    if (values.help) {
      console.log(USAGE)
      process.exit()
    }
    const [model, baseUrl, secondModel, ...rest] = positionals
    if (model && rest.length === 0) {
      return { asEvents: values.events, model, baseUrl, secondModel }
    }
  } catch {
    // An unknown option.
  }
  console.error(USAGE)
  process.exit(2)
}
