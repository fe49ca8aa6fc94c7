/**
 * The JavaScript end of the mailbox: takes the jobs that native threads post, wakes whoever waits, and keeps the process
 * alive exactly as long as somebody does.
 */

import { AgentError, errorOf } from './errors.js'
import type { ErrorInfo } from './errors.js'
import type { NativeAnswer, NativeCall } from './native.js'
import { native } from './native.js'

/** @internal Runs the callbacks of an agent. None of this may throw. */
export interface Host {
  /** A tool, hook or middleware is called, and must be answered through `call`. */
  call(callback: number, call: NativeCall): void
  /** A provider is asked. */
  model(callback: number, answer: NativeAnswer): void
  /** Nothing native knows the callback any more. */
  gone(callback: number): void
  /** A listener is told an event. Gives what went wrong, if anything. */
  event(listener: number, text: string): Promise<string | undefined>
}

/** @internal */
export const bridge = new native.Bridge(pump)

// Runs in flight end before the process does, so that nothing calls into an engine that is being taken down.
process.on('exit', () => bridge.close())

const waiting = new Map<number, (text: string | undefined) => void>()
const kept = new Map<number, Host | undefined>()
const hosts = new Map<number, WeakRef<Host>>()
const forgotten = new FinalizationRegistry<number>((number) => hosts.delete(number))
let lastNumber = 0
let holders = 0

/** @internal A number that no other agent, callback, listener or ticket has. */
export function nextNumber(): number {
  return ++lastNumber
}

/** @internal Makes an agent's callbacks known under its number. They live as long as somebody else holds them. */
export function register(number: number, host: Host): void {
  hosts.set(number, new WeakRef(host))
  forgotten.register(host, number)
}

/**
 * @internal Waits until the ticket is settled. Meanwhile the process stays alive, and so does the host whose callbacks may be called:
 * an agent that nobody holds any more but a run of it.
 */
export function settled(ticket: number, host?: Host): Promise<string | undefined> {
  return new Promise((resolve) => {
    if (holders++ === 0) bridge.hold()
    kept.set(ticket, host)
    waiting.set(ticket, (text) => {
      waiting.delete(ticket)
      kept.delete(ticket)
      if (--holders === 0) bridge.release()
      resolve(text)
    })
  })
}

/** @internal Calls back when the ticket is settled, which need not happen and keeps nothing alive. */
export function whenSettled(callback: (text: string | undefined) => void): number {
  const ticket = nextNumber()
  waiting.set(ticket, (text) => {
    waiting.delete(ticket)
    callback(text)
  })
  return ticket
}

/** @internal What settles the ticket that `start` is given. Keeps nothing alive: for callbacks, whose run somebody waits for. */
export function answerTo(start: (ticket: number) => void): Promise<string | undefined> {
  return new Promise((resolve) => start(whenSettled(resolve)))
}

/** @internal The callback is not wanted any more. */
export function forget(ticket: number): void {
  waiting.delete(ticket)
}

/** @internal Calls into the native module; its errors become ours. */
export function enter<T>(call: () => T): T {
  try {
    return call()
  } catch (error) {
    throw ours(error)
  }
}

function ours(error: unknown): AgentError {
  if (error instanceof AgentError) return error
  const message = error instanceof Error ? error.message : String(error)
  if (message.startsWith('{"kind":')) return errorOf(JSON.parse(message) as ErrorInfo)
  return errorOf({ kind: 'panic', message: `the native module failed: ${message}; please report this`, retryable: false })
}

function pump(): void {
  for (const job of bridge.take()) {
    switch (job.kind) {
      case 'Settled':
        waiting.get(job.ticket)?.(job.text)
        break
      case 'Call': {
        const host = hosts.get(job.agent)?.deref()
        if (host) host.call(job.callback, job.call)
        else job.call.fail('its agent is gone')
        break
      }
      case 'Model':
        // Without its host the answer is let go of, which fails it.
        hosts.get(job.agent)?.deref()?.model(job.callback, job.answer)
        break
      case 'Gone':
        hosts.get(job.agent)?.deref()?.gone(job.callback)
        break
      case 'Event': {
        const host = hosts.get(job.agent)?.deref()
        if (host) void host.event(job.listener, job.text).then((error) => bridge.heard(job.answer, error))
        else bridge.heard(job.answer, 'the agent of this listener is gone')
        break
      }
    }
  }
}
