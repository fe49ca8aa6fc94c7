/** What a handler of {@link restateAgent} knows of its agent. */

import { TerminalError } from '@restatedev/restate-sdk'

import { wholeNumber } from './arguments.js'
import { enter } from './bridge.js'
import { AgentError } from './errors.js'
import { Loop } from './loop.js'
import type { LoopStart } from './loop.js'
import { native } from './native.js'
import type { Tool } from './tool.js'

/** @internal What came of an operation. */
export interface WorkflowStep {
  /** The state of the inbox, if it has changed. */
  state: object | null
  answer: unknown
  /** What is to be sent to the active run. */
  signal: { invocation: string; number: number; input: unknown } | null
  /** The awakeable to be resolved with the decisions. */
  awakeable: string | null
}

/** @internal The name, the model, the tools and the options of an agent. */
export class Definition {
  readonly name: string
  /** The options of exchanges: they stay in this process. */
  readonly exchange: object
  readonly #options: object
  readonly #maxBytes: number | undefined
  readonly #tools: ReadonlyMap<string, Tool>

  constructor(name: string, options: LoopStart, tools: readonly Tool[], exchange: object, maxBytes: number | undefined) {
    this.name = name
    wholeNumber('option "maxConversationBytes"', maxBytes, 1, 1)
    this.#maxBytes = maxBytes
    this.#options = options
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]))
    this.exchange = exchange
    // What is wrong is reported when the program starts, and not in the first prompt.
    this.loop({ prompt: '?' })
    Loop.checkExchange(exchange)
  }

  /** The loop of a run. Throws what `Loop` throws. */
  loop(start: object): Loop {
    return new Loop({ ...this.#options, tools: [...this.#tools.values()], ...start } as unknown as LoopStart)
  }

  /** The tool of a call. A loop answers for unknown tools itself. */
  tool(name: string): Tool {
    const tool = this.#tools.get(name)
    if (tool === undefined) throw new Error(`the loop asks for the tool "${name}", which the agent does not have`)
    return tool
  }

  /** The room for messages that a session has beside its stored conversation. */
  room(stored: Uint8Array | null): object {
    return { stored_bytes: stored?.length ?? 0, max_bytes: this.#maxBytes }
  }

  /**
   * The JSON of a conversation with this export. Throws the error of one that Restate does not take: it would try again for ever.
   */
  toStore(runs: number, exported: string | object): string {
    return workflowStep('store', { runs, export: exported, max_bytes: this.#maxBytes }).answer as string
  }

  /** Throws the error of decisions that do not fit, for the caller of a handler. */
  checkDecisions(decisions: unknown, exported: object | undefined): void {
    raising(() => this.loop({ decisions, export: exported === undefined ? undefined : JSON.stringify(exported) }))
  }
}

/** @internal An operation of `core/proto/src/workflow`. Throws its errors for the caller of a handler. */
export function workflowStep(operation: string, given: unknown, state: unknown = null): WorkflowStep {
  const step = raising(() => enter(() => native.workflowStep(operation, JSON.stringify(given), JSON.stringify(state))))
  return JSON.parse(step) as WorkflowStep
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
    const kind = error instanceof AgentError ? error.kind : 'invalid_argument'
    throw new TerminalError(error.message, { errorCode: workflowStep('http_status', kind).answer as number })
  }
}
