/**
 * The agent: a model, tools and a conversation.
 */

import { enter, nextNumber, settled } from './bridge.js'
import type { Listener } from './callbacks.js'
import { isObject, withToJson } from './canonical.js'
import { AgentError, errorOf, expectFunction, invalidArgument } from './errors.js'
import type { ErrorInfo } from './errors.js'
import type { HookName, Hooks } from './hook.js'
import { messagesJson, promptJson } from './message.js'
import type { AssistantMessage, Message, MessageInput, PromptInput } from './message.js'
import type { Middleware } from './middleware.js'
import { addMiddleware, makeAgent, optionsJson, setHook, setTools } from './options.js'
import type { AgentOptions, Halves, ModelSpec, OptionChanges, ThinkingLevel } from './options.js'
import { Run, resultOf } from './run.js'
import type { RunResult } from './run.js'
import { Cancellation, signalOf } from './signal.js'
import type { RunOptions } from './signal.js'
import type { Tool } from './tool.js'

const NONE: readonly Message[] = Object.freeze([])

/** A model, tools and a conversation. It has at most one run at a time. */
export class Agent {
  readonly #halves: Halves
  #tools: readonly Tool[]
  #messages: readonly Message[] = NONE

  /** @throws InvalidArgumentError for an unknown option or a wrong value (names it), or a model that cannot be used. */
  constructor(options: AgentOptions) {
    if (!isObject(options)) {
      throw invalidArgument('Agent: expected an object of options, for example { model: "anthropic/claude-sonnet-4-5" }')
    }
    this.#halves = makeAgent(options)
    this.#tools = [...(options.tools ?? [])]
    // What is no setting is refused, not kept unread: `agent.maxTurns = 3` means setOptions. A class of one's own may add fields.
    if (new.target === Agent) Object.preventExtensions(this)
  }

  get #native(): Halves['native'] {
    return this.#halves.native
  }

  /**
   * Runs until the model is done.
   *
   * @throws AgentError when the outcome is `error` (the error has the result), or the run cannot start: BusyError while another
   * is active, InvalidStateError inside a callback of this agent, InvalidArgumentError for a prompt that is none.
   */
  async prompt(prompt: PromptInput, options?: RunOptions): Promise<RunResult> {
    return this.#result(promptJson(prompt), options)
  }

  /**
   * Starts a run and gives its events as they come.
   *
   * @throws AgentError when the run cannot start, as `prompt`.
   */
  stream(prompt: PromptInput, options?: RunOptions): Run {
    return this.#run(promptJson(prompt), options)
  }

  /**
   * Goes on from the conversation as it stands, adding no message: after a failure, an abort or `maxTurns`; after an answer, with
   * what is queued as steering, else as follow-up.
   *
   * @throws AgentError as `prompt`; InvalidStateError for an empty conversation, or one that ends with an answer while nothing is
   * queued.
   */
  async resume(options?: RunOptions): Promise<RunResult> {
    return this.#result(undefined, options)
  }

  /**
   * As `resume`, and gives the events as they come.
   *
   * @throws AgentError when the run cannot start, as `resume`.
   */
  streamResume(options?: RunOptions): Run {
    return this.#run(undefined, options)
  }

  async #result(text: string | undefined, options: RunOptions | undefined): Promise<RunResult> {
    const { native, callbacks } = this.#halves
    const signal = signalOf(options)
    const ticket = nextNumber()
    enter(() => native.prompt(text, ticket, callbacks.isInside, signal?.aborted ?? false))
    callbacks.begin()
    const cancellation = signal && new Cancellation(signal, native.abortHandle())
    try {
      return resultOf(await settled(ticket, callbacks), cancellation)
    } finally {
      cancellation?.end()
    }
  }

  #run(text: string | undefined, options: RunOptions | undefined): Run {
    const { native, callbacks } = this.#halves
    const run = new Run(callbacks, signalOf(options), (ticket, aborted) => native.stream(text, ticket, callbacks.isInside, aborted))
    callbacks.begin()
    return run
  }

  /**
   * Queues a message (or several) that joins the active run, or the next one, as soon as it can: before the first model call, after
   * a turn, or among its tool calls, of which those that do not run yet are skipped (see `steeringPolicy`).
   *
   * @throws InvalidArgumentError for what is no message.
   */
  steer(message: PromptInput): void {
    const text = promptJson(message)
    enter(() => this.#native.steer(text))
  }

  /**
   * Queues a message (or several) for when a run would have ended.
   *
   * @throws InvalidArgumentError for what is no message.
   */
  followUp(message: PromptInput): void {
    const text = promptJson(message)
    enter(() => this.#native.followUp(text))
  }

  /** Takes all messages out of the steering queue that no turn has begun with. */
  clearSteeringQueue(): void {
    this.#native.clearSteeringQueue()
  }

  /** Takes all messages out of the follow-up queue that no turn has begun with. */
  clearFollowUpQueue(): void {
    this.#native.clearFollowUpQueue()
  }

  /** Takes all messages out of both queues that no turn has begun with. */
  clearAllQueues(): void {
    this.#native.clearAllQueues()
  }

  /** Whether a message waits in either queue, or is about to be shown. */
  hasQueuedMessages(): boolean {
    return this.#native.hasQueuedMessages()
  }

  /** Aborts the active run, if there is one. Returns at once. */
  abort(): void {
    this.#native.abort()
  }

  /**
   * Waits until no run is active and all listeners have returned.
   *
   * @throws InvalidStateError inside a callback of this agent, where it would wait for itself.
   */
  async waitForIdle(): Promise<void> {
    const { native, callbacks } = this.#halves
    const ticket = nextNumber()
    enter(() => native.waitForIdle(ticket, callbacks.isInside))
    await settled(ticket, callbacks)
  }

  /**
   * Empties the conversation and both queues, and forgets the last error.
   *
   * @throws BusyError during a run.
   */
  reset(): void {
    enter(() => this.#native.reset())
    this.#messages = NONE
  }

  /**
   * Appends a message to the conversation.
   *
   * @throws BusyError during a run; InvalidArgumentError for what is no message.
   */
  appendMessage(message: MessageInput): void {
    this.appendMessages([message])
  }

  /**
   * Appends messages to the conversation.
   *
   * @throws BusyError during a run; InvalidArgumentError for what is no list of messages.
   */
  appendMessages(messages: readonly MessageInput[]): void {
    const text = messagesJson('messages', messages)
    enter(() => this.#native.appendMessages(text))
  }

  /**
   * Replaces the conversation.
   *
   * @throws BusyError during a run; InvalidArgumentError for what is no list of messages.
   */
  replaceMessages(messages: readonly MessageInput[]): void {
    const text = messagesJson('messages', messages)
    enter(() => this.#native.replaceMessages(text))
    this.#messages = NONE
  }

  /**
   * Empties the conversation.
   *
   * @throws BusyError during a run.
   */
  clearMessages(): void {
    this.replaceMessages([])
  }

  /**
   * Sets options, such as `temperature`: all of them, or on an error none. What is undefined gets its default. A change during a run
   * takes effect at its next turn.
   *
   * @throws InvalidArgumentError for an unknown option or a wrong value (names it).
   */
  setOptions(options: OptionChanges): void {
    if (!isObject(options)) throw invalidArgument('setOptions: expected an object of options, for example { temperature: 0 }')
    const text = optionsJson(options, null)
    enter(() => this.#native.setOptions(text))
  }

  /**
   * Sets a hook in place of the one there is, or with null takes it out. A change during a run takes effect at its next turn.
   *
   * @throws InvalidArgumentError for a name that is no hook's.
   */
  setHook<Name extends HookName>(name: Name, hook: Hooks[Name] | null): void {
    setHook(this.#halves, name, hook)
  }

  /** Adds a function around the execution of tools, inside of those there are. */
  addMiddleware(middleware: Middleware): void {
    addMiddleware(this.#halves, middleware, 'addMiddleware')
  }

  /**
   * Has a function told each event of this agent's runs, which wait for it. Listeners are called in the order they subscribed.
   * One that fails is counted and told in a `diagnostic`; it never breaks the run. Gives the function that unsubscribes.
   */
  subscribe(listener: Listener): () => void {
    expectFunction('subscribe', listener)
    const { native, callbacks } = this.#halves
    const number = nextNumber()
    callbacks.listen(number, listener)
    native.subscribe(number)
    return () => {
      callbacks.unlisten(number)
      native.unsubscribe(number)
    }
  }

  /** What the model is told first. A change during a run takes effect at its next turn. */
  get systemPrompt(): string {
    return this.#native.systemPrompt
  }

  set systemPrompt(text: string) {
    this.setOptions({ systemPrompt: text })
  }

  /** The model as `provider/id`. A change (to a name or an object) during a run takes effect at its next turn. */
  get model(): string {
    return this.#native.model
  }

  set model(model: string | ModelSpec) {
    this.setOptions({ model })
  }

  /** How much thinking is asked for. A change during a run takes effect at its next turn. */
  get thinkingLevel(): ThinkingLevel {
    return this.#native.thinkingLevel as ThinkingLevel
  }

  set thinkingLevel(thinkingLevel: ThinkingLevel) {
    this.setOptions({ thinkingLevel })
  }

  /** A change during a run takes effect at its next turn. Calls that were made before go on. */
  get tools(): readonly Tool[] {
    return this.#tools
  }

  set tools(tools: readonly Tool[]) {
    setTools(this.#halves, tools)
    this.#tools = [...tools]
  }

  /** The conversation: exactly what `message_end` events have shown. The same array until it changes. */
  get messages(): readonly Message[] {
    const known = this.#messages.length
    if (this.#native.messageCount !== known) {
      const added = withToJson<Message[]>(JSON.parse(this.#native.messages(known)))
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
    return typeof text === 'string' ? withToJson<AssistantMessage>(JSON.parse(text)) : null
  }

  /** The ids of the calls between their execution's start and end. */
  get pendingToolCalls(): readonly string[] {
    return this.#native.pendingToolCalls
  }

  /** The error of the last run, if its outcome was `error` or `aborted`. */
  get error(): AgentError | null {
    const text = this.#native.error
    return typeof text === 'string' ? errorOf(JSON.parse(text) as ErrorInfo) : null
  }

  /** How many times a listener failed. */
  get listenerErrors(): number {
    return this.#native.listenerErrors
  }
}
