// Tests of the types: compiled, never run. Lines that must not compile are marked.

import { Agent, AgentError, AuthenticationError, Loop, Store, Tool, models, resume, run as runLoop } from 'agent-loop'
import { audioBlock, documentBlock, imageBlock, replay, setLog, tool, transcript } from 'agent-loop'
import type {
  AgentEvent,
  AgentOptions,
  AssistantMessage,
  Context,
  ErrorKind,
  FullToolResult,
  HookContext,
  HookName,
  Hooks,
  InterruptedRun,
  JournalEntry,
  KnownModel,
  LogLevel,
  LogRecord,
  LoopOptions,
  Message,
  MessageUpdateEvent,
  Middleware,
  ModelChunk,
  ModelSpec,
  Provider,
  OpenSession,
  Run,
  RunResult,
  SessionInfo,
  StandardMessage,
  StoreBackend,
  ThinkingLevel,
  ToolContext,
  ToolResult,
} from 'agent-loop'
import { agentRecording, checkEvents } from 'agent-loop/testing'
import { test } from 'node:test'

// An application's own messages, declared once, are messages everywhere.
declare module 'agent-loop' {
  interface CustomMessages {
    note: { role: 'note'; text: string }
  }
}

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
check<Equal<typeof calculator, Tool<Parameters<typeof calculator.run>[0], { result: number }>>>()

// A schema from elsewhere: its type says nothing, and the function says what it takes.
const schema: Record<string, unknown> = JSON.parse('{}')
tool({ name: 'x', parameters: schema, execute: ({ city }: { city: string }) => city })
tool({ name: 'x', parameters: schema, execute: ({ anything }) => anything })
tool({ name: 'x', execute: () => 5 })
tool({ name: 'x', execute: (): ToolResult => ({ content: [{ type: 'text', text: 'a' }], isError: true }) })
tool({ name: 'x', execute: (_: unknown, context: ToolContext) => context.toolCallId })
tool({
  name: 'x',
  timeoutMs: 5,
  prepareArguments: (args, { signal }) => (signal.aborted ? args : { ...args, n: 1 }),
  execute: () => 5,
})
// @ts-expect-error a tool has a function
tool({ name: 'x' })
// @ts-expect-error this is how it is spelled: executionMode
tool({ name: 'x', execution_mode: 'parallel', execute: () => 5 })

const store = Store.open('agents.db')
const lasting = new Agent({ model: 'openai/tiny', session: store.session('user-7') })
check<Equal<typeof lasting.session, OpenSession | null>>()
check<Equal<typeof lasting.interrupted, InterruptedRun | null>>()
const key: string | undefined = lasting.interrupted?.calls[0]?.idempotencyKey
void key
// @ts-expect-error a session is no text
new Agent({ model: 'openai/tiny', session: 'agents.db' })
// @ts-expect-error the constructor sets it
lasting.setOptions({ session: store.session('user-8') })

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
  maxMessageBytes: 1000,
  maxResultBytesKept: 1000,
  maxTranscriptBytes: 0,
  abortGraceMs: 10,
  rawEvents: true,
  messages: [{ role: 'user', content: 'Hi' }, { role: 'note', text: 'ours' }],
  thinkingLevel: 'low',
  thinkingBudgets: { low: 100, high: 1000 },
  cacheRetention: 'long',
  fallbacks: ['openai/x'],
  stopSequences: ['END'],
  toolChoice: { tool: 'calculator' },
  sessionId: 's',
  origin: 'o',
  steeringMode: 'all',
  followUpMode: 'one_at_a_time',
  steeringPolicy: 'after_batch',
  connectTimeoutMs: 1,
  firstByteTimeoutMs: 1,
  idleTimeoutMs: 1,
  requestTimeoutMs: 1,
  toolTimeoutMs: 1,
  runTimeoutMs: 1,
  listenerTimeoutMs: 1,
  maxRetries: 1,
  retryBaseMs: 1,
  maxRetryDelayMs: 1,
  network: { proxy: false, noProxy: ['localhost'], caFile: 'ca.pem', roots: 'both', resolve: { 'model.test': '127.0.0.1' } },
})
new Agent({
  model: { provider: 'p', id: 'm', baseUrl: 'http://h', contextWindow: 5, maxOutputTokens: 5, cost: { cacheRead: 1 } },
})
// @ts-expect-error a model is needed
new Agent({})
// @ts-expect-error unknown option
new Agent({ model: 'p/m', systemPromt: 'x' })
// @ts-expect-error wrong value
new Agent({ model: 'p/m', validation: 'loose' } satisfies AgentOptions)

// Hooks get and give what they are about, now or later.
new Agent({
  model: 'p/m',
  transformContext: (messages, { signal }) => {
    check<Equal<typeof messages, Message[]>>()
    return signal.aborted ? undefined : messages.slice(-10)
  },
  convertToLlm: async (messages) => {
    const converted: (StandardMessage | { role: 'user'; content: string })[] = messages.map((message) =>
      message.role === 'note' ? { role: 'user', content: message.text } : message,
    )
    return converted
  },
  getApiKey: async (provider) => (provider === 'openai' ? process.env.KEY : null),
  beforeToolCall: ({ toolCallId, toolName, arguments: args, message }) => {
    check<Equal<typeof message, AssistantMessage>>()
    if (toolName === 'delete') return { block: true, reason: 'not here' }
    return args.n === 1 ? { arguments: { n: toolCallId.length } } : null
  },
  afterToolCall: async ({ result, isError }) =>
    isError ? { content: 'failed', isError: false } : { details: result.content.length, terminate: true },
  prepareNextTurn: ({ turn, toolResults }) => ({
    context: { systemPrompt: 'x', messages: toolResults, tools: [calculator, 'other'] },
    model: { provider: 'p', id: 'm' },
    thinkingLevel: turn > 1 ? 'high' : 'off',
  }),
  shouldStopAfterTurn: async ({ turn }) => turn === 3,
  getSteeringMessages: ({ sleep }) => sleep(5).then(() => ['one', 'two']),
  getFollowUpMessages: () => ({ role: 'user', content: 'more' }),
  onPayload: ({ payload }) => ({ ...payload, seed: 1 }),
  onResponse: ({ status, headers }) => console.log(status, headers['x-request-id']),
  onError: ({ error, attempt, willRetry }) => console.log(error.kind, attempt, willRetry),
  beforeRun: (prompts) => console.log(prompts[0]?.role),
  afterRun: async ({ outcome, undelivered }) => console.log(outcome, undelivered?.followUp.length),
})
check<Equal<HookName, keyof Hooks>>()
agent.setHook('beforeRun', (prompts, context: HookContext) => context.sleep(prompts.length))
agent.setHook('beforeRun', null)
// @ts-expect-error this is how it is spelled: beforeRun
agent.setHook('before_run', null)
// @ts-expect-error another hook's function
agent.setHook('beforeRun', (call: { toolCallId: string }) => call.toolCallId)
// @ts-expect-error a decision is an object
agent.setHook('beforeToolCall', () => 'no')
// @ts-expect-error true or false
agent.setHook('shouldStopAfterTurn', () => 'yes')

// Middleware stands around tools.
const timed: Middleware = async (call, next) => {
  const { signal, update } = call.context
  update(signal.aborted)
  const result = await next({ ...call.arguments, more: call.id + call.name })
  check<Equal<typeof result, FullToolResult>>()
  return { ...result, details: { isError: result.isError, terminate: result.terminate } }
}
agent.addMiddleware(timed)
new Agent({ model: 'p/m', middleware: [timed, (_, next) => next(), () => 'instead'] })
// @ts-expect-error arguments are an object
agent.addMiddleware((_, next) => next(5))

// A provider of one's own gives pieces.
const mine: Provider = async function* (request, { signal }) {
  if (signal.aborted || request.options.temperature === 0) throw new Error(request.messages[0]?.role)
  yield 'text'
  yield { thinking: 'Hm' }
  yield { toolCall: { name: request.tools[0]?.name ?? 'x', arguments: { n: 1 } } }
  yield { type: 'text_delta', delta: 'x' }
  yield { usage: { input: 5 } }
  yield { end: { stopReason: 'stop', usage: { input: 5, cacheRead: 1 } } }
}
new Agent({ model: 'acme/m', provider: mine })
new Agent({ model: 'acme/m', provider: () => ['one', { text: 'two' }] })
new Agent({ model: 'acme/m', provider: async () => [{ end: 'length' }] })
// @ts-expect-error an error is not an end
const piece: ModelChunk = { end: { stopReason: 'error' } }
void piece
// @ts-expect-error pieces, not numbers
new Agent({ model: 'acme/m', provider: () => [5] })

// A known model is a model, as it is or changed.
check<Equal<ReturnType<typeof models>, KnownModel[]>>()
for (const model of models()) new Agent({ model: { ...model, baseUrl: 'http://h', maxOutputTokens: model.cost?.cacheRead ?? 5 } })

// Log records, for the methods of a logger.
setLog(({ level, code, message, runId, data, error }) => console[level](message, { code, runId, error, hook: data.hook }))
setLog(async (record: LogRecord) => void record, 'debug' satisfies LogLevel)
setLog(null)
// @ts-expect-error a level of another logger
setLog(console.log, 'verbose')

// The loop without an agent.
const context: Context = { systemPrompt: 'x', messages: agent.messages, tools: [calculator] }
const loopOptions: LoopOptions = { model: 'p/m', signal: AbortSignal.timeout(5), beforeRun: () => {} }
check<Equal<ReturnType<typeof runLoop>, Run>>()
const loops: Run[] = [runLoop(context, 'go', loopOptions), resume({}, loopOptions)]
// @ts-expect-error the context has it
runLoop({}, 'go', { model: 'p/m', systemPrompt: 'x' })
void loops

// Events are a union discriminated by type.
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
      return event.message.role === 'assistant'
        ? event.message.model
        : event.message.role === 'note'
          ? event.message.text
          : event.message.timestamp
    case 'tool_execution_start':
      return event.toolCallId + event.toolName + Object.keys(event.arguments)
    case 'tool_execution_update':
      return event.partialResult.content.length
    case 'tool_execution_end':
      return event.isError ? event.durationMs : event.result.content.length
    case 'tool_call_suspended':
      return event.toolCallId + event.reason
    case 'subagent_event':
      return event.path.length + event.event.seq
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
  agent.steer([imageBlock(new URL('https://h/a')), documentBlock('a.pdf', { name: 'a' }), audioBlock(new Uint8Array(1))])
  agent.steer([{ type: 'document', url: 'https://h/a.pdf', name: 'a.pdf' }, { type: 'audio', url: 'https://h/a.mp3' }])
  // @ts-expect-error both
  agent.steer([{ type: 'image', data: '', mimeType: 'image/png', url: 'https://h/a' }])
  // @ts-expect-error only a document has a name
  imageBlock('a.png', { name: 'a' })
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
  check<Equal<typeof result.stopReason, AssistantMessage['stopReason']>>()
  check<Equal<typeof result.outcome, 'completed' | 'stopped' | 'max_turns' | 'budget' | 'suspended' | 'aborted' | 'error'>>()
  const message: Message | undefined = agent.messages[0]
  if (message?.role === 'tool_result') message.details
  if (message?.role === 'user' && message.content[0]?.type === 'text') {
    // @ts-expect-error messages are read-only: they are frozen
    message.content[0].text = 'x'
    // @ts-expect-error and so are their blocks
    message.content.push({ type: 'text', text: 'x' })
    // @ts-expect-error and their fields
    message.timestamp = 0
    // A changed copy is a message, and one of one's own may be changed until it is given.
    const changed: Message = { ...message, content: [...message.content, { type: 'text', text: 'x' }] }
    const own = { role: 'user' as const, content: [{ type: 'text' as const, text: 'x' }] }
    own.content[0]!.text = 'y'
    agent.replaceMessages([changed, own])
    agent.appendMessage(Object.freeze({ role: 'user', content: Object.freeze([...own.content]) } as const))
  }
  // @ts-expect-error the array is read-only
  agent.tools.push(calculator)
  const unsubscribe: () => void = agent.subscribe(async (event) => void on(event))
  unsubscribe()
  agent.model = { provider: 'p', id: 'm' }
  const name: string = agent.model
  agent.systemPrompt = name
  agent.tools = [...agent.tools, calculator]
  await agent.prompt(agent.messages)
  await agent.prompt('x', { signal: new AbortController().signal })
  await agent.resume({ signal: undefined })
  const resumed: Run = agent.streamResume({ raiseErrors: false })
  // @ts-expect-error the result throws in any case
  await agent.resume({ raiseErrors: false })
  for (const steered of [agent, resumed]) {
    steered.steer('text')
    steered.followUp([{ role: 'user', content: 'message' }])
  }
  agent.clearSteeringQueue()
  agent.clearFollowUpQueue()
  agent.clearAllQueues()
  check<Equal<ReturnType<typeof agent.hasQueuedMessages>, boolean>>()
  check<Equal<typeof agent.thinkingLevel, ThinkingLevel>>()
  agent.thinkingLevel = 'xhigh'
  agent.setOptions({ temperature: 0, maxTurns: 3, systemPrompt: 'x' })
  // @ts-expect-error a hook has a way of its own
  agent.setOptions({ beforeRun: () => {} })
  agent.appendMessage({ role: 'note', text: 'x' })
  agent.appendMessages(agent.messages)
  agent.replaceMessages([...agent.messages].reverse())
  agent.clearMessages()
  agent.reset()
  checkEvents([] as AgentEvent[])
  // @ts-expect-error a signal is given by name
  await agent.prompt('x', new AbortController().signal)
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

// Models are names or objects, and may be fallbacks.
const vertex: ModelSpec = {
  provider: 'google-vertex',
  id: 'm',
  project: 'p',
  location: 'global',
  thinking: 'budget',
  quirks: { strict: true },
}
const withFallbacks = new Agent({
  model: vertex,
  fallbacks: ['openai/x', vertex, { provider: 'azure-openai', id: 'm', apiVersion: '1' }],
})
// @ts-expect-error: a list of models.
new Agent({ model: vertex, fallbacks: 'openai/x' })

// Transcript repair accepts what agents accept, and returns what they have.
const repaired = transcript.repair(withFallbacks.messages, vertex)
check<Equal<typeof repaired.messages, StandardMessage[]>>()
check<Equal<ReturnType<typeof transcript.check>, transcript.Repair[]>>()
transcript.check([...repaired.messages, { role: 'user', content: 'x' }], 'openai/x')

// A block's text can be read whatever the block is: only one of text has it.
declare const result: RunResult
const read = result.messages[0]?.role === 'assistant' ? result.messages[0].content : []
check<Equal<(typeof read)[number]['text'], string | undefined>>()
const texts: string[] = read.map(({ text = '' }) => text)
void texts
const shown = (message: { role: string; content?: readonly { text?: string }[] }): number => message.content?.length ?? 0
result.messages.map(shown)
for (const block of read) if (block.text !== undefined) check<Equal<typeof block.text, string>>()

// A run in steps: actions and inputs by their types.
const stepped = new Loop({ model: vertex, prompt: 'x', tools: [{ name: 't', description: '' }], hooks: ['before_tool_call'] })
const action = stepped.poll(0)
if (action?.type === 'call_tool') stepped.handle({ type: 'tool_done', call: action.call, result: { sky: 'rain' } })
if (action?.type === 'done') check<Equal<typeof action.result, RunResult>>()
if (action?.type === 'event') check<Equal<typeof action.event, AgentEvent>>()
stepped.handle({ type: 'model_end', call: 0, error: { kind: 'connection', message: 'refused' } })
stepped.handle({ type: 'configure', options: { maxTurns: 3, tools: [] } })
// @ts-expect-error: a result is of a call.
stepped.handle({ type: 'tool_done' })
// @ts-expect-error: a key is the host's.
new Loop({ model: vertex, prompt: 'x', apiKey: 'x' })

// To replace messages is a call.
// @ts-expect-error
new Agent({ model: 'p/m' }).messages = []

// Stores: some methods of a custom one answer at once, others with a promise.
const rows: StoreBackend = {
  acquire: async ({ id, leaseMs }) => ({ token: id.length + leaseMs }),
  renew() {},
  release: async () => {},
  append: (lease, seq, lines) => void [lease.token, seq, lines.length],
  read: (id, after, limit) => [{ seq: after + 1, text: id }].slice(limit),
  info: () => null,
  setInfo: async (lease, { title }) => void [lease.id, title?.length],
  list: ({ limit, updatedFrom }) => ({ sessions: [{ id: 'a', createdMs: limit, updatedMs: updatedFrom ?? 0 }] }),
  delete() {},
}

async function kept(agent: Agent): Promise<void> {
  const session = Store.open('agents.db', { sync: 'full', leaseMs: 5_000 }).session('user-7')
  const open = await session.open()
  check<Equal<typeof open, OpenSession>>()
  const last: number = await open.append([
    { kind: 'message', message: { role: 'user', content: 'x' } },
    { kind: 'appended', messages: agent.messages },
    { kind: 'reset' },
  ])
  agent.replaceMessages(open.messages)
  new Agent({ model: 'openai/tiny', session: open })
  await open.close()
  for await (const record of session.follow({ after: last })) check<Equal<typeof record, JournalEntry>>()
  for await (const info of Store.custom(rows, { holder: 'x' }).listAll()) check<Equal<typeof info, SessionInfo>>()
  // @ts-expect-error: there is no such mode
  Store.open('agents.db', { sync: 'ful' })
  // @ts-expect-error: it has not all methods
  Store.custom({ acquire: rows.acquire })
}
void kept

// Recordings.
void test('rain', async (t) => {
  const agent = new Agent({ model: 'p/m', ...agentRecording(t), systemPrompt: 'x' })
  const result: RunResult = await agent.prompt('go')
  void result
  new Agent({ model: 'p/m', ...agentRecording({ name: 'rain', filePath: 'test/rain.test.mjs' }) })
  new Agent({ model: 'p/m', record: { path: 'runs.jsonl', frames: true } }).setOptions({ replay: { path: 'runs.jsonl', run: 2 } })
  for await (const event of replay('runs.jsonl', { run: 2, raiseErrors: false })) check<Equal<typeof event, AgentEvent>>()
  // @ts-expect-error: it is the file's name
  replay({ path: 'runs.jsonl' })
})

// A typed final answer has the type that its schema gives it.
async function typedAnswers(agent: Agent): Promise<void> {
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
  const result = await agent.prompt('Rain in Oslo?', { output: schema, temperature: 0 })
  check<Equal<typeof result, RunResult<{ city: string }>>>()
  check<Equal<typeof result.output, { city: string } | undefined>>()
  const either = await agent.prompt('Rain in Oslo?', { output: { schema, orText: true } })
  check<Equal<typeof either.output, { city: string } | string | undefined>>()
  const plain = await agent.prompt('Rain in Oslo?', { maxTurns: 3 })
  plain.text.length
  const stream = agent.stream('Rain in Oslo?', { output: schema, raiseErrors: false })
  for await (const event of stream) console.log(stream.partialOutput(event))
  check<Equal<Awaited<ReturnType<typeof stream.result>>, RunResult<{ city: string }>>>()
  const own = new Agent({ model: 'openai/x', output: schema, checkOutput: (output) => (output ? undefined : 'empty') })
  const city = (await own.prompt('Rain in Oslo?')).output?.city
  check<Equal<typeof city, string | undefined>>()
  // It is an agent like any other.
  const any: Agent = own
  any.setOptions({ output: { schema, mode: 'native' }, outputRetries: 1 })
  // @ts-expect-error the key is the agent's
  await agent.prompt('x', { apiKey: 'k' })
  // @ts-expect-error there is no such option
  await agent.prompt('x', { temprature: 0 })
}
void typedAnswers
