/**
 * Sessions: conversations in a store. One at a time may write; all may read.
 */

import { checkedNames, flag, textArgument, wholeNumber } from './arguments.js'
import { enter, nextNumber, settled } from './bridge.js'
import { canonical, withToJson } from './canonical.js'
import { errorOf, invalidArgument, invalidState } from './errors.js'
import type { ErrorInfo } from './errors.js'
import { frozen } from './frozen.js'
import { jsonOfArgument } from './json.js'
import type { ToolOutput } from './event.js'
import type { Canonical, Message, MessageInput } from './message.js'
import type { NativeAgent, NativeFollow, NativeOpenSession, NativeSession } from './native.js'
import { isObject, isPromise, kindOf } from './object.js'
import type { SessionInfo } from './store.js'
import type { StoreHost } from './store-backend.js'
import type { Decision } from './suspension.js'

/**
 * A record of a session, in the JSON of the journal, the same in every language: `kind` and the fields of docs/journal.md, with
 * names in snake case. Messages in a record that is appended may be as an agent has them.
 */
export interface JournalRecord {
  kind: string
  message?: MessageInput | undefined
  messages?: readonly MessageInput[] | undefined
  [field: string]: unknown
}

/** A record that was read. */
export interface JournalEntry {
  /** Its number: 1, 2, 3 … without gaps. */
  seq: number
  /** When it was written, in milliseconds since the epoch. */
  at: number
  kind: string
  [field: string]: unknown
}

/** Which records are read. */
export interface RecordsOptions {
  /** Those behind this number; 0 unless given. */
  after?: number | undefined
  /** At most so many; 1,000 unless given. */
  limit?: number | undefined
}

/** What is followed. */
export interface FollowOptions extends Pick<RecordsOptions, 'after'> {
  /** Whether the events of the run that goes on in this process come between the records; false unless given. */
  live?: boolean | undefined
}

/** An event of the run that goes on, in canonical form as records are: see docs/journal.md. */
export interface LiveEvent {
  /** The number of the record before. */
  after: number
  /** Of a `message_start`, the message may have content already: what there is of it so far. */
  event: { type: string; run_id: string; seq: number; turn: number; [field: string]: unknown }
}

/** What `follow` gives with `live`: a record, or an event, which is what has `event`. */
export type Followed = (JournalEntry & { event?: undefined }) | LiveEvent

/** A fork of a session. */
export interface ForkOptions {
  /** The id of the other session. */
  id: string
  /** The last record that both have; the last one unless given. */
  at?: number | undefined
}

/** What an application keeps with a session; what is left out stays, and what is empty is taken away. */
export interface SessionChanges {
  title?: string | undefined
  metadata?: Readonly<Record<string, unknown>> | undefined
}

/** What can be read of a session that is damaged. */
export interface SalvagedSession {
  /** The records before the damage. */
  records: JournalEntry[]
  /** The same as JSON lines, as {@link Store.import} takes them. */
  text: string
  /** What is wrong behind them; null for a session that is whole. */
  damage: string | null
}

/** Something about a session that is unusual and no error. */
export interface SessionDiagnostic {
  /** `journal_torn`: the end of a record that was not written whole was removed. */
  code: string
  /** In a sentence. */
  message: string
  /** More, for programs. */
  data: unknown
}

/** A run that did not end, as its process has ended; see `interrupted` of an agent. */
export interface InterruptedRun extends Canonical {
  /** The run's id. */
  runId: string
  /** What it was begun with. */
  of: 'prompt' | 'resume' | 'queued' | 'decisions'
  /** Whether the model was to answer, or calls of the last answer were under way. */
  phase: 'model' | 'tools'
  /** The calls of the last answer that have no result, in the order in which the model made them. */
  calls: OpenCall[]
}

/** A tool call without a result. */
export interface OpenCall {
  /** The call's id. */
  toolCallId: string
  /** The tool's name. */
  toolName: string
  /** Those that the tool got, where it was called, else the model's own. */
  arguments: Record<string, unknown>
  /** Of a call that was called, or has waited for a decision: the same in each execution of it. */
  idempotencyKey?: string
  /** How far it came: of one that has `started`, it is not known what it did. */
  progress: { state: 'waiting' | 'started' } | { state: 'answered'; result: ToolOutput; isError: boolean }
  /** What was decided about it. */
  decision?: Decision
  /** Of a call that has waited for a decision: whether its arguments were found right. */
  isChecked: boolean
}

/** @internal Begins work of a store, and waits for it. */
export async function ask<T>(host: StoreHost | undefined, start: (ticket: number) => void): Promise<T> {
  return (await asked<T>(host, start)).value
}

async function asked<T>(
  host: StoreHost | undefined,
  start: (ticket: number) => void,
): Promise<{ value: T; ticket: number }> {
  const ticket = nextNumber()
  enter(() => start(ticket))
  const { text = '', thrown } = await settled(ticket, host, host?.causes)
  const done = JSON.parse(text) as { value: T } | { error: ErrorInfo }
  if ('error' in done) throw errorOf(done.error, undefined, thrown)
  return { value: done.value, ticket }
}

/**
 * A session of a store, which need not exist: nothing is read or written before a method is called. Made by `session` of a store.
 */
export class Session {
  readonly #native: NativeSession
  readonly #host: StoreHost | undefined
  readonly #of: (id: string) => Session

  /** @internal */
  constructor(native: NativeSession, host: StoreHost | undefined, of: (id: string) => Session) {
    this.#native = native
    this.#host = host
    this.#of = of
  }

  /** Its id. */
  get id(): string {
    return this.#native.id
  }

  /**
   * Opens it to write, and creates it if there is none.
   *
   * @throws BusyError with the holder's name while it is open elsewhere; DamagedError with the place, for one that `salvage`
   * reads in part; NewerVersionError for one that a newer version of this library has written; IoError for what the store's disk
   * or server refuses.
   */
  async open(): Promise<OpenSession> {
    const { ticket } = await asked(this.#host, (ticket) => this.#native.open(ticket))
    const open = this.#native.takeOpened(ticket)
    // The environment is about to end.
    if (open === null) throw invalidState('the session was not opened')
    return new OpenSession(open, this.#native.id, this.#host)
  }

  /** @internal Lets an agent go on with what it was given: an open session, or one that is opened while this thread waits. */
  static giveTo(agent: NativeAgent, session: unknown): OpenSession {
    if (session instanceof OpenSession) return session.giveTo(agent)
    if (session instanceof Session) {
      const open = enter(() => session.#native.openFor(agent))
      return new OpenSession(open, session.id, session.#host)
    }
    const what = isObject(session) && isPromise(session) ? 'a promise: await it' : kindOf(session)
    throw invalidArgument(`option "session": expected store.session(id), or what its open() gives, got ${what}`)
  }

  /** What the store knows of it without reading it; null if there is no such session. */
  async info(): Promise<SessionInfo | null> {
    return ask(this.#host, (ticket) => this.#native.info(ticket))
  }

  /**
   * Reads records, also while it is open elsewhere.
   *
   * @throws NotFoundError if there is no such session; else as `open` for what cannot be read.
   */
  async records(options?: RecordsOptions): Promise<JournalEntry[]> {
    const given = checkedNames(options, ['after', 'limit'])
    const after = wholeNumber('records: after', given.after, 0)
    const limit = wholeNumber('records: limit', given.limit, 1_000)
    return ask(this.#host, (ticket) => this.#native.records(after, limit, ticket))
  }

  /**
   * Its records behind a number: those that are there, and those to come, from whichever process writes them. It does not end by
   * itself; leave the loop, or call `return`. While a record is awaited, the process stays alive.
   *
   * ```ts
   * const session = Store.open('agents.db').session('user-7')
   * for await (const record of session.follow()) console.log(record.seq, record.kind)
   * ```
   *
   * With `live`, the events of the run that goes on in this process come between the records, delta by delta:
   * `{ after, event }`. There are those that say what no record says. Whoever joins in the middle of an answer begins with its
   * `message_start`, which has the content so far; the whole message comes as a record. The run's session must have been opened
   * with the same `Store`.
   *
   * The session need not exist yet: its first record is awaited. Waiting for a record throws as `records`, but `NotFoundError`
   * only behind a record, for a session that was deleted. An error ends it: to go on, follow again behind the last record.
   */
  follow(options?: FollowOptions & { live?: false | undefined }): Follow
  follow(options?: FollowOptions): Follow<Followed>
  follow(options?: FollowOptions): Follow<Followed> {
    const given = checkedNames(options, ['after', 'live'])
    const after = wholeNumber('follow: after', given.after, 0)
    return new Follow(this.#native.follow(after, flag('follow: live', given.live)), this.#host)
  }

  /**
   * Sets title, metadata or both of a session that is not open; one that is has `setInfo` of its own.
   *
   * @throws AgentError as `open`.
   */
  async setInfo(info: SessionChanges): Promise<void> {
    const text = changesJson(info)
    await ask(this.#host, (ticket) => this.#native.setInfo(text, ticket))
  }

  /**
   * Makes another session of the records up to a number, which this one keeps. Title and metadata are those that it has now.
   *
   * @throws InvalidArgumentError if there is a session of that id, or if this one has no such record.
   */
  async fork(options: ForkOptions): Promise<Session> {
    const { id: given, at } = checkedNames(options, ['id', 'at'])
    const id = textArgument('fork: id', given)
    const until = at === undefined || at === null ? undefined : wholeNumber('fork: at', at, 0)
    await ask(this.#host, (ticket) => this.#native.fork(until, id, ticket))
    return this.#of(id)
  }

  /**
   * Deletes it.
   *
   * @throws NotFoundError if there is no such session; BusyError while it is open.
   */
  async delete(): Promise<void> {
    await ask(this.#host, (ticket) => this.#native.delete(ticket))
  }

  /**
   * All of it as JSON lines, each with its line end: what `import` of a store takes, in each language.
   *
   * @throws AgentError as `records`.
   */
  async export(): Promise<string> {
    return ask(this.#host, (ticket) => this.#native.export(ticket))
  }

  /**
   * What can be read of a damaged session: the records before the first one that cannot. The session stays as it is. To go on
   * from there, import the text under another id.
   *
   * @throws NotFoundError if there is no such session; IoError if nothing can be read.
   */
  async salvage(): Promise<SalvagedSession> {
    return ask(this.#host, (ticket) => this.#native.salvage(ticket))
  }
}

/** The records of a session, also those to come, and live events. Made by `follow` of a session. */
export class Follow<T = JournalEntry> implements AsyncIterableIterator<T> {
  readonly #native: NativeFollow
  readonly #host: StoreHost | undefined
  #isOver = false

  /** @internal */
  constructor(native: NativeFollow, host: StoreHost | undefined) {
    this.#native = native
    this.#host = host
  }

  /** The next record or event, when it is there. There is nothing behind an error. */
  async next(): Promise<IteratorResult<T, undefined>> {
    if (this.#isOver) return { done: true, value: undefined }
    try {
      const next = await ask<T | null>(this.#host, (ticket) => this.#native.next(ticket))
      return next === null ? { done: true, value: undefined } : { done: false, value: next }
    } catch (error) {
      this.#isOver = true
      throw error
    }
  }

  /** Ends it: whoever waits for a record gets none. */
  return(): Promise<IteratorResult<T, undefined>> {
    this.#isOver = true
    this.#native.close()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

/** A session with the right to append to it, until it is closed. Made by `open` of a session. */
export class OpenSession {
  readonly #native: NativeOpenSession
  readonly #host: StoreHost | undefined
  #messages: readonly Message[] | undefined

  /** The session's id. */
  readonly id: string

  /** @internal */
  constructor(native: NativeOpenSession, id: string, host: StoreHost | undefined) {
    this.#native = native
    this.id = id
    this.#host = host
  }

  /** @internal Lets an agent go on with it. */
  giveTo(agent: NativeAgent): this {
    enter(() => agent.setSession(this.#native))
    return this
  }

  /** @internal Waits until it has all that an agent has changed. */
  async flushed(agent: NativeAgent, isInside: boolean): Promise<void> {
    await ask(this.#host, (ticket) => agent.flush(ticket, isInside))
  }

  /** The number of the last record that was appended, whether it is written or not. */
  get last(): number {
    return this.#native.last
  }

  /**
   * The transcript as it was when the session was opened, frozen with all that is in it. Empty when an agent has got the session,
   * unless it was read before: the agent has it then.
   */
  get messages(): readonly Message[] {
    if (this.#messages === undefined) {
      const count = this.#native.messageCount
      let messages: Message[] = []
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
   * All that the session was when it was opened, in the JSON of the journal: `start`, `messages`, `steering`, `follow_up`,
   * `last_queued`, `suspended`, `open_calls`, `interrupted`, `last_run` and `info`. A new copy each time, and empty when an agent
   * has got the session.
   */
  get rebuilt(): Record<string, unknown> {
    return JSON.parse(enter(() => this.#native.rebuilt)) as Record<string, unknown>
  }

  /** What was unusual when it was opened. */
  get diagnostics(): SessionDiagnostic[] {
    return JSON.parse(this.#native.diagnostics) as SessionDiagnostic[]
  }

  /**
   * Appends records, in the order of the calls. After an error of the store nothing more is written, and each further call throws
   * it. When an agent has the session, only records of the kind `info`: others would not reach the agent,
   * which has `appendMessages`.
   *
   * @returns The number of the last record. They are durable then, as the store's `sync` says.
   * @throws BusyError with the new holder's name if the lease was lost; InvalidArgumentError for what is no record;
   * InvalidStateError after `close`, and for other records when an agent has the session.
   */
  async append(records: readonly JournalRecord[]): Promise<number> {
    const given: unknown = Array.isArray(records) ? records.map((record: unknown) => inJournal(record)) : records
    const text = jsonOfArgument('records', given)
    return ask(this.#host, (ticket) => this.#native.append(text, ticket))
  }

  /**
   * Sets title, metadata or both.
   *
   * @throws AgentError as `append`.
   */
  async setInfo(info: SessionChanges): Promise<void> {
    const text = changesJson(info)
    await ask(this.#host, (ticket) => this.#native.setInfo(text, ticket))
  }

  /**
   * Waits until the store has all records.
   *
   * @throws AgentError as `append`.
   */
  async flush(): Promise<void> {
    await ask(this.#host, (ticket) => this.#native.flush(ticket))
  }

  /**
   * Writes what waits, and lets others open the session. A second call waits for the first.
   *
   * @throws AgentError as `append`, for records that could not be written.
   */
  async close(): Promise<void> {
    await ask(this.#host, (ticket) => this.#native.close(ticket))
  }

  /** Same as `close`: for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function changesJson(info: SessionChanges): string {
  return jsonOfArgument('setInfo', checkedNames(info, ['title', 'metadata']))
}

/** A record with its messages in canonical form. */
function inJournal(record: unknown): unknown {
  if (!isObject(record)) return record
  const { message, messages } = record
  return {
    ...record,
    ...(message !== undefined && { message: canonical(message) }),
    ...(Array.isArray(messages) && { messages: messages.map((one: unknown) => canonical(one)) }),
  }
}
