//! The actions and inputs of a loop that a host steps itself, in JSON, one row each, preceded by what it means:
//!
//! ```text
//! Variant = "word", "since" {
//!     /// What it is.
//!     name: Type as Precise = "since",
//! }
//! ```
//!
//! The fields are in the order of the JSON, after its `type`, the word. One with `@optional` may be left out.

use super::fields::{FieldRow, field_row};

/// The rows of actions or of inputs, given to a macro, preceded by the prefix.
#[macro_export]
macro_rules! steps_of {
    (action, $callback:ident $($prefix:tt)*) => {
        $callback! {
            $($prefix)*
            /// The run emits an event: hand it to listeners and readers.
            Event = "event", "0.1.0" {
                /// The event, in canonical JSON.
                event: Event,
            }
            /// Send this request with the key that `auth` describes, and report the answer with `model_response`, its bytes as
            /// they come, and `model_end`.
            CallModel = "call_model", "0.1.0" {
                /// The number of the call.
                call: u32,
                /// The method: `POST`.
                method: String,
                /// The address.
                url: String,
                /// The headers, without any that authenticates.
                headers: Map<String, Value> as Headers,
                /// What the host adds to authenticate.
                auth: Auth,
                /// The body, to be sent as it stands.
                body: String,
                /// The longest that setting up a connection may take, in milliseconds; 0 for no limit. The loop itself keeps all
                /// other limits of time.
                connect_timeout_ms: u64,
            }
            /// Answer for a model of a custom provider: report its parts with `model_chunk`, and `model_end`.
            CallCustomModel = "call_custom_model", "0.1.0" {
                /// The number of the call.
                call: u32,
                /// The provider of the model, one of `providers`.
                provider: String,
                /// The request, as custom providers get it: `{model, system_prompt, messages, tools, thinking_level, options}`.
                request: ModelRequest,
            }
            /// The answer of this model call is no longer wanted: close its connection.
            CancelModel = "cancel_model", "0.1.0" {
                /// The number of the call.
                call: u32,
            }
            /// Run a tool, and report with `tool_update`, and `tool_done` or `tool_suspended`.
            CallTool = "call_tool", "0.1.0" {
                /// The number of the call.
                call: u32,
                /// The id of the model's call.
                tool_call_id: Arc<str>,
                /// The name of the tool.
                tool_name: Arc<str>,
                /// The arguments, validated.
                arguments: Map<String, Value>,
                /// The same however often the call is executed, and wherever: for the services behind tools.
                idempotency_key: Arc<str>,
            }
            /// Cancel a running tool. What it returns within the grace time of an abort still counts, unless it is `abandoned`.
            CancelTool = "cancel_tool", "0.1.0" {
                /// The number of the call.
                call: u32,
                /// Whether the call has its result: what the tool still does is ignored.
                abandoned: bool,
            }
            /// Call a hook, and report its answer with `hook_answer`.
            AskHook = "ask_hook", "0.1.0" {
                /// The number of the question.
                question_id: u32,
                /// The hook's name; of a tool's own functions `prepare_arguments` or `needs_approval`.
                hook: String,
                /// The input of the hook; of a tool's own functions `{tool_name, arguments}`.
                input: HookInput,
            }
            /// The answer of this hook is no longer wanted: cancel what it does.
            CancelHook = "cancel_hook", "0.1.0" {
                /// The number of the question.
                question_id: u32,
            }
            /// The run no longer waits for this hook, which may go on.
            LeaveHook = "leave_hook", "0.1.0" {
                /// The number of the question.
                question_id: u32,
            }
            /// Poll again at this time at the latest. It replaces the timer before it.
            SetTimer = "set_timer", "0.1.0" {
                /// In the time that `poll` is given, in milliseconds; null for no timer.
                at_ms: Option<u64>,
            }
            /// The run is over. Nothing follows.
            Done = "done", "0.1.0" {
                /// The result of the run.
                result: Box<RunResult>,
            }
        }
    };
    (input, $callback:ident $($prefix:tt)*) => {
        $callback! {
            $($prefix)*
            /// The head of the response to a `call_model` has arrived.
            ModelResponse = "model_response", "0.1.0" {
                /// The number of the call.
                call: u32,
                /// The HTTP status.
                status: u16,
                /// The headers by name, in any case.
                headers: Map<String, Value> as Headers,
            }
            /// A part of the answer to a `call_custom_model`.
            ModelChunk = "model_chunk", "0.1.0" {
                /// The number of the call.
                call: u32,
                /// The part, as custom providers give it: a text, `{"text"}`, `{"thinking"}`, `{"tool_call"}`, `{"usage"}`,
                /// `{"end"}` or `{"type", …}`.
                chunk: Value,
            }
            /// The answer of a model is over: its body has ended, or what kept it from ending.
            ModelEnd = "model_end", "0.1.0" {
                /// The number of the call.
                call: u32,
                /// Why there is no answer, or no more of it, `{kind, message}`: `connection`, `tls`, `timeout`, and
                /// `stream_truncated` where the connection broke within an answer.
                @optional error: Option<Error>,
            }
            /// A running tool reports progress.
            ToolUpdate = "tool_update", "0.1.0" {
                /// The number of the call.
                call: u32,
                /// The progress, in any form that a result may have.
                partial_result: Value,
            }
            /// A tool has answered, or failed: give one of `result` and `error`.
            ToolDone = "tool_done", "0.1.0" {
                /// The number of the call.
                call: u32,
                /// The result: text, any other JSON, a full result `{content, details, is_error, terminate}`, null for nothing.
                @optional result: Option<Value>,
                /// The text of the failure, for the model.
                @optional error: Option<String>,
            }
            /// A running tool waits for a decision: its answer comes from elsewhere, later. The run ends with it in `pending`.
            ToolSuspended = "tool_suspended", "0.1.0" {
                /// The number of the call.
                call: u32,
                /// Why, for the person who decides.
                reason: String,
            }
            /// A hook has answered, or failed: give one of `answer` and `error`, or neither for no change.
            HookAnswer = "hook_answer", "0.1.0" {
                /// The number of the question.
                question_id: u32,
                /// The answer, as the hook's documentation has it; null for no change.
                @optional answer: Option<Value>,
                /// The text of the failure.
                @optional error: Option<String>,
            }
            /// A listener failed with the event that came last: a diagnostic reports it.
            ListenerFailed = "listener_failed", "0.1.0" {
                /// The type of the event.
                event: String,
                /// The text of the failure.
                error: String,
            }
            /// Queue steering messages, which join the run as soon as they can.
            Steer = "steer", "0.1.0" {
                /// Text, a message, or a list of messages.
                message: Value as Prompt,
            }
            /// Queue messages for when the run would end.
            FollowUp = "follow_up", "0.1.0" {
                /// Text, a message, or a list of messages.
                message: Value as Prompt,
            }
            /// Remove the steering messages that no turn has begun with.
            ClearSteeringQueue = "clear_steering_queue", "0.1.0" {}
            /// Remove the follow-up messages that no turn has begun with.
            ClearFollowUpQueue = "clear_follow_up_queue", "0.1.0" {}
            /// End the run after this turn, as if `should_stop_after_turn` asked for it: its outcome is `stopped`.
            StopAfterTurn = "stop_after_turn", "0.1.0" {}
            /// Abort the run.
            Abort = "abort", "0.1.0" {}
            /// Change options from the next turn on: all, or on an error none.
            Configure = "configure", "0.1.0" {
                /// The options with their new values; null for the default.
                options: Map<String, Value> as Options,
            }
        }
    };
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct StepRow {
    /// The canonical word, its `type`.
    pub word: &'static str,
    /// The variant in Rust.
    pub variant: &'static str,
    /// What it means; the lines of its comment.
    pub doc: &'static [&'static str],
    /// Its fields in JSON, in order.
    pub fields: &'static [FieldRow],
    /// The version in which it appeared.
    pub since: &'static str,
}

macro_rules! step_rows {
    ($rows:ident: $(
        $(#[doc = $doc:literal])* $variant:ident = $word:literal, $since:literal {
            $($(#[doc = $field_doc:literal])* $(@$optional:ident)? $field:ident: $type:ty $(as $exact:ident)?
            $(= $field_since:literal)?,)*
        }
    )+) => {
        const $rows: &[StepRow] = &[$(StepRow {
            word: $word,
            variant: stringify!($variant),
            doc: &[$($doc),*],
            fields: &[$(field_row!([$($optional)?] $($field_doc)* ; $field, $type, [$($exact)?], [$($field_since,)? $since]),)*],
            since: $since,
        },)+];
    };
}

steps_of!(action, step_rows ACTIONS:);
steps_of!(input, step_rows INPUTS:);

/// What a host is to do, in the order of the table.
pub fn actions() -> &'static [StepRow] {
    ACTIONS
}

/// What a host reports, in the order of the table.
pub fn inputs() -> &'static [StepRow] {
    INPUTS
}
