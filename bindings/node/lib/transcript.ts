/**
 * Transcript repair: makes any transcript acceptable to any model. Every request does it automatically; call it for transcripts
 * from another program, or to check one in advance.
 *
 * ```ts
 * const { messages, repairs } = transcript.repair(saved, 'anthropic/claude-sonnet-4-5')
 * for (const { messageIndex, text } of repairs) console.log(messageIndex, text)
 * const agent = new Agent({ model: 'anthropic/claude-sonnet-4-5', messages })
 * ```
 */

import { enter } from './bridge.js'
import { withToJson } from './canonical.js'
import { jsonOfArgument } from './json.js'
import { messagesJson } from './message.js'
import type { Canonical, MessageInput, StandardMessage } from './message.js'
import { native } from './native.js'
import type { ModelSpec } from './options.js'

/** One repair of a transcript. */
export interface Repair extends Canonical {
  /** What kind of repair. */
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
  /** The index of the message in the transcript given. */
  messageIndex: number
  /** The index of the content block in that message, for a repair of one block. */
  contentIndex?: number
  /** The repair in a sentence. */
  text: string
}

/** A repaired transcript. */
export interface Repaired {
  messages: StandardMessage[]
  /** In the order of the transcript. */
  repairs: Repair[]
}

/**
 * Repairs a transcript for a model: drops failed messages with the results of their calls, gives each call one result, directly
 * after its message, and makes call ids, thinking, signatures and images acceptable to the model. Messages of custom roles are
 * dropped and not reported. The transcript itself does not change.
 *
 * @param messages The transcript.
 * @param model The model, as `provider/id` or an object.
 * @returns The repaired messages, and what was repaired.
 * @throws InvalidArgumentError for an invalid message, or a model that cannot be used.
 */
export function repair(messages: readonly MessageInput[], model: string | ModelSpec): Repaired {
  const text = enter(() => native.repair(messagesJson('messages', messages), jsonOfArgument('model', model)))
  const repaired: Repaired = JSON.parse(text)
  return { messages: withToJson(repaired.messages), repairs: withToJson(repaired.repairs) }
}

/**
 * Checks a transcript against a model, and changes nothing.
 *
 * @param messages The transcript.
 * @param model The model, as `provider/id` or an object.
 * @returns What {@link repair} would report: empty when the transcript is acceptable as it is.
 * @throws InvalidArgumentError as {@link repair}.
 */
export function check(messages: readonly MessageInput[], model: string | ModelSpec): Repair[] {
  return withToJson(JSON.parse(enter(() => native.check(messagesJson('messages', messages), jsonOfArgument('model', model)))))
}
