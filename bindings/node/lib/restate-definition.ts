/** What a handler of {@link restateAgent} knows of its agent. */

import { TerminalError, serde } from '@restatedev/restate-sdk'

import { wholeNumber } from './arguments.js'
import { AgentError, invalidArgument } from './errors.js'
import { Loop } from './loop.js'
import type { LoopStart } from './loop.js'
import type { Tool } from './tool.js'

/**
 * A server of Restate takes messages of 32 MiB, unless its `message-size-limit` is another one. The rest is for what it adds to a
 * value, and for a run's result, which has its messages and the last one twice.
 */
const MAX_CONVERSATION_BYTES = 30 * 1024 * 1024

/** The HTTP status of an error that the caller of a handler gets, by its kind. */
const STATUSES: Readonly<Record<string, number>> = { invalid_argument: 400, invalid_state: 409 }

/** @internal The name, the model, the tools and the options of an agent. */
export class Definition {
  readonly name: string
  /** The options of exchanges: they stay in this process. */
  readonly exchange: object
  readonly #options: object
  readonly #maxBytes: number
  readonly #tools: ReadonlyMap<string, Tool>

  constructor(name: string, options: LoopStart, tools: readonly Tool[], exchange: object, maxBytes: number | undefined) {
    this.name = name
    this.#maxBytes = wholeNumber('option "maxConversationBytes"', maxBytes, MAX_CONVERSATION_BYTES, 1)
    this.#options = options
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]))
    this.exchange = exchange
    // What is wrong is reported when the program starts, and not in the first prompt.
    this.loop({ prompt: '?' })
    Loop.checkExchange(exchange)
  }

  /** The loop of a run. Throws what `Loop` throws. */
  loop(start: Record<string, unknown>): Loop {
    if ('prompt' in start && start.prompt == null) {
      // A loop without a prompt resumes.
      throw invalidArgument('prompt: expected text, a message or a list of messages, got null')
    }
    return new Loop({ ...this.#options, tools: [...this.#tools.values()], ...start } as unknown as LoopStart)
  }

  /** The tool of a call. A loop answers for unknown tools itself. */
  tool(name: string): Tool {
    const tool = this.#tools.get(name)
    if (tool === undefined) throw new Error(`the loop asks for the tool "${name}", which the agent does not have`)
    return tool
  }

  /** Throws the error of what is no message, for the caller of a handler. */
  checkMessage(message: unknown): void {
    raising(() => this.loop({ prompt: message }))
  }

  /** The JSON of a conversation. Throws the error of one that Restate does not take: it would try again for ever. */
  toStore(kept: object): Uint8Array {
    const data = serde.json.serialize(kept)
    if (data.length > this.#maxBytes) {
      const text = `the conversation would have ${data.length} bytes, and maxConversationBytes is ${this.#maxBytes}`
      const rest = 'it stays as it was before this run; begin a new session, with a summary of this one'
      throw new TerminalError(`${text}: ${rest}`, { errorCode: 413 })
    }
    return data
  }

  /** Throws the error of decisions that do not fit, for the caller of a handler. */
  checkDecisions(decisions: unknown, exported: object | undefined): void {
    raising(() => this.loop({ decisions, export: exported === undefined ? undefined : JSON.stringify(exported) }))
  }
}

/** @internal Whether this is the error of a loop that is given something wrong. */
export function isOfCaller(error: unknown): error is AgentError | TypeError {
  return error instanceof AgentError || error instanceof TypeError
}

/** @internal An error of a caller, as Restate reports it: it does not try again. */
export function raising<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!isOfCaller(error)) throw error
    // What is the run's prompt is the handler's message.
    const text = error.message.replace(/^prompt:/, 'message:')
    const status = error instanceof AgentError ? STATUSES[error.kind] : STATUSES.invalid_argument
    throw new TerminalError(text, { errorCode: status ?? 500 })
  }
}
