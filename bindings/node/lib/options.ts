/**
 * What agents, and runs without one, are made with.
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

/** A model and what is known of it, where `provider/id` does not say enough. */
export interface ModelSpec {
  provider: string
  id: string
  /** What people call it. */
  label?: string
  /** Which of `models()` it is, where `id` is a name of one's own (a deployment on Azure, an alias): `openai/gpt-5`. */
  baseModel?: string
  /** The wire format, where the provider's own is not meant. */
  protocol?: 'anthropic' | 'openai_responses' | 'openai_chat' | 'gemini' | 'relay'
  /** The server's address, with or without `/v1`. */
  baseUrl?: string
  headers?: Record<string, string>
  /** Vertex AI's, instead of `GOOGLE_CLOUD_PROJECT`. */
  project?: string
  /** Vertex AI's, a region or `global`, instead of `GOOGLE_CLOUD_LOCATION`. */
  location?: string
  /** Azure's `api-version`, instead of `AZURE_OPENAI_API_VERSION`. */
  apiVersion?: string
  contextWindow?: number
  maxOutputTokens?: number
  /** What it can read. */
  input?: ('text' | 'image')[]
  /** Whether it thinks, or how: a word of the quirk `thinking`. */
  thinking?: boolean | string
  /** US dollars per million tokens. */
  cost?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number }
  /** What its server does differently; `docs/providers.md` has the names. */
  quirks?: Record<string, unknown>
  /** The answers of a `scripted` model. */
  script?: unknown
}

/** How much thinking to ask for. */
export type ThinkingLevel = 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh'

/** How many tokens of thinking a level stands for, where the provider counts them. */
export type ThinkingBudgets = { [level in Exclude<ThinkingLevel, 'off'>]?: number }

/** Whether the model may, must not or must call tools, or which one it must call. */
export type ToolChoice = 'auto' | 'none' | 'required' | { tool: string }

/** How much of a queue one poll takes: the oldest message, or all of them. */
export type QueueMode = 'one_at_a_time' | 'all'

/** What steering does to the calls of a batch that do not run yet: they are skipped, or run first. */
export type SteeringPolicy = 'skip_remaining' | 'after_batch'

/** The way to the model; `docs/network.md` tells more. */
export interface Network {
  /** `http://user:password@host:port`; also https, socks5 and socks5h. False for none. */
  proxy?: string | false
  /** Hosts that are reached without it. */
  noProxy?: string | string[]
  /** A PEM file with authorities that are trusted beside `roots`. */
  caFile?: string
  /** A PEM file with the certificate for servers that demand one. */
  clientCertificate?: string
  /** A PEM file with its key, if it is not in the same file. */
  clientKey?: string
  /** `system` by default; the bundled ones are Mozilla's. */
  roots?: 'system' | 'bundled' | 'both'
  /** Addresses by host, instead of asking DNS. */
  resolve?: Record<string, string>
}

/** Hooks among the options. */
export type HookOptions = { [Name in HookName]?: Hooks[Name] | null | undefined }

/**
 * The settings of runs. Times are in milliseconds; of a limit, 0 is none. What a model does not take, it is asked without; a
 * `diagnostic` with the code `option_ignored` tells which, once in a run.
 */
export interface Settings extends HookOptions {
  /** `provider/id`, or an object, which may also be JSON in a string. */
  model: string | ModelSpec
  /** Answers instead of the model's server, whatever its name is. */
  provider?: Provider | undefined
  /** Functions around the execution of tools, the first outermost. */
  middleware?: readonly Middleware[]
  /** The server's address, with or without `/v1`, instead of the provider's own. A key is then optional. */
  baseUrl?: string | undefined
  /** Instead of the provider's environment variable. */
  apiKey?: string | undefined
  /**
   * Models that are asked, in this order, when the model fails before it said anything and no retry is left; one of the
   * same provider at the agent's address and with its key, another at its own and with its own.
   */
  fallbacks?: readonly (string | ModelSpec)[]
  /** For each request. */
  headers?: Record<string, string>
  /** 0 is sent as 0. */
  temperature?: number
  /** The most tokens the model may write per message. */
  maxTokens?: number
  /** Texts that end the answer when the model writes them. */
  stopSequences?: readonly string[]
  toolChoice?: ToolChoice
  /** Names the conversation to providers that keep caches or route by it. */
  sessionId?: string
  /** How long the provider is asked to keep what it has read. `short` by default. */
  cacheRetention?: 'short' | 'long' | 'none'
  /** `off` by default. */
  thinkingLevel?: ThinkingLevel
  thinkingBudgets?: ThinkingBudgets
  /** The most turns of one run; 0 for no limit. 10 by default. */
  maxTurns?: number
  /** Whether the calls of a message run side by side (default) or one after the other. */
  toolExecution?: ExecutionMode
  /** 8 by default. */
  maxParallelTools?: number
  /** How tool arguments are checked. `coerce` (default) turns numeric strings into numbers and the like. */
  validation?: 'coerce' | 'strict' | 'off'
  /** The most bytes of a tool's text that go to the model whole. 50,000 by default. */
  maxResultBytes?: number
  /** How much of the steering queue one poll takes; `one_at_a_time` by default. */
  steeringMode?: QueueMode
  /** How much of the follow-up queue one poll takes; `one_at_a_time` by default. */
  followUpMode?: QueueMode
  /** `skip_remaining` by default. */
  steeringPolicy?: SteeringPolicy
  /** How long an aborted run waits for tools that do not react. 1,000 by default. */
  abortGraceMs?: number
  /** The longest that setting up a connection may take. 10,000 by default. */
  connectTimeoutMs?: number
  /** The longest until the first byte of an answer. 120,000 by default. */
  firstByteTimeoutMs?: number
  /** The longest between two bytes of an answer. 120,000 by default. */
  idleTimeoutMs?: number
  /** The longest that one try of a model call may take. 600,000 by default. */
  requestTimeoutMs?: number
  /** The longest that a tool's call may take. No limit by default. */
  toolTimeoutMs?: number
  /** The longest that a run may take. No limit by default. */
  runTimeoutMs?: number
  /** How often a failed model call is tried again. 2 by default. */
  maxRetries?: number
  /** The pause before the first retry, at most; it doubles with each. 500 by default. */
  retryBaseMs?: number
  /** The longest pause before a retry; a provider that demands more fails at once. 60,000 by default. */
  maxRetryDelayMs?: number
  /** How requests leave this machine. Without it, the environment's proxy variables and the system's authorities count. */
  network?: Network
  /** Whether each frame is told as the provider sent it (`raw` events). */
  rawEvents?: boolean
}

/** What an agent is made with. */
export interface AgentOptions extends Settings {
  /** What the model is told first. */
  systemPrompt?: string
  tools?: readonly Tool[]
  /** The conversation so far, to go on from. */
  messages?: readonly MessageInput[]
}

/** Options that may be changed as such. Tools, hooks, middleware and the conversation have ways of their own. */
export type OptionChanges = Partial<Omit<AgentOptions, HookName | 'tools' | 'messages' | 'middleware' | 'provider'>>

/** @internal An agent's native half, and its callbacks. */
export interface Halves {
  readonly native: NativeAgent
  readonly callbacks: Callbacks
}

/** @internal Makes an agent's two halves. */
export function makeAgent(options: object): Halves {
  const callbacks = new Callbacks()
  const { tools = [], middleware = [], provider, ...others } = options as Partial<AgentOptions>
  const hooks = HOOKS.filter((name) => name in others).map((name) => {
    const hook = others[name]
    delete others[name]
    return [name, hook] as const
  })
  const number = provider ? keepProvider(callbacks, provider) : undefined
  const text = optionsJson(others)
  const halves: Halves = { native: enter(() => new native.Agent(bridge, callbacks.number, text, number)), callbacks }
  setTools(halves, tools)
  for (const [name, hook] of hooks) setHook(halves, name, hook ?? null)
  if (!Array.isArray(middleware)) throw invalidArgument('option "middleware": expected a list of functions')
  for (const [i, link] of middleware.entries()) addMiddleware(halves, link as Middleware, `option "middleware": [${i}]`)
  return halves
}

function keepProvider(callbacks: Callbacks, provider: Provider): number {
  expectFunction('option "provider"', provider)
  return callbacks.keepModel((answer) => runProvider(provider, answer))
}

/** @internal Options in JSON; `undefined` is as if left out, or `missing`. */
export function optionsJson(options: object, missing?: null): string {
  const texts: string[] = []
  for (const [name, value] of Object.entries(options)) {
    const given = value === undefined ? missing : name === 'messages' ? canonical(value) : value
    if (given === undefined) continue
    texts.push(`${JSON.stringify(name)}:${jsonOfArgument(`option ${JSON.stringify(name)}`, given)}`)
  }
  return `{${texts.join(',')}}`
}

/** @internal Replaces an agent's tools: all of them, or on an error none. */
export function setTools({ native, callbacks }: Halves, tools: readonly Tool[]): void {
  const list = nativeTools(tools)
  const execute = tools.map((tool) => callbacks.keep((call) => runTool(tool, call)))
  const prepare = tools.map(({ prepareArguments }) => prepareArguments && callbacks.keep((call) => prepareCall(prepareArguments, call)))
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

/** @internal Sets a hook, or with null takes it out. */
export function setHook({ native, callbacks }: Halves, name: HookName, hook: Hooks[HookName] | null): void {
  if (!HOOKS.includes(name)) throw invalidArgument(`there is no hook ${JSON.stringify(name)}; the hooks are ${HOOKS.join(', ')}`)
  if (hook !== null) expectFunction(`hook ${JSON.stringify(name)}`, hook)
  const number = hook === null ? undefined : callbacks.keep((call) => runHook(name, hook, call))
  enter(() => native.setHook(snakeCase(name), number))
}

/** @internal Adds a middleware inside of those there are. */
export function addMiddleware({ native, callbacks }: Halves, middleware: Middleware, what: string): void {
  expectFunction(what, middleware)
  const number = callbacks.keep((call) => runMiddleware(middleware, call))
  enter(() => native.addMiddleware(number))
}
