/**
 * Stores: where sessions are kept.
 */

import { checkedNames, textArgument } from './arguments.js'
import { bridge, enter } from './bridge.js'
import { jsonOfArgument } from './json.js'
import type { NativeStore } from './native.js'
import { native } from './native.js'
import type { Network } from './options.js'
import { Session, ask } from './session.js'
import type { StoreBackend } from './store-backend.js'
import { StoreHost } from './store-backend.js'

/** Of a custom store. */
export interface CustomStoreOptions {
  /**
   * How long a session stays with who has opened it and does not answer any more, in milliseconds; 30,000 unless given, at least
   * 100.
   */
  leaseMs?: number | undefined
  /** What others read who want to open a session that is open here; the process and its machine unless given. */
  holder?: string | undefined
}

/** Of a store. */
export interface StoreOptions extends CustomStoreOptions {
  /**
   * What a record survives once it is written. `full`: the end of the process and a loss of power. `normal`, the default: the end
   * of the process; after a loss of power the last records may be missing. `off`: the same, and after a loss of power the store
   * may be damaged.
   */
  sync?: 'full' | 'normal' | 'off' | undefined
  /** Certificates for a Postgres server, as the option of an agent. */
  network?: Network | undefined
}

/** What a store knows of a session without reading it. */
export interface SessionInfo {
  id: string
  /** What the application calls it. */
  title: string | null
  /** What the application keeps with it. */
  metadata: Record<string, unknown> | null
  /** When it was created, in milliseconds since the epoch. */
  createdMs: number
  /** When something was last appended, in milliseconds since the epoch; up to a second earlier. */
  updatedMs: number
  /** Who has it open. */
  holder: string | null
}

/** Which sessions are listed: all that is given has to hold. */
export interface ListOptions {
  /** Those that were changed at or after this time, in milliseconds since the epoch. */
  updatedFrom?: number | undefined
  /** Those that were changed before this time, in milliseconds since the epoch. */
  updatedBefore?: number | undefined
  /** Those whose metadata have these fields with these values. */
  metadata?: Readonly<Record<string, unknown>> | undefined
  /** The most sessions of a page; 100 unless given. */
  limit?: number | undefined
  /** Those behind a page: its `next`. */
  cursor?: string | undefined
}

/** A page of a list. */
export interface SessionPage {
  /** The one that was changed last comes first. */
  sessions: SessionInfo[]
  /** The cursor of the next page; null if there is none. */
  next: string | null
}

/** A session that is made of a text. */
export interface ImportOptions {
  /** Its id; that of the text unless given. */
  id?: string | undefined
}

/**
 * Where sessions are kept: conversations that outlive their process. What a session holds is described in docs/journal.md.
 *
 * ```ts
 * const store = Store.open('agents.db')
 * const session = await store.session('user-7').open()
 * await session.append([{ kind: 'message', message: { role: 'user', content: 'Rain in Oslo?' } }])
 * await session.close()
 * ```
 */
export class Store {
  readonly #native: NativeStore
  readonly #host: StoreHost | undefined

  private constructor(native: NativeStore, host?: StoreHost) {
    this.#native = native
    this.#host = host
  }

  /**
   * Opens a store. `agents.db` or `sqlite:PATH` is an SQLite file and `jsonl:FOLDER` a folder with a readable file for each
   * session, which are made if there are none; `postgres://USER:PASSWORD@HOST:PORT/DATABASE` a Postgres database, in which tables
   * are made; `memory:` the memory of this process, for tests.
   *
   * @throws InvalidArgumentError for an unknown address or a wrong option; IoError for what the system refuses; DamagedError for
   * a file that is no store; NewerVersionError for a store of a newer version.
   */
  static open(address: string, options?: StoreOptions): Store {
    const [at, text] = [textArgument('store: address', address), jsonOfArgument('store: options', options ?? {})]
    return new Store(enter(() => native.Store.at(bridge, at, text)))
  }

  /**
   * A store that keeps sessions where an object does: in a database that you have already, for example.
   *
   * @throws InvalidArgumentError for an object that lacks a method, and for a wrong option.
   */
  static custom(backend: StoreBackend, options?: CustomStoreOptions): Store {
    const host = new StoreHost(backend)
    const text = jsonOfArgument('store: options', checkedNames(options, ['leaseMs', 'holder']))
    const { number, callback, name, hasChanged } = host
    return new Store(
      enter(() => native.Store.custom(bridge, number, callback, name, hasChanged, text)),
      host,
    )
  }

  /** What it is called in errors. */
  get name(): string {
    return this.#native.name
  }

  /**
   * The session of this id, which need not exist. Nothing is read or written.
   *
   * @throws InvalidArgumentError for an id that is empty, longer than 200 bytes, or has control characters.
   */
  session(id: string): Session {
    const given = textArgument('session: id', id)
    return new Session(
      enter(() => this.#native.session(given)),
      this.#host,
      (other) => this.session(other),
    )
  }

  /**
   * Sessions, the one that was changed last first.
   *
   * @throws InvalidArgumentError for a wrong option.
   */
  async list(options?: ListOptions): Promise<SessionPage> {
    const query = jsonOfArgument('list', options ?? {})
    return ask(this.#host, (ticket) => this.#native.list(query, ticket))
  }

  /** All sessions that `list` gives, page by page: `for await (const info of store.listAll())`. */
  async *listAll(options?: Omit<ListOptions, 'limit' | 'cursor'>): AsyncGenerator<SessionInfo, void, undefined> {
    let page = await this.list(options)
    while (true) {
      yield* page.sessions
      if (page.next === null) return
      page = await this.list({ ...options, cursor: page.next })
    }
  }

  /**
   * Makes a session of JSON lines, as `export` and `salvage` of a session give them.
   *
   * @throws InvalidArgumentError for a text that is no whole session, with the line, and if there is a session of that id;
   * NewerVersionError for a text of a newer version.
   */
  async import(text: string, options?: ImportOptions): Promise<Session> {
    const { id } = checkedNames(options, ['id'])
    const other = id === undefined || id === null ? undefined : textArgument('import: id', id)
    const lines = textArgument('import: text', text)
    return this.session(await ask<string>(this.#host, (ticket) => this.#native.importText(lines, other, ticket)))
  }
}
