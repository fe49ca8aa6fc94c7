/**
 * Tool calls that wait for a decision: an approval, or an answer that comes from elsewhere, later.
 */

import type { Canonical } from './message.js'
import type { RunOptions, StreamOptions } from './signal.js'

/** A tool call that waits for a decision; see `pending` of a result. */
export interface SuspendedCall extends Canonical {
  /** The call's id, by which it is decided. */
  toolCallId: string
  /** The tool's name. */
  toolName: string
  /** The arguments with which it runs if it is approved; the model's own of a call that was not checked yet. */
  arguments: Record<string, unknown>
  /** Why it waits, for the person who decides. */
  reason: string
  /** The rule that is remembered if the decision is for always; it is about this call alone. Not in an older export. */
  rule?: string
  /** The same however often the call is executed, and wherever. */
  idempotencyKey: string
}

/**
 * What is decided about a call. `approve`: it runs. `deny`, perhaps with a reason for the model: its result is an error.
 * `approve_always` and `deny_always`: the same for its `rule`, which the conversation remembers.
 * `arguments`: it runs with these, which are validated. `result`: it does not run, and this is its result.
 */
export type Decision =
  | 'approve'
  | 'approve_always'
  | 'deny'
  | { deny: string }
  | 'deny_always'
  | { denyAlways: string }
  | { arguments: Record<string, unknown> }
  | { result: unknown }

/** What a conversation remembers of decisions for always, as rules of the option `gate`. */
export interface Remembered {
  allow: string[]
  deny: string[]
}

/** Decisions by the ids of their calls. */
export type Decisions = Readonly<Record<string, Decision>>

/** Of a `resume`. */
interface Decided {
  /** What is decided about the calls of `pending`: about all of them, or nothing runs. */
  decisions?: Decisions | undefined
}

/** The options of a run that goes on with what is there. */
export interface ResumeOptions extends RunOptions, Decided {}

/** The same, of a run whose events are read. */
export interface StreamResumeOptions extends StreamOptions, Decided {}

/** What a tool throws whose answer comes from elsewhere, later; made by `suspend` of its context. */
export class Suspension extends Error {
  /** Why the call waits, for the person who decides. */
  readonly reason: string

  /** @internal */
  constructor(reason: string) {
    super(`the call waits for a decision: ${reason}`)
    this.name = 'Suspension'
    this.reason = reason
  }
}
