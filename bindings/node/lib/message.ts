/**
 * Messages and their content blocks.
 */

import { canonical } from './canonical.js'
import type { ErrorInfo } from './errors.js'
import { jsonOfArgument } from './json.js'

/** An object that `JSON.stringify` writes in canonical form: names in snake case, the same bytes in every language. */
export interface Canonical {
  /** Returns the canonical form. */
  toJSON(): Record<string, unknown>
}

/** Text. */
export interface TextBlock {
  readonly type: 'text'
  readonly text: string
  /** The provider's signature, kept byte for byte. */
  readonly signature?: string | undefined
}

/** The model's reasoning. */
export interface ThinkingBlock {
  readonly type: 'thinking'
  /** Only a text block has one. */
  readonly text?: never
  /** May be empty. */
  readonly thinking: string
  readonly signature?: string | undefined
  /** Whether the provider withheld the text. */
  readonly redacted?: boolean | undefined
}

/** A file: its data or its address. */
type FileSource =
  | {
      /** Base64. */
      readonly data: string
      /** For example `image/png`. */
      readonly mimeType: string
      readonly url?: undefined
    }
  | {
      /** The address that the provider reads it from. */
      readonly url: string
      /** For example `image/png`, if it is known. */
      readonly mimeType?: string | undefined
      readonly data?: undefined
    }

/** An image. */
export type ImageBlock = FileSource & {
  readonly type: 'image'
  /** Only a text block has one. */
  readonly text?: never
}

/** A document: a PDF, a text, or what else the model takes as one. */
export type DocumentBlock = FileSource & {
  readonly type: 'document'
  /** Only a text block has one. */
  readonly text?: never
  readonly name?: string | undefined
}

/** Audio. */
export type AudioBlock = FileSource & {
  readonly type: 'audio'
  /** Only a text block has one. */
  readonly text?: never
}

/** What the user and tools give: text and files. */
export type InputBlock = TextBlock | ImageBlock | DocumentBlock | AudioBlock

/** A tool call of the model. */
export interface ToolCallBlock {
  readonly type: 'tool_call'
  /** Only a text block has one. */
  readonly text?: never
  /** Unique within its message. */
  readonly id: string
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** The arguments as text, if they are not a JSON object; `arguments` is then empty. */
  readonly rawArguments?: string | undefined
  readonly signature?: string | undefined
}

/** Provider data that is kept unchanged and sent back. */
export interface OpaqueBlock {
  readonly type: 'opaque'
  /** Only a text block has one. */
  readonly text?: never
  readonly protocol: string
  readonly data: unknown
}

/** A part of a message. To change one, make a copy: those of `agent.messages` are frozen. */
export type ContentBlock = InputBlock | ThinkingBlock | ToolCallBlock | OpaqueBlock

/** Tokens of one message, or the sum of a run. The counts are disjoint, except that `reasoning` is part of `output`. */
export interface Usage {
  /** Input tokens that were not read from a cache. */
  readonly input: number
  /** Output tokens, thinking included. */
  readonly output: number
  /** Input tokens read from the provider's cache. */
  readonly cacheRead: number
  /** Input tokens written to the provider's cache. */
  readonly cacheWrite: number
  /** The part of `output` that was thinking. */
  readonly reasoning: number
  /** `input + output + cacheRead + cacheWrite`. */
  readonly total: number
  /** In US dollars; null if no price or no count is known. */
  readonly cost: Cost | null
}

/** A cost in US dollars, by kind of token. */
export interface Cost {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly total: number
}

/** Why a message ended. */
export type StopReason =
  // <generated: stop reasons>
  /** The model finished. */
  | 'stop'
  /** The answer was cut at a token limit. */
  | 'length'
  /** The model called tools. */
  | 'tool_use'
  /** The model refused, or a filter applied. */
  | 'refusal'
  /** The model call failed; the message has an `error`. */
  | 'error'
  /** The run was aborted; the message has an `error`. */
  | 'aborted'
  // </generated>

/** A message of the user. */
export interface UserMessage extends Canonical {
  readonly role: 'user'
  readonly content: readonly InputBlock[]
  /** In milliseconds since the epoch. */
  readonly timestamp: number
  /** The application's name for the message, unique in its transcript. */
  readonly id?: string | undefined
  /** Any JSON of the application, kept with the message and never sent to a model. */
  readonly metadata?: unknown
}

/** A message of the model. */
export interface AssistantMessage extends Canonical {
  readonly role: 'assistant'
  readonly content: readonly (TextBlock | ThinkingBlock | ToolCallBlock | OpaqueBlock)[]
  /** The name of the provider. */
  readonly provider: string
  /** The wire format. */
  readonly protocol: string
  /** The configured model id. */
  readonly model: string
  readonly usage: Usage
  /** Null in a partial message. */
  readonly stopReason: StopReason | null
  /** The provider's word for it. */
  readonly rawStopReason?: string | undefined
  /** The provider's id of the response. */
  readonly responseId?: string | undefined
  /** The model that has answered, where the server names another one than was asked for. */
  readonly responseModel?: string | undefined
  /** Present exactly when `stopReason` is `error` or `aborted`. */
  readonly error?: ErrorInfo | undefined
  /** In milliseconds since the epoch. */
  readonly timestamp: number
  /** The application's name for the message, unique in its transcript. */
  readonly id?: string | undefined
  /** Any JSON of the application, kept with the message and never sent to a model. */
  readonly metadata?: unknown
}

/** The result of a tool call. */
export interface ToolResultMessage extends Canonical {
  readonly role: 'tool_result'
  /** The id of the call. */
  readonly toolCallId: string
  readonly toolName: string
  /** What the model sees. */
  readonly content: readonly InputBlock[]
  /** Data for the application; never sent to the model. */
  readonly details: unknown
  /** Whether the call failed. */
  readonly isError: boolean
  /** In milliseconds since the epoch. */
  readonly timestamp: number
  /** The application's name for the message, unique in its transcript. */
  readonly id?: string | undefined
  /** Any JSON of the application, kept with the message and never sent to a model. */
  readonly metadata?: unknown
}

/** A message of a role that models support. */
export type StandardMessage = UserMessage | AssistantMessage | ToolResultMessage

/**
 * Custom messages of the application, with any other role. They are kept in the conversation unchanged, and not sent to a model
 * unless `convertToLlm` converts them. Declare yours to make them part of {@link Message}:
 *
 * ```ts
 * declare module 'agent-loop' {
 *   interface CustomMessages {
 *     note: { role: 'note'; text: string }
 *   }
 * }
 * ```
 */
export interface CustomMessages {}

/** One message of a conversation. */
export type Message = StandardMessage | CustomMessages[keyof CustomMessages]

/** With fields that may be left out, or undefined. */
type Optional<T> = { -readonly [Name in keyof T]?: T[Name] | undefined }

/** A message as input: optional fields may be left out. Parsed canonical JSON is accepted, too. */
export type MessageInput =
  | Message
  | {
      role: 'user'
      content: string | readonly InputBlock[]
      timestamp?: number | undefined
      id?: string | undefined
      metadata?: unknown
    }
  | ({ role: 'assistant'; content: string | AssistantMessage['content'] } & Optional<
      Omit<AssistantMessage, 'role' | 'content' | 'toJSON'>
    >)
  | ({ role: 'tool_result'; toolCallId: string; content: string | readonly InputBlock[] } & Optional<
      Omit<ToolResultMessage, 'role' | 'toolCallId' | 'content' | 'toJSON'>
    >)

/** A prompt: text, text with files, a message, or several messages. */
export type PromptInput = string | readonly InputBlock[] | MessageInput | readonly MessageInput[]

/** @internal A prompt as JSON. */
export function promptJson(prompt: PromptInput, what = 'prompt'): string {
  return jsonOfArgument(what, canonical(prompt))
}

/** @internal A list of messages as JSON. */
export function messagesJson(what: string, messages: unknown): string {
  return jsonOfArgument(what, canonical(messages))
}
