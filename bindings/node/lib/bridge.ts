/**
 * The JavaScript end of the job queue: takes the jobs that native threads post, settles what awaits them, and keeps the process
 * alive exactly as long as something is awaited.
 */

import type { Causes, Thrown } from './causes.js'
import { AgentError, errorOf } from './errors.js'
import type { ErrorInfo } from './errors.js'
import type { NativeCall } from './native.js'
import { native } from './native.js'
import { textOf } from './thrown.js'

/** @internal Runs the callbacks of an agent. Its methods must not throw. */
export interface Host {
  /** Calls a tool, hook, middleware or custom provider, which must respond through `call`. */
  call(callback: number, call: NativeCall): void
  /** Forgets a callback: native code does not reference it any more. */
  gone(callback: number): void
  /** Forgets a thrown value: no native error refers to it any more. */
  forget(cause: number): void
  /** Calls a function with a thrown value, in the context of the latest run's caller. */
  log(cause: number | undefined, write: (thrown: Thrown | undefined) => void): void
  /** Calls a listener with an event. Resolves to its failure, if it fails: the text, and the number of what it has thrown. */
  event(
    listener: number,
    text: string,
    pieces: readonly string[] | undefined,
  ): Promise<{ text: string; cause: number | undefined } | undefined>
}

/** @internal Gives a log record, in JSON, to the application, with what was thrown. Must not throw. */
export type LogWriter = (text: string, thrown: Thrown | undefined) => void

/** @internal What a ticket is settled with. */
export interface Settled {
  readonly text?: string
  /** The rest of a long result. */
  readonly pieces?: readonly string[]
  /** The number of what was thrown, of a failure that it has led to. */
  readonly cause?: number
  /** What was thrown. */
  readonly thrown?: Thrown | undefined
}

/** @internal */
export const bridge = new native.Bridge(pump)

// Active runs end before the process does, so that nothing calls into an engine that is shutting down.
process.on('exit', () => bridge.close())

type Job = ReturnType<typeof bridge.take>[number]

const waiting = new Map<number, (settled: Settled) => void>()
const kept = new Map<number, Host | undefined>()
const hosts = new Map<number, WeakRef<Host>>()
const forgotten = new FinalizationRegistry<number>((number) => hosts.delete(number))
let lastNumber = 0
let writeLog: LogWriter | undefined
let writeTraces: ((run: number, text: string) => void) | undefined
let holders = 0

/** @internal A number that is unique among agents, callbacks, listeners and tickets. */
export function nextNumber(): number {
  return ++lastNumber
}

/** @internal Sets what log records are given to. */
export function onLog(write: LogWriter): void {
  writeLog = write
}

/** @internal Sets what the records of runs for OpenTelemetry are given to, in JSON, with the run's number. */
export function onTraces(write: (run: number, text: string) => void): void {
  writeTraces = write
}

/** @internal Registers an agent's callbacks under its number, with a weak reference. */
export function register(number: number, host: Host): void {
  hosts.set(number, new WeakRef(host))
  forgotten.register(host, number)
}

/**
 * @internal Waits until the ticket is settled. Meanwhile the process stays alive, and so does the host whose callbacks may be
 * called: the agent may be referenced by its run only. What was thrown is found in `causes`.
 */
export function settled(ticket: number, host?: Host, causes?: Causes): Promise<Settled> {
  return new Promise((resolve) => {
    if (holders++ === 0) bridge.hold()
    kept.set(ticket, host)
    waiting.set(ticket, (settled) => {
      waiting.delete(ticket)
      kept.delete(ticket)
      if (--holders === 0) bridge.release()
      resolve(withThrown(settled, causes))
    })
  })
}

/**
 * @internal Keeps a host until the ticket that this returns is settled. The process does not stay alive for it: a run that is
 * collected with its agent is aborted, and its hooks and listeners hear of that, but no one awaits it.
 */
export function keepUntilSettled(host: Host, then: () => void): number {
  const ticket = whenSettled(() => {
    kept.delete(ticket)
    then()
  })
  kept.set(ticket, host)
  return ticket
}

/** @internal Calls back when the ticket is settled, if ever. Keeps nothing alive. */
export function whenSettled(callback: (text: string | undefined) => void): number {
  const ticket = nextNumber()
  waiting.set(ticket, ({ text }) => {
    waiting.delete(ticket)
    callback(text)
  })
  return ticket
}

/**
 * @internal Waits until the ticket given to `start` is settled. Keeps nothing alive: for callbacks, whose run is awaited already.
 */
export function answerTo(start: (ticket: number) => void): Promise<string | undefined> {
  return new Promise((resolve) => start(whenSettled(resolve)))
}

/** @internal The same, with what was thrown. */
export function outcomeOf(causes: Causes, start: (ticket: number) => void): Promise<Settled> {
  return new Promise((resolve) => {
    const ticket = nextNumber()
    waiting.set(ticket, (settled) => {
      waiting.delete(ticket)
      resolve(withThrown(settled, causes))
    })
    start(ticket)
  })
}

/** Found at once: the next job may be to forget it. */
function withThrown(settled: Settled, causes: Causes | undefined): Settled {
  return settled.cause === undefined || causes === undefined ? settled : { ...settled, thrown: causes.find(settled.cause) }
}

/** @internal Removes the callback of a ticket. */
export function forget(ticket: number): void {
  waiting.delete(ticket)
}

/** @internal Calls into the native module, and converts its errors. */
export function enter<T>(call: () => T): T {
  try {
    return call()
  } catch (error) {
    throw converted(error)
  }
}

function converted(error: unknown): AgentError {
  if (error instanceof AgentError) return error
  const message = textOf(error)
  if (message.startsWith('{"kind":')) return errorOf(JSON.parse(message) as ErrorInfo)
  return errorOf({ kind: 'panic', message: `the native module failed: ${message}; please report this`, retryable: false })
}

function pump(): void {
  for (const job of bridge.take()) perform(job)
}

function perform(job: Job): void {
  switch (job.kind) {
    case 'Settled':
      waiting.get(job.ticket)?.(job)
      break
    case 'Call': {
      const host = hosts.get(job.agent)?.deref()
      // A tool whose call was cancelled on its way here does not begin. Only calls of tools, and of middleware, have a name: some
      // hooks are called after an abort.
      if (job.call.name !== '' && job.call.isCancelled) job.call.fail('aborted')
      else if (host) host.call(job.callback, job.call)
      else job.call.fail('its agent is gone')
      break
    }
    case 'Gone':
      hosts.get(job.agent)?.deref()?.gone(job.callback)
      break
    case 'Forget':
      hosts.get(job.agent)?.deref()?.forget(job.cause)
      break
    case 'Log': {
      const host = hosts.get(job.agent ?? 0)?.deref()
      if (host) host.log(job.cause, (thrown) => writeLog?.(job.text, thrown))
      else writeLog?.(job.text, undefined)
      break
    }
    case 'Traces':
      writeTraces?.(job.run, job.text)
      break
    case 'Event': {
      const host = hosts.get(job.agent)?.deref()
      if (host) {
        void host
          .event(job.listener, job.text, job.pieces)
          .then((failure) => bridge.listenerReturned(job.answer, failure?.text, failure?.cause))
      } else bridge.listenerReturned(job.answer, 'the agent of this listener is gone')
      break
    }
  }
}
