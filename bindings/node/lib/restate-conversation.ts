/** A prompt of a session on Restate: from the conversation in Restate's state to the next one there. */

import { CancelledError, RestatePromise, TerminalError, serde } from '@restatedev/restate-sdk'
import type { ObjectContext } from '@restatedev/restate-sdk'

import type { Loop } from './loop.js'
import { isOfCaller, raising, workflowStep } from './restate-definition.js'
import type { Definition } from './restate-definition.js'
import * as inbox from './restate-inbox.js'
import type { Item } from './restate-inbox.js'
import { Run } from './restate-run.js'
import type { RunResult } from './run.js'

interface Kept {
  runs: number
  export: object
  pending: Pending[]
}

interface Pending {
  tool_call_id: string
}

/** An awakeable was rejected. */
class Rejected extends Error {}

/** @internal One invocation of `prompt` or `resume`. */
export class Conversation {
  readonly #ctx: ObjectContext
  readonly #definition: Definition
  readonly #inputs: inbox.Inputs
  #runs = 0
  #export: object | undefined
  /** The calls that wait for a decision. */
  #pending: Pending[] = []
  /** How many of the inputs need not be read again. */
  #saved = 0
  #isCancelled = false

  constructor(ctx: ObjectContext, definition: Definition) {
    this.#ctx = ctx
    this.#definition = definition
    this.#inputs = new inbox.Inputs(ctx)
  }

  /** Runs the agent until no call waits for a decision; returns the result. */
  async run(begin: { prompt?: unknown }): Promise<unknown> {
    const stored = await this.#ctx.get('conversation', serde.binary)
    const kept = stored === null ? undefined : (serde.json.deserialize(stored) as Kept)
    this.#runs = kept?.runs ?? 0
    this.#export = kept?.export
    // Calls still wait when a handler begins only if the invocation that waited for them was killed, or has failed.
    this.#pending = kept?.pending ?? []
    if ('prompt' in begin) {
      const room = this.#definition.room(stored)
      workflowStep('check_prompt', { message: begin.prompt ?? null, pending: this.#pending, room })
    }
    const loop = this.#pending.length > 0 ? undefined : raising(() => this.#loop(begin))
    try {
      const result = await this.#result(loop)
      await this.#close()
      if (!this.#isCancelled) return result
    } catch (error) {
      // Nothing reads the inbox any more. A cancellation also ends the call of another handler that it meets.
      if (error instanceof TerminalError) await this.#close()
      throw error
    }
    throw new CancelledError()
  }

  #close(): Promise<void> {
    return inbox.call(this.#ctx, this.#definition.name, 'close', this.#saved)
  }

  /** The result of the run, or of the one that goes on with decisions about its calls. */
  async #result(loop: Loop | undefined): Promise<RunResult> {
    const opened = await inbox.call<inbox.Opened>(this.#ctx, this.#definition.name, 'open', this.#ctx.request().id)
    let { at_ms: nowMs, waiting: items } = opened
    this.#inputs.read = items.length
    for (;;) {
      if (loop === undefined) {
        loop = await this.#decided(items)
        // From here on their tools may run: what ends this run without a conversation to keep leaves calls of unknown outcome,
        // and not calls that wait, which would run again when they are decided again.
        this.#store({ ...this.#export, suspended: [] })
        // The time that calls wait for a decision is not that of the run.
        nowMs = Math.max(nowMs, await this.#ctx.date.now())
      }
      const run = new Run(this.#ctx, this.#definition, loop, this.#inputs, nowMs)
      for (const item of items) run.takeInput(item)
      const result = await run.toEnd()
      this.#isCancelled ||= run.isCancelled
      // What it took in goes with a conversation that is too large to be stored: the next run would be too large with it.
      this.#saved = this.#inputs.read
      this.#store(loop.export())
      if (this.#pending.length === 0) return result
      loop = undefined
      items = []
      nowMs = run.nowMs
    }
  }

  /** Stores the conversation of an export. */
  #store(exported: string | object): void {
    const text = this.#definition.toStore(this.#runs, exported)
    this.#ctx.set('conversation', Buffer.from(text), serde.binary)
    const kept = JSON.parse(text) as Kept
    this.#export = kept.export
    this.#pending = kept.pending
  }

  /** The loop of the next run. Its id and its seed are the same in each replay. */
  #loop(begin: Record<string, unknown>): Loop {
    this.#runs++
    const seed = Math.floor(this.#ctx.rand.random() * Number.MAX_SAFE_INTEGER)
    const runId = `${this.#definition.name}/${this.#ctx.key}/${this.#runs}`
    const exported = this.#export === undefined ? undefined : JSON.stringify(this.#export)
    return this.#definition.loop({ export: exported, runId, runSeed: seed, ...begin })
  }

  /**
   * Waits for decisions about the calls that wait, without a process if that takes long. Returns the loop that goes on with
   * them; appends the inputs that arrive meanwhile. An abort denies all calls.
   */
  async #decided(items: Item[]): Promise<Loop> {
    const ids = this.#pending.map((call) => call.tool_call_id)
    for (;;) {
      try {
        return this.#loop({ decisions: await this.#decisions(ids, items) })
      } catch (error) {
        // Whoever knows the awakeable's id can complete it without `decide`, which checks.
        if (!isOfCaller(error) && !(error instanceof Rejected)) throw error
      }
    }
  }

  /** The next decisions; denials after an abort. Appends other inputs. */
  async #decisions(ids: string[], items: Item[]): Promise<unknown> {
    const { id: awakeable, promise } = this.#ctx.awakeable<unknown>()
    const decided = promise.map((decisions, rejected) => ({ decisions, rejected }))
    try {
      await inbox.call(this.#ctx, this.#definition.name, 'suspend', { awakeable, ids, saved: this.#saved })
      while (items.at(-1)?.type !== 'abort') {
        const next = this.#inputs.next().map((item, failure) => {
          if (failure !== undefined) throw failure
          return { item }
        })
        const first = await RestatePromise.race([decided, next])
        if ('decisions' in first) {
          if (first.rejected !== undefined) throw new Rejected('the awakeable was rejected', { cause: first.rejected })
          return first.decisions ?? {}
        }
        this.#inputs.taken()
        if (first.item !== undefined) items.push(first.item)
      }
    } catch (error) {
      if (!(error instanceof CancelledError)) throw error
      this.#isCancelled = true
      items.push({ type: 'abort' })
    }
    return Object.fromEntries(ids.map((id) => [id, { deny: 'aborted' }]))
  }
}
