/**
 * What a stepped {@link Loop} asks for, and what it is given.
 */

import type { ErrorInfo } from './errors.js'
import type { AgentEvent } from './event.js'
import type { LoopChanges } from './loop.js'
import type { PromptInput } from './message.js'
import type { ModelRequest } from './provider.js'
import type { RunResult } from './run.js'

/** What a host adds to a request to authenticate it. */
export interface Auth {
  /** The header that has the key. */
  header: string
  /** What stands before the key in it: `Bearer ` or nothing. */
  prefix: string
  /** The environment variables in which an agent would look for the key. */
  variables: string[]
  /** Whether the server may answer without a key. */
  optional: boolean
}

/** Why there is no answer of a model. */
export type LoopFailure = Pick<ErrorInfo, 'kind' | 'message'> & Partial<ErrorInfo>

// <generated: actions>

/** The run emits an event: hand it to listeners and readers. */
export interface EventAction {
  type: 'event'
  /** The event, in canonical JSON. */
  event: AgentEvent
}

/**
 * Send this request with the key that `auth` describes, and report the answer with `model_response`, its bytes as they come, and
 * `model_end`.
 */
export interface CallModelAction {
  type: 'call_model'
  /** The number of the call. */
  call: number
  /** The method: `POST`. */
  method: string
  /** The address. */
  url: string
  /** The headers, without any that authenticates. */
  headers: Readonly<Record<string, string>>
  /** What the host adds to authenticate. */
  auth: Auth
  /** The body, to be sent as it stands. */
  body: string
  /**
   * The longest that setting up a connection may take, in milliseconds; 0 for no limit. The loop itself keeps all other limits of
   * time.
   */
  connectTimeoutMs: number
}

/** Answer for a model of a custom provider: report its parts with `model_chunk`, and `model_end`. */
export interface CallCustomModelAction {
  type: 'call_custom_model'
  /** The number of the call. */
  call: number
  /** The provider of the model, one of `providers`. */
  provider: string
  /** The request, as custom providers get it: `{model, system_prompt, messages, tools, thinking_level, options}`. */
  request: ModelRequest
}

/** The answer of this model call is no longer wanted: close its connection. */
export interface CancelModelAction {
  type: 'cancel_model'
  /** The number of the call. */
  call: number
}

/** Run a tool, and report with `tool_update`, and `tool_done` or `tool_suspended`. */
export interface CallToolAction {
  type: 'call_tool'
  /** The number of the call. */
  call: number
  /** The id of the model's call. */
  toolCallId: string
  /** The name of the tool. */
  toolName: string
  /** The arguments, validated. */
  arguments: Record<string, any>
  /** The same however often the call is executed, and wherever: for the services behind tools. */
  idempotencyKey: string
}

/** Cancel a running tool. What it returns within the grace time of an abort still counts, unless it is `abandoned`. */
export interface CancelToolAction {
  type: 'cancel_tool'
  /** The number of the call. */
  call: number
  /** Whether the call has its result: what the tool still does is ignored. */
  abandoned: boolean
}

/** Call a hook, and report its answer with `hook_answer`. */
export interface AskHookAction {
  type: 'ask_hook'
  /** The number of the question. */
  questionId: number
  /** The hook's name; of a tool's own functions `prepare_arguments` or `needs_approval`. */
  hook: string
  /** The input of the hook; of a tool's own functions `{tool_name, arguments}`. */
  input: any
}

/** The answer of this hook is no longer wanted: cancel what it does. */
export interface CancelHookAction {
  type: 'cancel_hook'
  /** The number of the question. */
  questionId: number
}

/** The run no longer waits for this hook, which may go on. */
export interface LeaveHookAction {
  type: 'leave_hook'
  /** The number of the question. */
  questionId: number
}

/** Poll again at this time at the latest. It replaces the timer before it. */
export interface SetTimerAction {
  type: 'set_timer'
  /** In the time that `poll` is given, in milliseconds; null for no timer. */
  atMs: number | null
}

/** The run is over. Nothing follows. */
export interface DoneAction {
  type: 'done'
  /** The result of the run. */
  result: RunResult
}

// </generated>

/** What the host is to do. */
export type LoopAction =
  // <generated: union of actions>
  | EventAction
  | CallModelAction
  | CallCustomModelAction
  | CancelModelAction
  | CallToolAction
  | CancelToolAction
  | AskHookAction
  | CancelHookAction
  | LeaveHookAction
  | SetTimerAction
  | DoneAction
  // </generated>

// <generated: inputs>

/** The head of the response to a `call_model` has arrived. */
export interface ModelResponseInput {
  type: 'model_response'
  /** The number of the call. */
  call: number
  /** The HTTP status. */
  status: number
  /** The headers by name, in any case. */
  headers: Readonly<Record<string, string>>
}

/** A part of the answer to a `call_custom_model`. */
export interface ModelChunkInput {
  type: 'model_chunk'
  /** The number of the call. */
  call: number
  /**
   * The part, as custom providers give it: a text, `{"text"}`, `{"thinking"}`, `{"tool_call"}`, `{"usage"}`, `{"end"}` or
   * `{"type", …}`.
   */
  chunk: unknown
}

/** The answer of a model is over: its body has ended, or what kept it from ending. */
export interface ModelEndInput {
  type: 'model_end'
  /** The number of the call. */
  call: number
  /**
   * Why there is no answer, or no more of it, `{kind, message}`: `connection`, `tls`, `timeout`, and `stream_truncated` where the
   * connection broke within an answer.
   */
  error?: LoopFailure | undefined
}

/** A running tool reports progress. */
export interface ToolUpdateInput {
  type: 'tool_update'
  /** The number of the call. */
  call: number
  /** The progress, in any form that a result may have. */
  partialResult: unknown
}

/** A tool has answered, or failed: give one of `result` and `error`. */
export interface ToolDoneInput {
  type: 'tool_done'
  /** The number of the call. */
  call: number
  /** The result: text, any other JSON, a full result `{content, details, is_error, terminate}`, null for nothing. */
  result?: unknown
  /** The text of the failure, for the model. */
  error?: string | undefined
}

/** A running tool waits for a decision: its answer comes from elsewhere, later. The run ends with it in `pending`. */
export interface ToolSuspendedInput {
  type: 'tool_suspended'
  /** The number of the call. */
  call: number
  /** Why, for the person who decides. */
  reason: string
}

/** A hook has answered, or failed: give one of `answer` and `error`, or neither for no change. */
export interface HookAnswerInput {
  type: 'hook_answer'
  /** The number of the question. */
  questionId: number
  /** The answer, as the hook's documentation has it; null for no change. */
  answer?: unknown
  /** The text of the failure. */
  error?: string | undefined
}

/** A listener failed with the event that came last: a diagnostic reports it. */
export interface ListenerFailedInput {
  type: 'listener_failed'
  /** The type of the event. */
  event: string
  /** The text of the failure. */
  error: string
}

/** Queue steering messages, which join the run as soon as they can. */
export interface SteerInput {
  type: 'steer'
  /** Text, a message, or a list of messages. */
  message: PromptInput
}

/** Queue messages for when the run would end. */
export interface FollowUpInput {
  type: 'follow_up'
  /** Text, a message, or a list of messages. */
  message: PromptInput
}

/** Remove the steering messages that no turn has begun with. */
export interface ClearSteeringQueueInput {
  type: 'clear_steering_queue'
}

/** Remove the follow-up messages that no turn has begun with. */
export interface ClearFollowUpQueueInput {
  type: 'clear_follow_up_queue'
}

/** End the run after this turn, as if `shouldStopAfterTurn` asked for it: its outcome is `stopped`. */
export interface StopAfterTurnInput {
  type: 'stop_after_turn'
}

/** Abort the run. */
export interface AbortInput {
  type: 'abort'
}

/** Change options from the next turn on: all, or on an error none. */
export interface ConfigureInput {
  type: 'configure'
  /** The options with their new values; null for the default. */
  options: LoopChanges
}

// </generated>

/** What the host reports. */
export type LoopInput =
  // <generated: union of inputs>
  | ModelResponseInput
  | ModelChunkInput
  | ModelEndInput
  | ToolUpdateInput
  | ToolDoneInput
  | ToolSuspendedInput
  | HookAnswerInput
  | ListenerFailedInput
  | SteerInput
  | FollowUpInput
  | ClearSteeringQueueInput
  | ClearFollowUpQueueInput
  | StopAfterTurnInput
  | AbortInput
  | ConfigureInput
  // </generated>
