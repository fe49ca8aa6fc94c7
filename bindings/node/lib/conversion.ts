/**
 * Transcripts of other programs: their messages in, ours out, with a report of what was not carried over.
 */

import { checkedNames, textArgument } from './arguments.js'
import { enter } from './bridge.js'
import { withToJson } from './canonical.js'
import { jsonOfArgument } from './json.js'
import { messagesJson } from './message.js'
import type { Canonical, Message, MessageInput } from './message.js'
import { native } from './native.js'
import type { ModelSpec } from './model-spec.js'

/** The codes of losses. */
export type LossCode =
  // <generated: losses>
  /** An image at an address was left out: it is none, or only data can stand there. */
  | 'image_url'
  /** A file, a document, audio or a video was left out. */
  | 'file'
  /** A part or block that has no place there was left out, or became another one. */
  | 'part'
  /** A field of a message, part or block was left out. */
  | 'field'
  /** The sources that a text names were left out. */
  | 'citations'
  /** Instructions from the middle of the conversation moved into the system prompt. */
  | 'system_moved'
  /** The system prompt was left out: a list of that format has no place for it. */
  | 'system_prompt'
  /** A call or an output that was not complete was left out. */
  | 'unfinished_call'
  /** That a call waits for an approval, or has it, was left out. */
  | 'approval'
  /** An entry of another branch of the session was left out. */
  | 'branch'
  /** An entry of the session that is no message was left out. */
  | 'entry'
  /** Thinking was left out. */
  | 'thinking'
  /** A block that only another vendor understands was left out. */
  | 'opaque'
  /** The arguments of a call that are no JSON object were left out. */
  | 'raw_arguments'
  /** Images and other files of a result moved into a user message behind the results. */
  | 'image_moved'
  /** That a result is an error was left out. */
  | 'is_error'
  /** The details of a result were left out. */
  | 'details'
  /** The metadata of a message were left out. */
  | 'metadata'
  /** The id of a message was left out: another one has it. */
  | 'id'
  /** A custom message was left out; of one that is read, no model reads it by itself. */
  | 'custom_message'
  /** That a message failed or was aborted was left out; what it says stands there. */
  | 'error'
  /** Why a message ended was left out. */
  | 'stop_reason'
  /** An empty text or message was left out. */
  | 'empty'
  /** A result without a call was left out. */
  | 'stray_result'
  // </generated>

/** Something that a conversion did not carry over. */
export interface Loss extends Canonical {
  /** The index of the message, item or entry that was given. */
  index: number
  /** What kind of loss. */
  code: LossCode
  /** The loss in a sentence. */
  message: string
}

/** The messages that were read of another program's. */
export interface Imported {
  /** The messages, as an agent takes them. */
  messages: Message[]
  /** What `system` and `developer` messages said; empty without any. */
  systemPrompt: string
  /** What was not carried over, in the order of the messages given. */
  losses: Loss[]
}

/** Messages as another program has them. */
export interface Exported<M> {
  /** The messages, items, contents or entries. */
  messages: M[]
  /** What was not carried over, in the order of the messages given. */
  losses: Loss[]
}

/** The formats of other programs. */
export type Format = 'openai_chat' | 'openai_responses' | 'anthropic' | 'gemini' | 'ai_sdk' | 'pi'

/** Options of {@link importMessages}. */
export interface ImportOptions {
  /** Who wrote what the model said, where the messages do not say it: its signatures go back only to that model. */
  model?: string | ModelSpec | undefined
}

/** Options of {@link exportMessages}. */
export interface ExportOptions {
  /** Becomes the first message where the format has a place for it; else it is among the losses. */
  systemPrompt?: string | undefined
}

/**
 * Reads messages of another program. Each format has a function of its own, such as {@link fromOpenai}.
 *
 * @param format Whose messages they are.
 * @param messages A list, or its JSON text; of pi also the lines of a session's file.
 * @param options Who wrote them.
 * @returns The messages, the system prompt, and what was not carried over.
 * @throws InvalidArgumentError for what is no list of such messages, with a JSON pointer to what is wrong.
 */
export function importMessages(format: Format, messages: readonly unknown[] | string, options?: ImportOptions): Imported {
  textArgument('format', format)
  const text = typeof messages === 'string' ? messages : jsonOfArgument('messages', messages)
  const given = checkedNames(options, ['model']).model
  const model = given === undefined ? undefined : jsonOfArgument('model', given)
  const read: Imported = JSON.parse(enter(() => native.importMessages(format, text, model)))
  return { messages: withToJson(read.messages), systemPrompt: read.systemPrompt, losses: withToJson(read.losses) }
}

/**
 * Writes messages for another program. Each format has a function of its own, such as {@link toOpenai}.
 *
 * @param format Who is to read them.
 * @param messages The messages. They do not change.
 * @param options The system prompt.
 * @returns The messages in the format's own JSON, and what was not carried over. Say of which type they are, for example
 *   `toOpenai<ChatCompletionMessageParam>(…)`.
 * @throws InvalidArgumentError for an invalid message.
 */
export function exportMessages<M = any>(
  format: Format,
  messages: readonly MessageInput[],
  options?: ExportOptions,
): Exported<M> {
  textArgument('format', format)
  const systemPrompt = textArgument('systemPrompt', checkedNames(options, ['systemPrompt']).systemPrompt ?? '')
  const text = messagesJson('messages', messages)
  const written: Exported<M> = JSON.parse(enter(() => native.exportMessages(format, text, systemPrompt)))
  return { messages: written.messages, losses: withToJson(written.losses) }
}

type From = (messages: readonly unknown[] | string, options?: ImportOptions) => Imported
type To = <M = any>(messages: readonly MessageInput[], options?: ExportOptions) => Exported<M>

const from = (format: Format): From => (messages, options) => importMessages(format, messages, options)
const to = (format: Format): To => (messages, options) => exportMessages(format, messages, options)

/** Reads the messages of OpenAI's Chat Completions and compatible servers. */
export const fromOpenai = from('openai_chat')
/** Writes the messages of OpenAI's Chat Completions and compatible servers. */
export const toOpenai = to('openai_chat')
/** Reads the items of OpenAI's Responses: an input, or a response's output. */
export const fromOpenaiResponses = from('openai_responses')
/** Writes the items of OpenAI's Responses. */
export const toOpenaiResponses = to('openai_responses')
/** Reads the messages of Anthropic's API. */
export const fromAnthropic = from('anthropic')
/** Writes the messages of Anthropic's API. */
export const toAnthropic = to('anthropic')
/** Reads the contents of Gemini. */
export const fromGemini = from('gemini')
/** Writes the contents of Gemini. */
export const toGemini = to('gemini')
/** Reads UI messages of the AI SDK, versions 5 to 7. */
export const fromAiSdk = from('ai_sdk')
/** Writes UI messages of the AI SDK, versions 5 to 7. */
export const toAiSdk = to('ai_sdk')
/** Reads a session of pi: the lines of its file, or its entries. */
export const fromPi = from('pi')
/** Writes a session of pi: the entries of its file, each a line of it. */
export const toPi = to('pi')
