/**
 * Makes a transcript fit a model: any transcript, for any model. It runs before every request by itself; here it is for transcripts
 * from elsewhere, and to look at one before it is used.
 *
 * ```ts
 * const { messages, repairs } = doctor.repair(transcript, 'anthropic/claude-sonnet-4-5')
 * for (const { messageIndex, text } of repairs) console.log(messageIndex, text)
 * const agent = new Agent({ model: 'anthropic/claude-sonnet-4-5', messages })
 * ```
 */

import { enter } from './bridge.js'
import { jsonOfArgument } from './json.js'
import { MESSAGE, messagesJson } from './message.js'
import type { Canonical, MessageInput, StandardMessage } from './message.js'
import { native } from './native.js'
import type { ModelSpec } from './options.js'
import { Shape } from './shape.js'

/** One thing that was done to a transcript, or would have to be. */
export interface Repair extends Canonical {
  /** A short word for programs. */
  code:
    | 'failed_message'
    | 'empty_message'
    | 'empty_block'
    | 'missing_result'
    | 'stray_result'
    | 'call_id'
    | 'call_name'
    | 'thinking_to_text'
    | 'thinking_dropped'
    | 'opaque_dropped'
    | 'image_replaced'
    | 'image_dropped'
    | 'misplaced_block'
    | 'foreign_role'
  /** Which message of the transcript, from 0. */
  messageIndex: number
  /** Which of its blocks, from 0, where it was one. */
  contentIndex?: number
  /** A sentence for people. */
  text: string
}

/** A transcript that fits, and what was done to it. */
export interface Repaired {
  messages: StandardMessage[]
  /** In the order of the transcript. */
  repairs: Repair[]
}

const REPAIR = Shape.written(['message_index', 'content_index'])

/**
 * The transcript made to fit the model: failed messages are left out, with the results of their calls; each call has one result, right
 * behind its message; ids of calls, thinking, signatures and images are such as the model takes. Messages of an application's own
 * roles are left out without a word.
 *
 * @throws InvalidArgumentError for what is no message, or a model that cannot be used.
 */
export function repair(messages: readonly MessageInput[], model: string | ModelSpec): Repaired {
  const done = JSON.parse(enter(() => native.repair(messagesJson('messages', messages), jsonOfArgument('model', model))))
  return { messages: MESSAGE.camel(done.messages) as StandardMessage[], repairs: REPAIR.camel(done.repairs) as Repair[] }
}

/**
 * What `repair` would do: empty when the transcript fits.
 *
 * @throws As {@link repair}.
 */
export function check(messages: readonly MessageInput[], model: string | ModelSpec): Repair[] {
  return REPAIR.camel(JSON.parse(enter(() => native.check(messagesJson('messages', messages), jsonOfArgument('model', model))))) as Repair[]
}
