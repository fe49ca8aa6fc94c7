/**
 * Events: what a run emits, in order.
 */

import type { SuspendedCall } from './suspension.js'
import { canonicalFields, withToJson } from './canonical.js'
import type { ErrorInfo } from './errors.js'
import type {
  AssistantMessage,
  Canonical,
  InputBlock,
  Message,
  TextBlock,
  ThinkingBlock,
  ToolCallBlock,
  ToolResultMessage,
  Usage,
} from './message.js'
import { joined } from './pieces.js'

/** The fields of every event. */
export interface EventBase extends Canonical {
  /** The id of the run. */
  runId: string
  /** The sequence number: 0, 1, 2 … without gaps. */
  seq: number
  /** The number of the turn, from 1; 0 in `agent_start`. */
  turn: number
}

/** Progress that a tool reported. */
export interface PartialResult {
  content: InputBlock[]
  /** Data for the application. */
  details: unknown
}

/** The result of a tool. */
export interface ToolOutput {
  /** What the model sees. */
  content: InputBlock[]
  /** Data for the application; never sent to the model. */
  details: unknown
  /** Whether the run may end after this call. */
  terminate: boolean
}

/** Why a run ended. */
export type Outcome =
  // <generated: outcomes>
  /** The run was aborted: by a call of abort, by what else cancels it in the language, or by the end of its runtime. */
  | 'aborted'
  /** The model failed, a hook outside of tool calls failed, or `runTimeoutMs` elapsed. */
  | 'error'
  /** Tool calls wait for a decision. */
  | 'suspended'
  /** `shouldStopAfterTurn`, `maxRepeatedCalls`, or results with `terminate` and no queued message ended it. */
  | 'stopped'
  /** A limit such as `maxCost` was used up, and tool results or queued messages were left. */
  | 'budget'
  /** The last allowed turn left tool results or queued messages. */
  | 'max_turns'
  /** No work was left. */
  | 'completed'
  // </generated>

/** The codes of diagnostics. */
export type DiagnosticCode =
  // <generated: diagnostics>
  /** The transcript was repaired for the model. */
  | 'transcript_repaired'
  /** The model does not take an option, or not this value. */
  | 'option_ignored'
  /** Messages are left out of requests, for the option `context`. */
  | 'context_trimmed'
  /** A request is over the limit of `context`, and nothing more can be left out. */
  | 'context_exceeded'
  /** A summary that the option `context` asks for was not written. */
  | 'summary_failed'
  /** A model call waits for its turn, for the option `limiter`. */
  | 'limiter_wait'
  /** A fallback model is called after a failure. */
  | 'fallback'
  /** An update came after the result and was dropped. */
  | 'late_update'
  /** Updates that waited were replaced by newer ones. */
  | 'updates_replaced'
  /** A call without an id, or with a repeated id, got a new one. */
  | 'tool_call_id'
  /** A call with a misspelt name of a tool got the right one. */
  | 'tool_name_corrected'
  /** Another agent goes on with the conversation. */
  | 'handoff'
  /** The run ends, as this limit is used up. */
  | 'budget'
  /** The model has made the same call 3, 6, 12 … times in a row. */
  | 'repeated_call'
  /** An observer hook failed. */
  | 'hook_error'
  /** A listener failed. */
  | 'listener_error'
  /** A listener did not return in time; it gets none until it does. */
  | 'listener_left'
  /** A listener that was left has returned. */
  | 'listener_back'
  /** Stands for an event that no JavaScript string can hold (Node). */
  | 'event_left_out'
  /** The connection broke after the complete answer. */
  | 'broken_end'
  /** Bytes that are not UTF-8 became U+FFFD. */
  | 'invalid_utf8'
  /** The provider did not stream: its answer came whole. */
  | 'unstreamed'
  /** The answer ended with an unknown reason, or without one. */
  | 'unknown_stop_reason'
  /** A block of an unknown type is kept and sent back unchanged. */
  | 'opaque_block'
  /** The answer names sources. */
  | 'citations'
  /** Half a record was removed from the end of a session's journal. */
  | 'journal_torn'
  /** The provider explains why it refused. */
  | 'refusal'
  // </generated>

// <generated: interfaces>

/** The run begins. */
export interface AgentStartEvent extends EventBase {
  type: 'agent_start'
}

/** A turn begins. */
export interface TurnStartEvent extends EventBase {
  type: 'turn_start'
}

/** A message begins. An assistant message is empty then, and has no stop reason yet. */
export interface MessageStartEvent extends EventBase {
  type: 'message_start'
  /** The message. */
  message: Message
}

/** A text block begins. */
export interface TextStartEvent extends EventBase {
  type: 'text_start'
  /** The index of the block, in the order in which the blocks started. */
  contentIndex: number
}

/** More text of a text block. */
export interface TextDeltaEvent extends EventBase {
  type: 'text_delta'
  /** The index of the block, in the order in which the blocks started. */
  contentIndex: number
  /** The added text. */
  delta: string
}

/** A text block is complete. */
export interface TextEndEvent extends EventBase {
  type: 'text_end'
  /** The index of the block, in the order in which the blocks started. */
  contentIndex: number
  /** The complete block. */
  block: TextBlock
}

/** A thinking block begins. */
export interface ThinkingStartEvent extends EventBase {
  type: 'thinking_start'
  /** The index of the block, in the order in which the blocks started. */
  contentIndex: number
}

/** More text of a thinking block. */
export interface ThinkingDeltaEvent extends EventBase {
  type: 'thinking_delta'
  /** The index of the block, in the order in which the blocks started. */
  contentIndex: number
  /** The added text. */
  delta: string
}

/** A thinking block is complete. */
export interface ThinkingEndEvent extends EventBase {
  type: 'thinking_end'
  /** The index of the block, in the order in which the blocks started. */
  contentIndex: number
  /** The complete block. */
  block: ThinkingBlock
}

/** A tool call of the model begins. */
export interface ToolCallStartEvent extends EventBase {
  type: 'tool_call_start'
  /** The index of the block, in the order in which the blocks started. */
  contentIndex: number
  /** The call's id. */
  id: string
  /** The tool's name. */
  name: string
}

/** More of a tool call's arguments. */
export interface ToolCallDeltaEvent extends EventBase {
  type: 'tool_call_delta'
  /** The index of the block, in the order in which the blocks started. */
  contentIndex: number
  /** The next part of the arguments' JSON text. */
  delta: string
}

/** A tool call of the model is complete. */
export interface ToolCallEndEvent extends EventBase {
  type: 'tool_call_end'
  /** The index of the block, in the order in which the blocks started. */
  contentIndex: number
  /** The complete block. */
  block: ToolCallBlock
}

/** A message is complete and in the transcript. */
export interface MessageEndEvent extends EventBase {
  type: 'message_end'
  /** The complete message. */
  message: Message
}

/** The execution of a tool call begins. */
export interface ToolExecutionStartEvent extends EventBase {
  type: 'tool_execution_start'
  /** The call's id. */
  toolCallId: string
  /** The tool's name. */
  toolName: string
  /** The arguments as the model gave them, before validation. */
  arguments: Record<string, unknown>
}

/** A tool reports its progress. */
export interface ToolExecutionUpdateEvent extends EventBase {
  type: 'tool_execution_update'
  /** The call's id. */
  toolCallId: string
  /** The tool's name. */
  toolName: string
  /** The arguments as the model gave them, before validation. */
  arguments: Record<string, unknown>
  /** The progress that was reported. */
  partialResult: PartialResult
}

/** A tool call has its result. */
export interface ToolExecutionEndEvent extends EventBase {
  type: 'tool_execution_end'
  /** The call's id. */
  toolCallId: string
  /** The tool's name. */
  toolName: string
  /** The result. */
  result: ToolOutput
  /** Whether the call failed. */
  isError: boolean
  /** The time since the start event, in milliseconds. */
  durationMs: number
}

/** A turn is over. */
export interface TurnEndEvent extends EventBase {
  type: 'turn_end'
  /**
   * The turn's assistant message; null in the first turn of a run that went on with calls of an earlier one, and in a last turn
   * for whose model call nothing was left of the budget.
   */
  message: AssistantMessage | null
  /** The tool results, in the order of the calls. */
  toolResults: ToolResultMessage[]
}

/** The run is over; no event follows. */
export interface AgentEndEvent extends EventBase {
  type: 'agent_end'
  /** The messages this run added, in transcript order. */
  messages: Message[]
  /** Why the run ended. */
  outcome: Outcome
  /** The error; present exactly when the outcome is `error` or `aborted`. */
  error?: ErrorInfo
  /** How many turns began. */
  turns: number
  /** The sum over the model calls of the run, with what failed attempts have reported. */
  usage: Usage
  /** The typed final answer; present if the option `output` asked for one and the run has it. */
  output?: unknown
  /** The calls that wait for a decision; present exactly when the outcome is `suspended`. */
  pending?: SuspendedCall[]
  /** How many steering and follow-up messages wait for another run. */
  queued: number
}

/** The model call is retried after a backoff. */
export interface RetryEvent extends EventBase {
  type: 'retry'
  /** 1 for the first retry. */
  attempt: number
  /** The backoff that begins now, in milliseconds. */
  delayMs: number
  /** The error of the failed attempt. */
  error: ErrorInfo
}

/** Something was repaired, dropped, late or unusual. */
export interface DiagnosticEvent extends EventBase {
  type: 'diagnostic'
  /** A short word for programs: one of the codes of diagnostics, or a custom provider's. */
  code: DiagnosticCode | (string & {})
  /** A sentence for a person to read. */
  message: string
  /** More; which fields depends on the code. */
  data: unknown
}

/** One frame as the provider sent it; with the option `rawEvents`. */
export interface RawEvent extends EventBase {
  type: 'raw'
  /** The frame's JSON, or its text where it is not JSON. */
  data: unknown
}

/** A tool call waits for a decision, in place of its end: the run ends with the outcome `suspended`. */
export interface ToolCallSuspendedEvent extends EventBase {
  type: 'tool_call_suspended'
  /** The call's id. */
  toolCallId: string
  /** The tool's name. */
  toolName: string
  /** The arguments with which the call runs if it is approved. */
  arguments: Record<string, unknown>
  /** Why it waits, for the person who decides. */
  reason: string
}

/** A subagent, an agent that a tool call runs, has emitted an event: between the start and the end of the call. */
export interface SubagentEventEvent extends EventBase {
  type: 'subagent_event'
  /** The call's id. */
  toolCallId: string
  /** The tool's name. */
  toolName: string
  /** The ids of the calls that lead to the subagent, the one of this run first. */
  path: string[]
  /** The subagent's event, with the `run_id`, `seq` and `turn` of its own run. */
  event: AgentEvent
}

// </generated>

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
  | ToolCallSuspendedEvent
  | SubagentEventEvent
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

/** @internal An event that was read: it writes itself in canonical form. */
export function asEvent<T extends object>(value: T): T {
  return withToJson(value, Event.prototype)
}

/** @internal The event in a JSON text. */
export function readEvent(text: string, pieces?: readonly string[]): AgentEvent {
  return asEvent(joined<AgentEvent>(text, pieces))
}

/** @internal The events of a batch, as `event.rs` writes it. `rest` gives the pieces of a long event. */
export function readBatch(text: string, runId: string, rest: () => readonly string[]): AgentEvent[] {
  if (text.startsWith('{')) return [readEvent(text, rest())]
  const events: unknown[] = []
  for (const item of JSON.parse(text) as unknown[]) {
    if (Array.isArray(item)) {
      const [type, seq, turn, contentIndex] = item as [string, number, number, number]
      for (let i = 4; i < item.length; i++) {
        events.push(new DeltaEvent(type, runId, seq + i - 4, turn, contentIndex, item[i]))
      }
    } else {
      events.push(asEvent(item as object))
    }
  }
  return events as AgentEvent[]
}
