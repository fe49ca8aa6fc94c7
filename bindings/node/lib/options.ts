/**
 * The options of agents and of stateless runs.
 */

import { bridge, enter } from './bridge.js'
import { Callbacks } from './callbacks.js'
import { canonical, snakeCase } from './canonical.js'
import { expectFunction, invalidArgument } from './errors.js'
import { HOOKS, runHook } from './hook.js'
import type { HookName, Hooks } from './hook.js'
import { jsonOfArgument } from './json.js'
import type { MessageInput } from './message.js'
import { runMiddleware } from './middleware.js'
import type { Middleware } from './middleware.js'
import type { NativeAgent, NativeTool } from './native.js'
import { native } from './native.js'
import { runProvider } from './provider.js'
import type { Provider } from './provider.js'
import { Tool, prepareCall, runTool } from './tool.js'
import type { ExecutionMode } from './tool.js'

/** A model as an object, where `provider/id` is not enough. */
export interface ModelSpec {
  provider: string
  id: string
  /** The model's name for display. */
  label?: string
  /**
   * The entry of `models()` whose limits and prices apply, where `id` is a custom name (an Azure deployment, an alias):
   * `openai/gpt-5`.
   */
  baseModel?: string
  /** The wire format; the provider's by default. */
  protocol?: 'anthropic' | 'openai_responses' | 'openai_chat' | 'gemini' | 'relay'
  /** The server's address, with or without `/v1`; the provider's by default. */
  baseUrl?: string
  /** Added to each request to this model. */
  headers?: Record<string, string>
  /** The project on Vertex AI; `GOOGLE_CLOUD_PROJECT` by default. */
  project?: string
  /** The location on Vertex AI, a region or `global`; `GOOGLE_CLOUD_LOCATION` by default. */
  location?: string
  /** Azure's `api-version`; `AZURE_OPENAI_API_VERSION` by default. */
  apiVersion?: string
  /** The context window in tokens. */
  contextWindow?: number
  /** The most tokens of one answer. */
  maxOutputTokens?: number
  /** The kinds of input that the model accepts. */
  input?: ('text' | 'image')[]
  /** Whether the model supports thinking, or in which form: a value of the quirk `thinking`. */
  thinking?: boolean | string
  /** US dollars per million tokens. */
  cost?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number }
  /** Differences of its server; the names are in `docs/providers.md`. */
  quirks?: Record<string, unknown>
  /** The answers of a `scripted` model. */
  script?: unknown
}

/** How much thinking to ask for. */
export type ThinkingLevel = 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh'

/** The thinking budget of each level in tokens, for providers that take a number of tokens. */
export type ThinkingBudgets = { [level in Exclude<ThinkingLevel, 'off'>]?: number }

/** Whether the model may, must not or must call tools, or the one tool that it must call. */
export type ToolChoice = 'auto' | 'none' | 'required' | { tool: string }

/** How many messages one poll takes from a queue: the oldest, or all. */
export type QueueMode = 'one_at_a_time' | 'all'

/** What happens to tool calls not yet started when a steering message arrives: they are skipped, or run first. */
export type SteeringPolicy = 'skip_remaining' | 'after_batch'

/** How requests reach the server; see `docs/network.md`. */
export interface Network {
  /** `http://user:password@host:port`; also https, socks5 and socks5h. False for none. */
  proxy?: string | false
  /** Hosts that are reached without the proxy. */
  noProxy?: string | string[]
  /** A PEM file with certificate authorities to trust in addition to `roots`. */
  caFile?: string
  /** A PEM file with the client certificate, for servers that require one. */
  clientCertificate?: string
  /** A PEM file with the key of `clientCertificate`, if it is not in the same file. */
  clientKey?: string
  /** The certificate authorities to trust: the operating system's (default), Mozilla's bundled list, or both. */
  roots?: 'system' | 'bundled' | 'both'
  /** IP addresses by host name, used instead of DNS. */
  resolve?: Record<string, string>
}

/** The hooks, as options. */
export type HookOptions = { [Name in HookName]?: Hooks[Name] | null | undefined }

/**
 * The options of runs. Times are in milliseconds; a limit of 0 means no limit. An option that a model does not support is not
 * sent; a `diagnostic` event with the code `option_ignored` reports it, once per run.
 */
export interface Settings extends HookOptions {
  /** `provider/id`, or an object, which may also be JSON in a string. */
  model: string | ModelSpec
  /** A custom provider: answers requests in place of the model's server. `model` may then have any name. */
  provider?: Provider | undefined
  /** Functions around the execution of tools, the outermost first. */
  middleware?: readonly Middleware[]
  /** The server's address, with or without `/v1`; the provider's by default. With one, an API key is optional. */
  baseUrl?: string | undefined
  /** The API key; the provider's environment variable by default. */
  apiKey?: string | undefined
  /**
   * Models to try in this order when the model fails before its answer begins and no retry is left. A model of the same provider
   * uses the agent's address and key, any other its provider's.
   */
  fallbacks?: readonly (string | ModelSpec)[]
  /** Headers for each request. */
  headers?: Record<string, string>
  /** The sampling temperature; the provider's default if left out. */
  temperature?: number
  /** The most tokens of one answer. */
  maxTokens?: number
  /** Texts that end the answer when the model writes them. */
  stopSequences?: readonly string[]
  /** `auto` by default. */
  toolChoice?: ToolChoice
  /** Identifies the conversation to providers that cache or route by it. */
  sessionId?: string
  /** How long the provider should cache the prompt. `short` by default. */
  cacheRetention?: 'short' | 'long' | 'none'
  /** `off` by default. */
  thinkingLevel?: ThinkingLevel
  /** Overrides the token budgets of single levels. */
  thinkingBudgets?: ThinkingBudgets
  /** The most turns of one run; 0 for no limit. 10 by default. */
  maxTurns?: number
  /** Whether the tool calls of a message run concurrently (default) or sequentially. */
  toolExecution?: ExecutionMode
  /** The most tool calls that run concurrently. 8 by default. */
  maxParallelTools?: number
  /** How tool arguments are validated. `coerce` (default) also converts values, such as numeric strings to numbers. */
  validation?: 'coerce' | 'strict' | 'off'
  /** The most bytes of a tool result's text; a longer text is shortened. 50,000 by default. */
  maxResultBytes?: number
  /** How many steering messages one poll takes. `one_at_a_time` by default. */
  steeringMode?: QueueMode
  /** How many follow-up messages one poll takes. `one_at_a_time` by default. */
  followUpMode?: QueueMode
  /** What happens to tool calls not yet started when a steering message arrives. `skip_remaining` by default. */
  steeringPolicy?: SteeringPolicy
  /** How long an aborted run waits for tools that ignore the abort, in milliseconds. 1,000 by default. */
  abortGraceMs?: number
  /** The time limit for connecting, in milliseconds. 10,000 by default. */
  connectTimeoutMs?: number
  /** The time limit from the request to the first byte of the answer, in milliseconds. 120,000 by default. */
  firstByteTimeoutMs?: number
  /** The time limit between two bytes of an answer, in milliseconds. 120,000 by default. */
  idleTimeoutMs?: number
  /** The time limit of one attempt of a model call, in milliseconds. 600,000 by default. */
  requestTimeoutMs?: number
  /** The time limit of a tool call, in milliseconds. No limit by default. */
  toolTimeoutMs?: number
  /** The time limit of a run, in milliseconds. No limit by default. */
  runTimeoutMs?: number
  /** The most retries of a failed model call. 2 by default. */
  maxRetries?: number
  /** The upper bound of the first backoff, in milliseconds; it doubles with each retry. 500 by default. */
  retryBaseMs?: number
  /** The longest backoff, in milliseconds; if a provider demands a longer one, the call fails immediately. 60,000 by default. */
  maxRetryDelayMs?: number
  /**
   * Proxy, certificates and name resolution. By default the environment's proxy variables and the system's certificate
   * authorities.
   */
  network?: Network
  /** Whether each frame of the provider's stream is also emitted unchanged, as a `raw` event. */
  rawEvents?: boolean
}

/** The options of an agent. */
export interface AgentOptions extends Settings {
  /** The system prompt; empty by default. */
  systemPrompt?: string
  /** The tools that the model may call. */
  tools?: readonly Tool[]
  /** The conversation so far. */
  messages?: readonly MessageInput[]
}

/** The options that `Agent.setOptions` changes. Tools, hooks, middleware and the conversation have their own methods. */
export type OptionChanges = Partial<Omit<AgentOptions, HookName | 'tools' | 'messages' | 'middleware' | 'provider'>>

/** @internal The native agent and its callbacks. */
export interface AgentParts {
  readonly native: NativeAgent
  readonly callbacks: Callbacks
}

/** @internal Creates a native agent and its callbacks. */
export function makeAgent(options: object): AgentParts {
  const callbacks = new Callbacks()
  const { tools = [], middleware = [], provider, ...others } = options as Partial<AgentOptions>
  const hooks = HOOKS.filter((name) => name in others).map((name) => {
    const hook = others[name]
    delete others[name]
    return [name, hook] as const
  })
  const number = provider ? keepProvider(callbacks, provider) : undefined
  const text = optionsJson(others)
  const parts: AgentParts = { native: enter(() => new native.Agent(bridge, callbacks.number, text, number)), callbacks }
  setTools(parts, tools)
  for (const [name, hook] of hooks) setHook(parts, name, hook ?? null)
  if (!Array.isArray(middleware)) throw invalidArgument('option "middleware": expected a list of functions')
  for (const [i, link] of middleware.entries()) addMiddleware(parts, link as Middleware, `option "middleware": [${i}]`)
  return parts
}

function keepProvider(callbacks: Callbacks, provider: Provider): number {
  expectFunction('option "provider"', provider)
  return callbacks.keep((call) => runProvider(provider, call))
}

/** @internal The options as JSON; an undefined one is left out, or is `missing`. */
export function optionsJson(options: object, missing?: null): string {
  const texts: string[] = []
  for (const [name, value] of Object.entries(options)) {
    const given = value === undefined ? missing : name === 'messages' ? canonical(value) : value
    if (given === undefined) continue
    texts.push(`${JSON.stringify(name)}:${jsonOfArgument(`option ${JSON.stringify(name)}`, given)}`)
  }
  return `{${texts.join(',')}}`
}

/** @internal Replaces an agent's tools. On an error nothing changes. */
export function setTools({ native, callbacks }: AgentParts, tools: readonly Tool[]): void {
  const list = nativeTools(tools)
  const execute = tools.map((tool) => callbacks.keep((call) => runTool(tool, call)))
  const prepare = tools.map(({ prepareArguments: prepare }) => prepare && callbacks.keep((call) => prepareCall(prepare, call)))
  enter(() => native.setTools(list, execute, prepare))
}

function nativeTools(tools: readonly Tool[]): NativeTool[] {
  if (!Array.isArray(tools)) throw invalidArgument('option "tools": expected a list of tools, each made with tool({ … })')
  return tools.map((item: unknown, index) => {
    const inside = Tool.inside(item)
    if (inside) return inside
    throw invalidArgument(`option "tools": [${index}]: expected a tool made with tool({ … }), got ${typeof item}`)
  })
}

/** @internal Sets a hook, or with null removes it. */
export function setHook({ native, callbacks }: AgentParts, name: HookName, hook: Hooks[HookName] | null): void {
  if (!HOOKS.includes(name)) throw invalidArgument(`there is no hook ${JSON.stringify(name)}; the hooks are ${HOOKS.join(', ')}`)
  if (hook !== null) expectFunction(`hook ${JSON.stringify(name)}`, hook)
  const number = hook === null ? undefined : callbacks.keep((call) => runHook(name, hook, call))
  enter(() => native.setHook(snakeCase(name), number))
}

/** @internal Adds a middleware, as the innermost. */
export function addMiddleware({ native, callbacks }: AgentParts, middleware: Middleware, what: string): void {
  expectFunction(what, middleware)
  const number = callbacks.keep((call) => runMiddleware(middleware, call))
  enter(() => native.addMiddleware(number))
}
