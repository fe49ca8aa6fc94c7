/**
 * The agent: a model, tools and a conversation.
 */

import { bridge, enter, nextNumber, settled } from './bridge.js'
import { Callbacks } from './callbacks.js'
import type { Listener } from './callbacks.js'
import { AgentError, errorOf, invalidArgument } from './errors.js'
import type { ErrorInfo } from './errors.js'
import { NotJson, jsonOf } from './json.js'
import { MESSAGE, canonicalPrompt } from './message.js'
import type { AssistantMessage, Message, MessageInput, PromptInput } from './message.js'
import type { NativeAgent, NativeTool } from './native.js'
import { native } from './native.js'
import { Run, resultOf } from './run.js'
import type { RunResult } from './run.js'
import { ERROR, isObject } from './shape.js'
import { Tool } from './tool.js'
import type { ExecutionMode } from './tool.js'

/** A model and what is known of it, where `provider/id` does not say enough. */
export interface ModelOptions {
  provider: string
  id: string
  /** The wire format, where the provider's own is not meant. */
  protocol?: string
  /** The server's address, with or without `/v1`. */
  baseUrl?: string
  headers?: Record<string, string>
  contextWindow?: number
  maxOutputTokens?: number
  /** What it can read. */
  input?: ('text' | 'image')[]
  thinking?: unknown
  /** US dollars per million tokens. */
  cost?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number }
  /** What its server does differently. */
  quirks?: Record<string, unknown>
  /** The answers of a `scripted` model. */
  script?: unknown
}

export interface AgentOptions {
  /** `provider/id`, or an object. */
  model: string | ModelOptions
  /** What the model is told first. */
  systemPrompt?: string
  tools?: readonly Tool[]
  /** The conversation so far, to go on from. */
  messages?: readonly MessageInput[]
  /** The server's address, with or without `/v1`, instead of the provider's own. A key is then optional. */
  baseUrl?: string | undefined
  /** Instead of the provider's environment variable. */
  apiKey?: string | undefined
  /** For each request. */
  headers?: Record<string, string>
  /** 0 is sent as 0. */
  temperature?: number
  /** The most tokens the model may write per message. */
  maxTokens?: number
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
  /** How long an aborted run waits for tools that do not react. 1,000 by default. */
  abortGraceMs?: number
  /** Whether each frame is told as the provider sent it (`raw` events). */
  rawEvents?: boolean
}

/** A model, tools and a conversation. It has at most one run at a time. */
export class Agent {
  readonly #native: NativeAgent
  readonly #callbacks = new Callbacks()
  #messages: readonly Message[] = Object.freeze([])

  /** @throws InvalidArgumentError for an unknown option or a wrong value (names it), or a model that cannot be used. */
  constructor(options: AgentOptions) {
    if (!isObject(options)) {
      throw invalidArgument('Agent: expected an object of options, for example { model: "anthropic/claude-sonnet-4-5" }')
    }
    const { tools = [], ...others } = options
    const text = optionsJson(others)
    const list = nativeTools(tools)
    this.#native = enter(() => new native.Agent(bridge, this.#callbacks.number, text, list))
    this.#callbacks.tools = [...tools]
  }

  /**
   * Runs until the model is done.
   *
   * @throws AgentError when the outcome is `error` (the error has the result), or the run cannot start: BusyError while another
   * is active, InvalidStateError inside a tool or listener of this agent, InvalidArgumentError for a prompt that is none.
   */
  async prompt(prompt: PromptInput): Promise<RunResult> {
    const text = promptJson(prompt)
    const ticket = nextNumber()
    enter(() => this.#native.prompt(text, ticket, this.#callbacks.isInside))
    this.#callbacks.begin()
    return resultOf(await settled(ticket))
  }

  /**
   * Starts a run and gives its events as they come.
   *
   * @throws AgentError when the run cannot start, as `prompt`.
   */
  stream(prompt: PromptInput): Run {
    const text = promptJson(prompt)
    const run = new Run(this.#callbacks, (ticket) => this.#native.stream(text, ticket, this.#callbacks.isInside))
    this.#callbacks.begin()
    return run
  }

  /** Aborts the active run, if there is one. Returns at once. */
  abort(): void {
    this.#native.abort()
  }

  /**
   * Waits until no run is active and all listeners have returned.
   *
   * @throws InvalidStateError inside a tool or listener of this agent, where it would wait for itself.
   */
  async waitForIdle(): Promise<void> {
    const ticket = nextNumber()
    enter(() => this.#native.waitForIdle(ticket, this.#callbacks.isInside))
    await settled(ticket)
  }

  /**
   * Has a function told each event of this agent's runs, which wait for it. Listeners are called in the order they subscribed.
   * One that fails is counted and told in a `diagnostic`; it never breaks the run. Gives the function that unsubscribes.
   */
  subscribe(listener: Listener): () => void {
    if (typeof listener !== 'function') throw invalidArgument(`subscribe: expected a function, got ${typeof listener}`)
    const number = nextNumber()
    this.#callbacks.listen(number, listener)
    this.#native.subscribe(number)
    return () => {
      this.#callbacks.unlisten(number)
      this.#native.unsubscribe(number)
    }
  }

  /** What the model is told first. A change during a run takes effect at its next turn. */
  get systemPrompt(): string {
    return this.#native.systemPrompt
  }

  set systemPrompt(text: string) {
    this.#set({ systemPrompt: text })
  }

  /** The model as `provider/id`. A change (to a name or an object) during a run takes effect at its next turn. */
  get model(): string {
    return this.#native.model
  }

  set model(model: string | ModelOptions) {
    this.#set({ model })
  }

  /** A change during a run takes effect at its next turn. */
  get tools(): readonly Tool[] {
    return this.#callbacks.tools
  }

  set tools(tools: readonly Tool[]) {
    const list = nativeTools(tools)
    enter(() => this.#native.setTools(list))
    this.#callbacks.tools = [...tools]
  }

  /** The conversation: exactly what `message_end` events have shown. The same array until it changes. */
  get messages(): readonly Message[] {
    const known = this.#messages.length
    if (this.#native.messageCount !== known) {
      const added = MESSAGE.camel(JSON.parse(this.#native.messages(known))) as Message[]
      this.#messages = Object.freeze([...this.#messages, ...added])
    }
    return this.#messages
  }

  /** Whether a run is active: from its acceptance until the agent is idle. */
  get isStreaming(): boolean {
    return this.#native.isStreaming
  }

  /** The assistant's message that is being streamed, as it stands; null between messages. */
  get streamingMessage(): AssistantMessage | null {
    const text = this.#native.streamingMessage
    return typeof text === 'string' ? (MESSAGE.camel(JSON.parse(text)) as AssistantMessage) : null
  }

  /** The ids of the calls between their execution's start and end. */
  get pendingToolCalls(): readonly string[] {
    return this.#native.pendingToolCalls
  }

  /** The error of the last run, if its outcome was `error` or `aborted`. */
  get error(): AgentError | null {
    const text = this.#native.error
    return typeof text === 'string' ? errorOf(ERROR.camel(JSON.parse(text)) as ErrorInfo) : null
  }

  /** How many times a listener failed. */
  get listenerErrors(): number {
    return this.#native.listenerErrors
  }

  #set(options: Partial<AgentOptions>): void {
    const text = optionsJson(options, null)
    enter(() => this.#native.setOptions(text))
  }
}

/** Options in JSON; `undefined` is as if left out, or `missing`. */
function optionsJson(options: object, missing?: null): string {
  const texts: string[] = []
  for (const [name, value] of Object.entries(options)) {
    const given = value === undefined ? missing : name === 'messages' ? MESSAGE.canonical(value) : value
    if (given === undefined) continue
    try {
      texts.push(`${JSON.stringify(name)}:${jsonOf(given)}`)
    } catch (error) {
      throw error instanceof NotJson ? invalidArgument(`option ${JSON.stringify(name)}: ${error.message}`) : error
    }
  }
  return `{${texts.join(',')}}`
}

function promptJson(prompt: PromptInput): string {
  try {
    return jsonOf(canonicalPrompt(prompt))
  } catch (error) {
    throw error instanceof NotJson ? invalidArgument(`prompt: ${error.message}`) : error
  }
}

function nativeTools(tools: readonly Tool[]): NativeTool[] {
  if (!Array.isArray(tools)) throw invalidArgument('option "tools": expected a list of tools, each made with tool({ … })')
  return tools.map((item: unknown, index) => {
    const inside = Tool.inside(item)
    if (inside) return inside.native
    throw invalidArgument(`option "tools": [${index}]: expected a tool made with tool({ … }), got ${typeof item}`)
  })
}
