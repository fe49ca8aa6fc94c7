/**
 * The agent: a model, tools and a conversation.
 */

import { inspect } from 'node:util'
import type { InspectOptions } from 'node:util'

import { AgentRuns } from './agent-runs.js'
import { asBuffer } from './arguments.js'
import { bridge, enter, nextNumber } from './bridge.js'
import type { Listener } from './callbacks.js'
import { withToJson } from './canonical.js'
import { AgentError, errorOf, expectFunction, invalidArgument } from './errors.js'
import type { ErrorInfo } from './errors.js'
import { frozen } from './frozen.js'
import type { HookName, Hooks } from './hook.js'
import { jsonOfArgument } from './json.js'
import { messagesJson } from './message.js'
import type { AssistantMessage, Message, MessageInput } from './message.js'
import type { Middleware } from './middleware.js'
import { isBuiltIn, isObject, kindOf } from './object.js'
import { addMiddleware, makeAgent, setHook, setOptions, setProvider, setTools } from './agent-parts.js'
import type { AgentParts } from './agent-parts.js'
import type { AgentOptions, McpServing, McpToolInfo, ModelSpec, OptionChanges, ThinkingLevel, UndoneWrites } from './options.js'
import { native } from './native.js'
import type { NativeProgramSpec } from './native.js'
import type { OutputOf, OutputType } from './output.js'
import type { Provider } from './provider.js'
import type { SystemPrompt } from './requests.js'
import { Session, ask } from './session.js'
import type { InterruptedRun, OpenSession } from './session.js'
import type { Remembered, SuspendedCall } from './suspension.js'
import type { InputOf, ParametersSchema } from './schema.js'
import { asHandoff, asTool } from './subagent.js'
import type { HandoffOptions, SubagentOptions } from './subagent.js'
import type { Tool } from './tool.js'

const NONE: readonly Message[] = Object.freeze([])

/** A model, tools and a conversation. It has at most one active run. `T` is its option `output`. */
export class Agent<const T extends OutputType = OutputType> extends AgentRuns<OutputOf<T>> {
  readonly #parts: AgentParts
  #tools: readonly Tool[]
  #messages: readonly Message[] = NONE
  /** Of the conversation when `#messages` were read: as long as it is the same, messages are only appended. */
  #replacements = 0

  /**
   * @param options The model, and any other options.
   * @throws InvalidArgumentError for an unknown option or an invalid value (the message names it), a model that cannot be
   * used, or a session that has to be opened first; as `open` of a session for one that is opened here; InvalidStateError for an
   * open one that was closed, or that an agent has had.
   */
  constructor(options: AgentOptions & { output?: T | undefined }) {
    if (!isObject(options)) {
      throw invalidArgument('Agent: expected an object of options, for example { model: "anthropic/claude-sonnet-4-5" }')
    }
    const { session, ...others } = options
    const parts = makeAgent(others)
    super(parts)
    this.#parts = parts
    this.#tools = Object.freeze([...(options.tools ?? [])])
    // Last: nothing fails after it, which would leave the session open.
    const { native, callbacks } = parts
    if (session !== undefined && session !== null) callbacks.session = Session.giveTo(native, session)
    // An unknown property is refused, not silently kept: `agent.maxTurns = 3` was meant for setOptions. Subclasses may add
    // fields. Code that is not strict (CommonJS without 'use strict') does not hear of it: the language ignores there what an
    // object refuses, and a proxy, which could throw, has no private fields.
    if (new.target === Agent) Object.preventExtensions(this)
  }

  get #native(): AgentParts['native'] {
    return this.#parts.native
  }

  /** @internal What a program of this agent is. */
  programSpec(hasModel: boolean, name: string, description: string): NativeProgramSpec {
    return enter(() => native.ProgramSpec.of(bridge, this.#native, hasModel, name, description))
  }

  /**
   * Makes a tool that runs this agent, as a subagent of the agent that calls it.
   *
   * Each call has an agent of its own, with this one's configuration as it is then, and begins with the messages that this one
   * has now: several calls may run at once, and none knows of another. The call's result is the agent's typed answer or its last
   * text; if the run ends otherwise, an error that says so. What it uses counts as the calling run's, too.
   *
   * @param options Name and description for the model, and any other options.
   * @throws InvalidArgumentError for a wrong or unknown option.
   */
  asTool<const S extends ParametersSchema>(options: SubagentOptions<S>): Tool<InputOf<S>> {
    return asTool(this.#parts, this.messages, options)
  }

  /**
   * Makes a tool that hands the conversation to this agent, for the rest of the run that calls it: from the next turn on the run
   * has this agent's system prompt, model, tools, hooks, middleware, deps and options, as they are then, and the transcript so
   * far. The limits of the run, its typed answer, its session and its listeners stay. A `diagnostic` (`handoff`) says so. The
   * next run begins with its own agent again.
   *
   * @param options Name and description for the model, and any other options of a tool.
   * @throws InvalidArgumentError for a wrong or unknown option.
   */
  asHandoff<const S extends ParametersSchema>(options: HandoffOptions<S>): Tool<InputOf<S>> {
    return asHandoff(this.#parts, options)
  }

  /**
   * The conversation as one JSON text: messages, queues, and calls that wait for a decision. `Agent.fromExport` goes on with it,
   * in another process or language. It has no settings, no tools and no keys.
   *
   * @param key At least 32 random bytes of yours: the text then has a signature, and `fromExport` refuses what was changed. A
   * signature stops changes, not reuse: an older text of the same conversation has a valid one, too.
   * @throws BusyError while a run is active; InvalidArgumentError for a key of less than 32 bytes.
   */
  export(key?: string | Uint8Array): string {
    return enter(() => this.#native.exportText(asBuffer(key)))
  }

  /**
   * Creates an agent that goes on with the conversation that `export` returned.
   *
   * @param text What `export` returned, in any language.
   * @param options The agent's options, as of the constructor, without `messages`: the export has them.
   * @param key The key that it was signed with.
   * @throws InvalidArgumentError for a text that is no export, and for the option `messages`; with a key for a text that is not
   * signed, was signed with another key, or was changed; without one for one that is signed.
   * @throws NewerVersionError for an export of a newer version of this library.
   */
  static fromExport(text: string, options: AgentOptions, key?: string | Uint8Array): Agent {
    if (typeof text !== 'string') throw invalidArgument(`export: expected text, got ${typeof text}`)
    const bytes = asBuffer(key)
    const agent = new Agent(options)
    try {
      enter(() => agent.#native.beginWithExport(text, bytes))
    } catch (error) {
      // Else it would be open until the agent is garbage-collected.
      agent.session?.close().catch(() => {})
      throw error
    }
    return agent
  }

  /**
   * Clears the conversation, both queues, the last error, and what was decided for always.
   *
   * @throws BusyError during a run.
   */
  reset(): void {
    enter(() => this.#native.reset())
  }

  /**
   * Forgets what was decided for always about a rule of `remembered`, or all of it.
   *
   * @throws BusyError during a run; InvalidArgumentError for a text that is no rule.
   */
  forget(rule?: string): void {
    if (rule !== undefined && rule !== null && typeof rule !== 'string') {
      throw invalidArgument(`forget: expected a rule, which is a text, got ${typeof rule}`)
    }
    enter(() => this.#native.forget(rule))
  }

  /**
   * Appends a message to the conversation.
   *
   * @throws BusyError during a run; InvalidArgumentError for an invalid message.
   */
  appendMessage(message: MessageInput): void {
    this.appendMessages([message])
  }

  /**
   * Appends messages to the conversation.
   *
   * @throws BusyError during a run; InvalidArgumentError for an invalid message.
   */
  appendMessages(messages: readonly MessageInput[]): void {
    const text = messagesJson('messages', messages)
    enter(() => this.#native.appendMessages(text))
  }

  /**
   * Takes back the newest writes of the built-in tools `write_file` and `edit_file`, and commits of `git`, in this conversation
   * that were not taken back: `count` of them, or all if there are fewer, the newest first. It stops at a file that was changed
   * since, and at a commit that others followed. What was taken back is appended to the conversation as a message of the role
   * `undo_writes`, so that a session keeps it. Blocks while it writes.
   *
   * @throws BusyError during a run; InvalidStateError without built-in tools, and while calls wait for a decision;
   *   InvalidArgumentError for what is no whole number from 0 on.
   */
  undoWrites(count: number): UndoneWrites {
    if (!Number.isSafeInteger(count)) {
      const got = typeof count === 'number' ? count : typeof count
      throw invalidArgument(`count: expected a whole number from 0 on, got ${got}`)
    }
    return JSON.parse(enter(() => this.#native.undoWrites(count)))
  }

  /**
   * Replaces the conversation.
   *
   * @throws BusyError during a run; InvalidArgumentError for an invalid message.
   */
  replaceMessages(messages: readonly MessageInput[]): void {
    const text = messagesJson('messages', messages)
    enter(() => this.#native.replaceMessages(text))
  }

  /**
   * Clears the conversation.
   *
   * @throws BusyError during a run.
   */
  clearMessages(): void {
    this.replaceMessages([])
  }

  /**
   * Sets options, such as `temperature`. An undefined value restores the default. On an error nothing changes. A change during a
   * run takes effect at its next turn.
   *
   * @param options The options to change.
   * @throws InvalidArgumentError for an unknown option or an invalid value (the message names it).
   */
  setOptions(options: OptionChanges): void {
    if (!isObject(options) || isBuiltIn(options)) {
      throw invalidArgument('setOptions: expected an object of options, for example { temperature: 0 }')
    }
    setOptions(this.#parts, options)
  }

  /**
   * Sets a hook, or with null removes it. A change during a run takes effect at its next turn.
   *
   * @param name The name of the hook.
   * @param hook The function that replaces the current one.
   * @throws InvalidArgumentError if there is no such hook.
   */
  setHook<Name extends HookName>(name: Name, hook: Hooks[Name] | null): void {
    setHook(this.#parts, name, hook)
  }

  /**
   * Sets the custom provider of this name, as the option `providers` does, or with null removes it. A change during a run takes
   * effect at its next turn.
   *
   * @param name The name with which its models begin; null for the one of the option `provider`.
   * @param provider The function that replaces the current one.
   * @throws InvalidArgumentError for an empty name or one with a slash, and if the model or a fallback cannot be used without it;
   * nothing changes then.
   */
  setProvider(name: string | null, provider: Provider | null): void {
    setProvider(this.#parts, name, provider)
  }

  /**
   * Loads a plugin, a shared library, and adds its tools, hooks, middleware and providers: all, or on an error none. It may do
   * what this process may, so it must be trusted as a native addon is. It stays loaded until the process ends, and what it has
   * added stays when `tools` is set.
   *
   * @param path Its path, with a folder, `'./dice.so'`: plugins are not searched for.
   * @throws NotFoundError if there is no such file; InvalidArgumentError for what is no plugin, and for a tool of a name that is
   * taken; NewerVersionError for one that needs a newer version of this package; InvalidStateError for a hook or a provider that
   * the agent has; IOError for what the system's loader refuses; and what the plugin fails with.
   */
  addPlugin(path: string): void {
    if (typeof path !== 'string') throw invalidArgument(`addPlugin: expected a path, got ${kindOf(path)}`)
    enter(() => this.#native.addPlugin(path))
  }

  /**
   * Adds a function around the execution of tools, as the innermost.
   *
   * @throws InvalidArgumentError if it is not a function.
   */
  addMiddleware(middleware: Middleware): void {
    addMiddleware(this.#parts, middleware, 'addMiddleware')
  }

  /**
   * Calls a function with each event of this agent's runs. The run waits for it, and for the promise it returns. Listeners are
   * called in the order of their subscription. A failure is counted in `listenerErrors` and reported in a `diagnostic` event, and
   * does not end the run. So is a promise that is not settled within `listenerTimeoutMs`: the listener gets no event until it is.
   * A listener that blocks the main thread cannot be left so.
   *
   * @returns A function that unsubscribes.
   * @throws InvalidArgumentError if it is not a function.
   */
  subscribe(listener: Listener): () => void {
    expectFunction('subscribe', listener)
    const { native, callbacks } = this.#parts
    const number = nextNumber()
    callbacks.listen(number, listener)
    native.subscribe(number)
    return () => {
      callbacks.unlisten(number)
      native.unsubscribe(number)
    }
  }

  /** The system prompt. A change during a run takes effect at its next turn. */
  get systemPrompt(): string {
    return this.#native.systemPrompt
  }

  set systemPrompt(text: string | SystemPrompt) {
    this.setOptions({ systemPrompt: text })
  }

  /** The model as `provider/id`; may be set to a name or an object. A change during a run takes effect at its next turn. */
  get model(): string {
    return this.#native.model
  }

  set model(model: string | ModelSpec) {
    this.setOptions({ model })
  }

  /** How much thinking is requested. A change during a run takes effect at its next turn. */
  get thinkingLevel(): ThinkingLevel {
    return this.#native.thinkingLevel as ThinkingLevel
  }

  set thinkingLevel(thinkingLevel: ThinkingLevel) {
    this.setOptions({ thinkingLevel })
  }

  /** The tools, as a frozen array. A change during a run takes effect at its next turn; calls already made continue. */
  get tools(): readonly Tool[] {
    return this.#tools
  }

  set tools(tools: readonly Tool[]) {
    setTools(this.#parts, tools)
    this.#tools = Object.freeze([...tools])
  }

  /**
   * The conversation: the messages of all `message_end` events, frozen with all that is in them. The same array until it changes.
   * To change a message, give a changed copy to `replaceMessages`.
   */
  get messages(): readonly Message[] {
    const { replacements, messageCount: count } = this.#native
    if (replacements !== this.#replacements) {
      this.#messages = NONE
      this.#replacements = replacements
    }
    if (count !== this.#messages.length) {
      let messages = [...this.#messages]
      // More than once only where one text cannot hold them.
      while (messages.length < count) {
        const more: Message[] = JSON.parse(this.#native.messages(messages.length))
        messages = messages.concat(frozen(withToJson(more)))
      }
      this.#messages = Object.freeze(messages)
    }
    return this.#messages
  }

  /**
   * The session that keeps the conversation; null without one. Closing it waits until all is written; then the agent takes no
   * more changes, and others can open the session.
   */
  get session(): OpenSession | null {
    return this.#parts.callbacks.session
  }

  /**
   * The run that was interrupted when the process that had the session ended, until another run begins; `resume` goes on with it.
   * Null also when there is nothing left to go on with.
   */
  get interrupted(): InterruptedRun | null {
    const text = this.#native.interrupted
    return typeof text === 'string' ? withToJson<InterruptedRun>(JSON.parse(text)) : null
  }

  /**
   * Waits until the session's store has all changes that were made before. Does nothing without a session.
   *
   * @throws AgentError of the store, also for what was changed before; InvalidStateError inside a callback of this agent, where
   * the wait might never end.
   */
  async flush(): Promise<void> {
    const { native, callbacks } = this.#parts
    await callbacks.session?.flushed(native, callbacks.isInside)
  }

  /**
   * Connects to the agent's MCP servers now, and not when the first run begins: `tools` of its state then has theirs.
   *
   * @throws AgentError of a server that cannot be reached and is not optional.
   */
  async connectMcp(): Promise<void> {
    const { native } = this.#parts
    await ask(undefined, (ticket) => native.connectMcp(ticket))
  }

  /**
   * The tools that the agent's MCP servers give it, in the order in which the model has them. Connects to the servers if need be;
   * of an optional one that cannot be reached there are none.
   *
   * @throws AgentError of a server that cannot be reached and is not optional.
   */
  async mcpTools(): Promise<McpToolInfo[]> {
    const { native } = this.#parts
    return await ask(undefined, (ticket) => native.mcpTools(ticket))
  }

  /**
   * Serves this agent as a server of the Model Context Protocol over standard input and output, until the input ends: to a client
   * the agent is a tool, `ask`, whose call is a run. Standard output is the protocol's alone: what the program writes to it
   * meanwhile (`console.log`) goes to standard error. See `docs/mcp.md`.
   *
   * @throws InvalidArgumentError for an unknown or wrong option, and for a name that one of the agent's tools has;
   * InvalidStateError where standard input is served already.
   */
  async serveMcp(options: McpServing = {}): Promise<void> {
    const { native } = this.#parts
    if (!isObject(options)) throw invalidArgument(`options: expected an object such as { name: 'ask' }, got ${kindOf(options)}`)
    const text = jsonOfArgument('options', options)
    const { stdout, stderr } = process
    const write = stdout.write
    stdout.write = stderr.write.bind(stderr) as typeof stdout.write
    try {
      await ask(undefined, (ticket) => native.serveMcp(text, ticket))
    } finally {
      stdout.write = write
      // The callbacks of this agent were to be there until now.
      void this.#parts
    }
  }

  /**
   * Closes the connections to the agent's MCP servers, and waits for their processes to end. The next run connects again. When
   * the last agent goes that has a server, its connection is closed without waiting.
   */
  async closeMcp(): Promise<void> {
    const { native } = this.#parts
    await ask(undefined, (ticket) => native.closeMcp(ticket))
  }

  /** Whether a run is active: from its start until the agent is idle. */
  get isStreaming(): boolean {
    return this.#native.isStreaming
  }

  /** The assistant message that is being streamed, as far as received; null between messages. */
  get streamingMessage(): AssistantMessage | null {
    const text = this.#native.streamingMessage
    return typeof text === 'string' ? withToJson<AssistantMessage>(JSON.parse(text)) : null
  }

  /** The tool calls that wait for a decision, which `resume` takes; none while a run is active. */
  get pending(): SuspendedCall[] {
    return withToJson<SuspendedCall[]>(JSON.parse(this.#native.pending))
  }

  /** What was decided for always, as rules. During a run, it is as it was at the end of the last turn. */
  get remembered(): Remembered {
    return JSON.parse(this.#native.remembered) as Remembered
  }

  /** The ids of the tool calls that are running. */
  get pendingToolCalls(): readonly string[] {
    return this.#native.pendingToolCalls
  }

  /** The error of the last run, if its outcome was `error` or `aborted`; else null. */
  get error(): AgentError | null {
    const text = this.#native.error
    return typeof text === 'string' ? errorOf(JSON.parse(text) as ErrorInfo) : null
  }

  /** The number of times a listener failed. */
  get listenerErrors(): number {
    return this.#native.listenerErrors
  }

  /** @internal What `console.log` shows: no message, and no option, of which some are secret. */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    const { model, isStreaming } = this
    const tools = this.tools.map((tool) => tool.name)
    return `${this.constructor.name} ${inspect({ model, tools, messages: this.#native.messageCount, isStreaming }, options)}`
  }
}

// Not in the class, where it would let TypeScript assign. Without it, code that is not strict would assign in vain.
Object.defineProperty(Agent.prototype, 'messages', {
  ...Object.getOwnPropertyDescriptor(Agent.prototype, 'messages'),
  set() {
    throw new TypeError('messages: cannot be assigned; give the new ones to replaceMessages(), or more to appendMessages()')
  },
})
