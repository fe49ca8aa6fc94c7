/**
 * Events: what a run emits, in order.
 */

import { canonicalFields, withToJson } from './canonical.js'
import type { ErrorInfo } from './errors.js'
import type {
  AssistantMessage,
  Canonical,
  ImageBlock,
  Message,
  TextBlock,
  ThinkingBlock,
  ToolCallBlock,
  ToolResultMessage,
  Usage,
} from './message.js'

/** The fields of every event. */
export interface EventBase extends Canonical {
  /** The id of the run. */
  runId: string
  /** The sequence number: 0, 1, 2 … without gaps. */
  seq: number
  /** The number of the turn, from 1; 0 in `agent_start`. */
  turn: number
}

/** The run begins. */
export interface AgentStartEvent extends EventBase {
  type: 'agent_start'
}

/** A turn begins. */
export interface TurnStartEvent extends EventBase {
  type: 'turn_start'
}

/** A message begins. An assistant message is still empty, with `stopReason` null. */
export interface MessageStartEvent extends EventBase {
  type: 'message_start'
  message: Message
}

/** A text block begins. */
export interface TextStartEvent extends EventBase {
  type: 'text_start'
  /** The index of the block, in the order the blocks began. */
  contentIndex: number
}

/** More text of a text block. */
export interface TextDeltaEvent extends EventBase {
  type: 'text_delta'
  contentIndex: number
  delta: string
}

/** A text block is complete. */
export interface TextEndEvent extends EventBase {
  type: 'text_end'
  contentIndex: number
  /** The complete block. */
  block: TextBlock
}

/** A thinking block begins. */
export interface ThinkingStartEvent extends EventBase {
  type: 'thinking_start'
  contentIndex: number
}

/** More text of a thinking block. */
export interface ThinkingDeltaEvent extends EventBase {
  type: 'thinking_delta'
  contentIndex: number
  delta: string
}

/** A thinking block is complete. */
export interface ThinkingEndEvent extends EventBase {
  type: 'thinking_end'
  contentIndex: number
  block: ThinkingBlock
}

/** A tool call of the model begins. */
export interface ToolCallStartEvent extends EventBase {
  type: 'tool_call_start'
  contentIndex: number
  id: string
  name: string
}

/** More of a tool call's arguments. */
export interface ToolCallDeltaEvent extends EventBase {
  type: 'tool_call_delta'
  contentIndex: number
  /** The next part of the arguments' JSON text. */
  delta: string
}

/** A tool call of the model is complete. */
export interface ToolCallEndEvent extends EventBase {
  type: 'tool_call_end'
  contentIndex: number
  block: ToolCallBlock
}

/** A part of an assistant message. */
export type MessageUpdateEvent =
  // <generated: updates>
  | TextStartEvent
  | TextDeltaEvent
  | TextEndEvent
  | ThinkingStartEvent
  | ThinkingDeltaEvent
  | ThinkingEndEvent
  | ToolCallStartEvent
  | ToolCallDeltaEvent
  | ToolCallEndEvent
  // </generated>

/** A message is complete and in the transcript. */
export interface MessageEndEvent extends EventBase {
  type: 'message_end'
  message: Message
}

/** The execution of a tool call begins. */
export interface ToolExecutionStartEvent extends EventBase {
  type: 'tool_execution_start'
  toolCallId: string
  toolName: string
  /** The arguments as the model gave them. */
  arguments: Record<string, unknown>
}

/** A tool reports progress. */
export interface ToolExecutionUpdateEvent extends EventBase {
  type: 'tool_execution_update'
  toolCallId: string
  toolName: string
  arguments: Record<string, unknown>
  partialResult: { content: (TextBlock | ImageBlock)[]; details: unknown }
}

/** The result of a tool. */
export interface ToolOutput {
  /** What the model sees. */
  content: (TextBlock | ImageBlock)[]
  /** Data for the application; never sent to the model. */
  details: unknown
  /** Whether the run may end after this call. */
  terminate: boolean
}

/** The execution of a tool call is over. */
export interface ToolExecutionEndEvent extends EventBase {
  type: 'tool_execution_end'
  toolCallId: string
  toolName: string
  result: ToolOutput
  /** Whether the call failed. */
  isError: boolean
  /** The time since `tool_execution_start`, in milliseconds. */
  durationMs: number
}

/** A turn is over. */
export interface TurnEndEvent extends EventBase {
  type: 'turn_end'
  message: AssistantMessage
  /** In the order of the calls. */
  toolResults: ToolResultMessage[]
}

/** Why a run ended. */
export type Outcome = 'completed' | 'stopped' | 'max_turns' | 'aborted' | 'error'

/** The run is over; this is its last event. */
export interface AgentEndEvent extends EventBase {
  type: 'agent_end'
  /** The messages that this run added, in transcript order. */
  messages: Message[]
  outcome: Outcome
  /** Present exactly when the outcome is `error` or `aborted`. */
  error?: ErrorInfo
  /** The number of turns started. */
  turns: number
  /** The sum over the run's messages. */
  usage: Usage
}

/** The model call will be retried after a backoff. */
export interface RetryEvent extends EventBase {
  type: 'retry'
  /** 1 for the first retry. */
  attempt: number
  /** The backoff in milliseconds. */
  delayMs: number
  error: ErrorInfo
}

/** Something was repaired, dropped, late or unexpected. */
export interface DiagnosticEvent extends EventBase {
  type: 'diagnostic'
  /** What kind of diagnostic; see `docs/abi.md`. */
  code: string
  /** The diagnostic in a sentence. */
  message: string
  /** More, depending on the code. */
  data: unknown
}

/** A frame of the provider's stream, unchanged; only with the option `rawEvents`. */
export interface RawEvent extends EventBase {
  type: 'raw'
  data: unknown
}

/** An event of a run, discriminated by `type`. */
export type AgentEvent =
  // <generated: events>
  | AgentStartEvent
  | TurnStartEvent
  | MessageStartEvent
  | MessageEndEvent
  | ToolExecutionStartEvent
  | ToolExecutionUpdateEvent
  | ToolExecutionEndEvent
  | TurnEndEvent
  | AgentEndEvent
  | RetryEvent
  | DiagnosticEvent
  | RawEvent
  | MessageUpdateEvent
  // </generated>

class Event {
  toJSON(): unknown {
    return canonicalFields(this)
  }
}

/** Most events are deltas; a class keeps them small and of one shape. */
class DeltaEvent extends Event {
  constructor(
    readonly type: string,
    readonly runId: string,
    readonly seq: number,
    readonly turn: number,
    readonly contentIndex: number,
    readonly delta: string,
  ) {
    super()
  }
}

/** @internal The event in a JSON text. */
export function readEvent(text: string): AgentEvent {
  return withToJson(JSON.parse(text), Event.prototype)
}

/** @internal The events of a batch, as `event.rs` writes it. */
export function readBatch(text: string, runId: string): AgentEvent[] {
  const events: unknown[] = []
  for (const item of JSON.parse(text) as unknown[]) {
    if (Array.isArray(item)) {
      const [type, seq, turn, contentIndex] = item as [string, number, number, number]
      for (let i = 4; i < item.length; i++) {
        events.push(new DeltaEvent(type, runId, seq + i - 4, turn, contentIndex, item[i]))
      }
    } else {
      events.push(withToJson(item, Event.prototype))
    }
  }
  return events as AgentEvent[]
}
