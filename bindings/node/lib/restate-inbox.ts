/**
 * What reaches a run on Restate while it is active: steering, follow-ups, aborts and decisions.
 *
 * A handler that runs a prompt keeps all others of its key out, except for shared ones, which cannot write. So each session has
 * a second key, whose handlers are short: they know which invocation runs, and send it numbered signals. Without a run, inputs
 * wait here for the next one.
 */

import * as restate from '@restatedev/restate-sdk'
import type { InvocationId, ObjectContext, ObjectSharedContext, RestatePromise } from '@restatedev/restate-sdk'

/** Ends the key of a session's inbox. */
const SUFFIX = '#inbox'

/** @internal An input of a run. */
export interface Item {
  type: 'steer' | 'follow_up' | 'abort'
  message?: unknown
}

interface Suspended {
  awakeable: string
  ids: string[]
}

interface State {
  invocation?: string
  /** The inputs of the active run. */
  sent?: Item[]
  /** How many of them are in the stored conversation. */
  saved?: number
  /** Inputs without a run. */
  waiting?: Item[]
  suspended?: Suspended
}

/** @internal */
export interface Opened {
  waiting: Item[]
  at_ms: number
}

/** @internal */
export interface Now {
  is_running: boolean
  waiting: Item[]
  /** The ids of the calls that wait for a decision. */
  suspended: string[]
}

async function stateOf(ctx: ObjectSharedContext | ObjectContext): Promise<State> {
  return (await ctx.get<State>('inbox')) ?? {}
}

/**
 * The inputs for the next run: those that arrived without a run, and those that the last run has not kept. A run that was killed
 * leaves what is not in the stored conversation.
 */
function unread({ sent = [], saved = 0, waiting = [] }: State): Item[] {
  return [...sent.slice(saved), ...waiting].filter(({ type }) => type !== 'abort')
}

const signalName = (number: number) => `input-${number}`

const { exclusive, shared } = restate.handlers.object
const hidden = { ingressPrivate: true }

function conflict(text: string): restate.TerminalError {
  return new restate.TerminalError(text, { errorCode: 409 })
}

/** @internal The handlers of inboxes. */
export const handlers = {
  /** A run begins; returns its first inputs, and the time. */
  inbox_open: exclusive(hidden, async (ctx: ObjectContext, invocation: string): Promise<Opened> => {
    const waiting = unread(await stateOf(ctx))
    ctx.set<State>('inbox', { invocation, sent: waiting })
    return { waiting, at_ms: Date.now() }
  }),
  /** Sends an input to the active run, or keeps it for the next one. */
  inbox_put: exclusive(hidden, async (ctx: ObjectContext, item: Item): Promise<string> => {
    const state = await stateOf(ctx)
    const { invocation, sent = [], suspended, ...rest } = state
    if (invocation === undefined) {
      if (item.type !== 'abort') ctx.set<State>('inbox', { waiting: [...unread(state), item] })
      return 'queued'
    }
    ctx.invocation(invocation as InvocationId).signal(signalName(sent.length)).resolve(item)
    // An abort denies the calls that wait: later decisions are refused.
    const kept = suspended === undefined || item.type === 'abort' ? {} : { suspended }
    ctx.set<State>('inbox', { ...rest, ...kept, invocation, sent: [...sent, item] })
    return 'joined'
  }),
  /** The active run waits for decisions. This many of its inputs are in the stored conversation. */
  inbox_suspend: exclusive(hidden, async (ctx: ObjectContext, { saved, ...suspended }: Suspended & { saved: number }) => {
    ctx.set<State>('inbox', { ...(await stateOf(ctx)), suspended, saved })
  }),
  /** The first decision about the calls counts. */
  inbox_decide: exclusive(hidden, async (ctx: ObjectContext, decisions: object): Promise<void> => {
    const { suspended, ...state } = await stateOf(ctx)
    if (suspended === undefined) {
      throw conflict('no call of this session waits for a decision; it may have been decided meanwhile')
    }
    const ids = Object.keys(decisions)
    if (ids.length !== suspended.ids.length || !ids.every((id) => suspended.ids.includes(id))) {
      throw conflict(`other calls wait for a decision meanwhile: ${suspended.ids.join(', ')}`)
    }
    ctx.resolveAwakeable(suspended.awakeable, decisions)
    ctx.set<State>('inbox', state)
  }),
  /** The run is over. This many of its inputs are in the stored conversation. */
  inbox_close: exclusive(hidden, async (ctx: ObjectContext, saved: number): Promise<void> => {
    ctx.set<State>('inbox', { waiting: unread({ ...(await stateOf(ctx)), saved }) })
  }),
  /** Whether a run is active, the inputs for the next one, and the ids of the calls that wait for a decision. */
  inbox_state: shared(hidden, async (ctx: ObjectSharedContext): Promise<Now> => {
    const { invocation, waiting = [], suspended } = await stateOf(ctx)
    return { is_running: invocation !== undefined, waiting, suspended: suspended?.ids ?? [] }
  }),
}

type AnyContext = ObjectContext | ObjectSharedContext

function call<T>(ctx: AnyContext, service: string, method: keyof typeof handlers, parameter: unknown): RestatePromise<T> {
  if (ctx.key.endsWith(SUFFIX)) {
    throw new restate.TerminalError(`the key of a session must not end with ${SUFFIX}`, { errorCode: 400 })
  }
  const { json, empty } = restate.serde
  const isVoid = parameter === undefined
  return ctx.genericCall<unknown, T>({
    service,
    method,
    parameter,
    key: ctx.key + SUFFIX,
    inputSerde: (isVoid ? empty : json) as restate.Serde<unknown>,
    outputSerde: json as restate.Serde<T>,
  })
}

/** @internal Reports that this invocation runs; returns its first inputs, and the time. */
export function open(ctx: ObjectContext, service: string): RestatePromise<Opened> {
  return call(ctx, service, 'inbox_open', ctx.request().id)
}

/** @internal */
export function put(ctx: ObjectSharedContext, service: string, item: Item): RestatePromise<string> {
  return call(ctx, service, 'inbox_put', item)
}

/** @internal */
export function suspend(
  ctx: ObjectContext,
  service: string,
  suspended: { awakeable: string; ids: string[]; saved: number },
): RestatePromise<void> {
  return call(ctx, service, 'inbox_suspend', suspended)
}

/** @internal */
export function decide(ctx: ObjectSharedContext, service: string, decisions: object): RestatePromise<void> {
  return call(ctx, service, 'inbox_decide', decisions)
}

/** @internal */
export function close(ctx: ObjectContext, service: string, saved: number): RestatePromise<void> {
  return call(ctx, service, 'inbox_close', saved)
}

/** @internal */
export function state(ctx: ObjectSharedContext, service: string): RestatePromise<Now> {
  return call(ctx, service, 'inbox_state', undefined)
}

/** @internal The inputs of the active run, in the order in which they were sent. */
export class Inputs {
  read = 0
  readonly #ctx: ObjectContext
  #next: RestatePromise<Item> | undefined

  constructor(ctx: ObjectContext) {
    this.#ctx = ctx
  }

  /** The next one; the same until it is taken. */
  next(): RestatePromise<Item> {
    this.#next ??= this.#ctx.signal<Item>(signalName(this.read))
    return this.#next
  }

  /** Records that the next one has arrived. */
  taken(): void {
    this.#next = undefined
    this.read++
  }
}
