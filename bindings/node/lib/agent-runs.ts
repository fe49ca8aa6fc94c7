/**
 * What an agent does with runs: it starts them, waits for them, and queues messages for them.
 */

import { enter, nextNumber, settled } from './bridge.js'
import { takeDecisions } from './decisions.js'
import { promptJson } from './message.js'
import type { PromptInput } from './message.js'
import type { NativeRun } from './native.js'
import type { AgentParts } from './agent-parts.js'
import { Run, resultOf } from './run.js'
import type { Delivery, RunResult } from './run.js'
import { Cancellation, RUN_OPTIONS, STREAM_OPTIONS, checkedOptions } from './signal.js'
import type { RunOptions, StreamOptions } from './signal.js'
import type { ResumeOptions, StreamResumeOptions } from './suspension.js'

/** The methods of an {@link Agent} that start runs and steer them. */
export class AgentRuns {
  readonly #parts: AgentParts

  /** @internal */
  constructor(parts: AgentParts) {
    this.#parts = parts
  }

  get #native(): AgentParts['native'] {
    return this.#parts.native
  }

  /**
   * Runs until the model is done.
   *
   * @param prompt Text, a message, or several messages.
   * @param options A signal that aborts the run.
   * @returns The result of the run.
   * @throws AgentError when the outcome is `error` (the error has the result). If the run cannot start: BusyError while another
   * is active, InvalidStateError inside a callback of this agent, InvalidArgumentError for an invalid prompt, also an empty
   * one (no image, and no text but white space).
   */
  async prompt(prompt: PromptInput, options?: RunOptions): Promise<RunResult> {
    return this.#result(promptJson(prompt), options)
  }

  /**
   * Starts a run and returns it, to iterate over its events.
   *
   * @param prompt Text, a message, or several messages.
   * @param options A signal that aborts the run; `raiseErrors: false` to end the iteration over a failed run normally.
   * @throws AgentError if the run cannot start, as `prompt`.
   */
  stream(prompt: PromptInput, options?: StreamOptions): Run {
    return this.#run(promptJson(prompt), options)
  }

  /**
   * Continues from the current conversation without adding a message: after a failure, an abort or `maxTurns`. After an answer it
   * continues with the queued steering messages, or else with the queued follow-up messages.
   *
   * @param options A signal that aborts the run.
   * @returns The result of the run.
   * @throws AgentError as `prompt`; InvalidStateError if the conversation is empty, or ends with an answer and no message is
   * queued.
   */
  async resume(options?: ResumeOptions): Promise<RunResult> {
    const [others, decisions] = takeDecisions(options)
    return this.#result(undefined, others, false, decisions)
  }

  /**
   * Same as `resume`, but returns the run, to iterate over its events.
   *
   * @param options As of `stream`.
   * @throws AgentError if the run cannot start, as `resume`.
   */
  streamResume(options?: StreamResumeOptions): Run {
    const [others, decisions] = takeDecisions(options)
    return this.#run(undefined, others, false, decisions)
  }

  /**
   * Starts a run with what was queued while no run was active, as `resume` does; the messages may also begin a conversation.
   * For messages that `steer` or `followUp` reported as `queued`, or that a run has left (`queued` of `agent_end`).
   *
   * @param options A signal that aborts the run.
   * @returns The result of the run, or null when no message waits.
   * @throws AgentError as `prompt`, such as BusyError while a run is active.
   */
  async resumeIfQueued(options?: RunOptions): Promise<RunResult | null> {
    return this.#native.mayResumeQueued() ? this.#result(undefined, options, true) : null
  }

  /**
   * Same as `resumeIfQueued`, but returns the run, to iterate over its events.
   *
   * @param options As of `stream`.
   * @throws AgentError if the run cannot start, as `resumeIfQueued`.
   */
  streamResumeIfQueued(options?: StreamOptions): Run | null {
    return this.#native.mayResumeQueued() ? this.#run(undefined, options, true) : null
  }

  async #result(
    text: string | undefined,
    options: RunOptions | undefined,
    ifQueued = false,
    decisions?: string,
  ): Promise<RunResult> {
    const { native, callbacks } = this.#parts
    const { signal } = checkedOptions(options, RUN_OPTIONS)
    const ticket = nextNumber()
    enter(() => native.prompt(text, ifQueued, ticket, callbacks.isInside, signal?.aborted ?? false, decisions))
    const causes = callbacks.begin()
    const cancellation = signal && new Cancellation(signal, native.abortHandle())
    try {
      return resultOf(await settled(ticket, callbacks, causes), cancellation)
    } finally {
      cancellation?.end()
    }
  }

  #run(text: string | undefined, options: StreamOptions | undefined, ifQueued = false, decisions?: string): Run {
    const { native, callbacks } = this.#parts
    const start = (ticket: number, aborted: boolean): NativeRun =>
      native.stream(text, ifQueued, ticket, callbacks.isInside, aborted, decisions)
    return new Run(callbacks, checkedOptions(options, STREAM_OPTIONS), start)
  }

  /**
   * Queues steering messages, which join the active run (or the next one) as soon as possible: before the first model call, after
   * a turn, or between tool calls, of which those not yet started are skipped (see `steeringPolicy`).
   *
   * @param message Text, a message, or several messages.
   * @returns `joined` when a run is active: it takes the message up, or counts it in `queued` of its `agent_end`. `queued` when
   * none is: `resumeIfQueued` starts one.
   * @throws InvalidArgumentError for an invalid message, also an empty one.
   */
  steer(message: PromptInput): Delivery {
    const text = promptJson(message, 'message')
    return enter(() => this.#native.steer(text)) as Delivery
  }

  /**
   * Queues follow-up messages, which start another turn when the run would have ended.
   *
   * @param message Text, a message, or several messages.
   * @returns As `steer`.
   * @throws InvalidArgumentError for an invalid message, also an empty one.
   */
  followUp(message: PromptInput): Delivery {
    const text = promptJson(message, 'message')
    return enter(() => this.#native.followUp(text)) as Delivery
  }

  /** Removes the messages from the steering queue that no turn has used yet. */
  clearSteeringQueue(): void {
    this.#native.clearSteeringQueue()
  }

  /** Removes the messages from the follow-up queue that no turn has used yet. */
  clearFollowUpQueue(): void {
    this.#native.clearFollowUpQueue()
  }

  /** Removes the messages from both queues that no turn has used yet. */
  clearAllQueues(): void {
    this.#native.clearAllQueues()
  }

  /** Whether a message is in either queue, or was taken from one and is not yet in the conversation. */
  hasQueuedMessages(): boolean {
    return this.#native.hasQueuedMessages()
  }

  /** Aborts the active run, if there is one. Does not wait for its end. */
  abort(): void {
    this.#native.abort()
  }

  /**
   * Waits until no run is active and all listeners have returned.
   *
   * @throws InvalidStateError inside a callback of this agent, where the wait would never end.
   */
  async waitForIdle(): Promise<void> {
    const { native, callbacks } = this.#parts
    const ticket = nextNumber()
    enter(() => native.waitForIdle(ticket, callbacks.isInside))
    await settled(ticket, callbacks)
  }
}
