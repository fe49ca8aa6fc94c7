// What the tests of stores have in common.

import { join } from 'node:path'

import { AgentError, Store } from 'agent-loop'

/** A record of a user's message. */
export const said = (text) => ({ kind: 'message', message: { role: 'user', content: text } })

export const texts = (messages) => messages.map((message) => message.content.map((block) => block.text).join(''))

export const busy = (message) => new AgentError({ kind: 'busy', message, retryable: false })

/** A store of an application: sessions in a map. */
export class Lists {
  name = 'the lists'
  sessions = new Map()
  token = 0

  #held({ id, token }) {
    const session = this.sessions.get(id)
    if (session?.token !== token) throw busy(`the session ${id} is somebody else's`)
    return session
  }

  acquire({ id, holder, leaseMs }) {
    if (leaseMs !== 30_000) throw new Error(`a lease of ${leaseMs}`)
    let session = this.sessions.get(id)
    if (session === undefined) {
      session = { id, lines: [], holder: null, title: null, metadata: null, createdMs: Date.now(), updatedMs: Date.now() }
      this.sessions.set(id, session)
    }
    if (session.holder !== null) throw busy(`it is open elsewhere, by ${session.holder}`)
    session.holder = holder
    session.token = ++this.token
    return { token: session.token }
  }

  renew(leases) {
    return leases.filter(({ id, token }) => this.sessions.get(id)?.token !== token).map(({ id }) => id)
  }

  release(lease) {
    this.#held(lease).holder = null
  }

  async append(lease, seq, lines) {
    const session = this.#held(lease)
    if (seq !== session.lines.length + 1) throw new Error(`line ${seq}`)
    session.lines.push(...lines)
    session.updatedMs = Date.now()
  }

  async read(id, after, limit) {
    const session = this.sessions.get(id)
    if (session === undefined) throw Object.assign(new Error(`there is no ${id}`), { kind: 'not_found' })
    return session.lines.map((text, i) => ({ seq: i + 1, text })).slice(after, after + limit)
  }

  async info(id) {
    const session = this.sessions.get(id)
    if (session === undefined) return undefined
    const { title, metadata, createdMs, updatedMs, holder } = session
    return { id, title, metadata, createdMs, updatedMs, holder }
  }

  setInfo(lease, info) {
    Object.assign(this.#held(lease), info)
  }

  async list({ updatedFrom, limit }) {
    const all = await Promise.all(Array.from(this.sessions.keys(), (id) => this.info(id)))
    return { sessions: all.filter(({ updatedMs }) => updatedMs >= (updatedFrom ?? 0)).slice(0, limit) }
  }

  delete(lease) {
    this.#held(lease)
    this.sessions.delete(lease.id)
  }
}

/** A store of a kind, as another process would open it. */
export function openStore(kind, folder) {
  switch (kind) {
    case 'sqlite':
      return Store.open(join(folder, 'agents.db'))
    case 'jsonl':
      return Store.open(`jsonl:${join(folder, 'sessions')}`)
    case 'memory':
      return Store.open('memory:')
    default:
      return Store.custom(new Lists())
  }
}
