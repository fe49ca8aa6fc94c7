/**
 * What an agent does with runs: it starts them, waits for them, and queues messages for them.
 */

import { enter, nextNumber, settled } from './bridge.js'
import { takeDecisions } from './decisions.js'
import { jsonOfArgument } from './json.js'
import { promptJson } from './message.js'
import type { PromptInput } from './message.js'
import { native } from './native.js'
import type { NativeRun } from './native.js'
import type { AgentParts, PromptParts } from './agent-parts.js'
import { promptOptions } from './agent-parts.js'
import type { PromptOptions } from './options.js'
import type { OutputOf, OutputType } from './output.js'
import { Run, resultOf } from './run.js'
import type { Delivery, RunResult } from './run.js'
import { Cancellation, RUN_OPTIONS, STREAM_OPTIONS, checkedOptions, split } from './signal.js'
import type { RunOptions, StreamOptions } from './signal.js'
import type { ResumeOptions, StreamResumeOptions } from './suspension.js'
import { endTraces, traced } from './traces.js'
import { UiRequest } from './ui.js'
import type { Replay, UiMessagesOptions, UiStream } from './ui.js'

/** The methods of an {@link Agent} that start runs and steer them. `Output` is the type of its typed final answers. */
export class AgentRuns<Output = any> {
  readonly #parts: AgentParts

  /** @internal */
  constructor(parts: AgentParts) {
    this.#parts = parts
  }

  /** What was sent of the last run, if it is resumable, and before how many messages it has begun. */
  #replay: Replay | undefined
  #kept = 0

  get #native(): AgentParts['native'] {
    return this.#parts.native
  }

  /**
   * Runs until the model is done.
   *
   * @param prompt Text, a message, or several messages.
   * @param options A signal that aborts the run, and options of this run in place of those of the agent. With `output`, the
   * result's `output` is what that schema makes of the answer.
   * @returns The result of the run.
   * @throws AgentError when the outcome is `error` (the error has the result). If the run cannot start: BusyError while another
   * is active, InvalidStateError inside a callback of this agent, InvalidArgumentError for an invalid prompt, also an empty
   * one (no file, and no text but white space), and for an unknown or wrong option.
   */
  async prompt<const T extends OutputType>(
    prompt: PromptInput,
    options: PromptOptions & { output: T },
  ): Promise<RunResult<OutputOf<T>>>
  async prompt(prompt: PromptInput, options?: PromptOptions): Promise<RunResult<Output>>
  async prompt(prompt: PromptInput, options?: PromptOptions): Promise<RunResult> {
    const [own, others] = split(options, RUN_OPTIONS)
    return this.#result(promptJson(prompt), own, false, undefined, others)
  }

  /**
   * Starts a run and returns it, to iterate over its events.
   *
   * @param prompt Text, a message, or several messages.
   * @param options As of `prompt`; and `raiseErrors: false` to end the iteration over a failed run normally.
   * @throws AgentError if the run cannot start, as `prompt`.
   */
  stream<const T extends OutputType>(
    prompt: PromptInput,
    options: PromptOptions & StreamOptions & { output: T },
  ): Run<OutputOf<T>>
  stream(prompt: PromptInput, options?: PromptOptions & StreamOptions): Run<Output>
  stream(prompt: PromptInput, options?: PromptOptions & StreamOptions): Run {
    const [own, others] = split(options, STREAM_OPTIONS)
    return this.#run(promptJson(prompt), own, false, undefined, others)
  }

  /**
   * Continues from the current conversation without adding a message: after a failure, an abort or `maxTurns`. After an answer it
   * continues with the queued steering messages, or else with the queued follow-up messages.
   *
   * @param options As of `prompt`: the run has those that are given here, and none of the run before. `decisions` says what
   * becomes of the calls that wait.
   * @returns The result of the run.
   * @throws AgentError as `prompt`; InvalidStateError if the conversation is empty, or ends with an answer and no message is
   * queued.
   */
  async resume<const T extends OutputType>(
    options: ResumeOptions & PromptOptions & { output: T },
  ): Promise<RunResult<OutputOf<T>>>
  async resume(options?: ResumeOptions & PromptOptions): Promise<RunResult<Output>>
  async resume(options?: ResumeOptions & PromptOptions): Promise<RunResult> {
    const [given, decisions] = takeDecisions(options)
    const [own, others] = split(given, RUN_OPTIONS)
    return this.#result(undefined, own, false, decisions, others)
  }

  /**
   * Same as `resume`, but returns the run, to iterate over its events.
   *
   * @param options As of `stream` and `resume`.
   * @throws AgentError if the run cannot start, as `resume`.
   */
  streamResume<const T extends OutputType>(
    options: StreamResumeOptions & PromptOptions & { output: T },
  ): Run<OutputOf<T>>
  streamResume(options?: StreamResumeOptions & PromptOptions): Run<Output>
  streamResume(options?: StreamResumeOptions & PromptOptions): Run {
    const [given, decisions] = takeDecisions(options)
    const [own, others] = split(given, STREAM_OPTIONS)
    return this.#run(undefined, own, false, decisions, others)
  }

  /**
   * The conversation as `useChat` has it, for a page that is loaded again: UI messages of the AI SDK. The calls that wait may be
   * approved there.
   *
   * @param options As of `toUIMessageStream` of a run.
   */
  toUIMessages({ resume, ...options }: UiMessagesOptions = {}): any[] {
    const text = jsonOfArgument('options', options)
    const until = resume && this.#replay ? this.#kept : undefined
    return JSON.parse(enter(() => native.uiMessages(this.#native, text, until)))
  }

  /**
   * The stream of the last run from its beginning, for a page that was loaded in mid-answer, or has lost its connection: what was
   * sent before, and then what comes. Any number of pages may read it. It is kept until the next run begins, also when the run is
   * over: a page has the answer from it, and all before from `toUIMessages({ resume: true })`.
   *
   * @param lastEventId The header `Last-Event-ID` of a client that has lost its connection: it gets only what follows that event,
   *   if it is one of this run.
   * @returns null if no run with a `resumable` stream was the last one, or if it went on with decided calls: answer with the
   * status 204, as `resumeStream` of `useChat` wants it.
   */
  resumeUI(lastEventId?: string | null): UiStream | null {
    return this.#replay?.stream(lastEventId) ?? null
  }

  /**
   * Starts the run that a browser asks for, and returns it, to answer with its `toUIMessageStream` or `toAgUiStream`. It is a run
   * with the message that the user has sent, or goes on with what the user has decided about the calls that wait, or answers an
   * earlier message anew, as it was or edited: then what follows it is removed from `messages`.
   *
   * @param request The browser's request.
   * @param options As of `stream`; a run that fails ends the iteration normally.
   * @throws AgentError if the run cannot start, as `stream`: BusyError while another is active, InvalidStateError for a message
   * while calls wait, and for decisions when no call waits, as when a request comes twice; InvalidArgumentError for a decision
   * that the request's options do not allow.
   */
  streamUI(request: UiRequest, options?: PromptOptions & StreamOptions): Run<Output> {
    const asked = UiRequest.expect('streamUI', request)._native
    const { before, replace, prompt, resume } = JSON.parse(enter(() => asked.start(this.#native)))
    const [own, others] = split({ raiseErrors: false, ...options }, STREAM_OPTIONS)
    if (replace !== undefined) enter(() => this.#native.replaceMessages(JSON.stringify(replace)))
    const run = this.#run(prompt && JSON.stringify(prompt), own, false, resume && JSON.stringify(resume), others)
    this.#kept = before
    return run
  }

  /**
   * Starts a run with what was queued while no run was active, as `resume` does; the messages may also begin a conversation.
   * For messages that `steer` or `followUp` reported as `queued`, or that a run has left (`queued` of `agent_end`).
   *
   * @param options As of `prompt`.
   * @returns The result of the run, or null when no message waits.
   * @throws AgentError as `prompt`, such as BusyError while a run is active.
   */
  async resumeIfQueued(options?: PromptOptions): Promise<RunResult<Output> | null> {
    const [own, others] = split(options, RUN_OPTIONS)
    return this.#native.mayResumeQueued() ? this.#result(undefined, own, true, undefined, others) : null
  }

  /**
   * Same as `resumeIfQueued`, but returns the run, to iterate over its events.
   *
   * @param options As of `stream`.
   * @throws AgentError if the run cannot start, as `resumeIfQueued`.
   */
  streamResumeIfQueued(options?: PromptOptions & StreamOptions): Run<Output> | null {
    const [own, others] = split(options, STREAM_OPTIONS)
    return this.#native.mayResumeQueued() ? this.#run(undefined, own, true, undefined, others) : null
  }

  async #result(
    text: string | undefined,
    options: RunOptions | undefined,
    ifQueued = false,
    decisions?: string,
    others: object = {},
  ): Promise<RunResult> {
    const { native, callbacks } = this.#parts
    const { signal } = checkedOptions(options, RUN_OPTIONS)
    const ticket = nextNumber()
    const { typed, deps } = this.#starting(others, (own) => {
      const aborted = signal?.aborted ?? false
      traced(callbacks.tracerProvider, ticket, () => {
        enter(() => native.prompt(text, ifQueued, ticket, callbacks.isInside, aborted, decisions, own.text, own.call))
      })
      return own
    })
    const causes = callbacks.begin(deps)
    const cancellation = signal && new Cancellation(signal, native.abortHandle())
    try {
      return await resultOf(await settled(ticket, callbacks, causes), cancellation, typed)
    } finally {
      endTraces(ticket)
      cancellation?.end()
    }
  }

  /** Starts a run with what it has of its own. */
  #starting<T>(others: object, start: (own: PromptParts) => T): T {
    const { answers } = this.#parts
    const before = answers.ofRun
    const own = promptOptions(this.#parts, others)
    // Its first question may come before the engine has returned.
    answers.ofRun = own.typed
    try {
      const started = start({ ...own, typed: own.typed ?? answers.own })
      this.#replay = undefined
      return started
    } catch (error) {
      answers.ofRun = before
      throw error
    }
  }

  #run(
    text: string | undefined,
    options: StreamOptions | undefined,
    ifQueued = false,
    decisions?: string,
    others: object = {},
  ): Run {
    const { native, callbacks } = this.#parts
    return this.#starting(others, (own) => {
      const start = (ticket: number, aborted: boolean): NativeRun =>
        native.stream(text, ifQueued, ticket, callbacks.isInside, aborted, decisions, own.text, own.call)
      const onReplay = (replay: Replay): void => {
        this.#replay = replay
      }
      return new Run(callbacks, checkedOptions(options, STREAM_OPTIONS), start, { ...own, onReplay })
    })
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

  /**
   * Ends the active run, if there is one, after its current turn, as the hook `shouldStopAfterTurn` does: the calls of the turn
   * run, no queue is polled, and the outcome is `stopped`. `resume` goes on.
   */
  stopAfterTurn(): void {
    this.#native.stopAfterTurn()
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
