/**
 * Custom stores: objects of the application that keep sessions, in a database that it has already, for example.
 */

import { AsyncResource } from 'node:async_hooks'

import type { Host } from './bridge.js'
import { nextNumber, register } from './bridge.js'
import { camelName, canonical } from './canonical.js'
import type { Thrown } from './causes.js'
import { Causes } from './causes.js'
import { AgentError, expectFunction, invalidArgument, isErrorKind } from './errors.js'
import { jsonOfAnswer } from './json.js'
import type { NativeCall } from './native.js'
import { native } from './native.js'
import { className, isObject, kindOf } from './object.js'
import { errorJson } from './provider.js'
import type { ListOptions, SessionInfo, SessionPage } from './store.js'
import { report } from './thrown.js'

/** Who asks for a lease. */
export interface LeaseRequest {
  /** The session's id. */
  id: string
  /** What others read who want to open the session meanwhile. */
  holder: string
  /** How long the lease lasts unless it is renewed, in milliseconds. */
  leaseMs: number
}

/** The right to append to a session. */
export interface StoreLease {
  /** Larger than that of all leases that the session had before. */
  token: number
  /** The number of the last line that the session is known to have had. */
  last?: number | undefined
  /** How many bytes of a line that was not written whole were removed. */
  torn?: number | undefined
}

/** A lease, with the session that it is for. */
export interface HeldLease {
  id: string
  token: number
}

/** A line of a session: text without a line end. */
export interface StoredLine {
  /** Its number: 1, 2, 3 … without gaps. */
  seq: number
  text: string
}

/** Lines, and how many there were. */
export interface StoredPage {
  lines: readonly StoredLine[]
  /**
   * The number of the last line that the session is known to have had, read before the lines. A session that has fewer is
   * damaged.
   */
  last?: number | undefined
}

type Answer<T> = T | PromiseLike<T>

/**
 * What a custom store is made of; see {@link Store.custom}. A session is a list of lines with a lease that says who may append.
 *
 * An {@link AgentError}, or an error with a `kind` of one (`busy`, `not_found`, …), is thrown with this kind to who uses the
 * session; any other one as `io`. Say in its text what was wrong and where.
 */
export interface StoreBackend {
  /** What the store is called in errors. */
  readonly name?: string | undefined
  /**
   * Gives the right to append to a session, which it creates if there is none of this id. Throws an error of the kind `busy` with
   * the holder's name while another has a lease that has not ended.
   */
  acquire(request: LeaseRequest): Answer<StoreLease>
  /** Prolongs leases to this many milliseconds from now. Returns the ids of those that somebody else has taken, if any. */
  renew(leases: HeldLease[], leaseMs: number): Answer<readonly string[] | void>
  /** Gives a lease back. One that was lost is left as it is. */
  release(lease: HeldLease): Answer<void>
  /**
   * Appends lines, of which the first has the number `seq`: all or none. Throws an error of the kind `busy` with the new holder's
   * name if the lease was taken by somebody else; nothing is appended then.
   */
  append(lease: HeldLease, seq: number, lines: string[]): Answer<void>
  /**
   * The lines behind the number `after`, in order, at most `limit`: by themselves, or in a page. Throws an error of the kind
   * `not_found` if there is no such session.
   */
  read(id: string, after: number, limit: number): Answer<readonly StoredLine[] | StoredPage>
  /** What the store knows of a session; null if there is no such session. */
  info(id: string): Answer<StoredInfo | null | undefined>
  /** Sets title and metadata of a session, both: one that is null is taken away. Throws as `append`. */
  setInfo(lease: HeldLease, info: { title: string | null; metadata: Record<string, unknown> | null }): Answer<void>
  /** Sessions, the one that was changed last first. Of the query, what is null is not asked for. */
  list(query: StoreQuery): Answer<{ sessions: readonly StoredInfo[]; next?: SessionPage['next'] | undefined }>
  /** Removes a session. Throws as `append`. */
  delete(lease: HeldLease): Answer<void>
  /**
   * Resolves when there may be a line behind that number, or earlier. Without this method, `read` is called every 50 ms for who
   * follows a session.
   */
  changed?(id: string, after: number): Answer<void>
}

/** What a custom store knows of a session; what is left out is null. */
export type StoredInfo = Pick<SessionInfo, 'id' | 'createdMs' | 'updatedMs'> & {
  [Name in 'title' | 'metadata' | 'holder']?: SessionInfo[Name] | undefined
}

/** What a custom store is asked to list. */
export type StoreQuery = { [Name in keyof Required<ListOptions>]: Exclude<ListOptions[Name], undefined> | null } & {
  limit: number
  metadata: Record<string, unknown>
}

/** @internal Calls the methods of a custom store. */
export class StoreHost implements Host {
  readonly number = nextNumber()
  readonly callback = nextNumber()
  readonly causes = new Causes()
  readonly hasChanged: boolean
  readonly name: string
  readonly #methods: Record<string, (...given: unknown[]) => unknown>
  /** The `AsyncLocalStorage` context of the code that has made the store. */
  readonly #context = new AsyncResource('agent-loop.store', { requireManualDestroy: true })

  constructor(backend: StoreBackend) {
    if (!isObject(backend)) throw invalidArgument(`store: expected an object with methods, got ${kindOf(backend)}`)
    this.#methods = backend as unknown as Record<string, (...given: unknown[]) => unknown>
    this.hasChanged = backend.changed !== undefined
    for (const name of native.storeMethods().map(camelName)) {
      if (name !== 'changed' || this.hasChanged) expectFunction(`store: ${name}`, this.#methods[name])
    }
    const { name } = backend
    this.name = typeof name === 'string' && name !== '' ? name : `the store ${className(backend)}`
    register(this.number, this)
  }

  call(_: number, call: NativeCall): void {
    this.#context.runInAsyncScope(() => void this.#answer(call))
  }

  async #answer(call: NativeCall): Promise<void> {
    try {
      const name = camelName(call.storeMethod)
      const given = (JSON.parse(call.input) as unknown[]).map(named)
      const answer = await this.#methods[name]?.(...given)
      call.respond(jsonOfAnswer('its answer', canonical(answer)))
    } catch (error) {
      report(error, (text) => {
        const cause = this.causes.keep(error)
        const kind = isObject(error) && isErrorKind(error.kind) ? error.kind : undefined
        if (kind === undefined && !(error instanceof AgentError)) call.fail(text, cause)
        else call.failWith(errorJson(error, text, kind ?? 'io'), cause)
      })
    }
  }

  gone(): void {
    // Its one callback is kept as long as this.
  }

  forget(cause: number): void {
    this.causes.drop(cause)
  }

  log(_: number | undefined, write: (thrown: Thrown | undefined) => void): void {
    write(undefined)
  }

  event(): Promise<undefined> {
    return Promise.resolve(undefined)
  }
}

/** An argument with its names in camel case; what is in it is the user's, or has one word. */
function named(given: unknown): unknown {
  if (!isObject(given) || Array.isArray(given)) return given
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [camelName(name), value]))
}
