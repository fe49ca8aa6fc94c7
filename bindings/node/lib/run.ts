/**
 * Runs: an async iterator of events, and a result.
 */

import { enter, nextNumber, settled } from './bridge.js'
import type { Callbacks } from './callbacks.js'
import { withToJson } from './canonical.js'
import { errorOf, invalidState } from './errors.js'
import type { ErrorInfo } from './errors.js'
import { readBatch } from './event.js'
import type { AgentEvent, Outcome } from './event.js'
import { promptJson } from './message.js'
import type { AssistantMessage, Canonical, Message, PromptInput, Usage } from './message.js'
import type { NativeRun } from './native.js'
import { Cancellation } from './signal.js'

/** What a run came to. */
export interface RunResult extends Canonical {
  outcome: Outcome
  /** The text of the last assistant message. */
  text: string
  /** The last assistant message; null when no turn began. */
  message: AssistantMessage | null
  /** Those this run added, in transcript order. */
  messages: Message[]
  /** The run's sum. */
  usage: Usage
  /** How many turns began. */
  turns: number
  /** There exactly when the outcome is `error` or `aborted`. */
  error?: ErrorInfo
  /** Of a run without an agent: the queued messages that it did not show, in order. */
  undelivered?: { steering: Message[]; followUp: Message[] }
}

/**
 * @internal The result in JSON; thrown as its error when the outcome is `error`, and as the reason of the signal that
 * aborted the run.
 */
export function resultOf(text: string | undefined, cancellation: Cancellation | undefined): RunResult {
  const result = withToJson<RunResult>(JSON.parse(text ?? 'null'))
  if (result.outcome === 'error' && result.error) throw errorOf(result.error, result)
  if (result.outcome === 'aborted') cancellation?.check()
  return result
}

/** A signal may live long; runs that are forgotten have nothing to do with it any more. */
const forgotten = new FinalizationRegistry<Cancellation>((cancellation) => cancellation.end())

const NONE: readonly AgentEvent[] = []

/**
 * A run that goes on by itself. Leaving a `for await` over it before its end aborts it and waits until the agent is idle;
 * forgetting it aborts it too.
 */
export class Run implements AsyncIterableIterator<AgentEvent> {
  /** The id that all its events have. */
  readonly id: string
  readonly #native: NativeRun
  /** Also keeps the agent's callbacks alive as long as somebody has the run. */
  readonly #callbacks: Callbacks
  readonly #ticket: number
  readonly #cancellation: Cancellation | undefined
  #events = NONE
  #at = 0
  #reading = false
  #result: Promise<RunResult> | undefined

  /** @internal */
  constructor(callbacks: Callbacks, signal: AbortSignal | undefined, start: (ticket: number, aborted: boolean) => NativeRun) {
    this.#ticket = nextNumber()
    this.#native = enter(() => start(this.#ticket, signal?.aborted ?? false))
    this.#callbacks = callbacks
    this.id = this.#native.id
    if (signal) {
      this.#cancellation = new Cancellation(signal, this.#native.abortHandle())
      forgotten.register(this, this.#cancellation)
    }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The next event; done when the run is over and the agent idle. One reader at a time. */
  next(): Promise<IteratorResult<AgentEvent, undefined>> {
    if (this.#at < this.#events.length) {
      return Promise.resolve({ value: this.#events[this.#at++]!, done: false })
    }
    return this.#read()
  }

  async #read(): Promise<IteratorResult<AgentEvent, undefined>> {
    this.#checkOutside('reading the run')
    if (this.#reading) throw invalidState('somebody reads this run already; a run has one reader')
    this.#reading = true
    try {
      for (;;) {
        const text = this.#native.drainJson()
        if (typeof text !== 'string') {
          this.#cancellation?.end()
          return { value: undefined, done: true }
        }
        if (text !== '') {
          this.#events = readBatch(text, this.id)
          this.#at = 1
          return { value: this.#events[0]!, done: false }
        }
        // Those that were read are the reader's; what a waiting run keeps counts when there are thousands.
        this.#events = NONE
        this.#at = 0
        await settled(this.#ticket, this.#callbacks)
      }
    } finally {
      this.#reading = false
    }
  }

  /** Ends the reading before its end, as `break` does: aborts the run and waits until the agent is idle. */
  async return(): Promise<IteratorResult<AgentEvent, undefined>> {
    await this.close()
    return { value: undefined, done: true }
  }

  /**
   * Waits for the end. Events that are not read yet are thrown away.
   *
   * @throws AgentError when the outcome is `error`; the error has the result. The reason of the run's signal, when that aborted it;
   * otherwise an aborted run has a result like any other.
   */
  async result(): Promise<RunResult> {
    this.#checkOutside('waiting for the run')
    this.#result ??= this.#outcome()
    return this.#result
  }

  async #outcome(): Promise<RunResult> {
    const ticket = nextNumber()
    enter(() => this.#native.outcome(ticket))
    this.#events = NONE
    this.#at = 0
    try {
      return resultOf(await settled(ticket, this.#callbacks), this.#cancellation)
    } finally {
      this.#cancellation?.end()
    }
  }

  /**
   * Queues a message (or several) that joins the run as soon as it can; see `Agent.steer`. After the run's end it waits in the
   * agent's queue.
   *
   * @throws InvalidArgumentError for what is no message; InvalidStateError after the end of a run without an agent.
   */
  steer(message: PromptInput): void {
    const text = promptJson(message)
    enter(() => this.#native.steer(text))
  }

  /**
   * Queues a message (or several) for when the run would have ended. After the run's end it waits in the agent's queue.
   *
   * @throws As `steer`.
   */
  followUp(message: PromptInput): void {
    const text = promptJson(message)
    enter(() => this.#native.followUp(text))
  }

  /** Aborts the run. Any number of times; returns at once. */
  abort(): void {
    this.#native.abort()
  }

  /** Aborts the run if it is not over, and waits until the agent is idle. */
  async close(): Promise<void> {
    if (!this.#native.isFinished) this.#native.abort()
    try {
      await this.result()
    } catch (error) {
      // How it ended is for `result` to say; only a close that cannot wait has failed.
      if (this.#callbacks.isInside) throw error
    }
  }

  /**
   * The assistant's message as it stood after an event of this run; null for events that are not part of its stream. Made when
   * asked for, so that streams stay cheap.
   */
  partial(event: AgentEvent): AssistantMessage | null {
    if (event.runId !== this.id) return null
    if (event.type === 'message_end') return event.message.role === 'assistant' ? event.message : null
    const text = this.#native.partial(event.seq)
    return typeof text === 'string' ? withToJson<AssistantMessage>(JSON.parse(text)) : null
  }

  #checkOutside(what: string): void {
    if (this.#callbacks.isInside) enter(() => this.#native.refuseInside(what))
  }
}
