// What the types say: compiled, never run. Lines that must not compile say so.

import { Agent, AgentError, AuthenticationError, Tool, tool } from 'agent-loop'
import type {
  AgentEvent,
  AgentOptions,
  AssistantMessage,
  ErrorKind,
  Message,
  MessageUpdateEvent,
  Run,
  RunResult,
  ToolContext,
  ToolResult,
} from 'agent-loop'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function check<T extends true>(): T | void {}

// The arguments' type comes from the schema.
const calculator = tool({
  name: 'calculator',
  description: 'Perform basic arithmetic operations',
  parameters: {
    type: 'object',
    properties: {
      operation: { type: 'string', enum: ['add', 'divide'] },
      a: { type: 'number' },
      b: { type: 'integer' },
      tags: { type: 'array', items: { type: 'string' } },
      deep: { type: 'object', properties: { on: { type: 'boolean' } }, required: ['on'] },
      either: { type: ['string', 'null'] },
      free: {},
    },
    required: ['operation', 'a', 'b'],
  },
  execute: async (args, { toolCallId, signal, update, sleep }) => {
    check<Equal<typeof args.operation, 'add' | 'divide'>>()
    check<Equal<typeof args.a, number>>()
    check<Equal<typeof args.b, number>>()
    check<Equal<typeof args.tags, string[] | undefined>>()
    check<Equal<typeof args.deep, { on: boolean } | undefined>>()
    check<Equal<typeof args.either, string | null | undefined>>()
    check<Equal<typeof toolCallId, string>>()
    check<Equal<typeof signal, AbortSignal>>()
    update({ at: 1 })
    const whole: boolean = await sleep(5)
    // @ts-expect-error there is no such argument
    args.c
    return { result: whole ? args.a : args.b }
  },
})
check<Equal<typeof calculator, Tool>>()

// A schema from elsewhere: its type says nothing, and the function says what it takes.
const schema: Record<string, unknown> = JSON.parse('{}')
tool({ name: 'x', parameters: schema, execute: ({ city }: { city: string }) => city })
tool({ name: 'x', parameters: schema, execute: ({ anything }) => anything })
tool({ name: 'x', execute: () => 5 })
tool({ name: 'x', execute: (): ToolResult => ({ content: [{ type: 'text', text: 'a' }], isError: true }) })
tool({ name: 'x', execute: (_: unknown, context: ToolContext) => context.toolCallId })
// @ts-expect-error a tool has a function
tool({ name: 'x' })
// @ts-expect-error this is how it is spelled: executionMode
tool({ name: 'x', execution_mode: 'parallel', execute: () => 5 })

const agent = new Agent({
  model: 'openai/tiny',
  systemPrompt: 'Be brief.',
  tools: [calculator],
  baseUrl: process.env.BASE_URL,
  apiKey: process.env.API_KEY,
  temperature: 0,
  maxTokens: 10,
  headers: { 'x-a': 'b' },
  maxTurns: 5,
  toolExecution: 'sequential',
  maxParallelTools: 2,
  validation: 'strict',
  maxResultBytes: 100,
  abortGraceMs: 10,
  rawEvents: true,
  messages: [{ role: 'user', content: 'Hi' }],
})
new Agent({ model: { provider: 'p', id: 'm', baseUrl: 'http://h', contextWindow: 5, maxOutputTokens: 5, cost: { cacheRead: 1 } } })
// @ts-expect-error a model is needed
new Agent({})
// @ts-expect-error unknown option
new Agent({ model: 'p/m', systemPromt: 'x' })
// @ts-expect-error wrong value
new Agent({ model: 'p/m', validation: 'loose' } satisfies AgentOptions)

// Events are told apart by type.
function on(event: AgentEvent): string | number | undefined {
  check<Equal<typeof event.seq, number>>()
  switch (event.type) {
    case 'text_delta':
    case 'thinking_delta':
    case 'tool_call_delta':
      return event.delta
    case 'text_start':
    case 'thinking_start':
      return event.contentIndex
    case 'tool_call_start':
      return event.id + event.name
    case 'text_end':
      return event.block.text
    case 'thinking_end':
      return event.block.thinking
    case 'tool_call_end':
      return event.block.rawArguments
    case 'message_start':
    case 'message_end':
      return event.message.role === 'assistant' ? event.message.model : event.message.timestamp
    case 'tool_execution_start':
      return event.toolCallId + event.toolName + Object.keys(event.arguments)
    case 'tool_execution_update':
      return event.partialResult.content.length
    case 'tool_execution_end':
      return event.isError ? event.durationMs : event.result.content.length
    case 'turn_end':
      return event.toolResults[0]?.toolCallId
    case 'agent_end':
      return event.outcome === 'error' ? event.error?.httpStatus : event.usage.cacheRead
    case 'retry':
      return event.attempt + event.delayMs
    case 'diagnostic':
      return event.code + event.message
    case 'raw':
    case 'agent_start':
    case 'turn_start':
      return event.turn
    default:
      return event satisfies never
  }
}

declare const update: MessageUpdateEvent
check<Equal<typeof update.contentIndex, number>>()

async function use(): Promise<void> {
  const run = agent.stream([{ type: 'text', text: 'Hi' }, { type: 'image', data: '', mimeType: 'image/png' }])
  check<Equal<typeof run, Run>>()
  for await (const event of run) {
    on(event)
    // @ts-expect-error not all events have it
    event.delta
    const partial: AssistantMessage | null = run.partial(event)
    partial?.content
  }
  const result = await agent.prompt('Now divide that by 5')
  check<Equal<typeof result, RunResult>>()
  check<Equal<typeof result.outcome, 'completed' | 'stopped' | 'max_turns' | 'aborted' | 'error'>>()
  const message: Message | undefined = agent.messages[0]
  if (message?.role === 'tool_result') message.details
  const unsubscribe: () => void = agent.subscribe(async (event) => void on(event))
  unsubscribe()
  agent.model = { provider: 'p', id: 'm' }
  const name: string = agent.model
  agent.systemPrompt = name
  agent.tools = [...agent.tools, calculator]
  await agent.prompt(agent.messages)
  // @ts-expect-error a prompt is text, blocks or messages
  await agent.prompt(5)
  try {
    await run.result()
  } catch (error) {
    if (error instanceof AuthenticationError) error.requestId
    if (error instanceof AgentError) {
      const kind: ErrorKind = error.kind
      const partial: RunResult | undefined = error.result
      void [kind, partial]
    }
  }
}
void use
