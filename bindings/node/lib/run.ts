/**
 * Runs: an async iterator of events, and a result.
 */

import { enter, keepUntilSettled, nextNumber, settled } from './bridge.js'
import type { Settled } from './bridge.js'
import type { Callbacks } from './callbacks.js'
import type { Causes } from './causes.js'
import { withToJson } from './canonical.js'
import { errorOf, invalidState } from './errors.js'
import type { ErrorInfo } from './errors.js'
import { readBatch } from './event.js'
import type { AgentEvent, Outcome } from './event.js'
import type { SuspendedCall } from './suspension.js'
import { promptJson } from './message.js'
import type { AssistantMessage, Canonical, Message, PromptInput, StopReason, Usage } from './message.js'
import { jsonOfArgument } from './json.js'
import { native } from './native.js'
import type { NativeRun, NativeUiFrames } from './native.js'
import { withOutput } from './output.js'
import type { Typed } from './output.js'
import { joined } from './pieces.js'
import { Cancellation } from './signal.js'
import type { StreamOptions } from './signal.js'
import { endOf, isTraced, traced } from './traces.js'
import { KEEP_ALIVE, Replay, UiRequest, UiStream, within } from './ui.js'
import type { UiProtocol, UiReader, UiStreamOptions } from './ui.js'

/** The result of a run. `Output` is the type of its typed final answer. */
export interface RunResult<Output = any> extends Canonical {
  outcome: Outcome
  /** The text of the last assistant message. */
  text: string
  /** The last assistant message; null if no turn began. */
  message: AssistantMessage | null
  /** Why that message ended. A run is completed, too, when its answer was cut (`length`) or refused, perhaps without a text. */
  stopReason: StopReason | null
  /** The messages that this run added, in transcript order. */
  messages: Message[]
  /** The sum over the model calls of the run, with what failed attempts have reported. */
  usage: Usage
  /** The number of turns started. */
  turns: number
  /**
   * The typed final answer that the option `output` asked for: what its schema makes of it. Not present if the run has none: it
   * was not asked for, the model refused, or the run ended before it was given.
   */
  output?: Output
  /** Present exactly when the outcome is `error` or `aborted`. */
  error?: ErrorInfo
  /** The tool calls that wait for a decision, which `resume` takes; present exactly when the outcome is `suspended`. */
  pending?: SuspendedCall[]
  /** Of a stateless run: the queued messages that it did not use, in order. */
  undelivered?: { steering: Message[]; followUp: Message[] }
}

/** What becomes of a queued message: a run is active and takes it up, or it waits for the next run. */
export type Delivery = 'joined' | 'queued'

const TOO_LONG = "the run's last message has more characters than a JavaScript string can; its events have all the others"

/**
 * @internal Reads a result. Throws its error when the outcome is `error`, and the reason of the signal that aborted the run.
 */
export async function resultOf(
  { text = '', pieces, thrown }: Settled,
  cancellation: Cancellation | undefined,
  typed?: Typed,
): Promise<RunResult> {
  if (text === '') throw errorOf({ kind: 'limit', message: TOO_LONG, retryable: false })
  const result = withToJson<RunResult>(joined(text, pieces))
  if (result.outcome === 'error' && result.error) throw errorOf(result.error, result, thrown)
  if (result.outcome === 'aborted') cancellation?.check()
  return withOutput(result, typed)
}

/** Removes the abort listener of a run that was garbage-collected: the signal may live longer. */
const collected = new FinalizationRegistry<Cancellation>((cancellation) => cancellation.end())

const NONE: readonly AgentEvent[] = []

/**
 * A run in progress: an async iterator of its events. It continues whether or not its events are read, up to a bounded queue.
 * Leaving a `for await` loop early aborts the run and waits until the agent is idle. A run is read once: a second loop gets the
 * events that are left, and none after the end. A run that is garbage-collected is aborted, too; its agent's hooks and listeners
 * are called to the end of the run.
 */
export class Run<Output = any> implements AsyncIterableIterator<AgentEvent> {
  /** The run's id, as in its events. */
  readonly id: string
  readonly #native: NativeRun
  readonly #callbacks: Callbacks
  /** What they have thrown. */
  readonly #causes: Causes
  readonly #ticket: number
  readonly #cancellation: Cancellation | undefined
  #events = NONE
  #at = 0
  #reading = false
  /** Whether the end of the iteration throws the run's error. */
  #raises: boolean
  #result: Promise<RunResult<Output>> | undefined
  readonly #typed: Typed | undefined
  readonly #onReplay: ((replay: Replay) => void) | undefined

  /** @internal */
  constructor(
    callbacks: Callbacks,
    { signal, raiseErrors = true }: StreamOptions,
    start: (ticket: number, aborted: boolean) => NativeRun,
    own: {
      readonly typed?: Typed | undefined
      readonly deps?: unknown
      /** Where the agent keeps a stream that is resumable. */
      readonly onReplay?: ((replay: Replay) => void) | undefined
    } = {},
  ) {
    this.#onReplay = own.onReplay
    this.#raises = raiseErrors
    this.#typed = own.typed
    this.#ticket = nextNumber()
    const ticket = this.#ticket
    this.#native = traced(callbacks.tracerProvider, ticket, () => enter(() => start(ticket, signal?.aborted ?? false)))
    this.#callbacks = callbacks
    this.#causes = callbacks.begin(own.deps)
    enter(() => this.#native.over(keepUntilSettled(callbacks, endOf(ticket))))
    this.id = this.#native.id
    if (signal) {
      this.#cancellation = new Cancellation(signal, this.#native.abortHandle())
      collected.register(this, this.#cancellation)
    }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /**
   * Returns the next event; `done` when the run is over and the agent idle.
   *
   * @throws AgentError after the last event of a run whose outcome is `error`: the error that `result` throws, once, unless
   * `raiseErrors` is false. InvalidStateError while another call of `next` is pending, or inside a callback of the run's agent.
   */
  next(): Promise<IteratorResult<AgentEvent, undefined>> {
    if (this.#at < this.#events.length) {
      return Promise.resolve({ value: this.#events[this.#at++]!, done: false })
    }
    return this.#read()
  }

  async #read(): Promise<IteratorResult<AgentEvent, undefined>> {
    this.#checkOutside('reading the run')
    if (this.#reading) throw invalidState('the run is already being read; a run has one reader')
    this.#reading = true
    try {
      for (;;) {
        const text = this.#native.drainJson()
        if (typeof text !== 'string') {
          this.#cancellation?.end()
          if (isTraced(this.#ticket)) await this.#tracesEnded()
          if (this.#hasFailed()) await this.result()
          return { value: undefined, done: true }
        }
        if (text !== '') {
          this.#events = readBatch(text, this.id, () => this.#native.takePieces())
          this.#at = 1
          return { value: this.#events[0]!, done: false }
        }
        // Frees the events that were read: with thousands of waiting runs it matters.
        this.#events = NONE
        this.#at = 0
        await settled(this.#ticket, this.#callbacks)
      }
    } finally {
      this.#reading = false
    }
  }

  /** Its spans come in the order of jobs, which the events that are read may be before. */
  async #tracesEnded(): Promise<void> {
    const ticket = nextNumber()
    enter(() => this.#native.over(ticket))
    await settled(ticket, this.#callbacks)
  }

  /** Whether the last event that was read says that the run has failed, the first time that this is asked. */
  #hasFailed(): boolean {
    const last = this.#raises ? this.#events.at(-1) : undefined
    this.#raises = false
    return last?.type === 'agent_end' && last.outcome === 'error'
  }

  /**
   * The run for `useChat` of the AI SDK, versions 6 and 7, and for assistant-ui. It reads the run in place of its own iterator,
   * whose events are not to be read before.
   *
   * @param request The request that is answered.
   * @throws InvalidArgumentError for a wrong option; the run is aborted then.
   */
  toUIMessageStream(request?: UiRequest, options: UiStreamOptions = {}): UiStream {
    return this.#ui('ai_sdk', request, options)
  }

  /** The run for clients of AG-UI; else as `toUIMessageStream`. */
  toAgUiStream(request?: UiRequest, options: UiStreamOptions = {}): UiStream {
    return this.#ui('ag_ui', request, options)
  }

  #ui(protocol: UiProtocol, request: UiRequest | undefined, { resumable, ...options }: UiStreamOptions): UiStream {
    try {
      const text = jsonOfArgument('options', resumable ? { eventIds: true, ...options } : options)
      const asked = request ? UiRequest.expect('request', request)._native : undefined
      const frames = enter(() => new native.UiFrames(protocol, text, asked))
      this.#native.keepEvents()
      const reader = this.#uiReader()
      if (!resumable) return new UiStream(reader, frames)
      const replay = new Replay(reader, frames)
      // What goes on with a message that a page has is no message for another page.
      if (request && request.prompt !== null) this.#onReplay?.(replay)
      return replay.stream()
    } catch (error) {
      // The handler of the request fails here, and nothing else would end the run.
      this.abort()
      throw error
    }
  }

  #uiReader(): UiReader {
    // It goes on while a comment is sent.
    let woken: Promise<void> | undefined
    const read = async (frames: NativeUiFrames): Promise<string | null> => {
      this.#checkOutside('reading the run')
      if (this.#reading) throw invalidState('the run is already being read; a run has one reader')
      this.#reading = true
      try {
        for (;;) {
          const text = this.#native.drainUi(frames)
          if (typeof text !== 'string') {
            this.#cancellation?.end()
            return null
          }
          if (text !== '') return text
          woken ??= settled(this.#ticket, this.#callbacks).then(() => {
            woken = undefined
          })
          if (!(await within(frames.keepAliveMs, woken))) return KEEP_ALIVE
        }
      } finally {
        this.#reading = false
      }
    }
    return { read, close: () => this.close(), abort: () => this.abort() }
  }

  /** Stops the iteration, as `break` does: aborts the run and waits until the agent is idle. */
  async return(): Promise<IteratorResult<AgentEvent, undefined>> {
    await this.close()
    return { value: undefined, done: true }
  }

  /**
   * Waits for the end of the run. Unread events are discarded. Where no one awaits the promise, its failure is no unhandled
   * rejection.
   *
   * @returns The result; of an aborted run too, unless its signal aborted it.
   * @throws AgentError when the outcome is `error` (the error has the result); the signal's reason when the run's signal aborted
   * it; InvalidStateError inside a callback of the run's agent.
   */
  result(): Promise<RunResult<Output>> {
    const result = this.#callbacks.isInside ? this.#refused() : (this.#result ??= this.#outcome())
    result.catch(() => {})
    return result
  }

  /** Rejects, as the native call always throws. */
  async #refused(): Promise<never> {
    return enter(() => this.#native.refuseInside('waiting for the run')) as never
  }

  async #outcome(): Promise<RunResult<Output>> {
    const ticket = nextNumber()
    enter(() => this.#native.outcome(ticket))
    this.#events = NONE
    this.#at = 0
    try {
      return await resultOf(await settled(ticket, this.#callbacks, this.#causes), this.#cancellation, this.#typed)
    } finally {
      this.#cancellation?.end()
    }
  }

  /**
   * Queues steering messages, which join the run as soon as possible; see `Agent.steer`. After the end of the run they go to the
   * agent's queue.
   *
   * @param message Text, a message, or several messages.
   * @returns As `Agent.steer`.
   * @throws InvalidArgumentError for an invalid message; InvalidStateError after the end of a stateless run.
   */
  steer(message: PromptInput): Delivery {
    const text = promptJson(message, 'message')
    return enter(() => this.#native.steer(text)) as Delivery
  }

  /**
   * Queues follow-up messages, which start another turn when the run would have ended. After the end of the run they go to the
   * agent's queue.
   *
   * @param message Text, a message, or several messages.
   * @returns As `Agent.steer`.
   * @throws InvalidArgumentError for an invalid message; InvalidStateError after the end of a stateless run.
   */
  followUp(message: PromptInput): Delivery {
    const text = promptJson(message, 'message')
    return enter(() => this.#native.followUp(text)) as Delivery
  }

  /**
   * Ends the run after its current turn, as the hook `shouldStopAfterTurn` does: the calls of the turn run, no queue is polled,
   * and the outcome is `stopped`. `resume` goes on. Does nothing once the run is over.
   */
  stopAfterTurn(): void {
    this.#native.stopAfterTurn()
  }

  /** Aborts the run. Does not wait for its end; may be called more than once. */
  abort(): void {
    this.#native.abort()
  }

  /**
   * Aborts the run if it is not over, and waits until the agent is idle.
   *
   * @throws InvalidStateError inside a callback of the run's agent.
   */
  async close(): Promise<void> {
    if (!this.#native.isFinished) this.#native.abort()
    try {
      await this.result()
    } catch (error) {
      // `result` reports how the run ended; `close` fails only where it may not wait.
      if (this.#callbacks.isInside) throw error
    }
  }

  /**
   * Returns the assistant message as it was after an event of this run, or null for an event that is not part of a message's
   * stream. The message is built on request, so that streaming stays cheap.
   *
   * @param event An event that this run returned.
   */
  partial(event: AgentEvent): AssistantMessage | null {
    if (event.runId !== this.id) return null
    if (event.type === 'message_end') return event.message.role === 'assistant' ? event.message : null
    const text = this.#native.partial(event.seq)
    return typeof text === 'string' ? withToJson<AssistantMessage>(JSON.parse(text)) : null
  }

  /**
   * Returns the typed final answer (option `output`) as far as it is written at an event of this run: what is not whole of its
   * JSON is left out, but for texts. Undefined while there is nothing of it, and for an event that is not part of a message's
   * stream. It is computed on request, and is not what the schema makes of it.
   *
   * @param event An event that this run returned.
   */
  partialOutput(event: AgentEvent): unknown {
    if (event.runId !== this.id) return undefined
    const text = this.#native.partialOutput(event.seq)
    return typeof text === 'string' ? JSON.parse(text) : undefined
  }

  #checkOutside(what: string): void {
    if (this.#callbacks.isInside) enter(() => this.#native.refuseInside(what))
  }
}
