/**
 * Messages and their parts.
 */

import { canonical } from './canonical.js'
import type { ErrorInfo } from './errors.js'
import { jsonOfArgument } from './json.js'

/** Something that `JSON.stringify` writes in canonical form: snake case, the same bytes in every language. */
export interface Canonical {
  /** The canonical form. */
  toJSON(): Record<string, unknown>
}

export interface TextBlock {
  type: 'text'
  text: string
  /** The vendor's signature, kept byte for byte. */
  signature?: string
}

/** The model's reasoning. */
export interface ThinkingBlock {
  type: 'thinking'
  /** May be empty. */
  thinking: string
  signature?: string
  /** Whether the vendor hid the text. */
  redacted?: boolean
}

export interface ImageBlock {
  type: 'image'
  /** Base64. */
  data: string
  /** For example `image/png`. */
  mimeType: string
}

export interface ToolCallBlock {
  type: 'tool_call'
  /** Unique in its message. */
  id: string
  name: string
  arguments: Record<string, unknown>
  /** The exact text, when no JSON object could be made of it; `arguments` is then empty. */
  rawArguments?: string
  signature?: string
}

/** What a vendor sent that is only kept and sent back. */
export interface OpaqueBlock {
  type: 'opaque'
  protocol: string
  data: unknown
}

export type ContentBlock = TextBlock | ThinkingBlock | ImageBlock | ToolCallBlock | OpaqueBlock

/** Tokens of one message, or the sum of a run. The counts are disjoint, except that `reasoning` is part of `output`. */
export interface Usage {
  /** Tokens read that were not in a cache. */
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  reasoning: number
  total: number
  /** In US dollars; null when no price is known. */
  cost: Cost | null
}

export interface Cost {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  total: number
}

/** Why a message ended. */
export type StopReason = 'stop' | 'length' | 'tool_use' | 'refusal' | 'error' | 'aborted'

export interface UserMessage extends Canonical {
  role: 'user'
  content: (TextBlock | ImageBlock)[]
  /** In milliseconds since the epoch. */
  timestamp: number
}

export interface AssistantMessage extends Canonical {
  role: 'assistant'
  content: (TextBlock | ThinkingBlock | ToolCallBlock | OpaqueBlock)[]
  provider: string
  protocol: string
  /** The configured id. */
  model: string
  usage: Usage
  /** Null in a partial message. */
  stopReason: StopReason | null
  /** The vendor's own word. */
  rawStopReason?: string
  responseId?: string
  /** There exactly when `stopReason` is `error` or `aborted`. */
  error?: ErrorInfo
  timestamp: number
}

export interface ToolResultMessage extends Canonical {
  role: 'tool_result'
  toolCallId: string
  toolName: string
  content: (TextBlock | ImageBlock)[]
  /** Anything for the application; never sent to the model. */
  details: unknown
  isError: boolean
  timestamp: number
}

/** A message that models understand. */
export type StandardMessage = UserMessage | AssistantMessage | ToolResultMessage

/**
 * The messages of the application's own: any role but the three. They are kept in the conversation as they are, and never sent to a
 * model unless `convertToLlm` makes something of them. Declare yours, and {@link Message} has them too:
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

/** A message as one may write it; what is left out gets its default. Canonical JSON read back is understood too. */
export type MessageInput =
  | Message
  | { role: 'user'; content: string | (TextBlock | ImageBlock)[]; timestamp?: number }
  | ({ role: 'assistant'; content: string | AssistantMessage['content'] } & Partial<Omit<AssistantMessage, 'role' | 'content' | 'toJSON'>>)
  | ({ role: 'tool_result'; toolCallId: string; content: string | (TextBlock | ImageBlock)[] } & Partial<
      Omit<ToolResultMessage, 'role' | 'toolCallId' | 'content' | 'toJSON'>
    >)

/** What a run is started with: text, text with images, a message, or several. */
export type PromptInput = string | readonly (TextBlock | ImageBlock)[] | MessageInput | readonly MessageInput[]

/** @internal A prompt as JSON. */
export function promptJson(prompt: PromptInput): string {
  return jsonOfArgument('prompt', canonical(prompt))
}

/** @internal A list of messages as JSON. */
export function messagesJson(what: string, messages: unknown): string {
  return jsonOfArgument(what, canonical(messages))
}
