/**
 * Transcript repair: makes any transcript acceptable to any model. Every request does it automatically; call it for transcripts
 * from another program, or to check one in advance. {@link fromOpenai} and the like read messages of other formats,
 * {@link toOpenai} and the like write them.
 *
 * ```ts
 * const { messages, repairs } = transcript.repair(saved, 'anthropic/claude-sonnet-4-5')
 * for (const { messageIndex, text } of repairs) console.log(messageIndex, text)
 * const agent = new Agent({ model: 'anthropic/claude-sonnet-4-5', messages })
 * ```
 */

export * from './conversion.js'

import { enter } from './bridge.js'
import { withToJson } from './canonical.js'
import { jsonOfArgument } from './json.js'
import { messagesJson } from './message.js'
import type { Canonical, Message, MessageInput, StandardMessage } from './message.js'
import { native } from './native.js'
import { shown } from './object.js'
import type { ModelSpec } from './options.js'

/** The codes of repairs. */
export type RepairCode =
  // <generated: repairs>
  /** An assistant message that failed or was aborted was left out. */
  | 'failed_message'
  /** An empty message was left out. */
  | 'empty_message'
  /** An empty block was left out. */
  | 'empty_block'
  /** A call without a result got an error result. */
  | 'missing_result'
  /** A result without a call was left out. */
  | 'stray_result'
  /** A call's id was replaced, in the call and in its result. */
  | 'call_id'
  /** A tool's name was replaced, in the call and in its result. */
  | 'call_name'
  /** Thinking of another model became text. */
  | 'thinking_to_text'
  /** Thinking that the model cannot be given was left out. */
  | 'thinking_dropped'
  /** A block that only another vendor understands was left out. */
  | 'opaque_dropped'
  /** An image became a line of text, for a model that reads none. */
  | 'image_replaced'
  /** Another file, or an image at an address, became a line of text, for a model that does not take it. */
  | 'file_replaced'
  /** An image was left out. */
  | 'image_dropped'
  /** A block that is not allowed in a message of that role was left out. */
  | 'misplaced_block'
  /** A message with a role of another format (`system`, `developer`, `tool`, `function`, `model`) was left out. */
  | 'foreign_role'
  /** A message was left out whose custom role is nearly one of the three that models read. */
  | 'similar_role'
  /** A stored message has fields that are not known; they are in its `metadata.unknown`. */
  | 'unknown_field'
  // </generated>

/** One repair of a transcript. */
export interface Repair extends Canonical {
  /** What kind of repair. */
  code: RepairCode
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
 * Reads a stored history. Fields that no message has are moved to `metadata.unknown`, and so is an `id` that is no text or is
 * there twice; {@link check} and each run report these messages (`unknown_field`).
 *
 * @param history The messages, in canonical form or as the agent has them, or their JSON text.
 * @returns The messages, as an agent takes them.
 * @throws InvalidArgumentError for what is not a list of messages; says where.
 */
export function readHistory(history: readonly object[] | string): Message[] {
  const text = typeof history === 'string' ? history : messagesJson('history', history)
  return withToJson(JSON.parse(enter(() => native.readHistory(text))))
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
 * Estimates how many tokens messages have for a model: by their characters, and 1,500 for an image.
 *
 * @param messages The transcript.
 * @throws InvalidArgumentError for an invalid message.
 */
export function estimateTokens(messages: readonly MessageInput[]): number {
  return enter(() => native.estimateTokens(messagesJson('messages', messages)))
}

/**
 * Returns the last messages of a transcript, without cutting a result from its call. For `transformContext`, where what is left
 * out stays in the transcript.
 *
 * @param messages The transcript.
 * @param count How many messages, from 0. There are fewer, so that they begin with a user's message; if the last one is farther
 *   back, all that follows it; without any, all.
 * @returns The same objects, in a new array.
 * @throws TypeError for a count that is no whole number.
 */
export function recent<M extends MessageInput>(messages: readonly M[], count: number): M[] {
  if (!Number.isInteger(count) || count < 0) {
    throw new TypeError(`count: expected a whole number of at least 0, got ${shown(count)}`)
  }
  const roles = messages.map((message) => message.role)
  return messages.slice(enter(() => native.recentStart(roles, Math.min(count, roles.length))))
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
