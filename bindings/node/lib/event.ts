/**
 * Events: everything a run tells, in order.
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

/** What every event has. */
export interface EventBase extends Canonical {
  runId: string
  /** 0, 1, 2 … without gaps. */
  seq: number
  /** 1-based; 0 in `agent_start`. */
  turn: number
}

/** The run begins. */
export interface AgentStartEvent extends EventBase {
  type: 'agent_start'
}

export interface TurnStartEvent extends EventBase {
  type: 'turn_start'
}

/** A message begins. An assistant's is empty, with `stopReason` null. */
export interface MessageStartEvent extends EventBase {
  type: 'message_start'
  message: Message
}

export interface TextStartEvent extends EventBase {
  type: 'text_start'
  /** Counts the blocks in the order they started. */
  contentIndex: number
}

export interface TextDeltaEvent extends EventBase {
  type: 'text_delta'
  contentIndex: number
  delta: string
}

export interface TextEndEvent extends EventBase {
  type: 'text_end'
  contentIndex: number
  /** The block, whole. */
  block: TextBlock
}

export interface ThinkingStartEvent extends EventBase {
  type: 'thinking_start'
  contentIndex: number
}

export interface ThinkingDeltaEvent extends EventBase {
  type: 'thinking_delta'
  contentIndex: number
  delta: string
}

export interface ThinkingEndEvent extends EventBase {
  type: 'thinking_end'
  contentIndex: number
  block: ThinkingBlock
}

export interface ToolCallStartEvent extends EventBase {
  type: 'tool_call_start'
  contentIndex: number
  id: string
  name: string
}

export interface ToolCallDeltaEvent extends EventBase {
  type: 'tool_call_delta'
  contentIndex: number
  /** A piece of the arguments' text. */
  delta: string
}

export interface ToolCallEndEvent extends EventBase {
  type: 'tool_call_end'
  contentIndex: number
  block: ToolCallBlock
}

/** A piece of the assistant's message. */
export type MessageUpdateEvent =
  | TextStartEvent
  | TextDeltaEvent
  | TextEndEvent
  | ThinkingStartEvent
  | ThinkingDeltaEvent
  | ThinkingEndEvent
  | ToolCallStartEvent
  | ToolCallDeltaEvent
  | ToolCallEndEvent

/** A message is complete and in the transcript. */
export interface MessageEndEvent extends EventBase {
  type: 'message_end'
  message: Message
}

/** A tool call is taken up. */
export interface ToolExecutionStartEvent extends EventBase {
  type: 'tool_execution_start'
  toolCallId: string
  toolName: string
  /** The model's own. */
  arguments: Record<string, unknown>
}

/** A tool tells how far it is. */
export interface ToolExecutionUpdateEvent extends EventBase {
  type: 'tool_execution_update'
  toolCallId: string
  toolName: string
  arguments: Record<string, unknown>
  partialResult: { content: (TextBlock | ImageBlock)[]; details: unknown }
}

/** What a tool answered. */
export interface ToolOutput {
  /** For the model. */
  content: (TextBlock | ImageBlock)[]
  /** Anything for the application; never sent to the model. */
  details: unknown
  /** Whether the run may end here. */
  terminate: boolean
}

/** A tool call has its answer. */
export interface ToolExecutionEndEvent extends EventBase {
  type: 'tool_execution_end'
  toolCallId: string
  toolName: string
  result: ToolOutput
  isError: boolean
  durationMs: number
}

export interface TurnEndEvent extends EventBase {
  type: 'turn_end'
  message: AssistantMessage
  toolResults: ToolResultMessage[]
}

/** Why a run ended. */
export type Outcome = 'completed' | 'stopped' | 'max_turns' | 'aborted' | 'error'

/** The run is over; nothing follows. */
export interface AgentEndEvent extends EventBase {
  type: 'agent_end'
  /** Those this run added, in transcript order. */
  messages: Message[]
  outcome: Outcome
  /** There exactly when the outcome is `error` or `aborted`. */
  error?: ErrorInfo
  /** How many turns began. */
  turns: number
  /** The run's sum. */
  usage: Usage
}

/** The model call is tried again after a pause. */
export interface RetryEvent extends EventBase {
  type: 'retry'
  /** 1 for the first retry. */
  attempt: number
  /** The pause that begins now. */
  delayMs: number
  error: ErrorInfo
}

/** Something was repaired, dropped, late or odd. */
export interface DiagnosticEvent extends EventBase {
  type: 'diagnostic'
  /** A short word for programs. */
  code: string
  /** A sentence for people. */
  message: string
  data: unknown
}

/** One frame as the provider sent it, with the option `rawEvents`. */
export interface RawEvent extends EventBase {
  type: 'raw'
  data: unknown
}

/** One event of a run, told apart by `type`. */
export type AgentEvent =
  | AgentStartEvent
  | TurnStartEvent
  | MessageStartEvent
  | MessageUpdateEvent
  | MessageEndEvent
  | ToolExecutionStartEvent
  | ToolExecutionUpdateEvent
  | ToolExecutionEndEvent
  | TurnEndEvent
  | AgentEndEvent
  | RetryEvent
  | DiagnosticEvent
  | RawEvent

class Event {
  toJSON(): unknown {
    return canonicalFields(this)
  }
}

/** By far the most events are these; a class of their own keeps them small and alike. */
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
