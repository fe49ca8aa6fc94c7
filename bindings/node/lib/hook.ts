/**
 * Hooks: functions of the application that a run calls at certain points. They may be asynchronous; the run waits for them.
 */

import { canonical, snakeCase, withToJson } from './canonical.js'
import type { Causes } from './causes.js'
import type { ErrorInfo } from './errors.js'
import type { ToolOutput } from './event.js'
import { frozen } from './frozen.js'
import { jsonOfAnswer } from './json.js'
import type {
  AssistantMessage,
  Canonical,
  InputBlock,
  Message,
  MessageInput,
  PromptInput,
  ToolResultMessage,
} from './message.js'
import type { NativeCall } from './native.js'
import { isObject } from './object.js'
import type { ModelSpec, ThinkingLevel } from './options.js'
import type { RunResult } from './run.js'
import type { Decision } from './suspension.js'
import { report } from './thrown.js'
import { Tool } from './tool.js'
import { withHookContext } from './context.js'
import type { HookContext } from './context.js'

/** The answer of a hook, or a promise of it; nothing means no change. */
export type HookAnswer<T> = T | null | undefined | void | PromiseLike<T | null | undefined | void>

// <generated: inputs>

/** The input of `beforeToolCall`. A call that is about to run. */
export interface BeforeToolCall extends Canonical {
  /** The id of the call. */
  toolCallId: string
  /** The name of the tool. */
  toolName: string
  /** The validated arguments. */
  arguments: Record<string, any>
  /** The message that made the call. */
  message: AssistantMessage
}

/** The input of `afterToolCall`. A call that ran, successfully or not. */
export interface AfterToolCall extends Canonical {
  /** The id of the call. */
  toolCallId: string
  /** The name of the tool. */
  toolName: string
  /** The arguments that the tool got. */
  arguments: Record<string, any>
  /** The result of the tool. */
  result: ToolOutput
  /** Whether the call failed. */
  isError: boolean
}

/**
 * The input of `onInterruptedCall`. A call without a result: the process ended while it ran, or the transcript is from elsewhere.
 */
export interface InterruptedCall extends Canonical {
  /** The id of the call. */
  toolCallId: string
  /** The name of the tool. */
  toolName: string
  /** The arguments as the model gave them. */
  arguments: Record<string, any>
  /** The same in each execution of the call. */
  idempotencyKey: string
}

/** The input of `onApproval`. A call that needs approval. */
export interface ApprovalRequest extends Canonical {
  /** The id of the call. */
  toolCallId: string
  /** The name of the tool. */
  toolName: string
  /** The validated arguments. */
  arguments: Record<string, any>
  /** Why it needs approval, for the person who decides. */
  reason: string
  /** The rule that is remembered if the decision is for always. It is about this call alone. */
  rule: string
  /** The same in each execution of the call. */
  idempotencyKey: string
}

/** The input of `prepareNextTurn` and `shouldStopAfterTurn`. A turn that is over. */
export interface TurnSummary extends Canonical {
  /** The number of the turn, from 1. */
  turn: number
  /** The assistant message of the turn. */
  message: AssistantMessage
  /** The results of its tool calls. */
  toolResults: ToolResultMessage[]
}

/** The input of `prepareRequest`. A request that is about to be made. */
export interface NextRequest extends Canonical {
  /** The number of the turn, from 1. */
  turn: number
  /** The model, `provider/id`. */
  model: string
  /** The text that precedes the messages. */
  systemPrompt: string
  /** The names of the tools that the model is offered. */
  tools: string[]
  /** How much thinking is asked for. */
  thinkingLevel: ThinkingLevel
}

/** The input of `onPayload`. A request that is about to be sent. */
export interface Payload extends Canonical {
  /** The provider that the request is for. */
  provider: string
  /** The model's id at the provider. */
  model: string
  /** The body of the request, in the provider's format. */
  payload: Record<string, any>
}

/** The input of `onResponse`. The status and the headers of an HTTP response. */
export interface ResponseHead extends Canonical {
  /** The provider that answered. */
  provider: string
  /** The HTTP status. */
  status: number
  /** The headers by lower-case name; several of one name are joined with commas. */
  headers: Record<string, string>
}

/** The input of `onError`. A failure of a model call or of the run. */
export interface Failure extends Canonical {
  /** The error. */
  error: ErrorInfo
  /** The attempt of the model call, from 1; 0 if no model call failed. */
  attempt: number
  /** Whether a retry follows. */
  willRetry: boolean
}

/** The input of `onMcpSampling`. What a server of MCP asks a model. */
export interface McpSampling extends Canonical {
  /** The server, by the name that messages have for it. */
  server: string
  /** The texts of its messages. */
  prompt: string
  /** The text that is to precede the messages, if it gives one. */
  systemPrompt: string | null
  /** The most tokens of the answer. */
  maxTokens: number
  /** All that it asks with, as MCP has it: `messages`, `modelPreferences`, `temperature` and others. */
  request: Record<string, any>
}

/** The input of `onMcpElicitation`. What a server of MCP asks the user. */
export interface McpElicitation extends Canonical {
  /** The server, by the name that messages have for it. */
  server: string
  /** What the user is to read. */
  message: string
  /** The JSON Schema of the answer: an object of plain values. */
  requestedSchema: Record<string, any>
}

/** The input of `onMcpSignIn`. A sign-in that a server of MCP wants. */
export interface McpSignIn extends Canonical {
  /** The server, by the name that messages have for it. */
  server: string
  /** The address where the user signs in. */
  url: string
  /** Where the browser is sent to after that. At a loopback address the engine listens. */
  redirectUri: string
}

// </generated>

/**
 * The answer of `getApiKey`: a key, a token that is sent as `authorization: Bearer …` whatever the provider, or headers that are
 * sent in place of any key and win over all others. What is empty is no answer.
 */
export type ApiKey = string | { bearer: string } | { headers: Record<string, string> }

/**
 * The answer of `beforeToolCall`: blocks the call, with a reason for the model, replaces its arguments, which are validated
 * again, or suspends it, with a reason for the person who decides. With `terminate` the run ends after the turn, if all its
 * results say so.
 */
export type ToolDecision =
  | { block: true; reason?: string | undefined; terminate?: boolean | undefined }
  | { block?: false | undefined; arguments?: Record<string, unknown> | undefined }
  | { suspend: string }

/** The answer of `onInterruptedCall`: the model reads that the outcome is not known, the call runs again, or it has a result. */
export type InterruptedDecision = 'report' | 'retry' | { result: unknown }

/** The answer of `onMcpSampling`: a text, or the result as MCP has it (`role` and `model` may be left out). */
export type McpSampled =
  | string
  | { content: unknown; role?: string | undefined; model?: string | undefined; stopReason?: string | undefined }

/** The answer of `onMcpElicitation`: what the user has given, has not wanted to give, or has not decided. */
export type McpElicited = { action: 'accept'; content: Record<string, unknown> } | { action: 'decline' } | { action: 'cancel' }

/** The answer of `afterToolCall`: replaces parts of a tool's result; what is left out stays. */
export interface ToolOverride {
  content?: string | readonly InputBlock[] | undefined
  /** Null replaces the details, too. */
  details?: unknown
  isError?: boolean | undefined
  /** Whether the run may end after this call. */
  terminate?: boolean | undefined
}

/** The answer of `prepareNextTurn`: changes the rest of the run; what is left out stays. The agent itself does not change. */
export interface TurnChange {
  context?: {
    systemPrompt?: string | undefined
    /** Replaces the messages that the model sees; what the run adds is appended to them. */
    messages?: readonly MessageInput[] | undefined
    /** The tools to offer: a selection of the agent's tools, or their names. */
    tools?: readonly (Tool | string)[] | undefined
  } | undefined
  /** `provider/id`, or an object. */
  model?: string | ModelSpec | undefined
  thinkingLevel?: ThinkingLevel | undefined
}

/**
 * The hooks of an agent. Each gets its input, and a context with a signal and `sleep`. What a hook changes it returns: its input
 * is a frozen copy, but for messages and `payload`, which may be changed and returned. When a hook throws, the effect depends on
 * the hook: around a tool call, the call fails; before a model call, the run ends with an error of the kind `callback`; of
 * `onResponse` and `onError`, a `diagnostic` event reports it. What it has thrown is the `cause` of the error that the run ends
 * with, and the `error` of a log record (`setLog`).
 */
export interface Hooks {
  // <generated: hooks>
  /** Before each model call: may replace the messages that the model reads, for this call only. */
  transformContext: (messages: Message[], context: HookContext) => HookAnswer<readonly MessageInput[]>
  /**
   * Before each model call, after `transformContext`: converts all messages to the three standard roles. Without this hook,
   * messages of other roles are left out.
   */
  convertToLlm: (messages: Message[], context: HookContext) => HookAnswer<readonly MessageInput[]>
  /** Before each model call: the API key for a provider, instead of the configured one, or a token, or headers. */
  getApiKey: (provider: string, context: HookContext) => HookAnswer<ApiKey>
  /**
   * Before a tool runs: may block the call, with a reason for the model, replace its arguments, which are validated again, or
   * suspend it until somebody decides.
   */
  beforeToolCall: (call: BeforeToolCall, context: HookContext) => HookAnswer<ToolDecision>
  /** After a tool ran, successfully or not: may replace parts of its result. */
  afterToolCall: (call: AfterToolCall, context: HookContext) => HookAnswer<ToolOverride>
  /** After each turn that another may follow: may change context, model and thinking level for the rest of the run. */
  prepareNextTurn: (turn: TurnSummary, context: HookContext) => HookAnswer<TurnChange>
  /** After each turn: whether the run ends here, with the outcome `stopped`. */
  shouldStopAfterTurn: (turn: TurnSummary, context: HookContext) => HookAnswer<boolean>
  /** With each poll of the steering queue: further steering messages. */
  getSteeringMessages: (context: HookContext) => HookAnswer<PromptInput | readonly string[]>
  /** With each poll of the follow-up queue: further follow-up messages. */
  getFollowUpMessages: (context: HookContext) => HookAnswer<PromptInput | readonly string[]>
  /** Before each model call: may replace the body of the request. */
  onPayload: (request: Payload, context: HookContext) => HookAnswer<Record<string, unknown>>
  /** When the head of a response has arrived, for each attempt. */
  onResponse: (response: ResponseHead, context: HookContext) => unknown
  /** When a model call fails, and when anything else ends the run with an error. */
  onError: (failure: Failure, context: HookContext) => unknown
  /** Before a run, also before its `agent_start`. */
  beforeRun: (prompts: Message[], context: HookContext) => unknown
  /** After a run's last event, before the agent is idle. */
  afterRun: (result: RunResult, context: HookContext) => unknown
  /**
   * When `resume` finds a call without a result, of a tool whose `on_interrupted` is `ask`: whether the model reads that its
   * outcome is not known, it runs again, or it has a result. Without this hook: `report`.
   */
  onInterruptedCall: (call: InterruptedCall, context: HookContext) => HookAnswer<InterruptedDecision>
  /** When a final answer fits the option `output`: may refuse it, with a text for the model, which may correct it. */
  checkOutput: (output: unknown, context: HookContext) => HookAnswer<string>
  /**
   * Before the request of each turn, the first one included: may change context, model and thinking level for this request. A
   * retry and a fallback keep what it has changed, but for the model.
   */
  prepareRequest: (request: NextRequest, context: HookContext) => HookAnswer<TurnChange>
  /**
   * When a server of MCP asks, during one of its calls, for an answer of a model (sampling): may give one. Without this hook, the
   * capability is not announced to servers.
   */
  onMcpSampling: (sampling: McpSampling, context: HookContext) => HookAnswer<McpSampled>
  /**
   * When a server of MCP asks, during one of its calls, for what the user knows (elicitation): may give it. Without this hook,
   * the capability is not announced to servers.
   */
  onMcpElicitation: (elicitation: McpElicitation, context: HookContext) => HookAnswer<McpElicited>
  /** When a server of MCP with the field `oauth` wants a sign-in: shows the user the address, in a browser for example. */
  onMcpSignIn: (request: McpSignIn, context: HookContext) => HookAnswer<string>
  /**
   * When a call needs approval, as its tool or the option `gate` says, before it waits: may decide at once. Without an answer,
   * the call waits.
   */
  onApproval: (call: ApprovalRequest, context: HookContext) => HookAnswer<Decision>
  // </generated>
}

/** The name of a hook. */
export type HookName = keyof Hooks

/** The arguments of a hook's function, from its input; and its answer as the engine reads it. */
interface Form {
  readonly input: (value: any) => unknown[]
  readonly answer: (value: unknown) => unknown
}

const whole = (value: unknown): unknown[] => [value]
const none = (): unknown[] => []
const unchanged = (value: unknown): unknown => value
const ignored = (): null => null

/** Tools may be given themselves; the engine wants their names. */
function turnChange(value: unknown): unknown {
  if (!isObject(value) || !isObject(value.context) || !Array.isArray(value.context.tools)) return canonical(value)
  const tools = value.context.tools.map((tool: unknown) => (tool instanceof Tool ? tool.name : tool))
  return canonical({ ...value, context: { ...value.context, tools } })
}

const FORMS: Readonly<Record<HookName, Form>> = {
  // <generated: forms>
  transformContext: { input: ({ messages }) => [messages], answer: canonical },
  convertToLlm: { input: ({ messages }) => [messages], answer: canonical },
  getApiKey: { input: ({ provider }) => [provider], answer: unchanged },
  beforeToolCall: { input: whole, answer: unchanged },
  afterToolCall: { input: whole, answer: canonical },
  prepareNextTurn: { input: whole, answer: turnChange },
  shouldStopAfterTurn: { input: whole, answer: unchanged },
  getSteeringMessages: { input: none, answer: canonical },
  getFollowUpMessages: { input: none, answer: canonical },
  onPayload: { input: whole, answer: unchanged },
  onResponse: { input: whole, answer: ignored },
  onError: { input: whole, answer: ignored },
  beforeRun: { input: ({ prompts }) => [prompts], answer: ignored },
  afterRun: { input: whole, answer: ignored },
  onInterruptedCall: { input: whole, answer: canonical },
  checkOutput: { input: ({ output }) => [output], answer: unchanged },
  prepareRequest: { input: whole, answer: turnChange },
  onMcpSampling: { input: whole, answer: unchanged },
  onMcpElicitation: { input: whole, answer: unchanged },
  onMcpSignIn: { input: whole, answer: unchanged },
  onApproval: { input: whole, answer: unchanged },
  // </generated>
}

/** @internal The answer of a hook, by its canonical name, as the engine reads it. */
export function canonicalAnswer(hook: string, answer: unknown): unknown {
  const name = HOOKS.find((name) => snakeCase(name) === hook)
  return name === undefined ? answer : FORMS[name].answer(answer)
}

/** @internal The names of all hooks. */
export const HOOKS = Object.keys(FORMS) as readonly HookName[]

/** The hooks of a single model call. */
// <generated: names of calls>
export type HookOfCalls =
  | 'transformContext'
  | 'convertToLlm'
  | 'getApiKey'
  | 'onPayload'
  | 'onResponse'
  | 'onError'
  | 'beforeRun'
  | 'afterRun'
  | 'prepareRequest'
// </generated>

/** The input of a hook; an error in it has what was thrown. */
function inputOf(call: NativeCall, causes: Causes): unknown {
  const input = withToJson<{ error?: ErrorInfo }>(JSON.parse(call.input))
  const thrown = call.cause === undefined || call.cause === null ? undefined : causes.find(call.cause)
  // Not enumerable, as in an Error: it is no part of the error's JSON.
  if (thrown && input.error) Object.defineProperty(input.error, 'cause', thrown)
  return input
}

/** Frozen, as a change would be lost; but for what is large and may be changed and returned: messages, the body of a request. */
function unchangeable(name: HookName, input: unknown): unknown {
  return name === 'onPayload' ? Object.freeze(input) : Array.isArray(input) ? input : frozen(input)
}

/** @internal Calls a hook and responds with its answer. */
export async function runHook(
  name: HookName,
  hook: (...args: any[]) => unknown,
  call: NativeCall,
  causes: Causes,
): Promise<void> {
  try {
    const { input, answer } = FORMS[name]
    const inputs = input(inputOf(call, causes)).map((one) => unchangeable(name, one))
    const value = await withHookContext(call, causes.deps, (context) => hook(...inputs, context))
    call.respond(jsonOfAnswer(`the answer of ${name}`, answer(value)))
  } catch (error) {
    report(error, (text) => call.fail(text, causes.keep(error)))
  }
}
