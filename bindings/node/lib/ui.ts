/**
 * A run for a browser: the AI SDK's UI message stream, which `useChat` and assistant-ui read, and AG-UI.
 */

import { enter } from './bridge.js'
import { withToJson } from './canonical.js'
import type { Loss } from './conversion.js'
import { invalidArgument } from './errors.js'
import { jsonOfArgument } from './json.js'
import type { Message, UserMessage } from './message.js'
import { native } from './native.js'
import type { NativeUiFrames, NativeUiRequest } from './native.js'
import { kindOf } from './object.js'

/** What the browser speaks: the AI SDK, versions 6 and 7, or AG-UI. */
export type UiProtocol = 'ai_sdk' | 'ag_ui'

/** The options of a stream for a browser. */
export interface UiOptions {
  /**
   * Whether the texts of errors are sent, of failed tools, too. They may name addresses, files and accounts of the server.
   * Default: false.
   */
  showErrors?: boolean | undefined
  /** What the browser gets in place of an error's text. Default: `An error occurred.` */
  errorText?: string | undefined
  /** Whether thinking is sent. Default: true. */
  reasoning?: boolean | undefined
  /**
   * Whether the signatures of thinking, texts and calls are sent: who keeps the history in the browser needs them there.
   * Default: true.
   */
  signatures?: boolean | undefined
  /** Whether the tokens of the run are sent. Default: true. */
  usage?: boolean | undefined
  /** Whether it is sent what subagents write and which tools they call. Default: false. */
  subagents?: boolean | undefined
  /**
   * After how many milliseconds without anything to send a comment is sent, so that no proxy closes the connection; 0: none.
   * Default: 15,000.
   */
  keepAliveMs?: number | undefined
  /**
   * Whether each event has an id, by which a client that has lost its connection goes on. Default: whether the stream is
   * `resumable`.
   */
  eventIds?: boolean | undefined
  /** Tools that the browser runs: it is not asked to approve their calls, but for their outputs. Default: none. */
  clientTools?: readonly string[] | undefined
  /** The id of the message in the browser (AI SDK). Default: the browser makes one. */
  messageId?: string | undefined
  /** The id of the conversation (AG-UI). Default: that of the request, else the run's. */
  threadId?: string | undefined
  /** The id of the run that the browser knows (AG-UI). Default: that of the request, else the run's own. */
  runId?: string | undefined
}

/** What a server lets a browser decide. */
export interface UiRequestOptions {
  /** Tools that the browser runs: a call of any other tool takes no result of it. Default: none. */
  clientTools?: readonly string[] | undefined
  /** Whether a call may be approved with other arguments than those that were asked for (AG-UI). Default: false. */
  editArguments?: boolean | undefined
  /**
   * Whether calls may be approved that have no result and do not wait: those of an agent that has the request's `history`, and of
   * one whose messages were stored without the calls that wait. Default: false.
   */
  openCalls?: boolean | undefined
  /** Whether the conversation stays as it is: no message is edited, and no answer is made anew. Default: false. */
  keepMessages?: boolean | undefined
}

/**
 * The request of a browser. What is in it may be anything that somebody has sent. An agent that has the conversation already
 * takes nothing of it but what the user has sent and decided. With `new Agent({ messages: request.history })` the browser keeps
 * the conversation, and may have written all of it: what was answered, what tools have returned, and which calls wait with which
 * arguments.
 */
export class UiRequest {
  /** @internal Refuses what is no request where one is needed, as the body of one. */
  static expect(what: string, value: unknown): UiRequest {
    if (value instanceof UiRequest) return value
    throw invalidArgument(`${what}: expected a UiRequest, as UiRequest.fromAiSdk(body) reads one, got ${kindOf(value)}`)
  }

  /** The conversation: `id` of the AI SDK, `threadId` of AG-UI. Check in your application whose it is. */
  readonly id: string | null
  /** The id of the run (AG-UI). */
  readonly runId: string | null
  /** The message that is to be answered anew, or that was edited (AI SDK). */
  readonly messageId: string | null
  /** Whether the last answer is to be made anew. */
  readonly isRegenerate: boolean
  /** The conversation before the prompt, as the browser has it, without a system prompt. */
  readonly history: Message[]
  /** What the user has sent; null if the request answers calls. */
  readonly prompt: UserMessage | null
  /** What of the messages was not carried over. */
  readonly losses: Loss[]
  /** @internal */
  readonly _native: NativeUiRequest

  /**
   * Reads the body of a request: its text, or what `JSON.parse` makes of it.
   *
   * @throws InvalidArgumentError for what is no such request, and for a wrong option.
   */
  constructor(protocol: UiProtocol, body: unknown, options: UiRequestOptions = {}) {
    const text = typeof body === 'string' ? body : jsonOfArgument('body', body)
    const allowed = jsonOfArgument('options', options)
    this._native = enter(() => native.UiRequest.read(protocol, text, allowed))
    this.id = this._native.id ?? null
    this.runId = this._native.runId ?? null
    this.messageId = this._native.messageId ?? null
    this.isRegenerate = this._native.isRegenerate
    const { history, prompt, losses } = JSON.parse(this._native.messages())
    this.history = withToJson(history)
    this.prompt = prompt && withToJson(prompt)
    this.losses = withToJson(losses)
    Object.defineProperty(this, '_native', { enumerable: false })
  }

  /** Reads a request of `useChat`: `{id, messages, trigger, messageId}`. */
  static fromAiSdk(body: unknown, options?: UiRequestOptions): UiRequest {
    return new UiRequest('ai_sdk', body, options)
  }

  /** Reads a request of AG-UI: its `RunAgentInput`. */
  static fromAgUi(body: unknown, options?: UiRequestOptions): UiRequest {
    return new UiRequest('ag_ui', body, options)
  }
}

/** The options of a stream of a run. */
export interface UiStreamOptions extends UiOptions {
  /**
   * Whether a client that leaves does not abort the run, and `Agent.resumeUI` streams it again. Default: false.
   */
  resumable?: boolean | undefined
}

/** The options of the conversation as UI messages. */
export interface UiMessagesOptions extends UiOptions {
  /** Without what `resumeUI` streams to the page. Default: false. */
  resume?: boolean | undefined
}

/** @internal What was sent of a run, for pages that come later. It reads the run whether a page reads or not. */
export class Replay {
  readonly run: UiReader
  readonly frames: NativeUiFrames
  readonly sent: string[] = []
  comments = 0
  isOver = false
  error: unknown
  /** Resolves when there is more. */
  more: Promise<void>
  #wake!: () => void

  constructor(run: UiReader, frames: NativeUiFrames) {
    this.run = run
    this.frames = frames
    this.more = this.#promised()
    void this.#read()
  }

  #promised(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** Reads all of the run. Its error, if it raises it, is for each reader. */
  async #read(): Promise<void> {
    try {
      for (let text; (text = await this.run.read(this.frames)) !== null; ) {
        if (text === KEEP_ALIVE) this.comments += 1
        else this.sent.push(text)
        this.#next()
      }
    } catch (error) {
      this.error = error
    }
    this.isOver = true
    this.#next()
  }

  #next(): void {
    const wake = this.#wake
    this.more = this.#promised()
    wake()
  }

  /** One more reader of the run: after the frame with this id, else from its beginning. */
  stream(lastEventId?: string | null): UiStream {
    const stream = new UiStream(this.run, this.frames, this)
    if (typeof lastEventId === 'string') stream._goOn(lastEventId)
    return stream
  }
}

/** @internal What a stream needs of its run. */
export interface UiReader {
  read(frames: NativeUiFrames): Promise<string | null>
  close(): Promise<void>
  abort(): void
}

/** What `pipe` writes to: a response of `node:http`, as Express has it, too. */
export interface UiSink {
  writeHead(status: number, headers: Record<string, string>): unknown
  write(text: string): boolean
  end(): unknown
  on(event: 'close' | 'error', listener: () => void): unknown
  once(event: 'drain' | 'close', listener: () => void): unknown
  off(event: 'drain' | 'close', listener: () => void): unknown
  readonly destroyed?: boolean
}

/**
 * A run as the body of a response: an async iterator of texts, each of one or more server-sent events. It takes the place of the
 * run's own iterator. Leaving a `for await` loop early aborts the run. A stream that is `resumable` leaves the run alone: it goes
 * on, and `Agent.resumeUI` has it again, from its beginning or from where a client has left.
 */
export class UiStream implements AsyncIterableIterator<string> {
  readonly #run: UiReader
  readonly #frames: NativeUiFrames
  readonly #replay: Replay | undefined
  /** How many pieces of the replay were read, the rest of one that was read in part, and the comments. */
  #at = 0
  #rest = ''
  #comments = 0

  /** @internal */
  constructor(run: UiReader, frames: NativeUiFrames, replay?: Replay) {
    this.#run = run
    this.#frames = frames
    this.#replay = replay
    this.#comments = replay?.comments ?? 0
  }

  /** @internal Begins after the frame with this id, if one of the run has it. */
  _goOn(lastEventId: string): void {
    this.#replay!.sent.some((piece, index) => {
      const rest = native.uiFramesAfter(piece, lastEventId)
      if (typeof rest !== 'string') return false
      this.#at = index + 1
      this.#rest = rest
      return true
    })
  }

  /** The headers of the response, by their names in lower case. */
  get headers(): Record<string, string> {
    return Object.fromEntries(this.#frames.headers)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Returns the next frames; `done` when the run is over and the agent idle. */
  async next(): Promise<IteratorResult<string, undefined>> {
    const text = await (this.#replay ? this.#nextOf(this.#replay) : this.#run.read(this.#frames))
    return text === null ? { value: undefined, done: true } : { value: text, done: false }
  }

  /** The next frames of a run that others may read, too; a comment while there are none for long. */
  async #nextOf(replay: Replay): Promise<string | null> {
    if (this.#rest !== '') {
      const rest = this.#rest
      this.#rest = ''
      return rest
    }
    while (this.#at === replay.sent.length) {
      if (replay.error !== undefined) throw replay.error
      if (replay.isOver) return null
      if (this.#comments !== replay.comments) {
        this.#comments = replay.comments
        return KEEP_ALIVE
      }
      await replay.more
    }
    const text = replay.sent.slice(this.#at).join('')
    this.#at = replay.sent.length
    return text
  }

  /** Stops the iteration, as `break` does: aborts the run and waits until the agent is idle, unless the stream is resumable. */
  async return(): Promise<IteratorResult<string, undefined>> {
    if (!this.#replay) await this.#run.close()
    return { value: undefined, done: true }
  }

  /** The client has left. */
  #leave(): void {
    if (!this.#replay) this.#run.abort()
  }

  /** The frames as a stream of bytes. Cancelling it aborts the run, unless the stream is resumable. */
  toReadableStream(): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder()
    return new ReadableStream(
      {
        pull: async (controller) => {
          const { value } = await this.next()
          if (value === undefined) controller.close()
          else controller.enqueue(encoder.encode(value))
        },
        cancel: () => this.#leave(),
      },
      { highWaterMark: 0 },
    )
  }

  /** A response, as Hono and all servers in the style of `fetch` return it. Its end before the run's aborts the run. */
  toResponse(init: { status?: number; headers?: Record<string, string> } = {}): Response {
    const headers = { ...this.headers, ...init.headers }
    return new Response(this.toReadableStream(), { ...init, headers })
  }

  /**
   * Writes head and frames to a response of `node:http` or Express, as fast as the client reads, and ends it. If the client
   * leaves before, the run is aborted, unless the stream is resumable. Resolves when the run is over and the agent idle, or when
   * the client has left a resumable stream.
   */
  async pipe(response: UiSink, init: { status?: number; headers?: Record<string, string> } = {}): Promise<void> {
    let isGone = false
    response.on('close', () => {
      isGone = true
      this.#leave()
    })
    // The client has gone; `close` follows.
    response.on('error', () => {})
    // It may have gone before: then `close` has come.
    if (response.destroyed) this.#leave()
    response.writeHead(init.status ?? 200, { ...this.headers, ...init.headers })
    for (;;) {
      const { value } = await this.next()
      if (value === undefined || (this.#replay && (isGone || response.destroyed))) break
      if (!response.destroyed && !response.write(value)) await drained(response)
    }
    response.end()
  }
}

/** @internal A comment, which browsers skip. */
export const KEEP_ALIVE = ': keep-alive\n\n'

/** @internal Whether something happens within so many milliseconds; without a number it is awaited. */
export async function within(ms: number | null | undefined, happening: Promise<void>): Promise<boolean> {
  if (typeof ms !== 'number') return happening.then(() => true)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  try {
    return await Promise.race([happening.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

/** Waits until the client has read, or has gone. */
function drained(response: UiSink): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.once('drain', done)
    response.once('close', done)
    if (response.destroyed) done()
  })
}
