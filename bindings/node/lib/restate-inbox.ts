/**
 * What reaches a run on Restate while it is active: steering, follow-ups, aborts and decisions.
 *
 * A handler that runs a prompt keeps all others of its key out, except for shared ones, which cannot write. So each session has
 * a second key, whose handlers are short: they know which invocation runs, and send it numbered signals. Without a run, inputs
 * wait here for the next one. Which does what, the engine decides: `core/proto/src/workflow`.
 */

import * as restate from '@restatedev/restate-sdk'
import type { InvocationId, ObjectContext, ObjectSharedContext, RestatePromise } from '@restatedev/restate-sdk'

import { workflowStep } from './restate-definition.js'

/** Ends the key of a session's inbox. */
const SUFFIX = '#inbox'

/** @internal An input of a run. */
export interface Item {
  type: 'steer' | 'follow_up' | 'abort'
  message?: unknown
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

const signalName = (number: number) => `input-${number}`

type Operation = 'open' | 'put' | 'suspend' | 'decide' | 'close' | 'state'

/** A handler that carries out an operation. Only a context that may write gets something to write. */
function handling(operation: Operation) {
  return async (ctx: ObjectContext | ObjectSharedContext, given: unknown): Promise<unknown> => {
    const { state, answer, signal, awakeable } = workflowStep(operation, given, await ctx.get('inbox'))
    if (signal !== null) {
      ctx.invocation(signal.invocation as InvocationId).signal(signalName(signal.number)).resolve(signal.input)
    }
    if (awakeable !== null) ctx.resolveAwakeable(awakeable, given)
    if (state !== null) (ctx as ObjectContext).set('inbox', state)
    return answer
  }
}

const { exclusive, shared } = restate.handlers.object
const hidden = { ingressPrivate: true }

/** @internal The handlers of inboxes. */
export const handlers = {
  inbox_open: exclusive(hidden, handling('open')),
  inbox_put: exclusive(hidden, handling('put')),
  inbox_suspend: exclusive(hidden, handling('suspend')),
  inbox_decide: exclusive(hidden, handling('decide')),
  inbox_close: exclusive(hidden, handling('close')),
  inbox_state: shared(hidden, handling('state')),
}

/** @internal Carries out an operation on the inbox of this session. */
export function call<T = void>(
  ctx: ObjectContext | ObjectSharedContext,
  service: string,
  operation: Operation,
  given: unknown = null,
): RestatePromise<T> {
  if (ctx.key.endsWith(SUFFIX)) {
    throw new restate.TerminalError(`the key of a session must not end with ${SUFFIX}`, { errorCode: 400 })
  }
  const json = restate.serde.json as restate.Serde<unknown>
  return ctx.genericCall<unknown, T>({
    service,
    method: `inbox_${operation}`,
    parameter: given,
    key: ctx.key + SUFFIX,
    inputSerde: json,
    outputSerde: json as restate.Serde<T>,
  })
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
