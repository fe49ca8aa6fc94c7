//! The hooks, one row each, preceded by when it is called and what it may do:
//!
//! ```text
//! Variant name = value in C, "since": Input => Output, answer "its JSON", effect of its failure;
//! ```
//!
//! The name is the setter of the Rust API, `Input` and `Output` are types in Rust. Hooks of a shape that is there already need
//! nothing else; a new input is a row of `hook_inputs_of!`, which makes the type. [`Effect`] has the effects of a failure.

use super::fields::{FieldRow, field_row, is_same_type};
use crate::hook::HookKind;

/// All rows, given to a macro, preceded by the prefix.
#[doc(hidden)]
#[macro_export]
macro_rules! hooks_of {
    ([$($callback:tt)+] $($prefix:tt)*) => {
        $($callback)+! {
            $($prefix)*
            /// Before each model call: may replace the messages that the model reads, for this call only.
            TransformContext transform_context = 1, "0.1.0": Vec<Arc<Message>> => Option<Vec<Arc<Message>>>,
                answer "an array of messages", Message;
            /// Before each model call, after `transform_context`: converts all messages to the three standard roles. Without this
            /// hook, messages of other roles are left out.
            ConvertToLlm convert_to_llm = 2, "0.1.0": Vec<Arc<Message>> => Option<Vec<Arc<Message>>>,
                answer "an array of messages", Message;
            /// Before each model call: the API key for a provider, instead of the configured one, or a token, or headers.
            GetApiKey get_api_key = 3, "0.1.0": String => Option<ApiKey>,
                answer "a text, `{bearer}` or `{headers}`; of what is empty, the configured key", Message;
            /// Before a tool runs: may block the call, with a reason for the model, replace its arguments, which are validated
            /// again, or suspend it until somebody decides.
            BeforeToolCall before_tool_call = 4, "0.1.0": BeforeToolCall => ToolDecision,
                answer "`{block: true, reason?, terminate?}`, `{arguments}` or `{suspend: reason}`", Call;
            /// After a tool ran, successfully or not: may replace parts of its result.
            AfterToolCall after_tool_call = 5, "0.1.0": AfterToolCall => ToolOverride,
                answer "any of `{content, details, is_error, terminate}`; `content` is text or blocks", Call;
            /// After each turn that another may follow: may change context, model and thinking level for the rest of the run.
            PrepareNextTurn prepare_next_turn = 6, "0.1.0": TurnSummary => TurnChange,
                answer "any of `{context, model, thinking_level}`; `context` is any of `{system_prompt, messages, tools}`, with \
                        the tools by name",
                Run;
            /// After each turn: whether the run ends here, with the outcome `stopped`.
            ShouldStopAfterTurn should_stop_after_turn = 7, "0.1.0": TurnSummary => bool,
                answer "true or false", Run;
            /// With each poll of the steering queue: further steering messages.
            GetSteeringMessages get_steering_messages = 8, "0.1.0": () => Vec<Message>,
                answer "a text, a message, or an array of texts or of messages", FirstPoll;
            /// With each poll of the follow-up queue: further follow-up messages.
            GetFollowUpMessages get_follow_up_messages = 9, "0.1.0": () => Vec<Message>,
                answer "a text, a message, or an array of texts or of messages", Run;
            /// Before each model call: may replace the body of the request.
            OnPayload on_payload = 10, "0.1.0": Payload => Option<Map<String, Value>>,
                answer "the new body", Message;
            /// When the head of a response has arrived, for each attempt.
            OnResponse on_response = 11, "0.1.0": ResponseHead => (),
                answer "", Reported;
            /// When a model call fails, and when anything else ends the run with an error.
            OnError on_error = 12, "0.1.0": Failure => (),
                answer "", Reported;
            /// Before a run, also before its `agent_start`.
            BeforeRun before_run = 13, "0.1.0": RunTask => (),
                answer "", Message;
            /// After a run's last event, before the agent is idle.
            AfterRun after_run = 14, "0.1.0": RunResult => (),
                answer "", Logged;
            /// When `resume` finds a call without a result, of a tool whose `on_interrupted` is `ask`: whether the model reads
            /// that its outcome is not known, it runs again, or it has a result. Without this hook: `report`.
            OnInterruptedCall on_interrupted_call = 15, "0.1.0": InterruptedCall => InterruptedDecision,
                answer "`report`, `retry` or `{result}`", Decision;
            /// When a final answer fits the option `output`: may refuse it, with a text for the model, which may correct it.
            CheckOutput check_output = 16, "0.1.0": OutputCheck => Option<String>,
                answer "null, or a text: what is wrong with it", Run;
            /// Before the request of each turn, the first one included: may change context, model and thinking level for this
            /// request. A retry and a fallback keep what it has changed, but for the model.
            PrepareRequest prepare_request = 17, "0.1.0": NextRequest => TurnChange,
                answer "as `prepare_next_turn`", Message;
            /// When a server of MCP asks, during one of its calls, for an answer of a model (sampling): may give one. Without
            /// this hook, the capability is not announced to servers.
            OnMcpSampling on_mcp_sampling = 18, "0.1.0": McpSampling => McpSampled,
                answer "a text, or the result as MCP has it; null refuses", Server;
            /// When a server of MCP asks, during one of its calls, for what the user knows (elicitation): may give it. Without
            /// this hook, the capability is not announced to servers.
            OnMcpElicitation on_mcp_elicitation = 19, "0.1.0": McpElicitation => McpElicited,
                answer "`{action: \"accept\", content}`, `{action: \"decline\"}`, `{action: \"cancel\"}`; null declines", Server;
            /// When a server of MCP with the field `oauth` wants a sign-in: shows the user the address, in a browser for example.
            OnMcpSignIn on_mcp_sign_in = 20, "0.1.0": McpSignIn => Option<String>,
                answer "null, or the address that the browser was sent to, where that is received elsewhere", Unreachable;
            /// When a call needs approval, as its tool or the option `gate` says, before it waits: may decide at once. Without an
            /// answer, the call waits.
            OnApproval on_approval = 21, "0.1.0": ApprovalRequest => Option<Decision>,
                answer "null, or a decision as `resume` takes it: `approve`, `approve_always`, `deny`, `{deny: reason}`, \
                        `deny_always`, `{deny_always: reason}`, `{arguments}` or `{result}`",
                Decision;
        }
    };
}

/// Calls a macro with the columns that make types, of all rows: documentation, `Variant name: Input => Output,`.
#[macro_export]
macro_rules! for_each_hook {
    ($callback:ident) => {
        $crate::hooks_of! { [$crate::hook_types_of] $callback }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! hook_types_of {
    (
        $callback:ident
        $(
            $(#[doc = $doc:literal])* $variant:ident $name:ident = $value:literal, $since:literal: $input:ty => $output:ty,
            answer $answer:literal, $effect:ident;
        )+
    ) => {
        $callback! { $($(#[doc = $doc])* $variant $name: $input => $output,)+ }
    };
}

/// The inputs with fields of their own, given to a macro. `object` has those of several fields, which are classes in Python and
/// Node, `value` those of one field, which is given itself. A row is preceded by what it is:
///
/// ```text
/// Type parameter, "since" { fields, as those of events }
/// ```
#[macro_export]
macro_rules! hook_inputs_of {
    (object, $callback:ident $($prefix:tt)*) => {
        $callback! {
            $($prefix)*
            /// A call that is about to run.
            BeforeToolCall call, "0.1.0" {
                /// The id of the call.
                tool_call_id: String,
                /// The name of the tool.
                tool_name: String,
                /// The validated arguments.
                arguments: Map<String, Value>,
                /// The message that made the call.
                message: Arc<Message> as AssistantMessage,
            }
            /// A call that ran, successfully or not.
            AfterToolCall call, "0.1.0" {
                /// The id of the call.
                tool_call_id: String,
                /// The name of the tool.
                tool_name: String,
                /// The arguments that the tool got.
                arguments: Map<String, Value>,
                /// The result of the tool.
                result: ToolOutput,
                /// Whether the call failed.
                is_error: bool,
            }
            /// A call without a result: the process ended while it ran, or the transcript is from elsewhere.
            InterruptedCall call, "0.1.0" {
                /// The id of the call.
                tool_call_id: String,
                /// The name of the tool.
                tool_name: String,
                /// The arguments as the model gave them.
                arguments: Map<String, Value>,
                /// The same in each execution of the call.
                idempotency_key: String,
            }
            /// A call that needs approval.
            ApprovalRequest call, "0.1.0" {
                /// The id of the call.
                tool_call_id: String,
                /// The name of the tool.
                tool_name: String,
                /// The validated arguments.
                arguments: Map<String, Value>,
                /// Why it needs approval, for the person who decides.
                reason: String,
                /// The rule that is remembered if the decision is for always. It is about this call alone.
                rule: String,
                /// The same in each execution of the call.
                idempotency_key: String,
            }
            /// A turn that is over.
            TurnSummary turn, "0.1.0" {
                /// The number of the turn, from 1.
                turn: u32,
                /// The assistant message of the turn.
                message: Arc<Message> as AssistantMessage,
                /// The results of its tool calls.
                tool_results: Vec<Arc<Message>> as ToolResults,
            }
            /// A request that is about to be made.
            NextRequest request, "0.1.0" {
                /// The number of the turn, from 1.
                turn: u32,
                /// The model, `provider/id`.
                model: String,
                /// The text that precedes the messages.
                system_prompt: String,
                /// The names of the tools that the model is offered.
                tools: Vec<String>,
                /// How much thinking is asked for.
                thinking_level: ThinkingLevel,
            }
            /// A request that is about to be sent.
            Payload request, "0.1.0" {
                /// The provider that the request is for.
                provider: String,
                /// The model's id at the provider.
                model: String,
                /// The body of the request, in the provider's format.
                payload: Map<String, Value>,
            }
            /// The status and the headers of an HTTP response.
            ResponseHead response, "0.1.0" {
                /// The provider that answered.
                provider: String,
                /// The HTTP status.
                status: u16,
                /// The headers by lower-case name; several of one name are joined with commas.
                headers: Map<String, Value> as Headers,
            }
            /// A failure of a model call or of the run.
            Failure failure, "0.1.0" {
                /// The error.
                error: Error,
                /// The attempt of the model call, from 1; 0 if no model call failed.
                attempt: u32,
                /// Whether a retry follows.
                will_retry: bool,
            }
            /// What a server of MCP asks a model.
            McpSampling sampling, "0.1.0" {
                /// The server, by the name that messages have for it.
                server: String,
                /// The texts of its messages.
                prompt: String,
                /// The text that is to precede the messages, if it gives one.
                system_prompt: Option<String>,
                /// The most tokens of the answer.
                max_tokens: u64,
                /// All that it asks with, as MCP has it: `messages`, `modelPreferences`, `temperature` and others.
                request: Map<String, Value>,
            }
            /// What a server of MCP asks the user.
            McpElicitation elicitation, "0.1.0" {
                /// The server, by the name that messages have for it.
                server: String,
                /// What the user is to read.
                message: String,
                /// The JSON Schema of the answer: an object of plain values.
                requested_schema: Map<String, Value>,
            }
            /// A sign-in that a server of MCP wants.
            McpSignIn request, "0.1.0" {
                /// The server, by the name that messages have for it.
                server: String,
                /// The address where the user signs in.
                url: String,
                /// Where the browser is sent to after that. At a loopback address the engine listens.
                redirect_uri: String,
            }
        }
    };
    (value, $callback:ident $($prefix:tt)*) => {
        $callback! {
            $($prefix)*
            /// A final answer that fits the option `output`.
            OutputCheck output, "0.1.0" {
                /// The answer.
                output: Value,
            }
            /// How a run begins.
            RunTask prompts, "0.1.0" {
                /// The messages that the run begins with; none for `resume`.
                prompts: Vec<Arc<Message>>,
            }
        }
    };
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct HookRow {
    /// The canonical word.
    pub word: &'static str,
    /// The variant of [`HookKind`].
    pub variant: &'static str,
    /// When it is called and what it may do; the lines of its comment.
    pub doc: &'static [&'static str],
    /// Its value in C.
    pub value: i32,
    /// Its output in Rust; `()` for one that decides nothing.
    pub output: &'static str,
    /// The JSON of its answer, in Markdown; empty for one that decides nothing.
    pub answer: &'static str,
    /// What its failure means.
    pub effect: Effect,
    /// Its input.
    pub input: &'static InputRow,
    /// The version in which it appeared.
    pub since: &'static str,
}

impl HookRow {
    /// Whether one model call has no use for it: it is asked about or during a tool call, about a queue or what follows a turn.
    pub fn is_of_the_loop(&self) -> bool {
        self.effect.is_of_servers() || matches!(self.effect, Effect::Call | Effect::Decision | Effect::FirstPoll | Effect::Run)
    }
}

/// What the failure of a hook means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The tool call gets an error result.
    Call,
    /// The tool call waits for a decision.
    Decision,
    /// The assistant message fails.
    Message,
    /// Before the first model call as `Message`, later as `Run`.
    FirstPoll,
    /// The run fails after the turn.
    Run,
    /// A diagnostic reports it.
    Reported,
    /// It is logged.
    Logged,
    /// The MCP server that asks gets an error, and it is logged.
    Server,
    /// The MCP server cannot be reached.
    Unreachable,
}

impl Effect {
    /// Whether it is that of a hook which MCP servers ask, and the loop does not.
    pub fn is_of_servers(self) -> bool {
        matches!(self, Effect::Server | Effect::Unreachable)
    }
}

/// The input of hooks.
#[derive(Debug, Clone, Copy)]
pub struct InputRow {
    /// The type in Rust; of several fields also the class in Python and Node.
    pub rust: &'static str,
    /// The name of the parameter.
    pub parameter: &'static str,
    /// What it is; the lines of its comment.
    pub doc: &'static [&'static str],
    /// Its fields in JSON, in order. A single one is given itself, not in an object. The result of a run has none here.
    pub fields: &'static [FieldRow],
    /// The version in which it appeared.
    pub since: &'static str,
}

macro_rules! input_rows {
    ($rows:ident: $(
        $(#[doc = $doc:literal])* $name:ident $parameter:ident, $since:literal
        { $($(#[doc = $field_doc:literal])* $field:ident: $type:ty $(as $exact:ident)? $(= $field_since:literal)?,)* }
    )+) => {
        const $rows: &[InputRow] = &[$(InputRow {
            rust: stringify!($name),
            parameter: stringify!($parameter),
            doc: &[$($doc),*],
            fields: &[$(field_row!([] $($field_doc)* ; $field, $type, [$($exact)?], [$($field_since,)? $since]),)*],
            since: $since,
        },)+];
    };
}

hook_inputs_of!(object, input_rows OBJECTS:);
hook_inputs_of!(value, input_rows VALUES:);

/// The inputs that are types of the library.
const OTHERS: &[InputRow] = &[
    InputRow {
        rust: "Vec<Arc<Message>>",
        parameter: "messages",
        doc: &["The messages that the model would read."],
        fields: &[field_row!([] "The messages that the model would read." ; messages, Vec<Arc<Message>>, [], ["0.1.0"])],
        since: "0.1.0",
    },
    InputRow {
        rust: "String",
        parameter: "provider",
        doc: &["The provider that is called."],
        fields: &[field_row!([] "The provider that is called." ; provider, String, [], ["0.1.0"])],
        since: "0.1.0",
    },
    InputRow { rust: "()", parameter: "", doc: &["Nothing."], fields: &[], since: "0.1.0" },
    InputRow { rust: "RunResult", parameter: "result", doc: &["The result of the run."], fields: &[], since: "0.1.0" },
];

/// The inputs of several fields, which are classes in Python and Node.
pub fn objects() -> &'static [InputRow] {
    OBJECTS
}

/// The input of that type; one without fields if the type is not known, which a test reports.
fn input(rust: &str) -> &'static InputRow {
    const UNKNOWN: &InputRow = &InputRow { rust: "", parameter: "", doc: &[], fields: &[], since: "" };
    OBJECTS.iter().chain(VALUES).chain(OTHERS).find(|row| is_same_type(row.rust, rust)).unwrap_or(UNKNOWN)
}

macro_rules! hook_rows {
    ($(
        $(#[doc = $doc:literal])* $variant:ident $name:ident = $value:literal, $since:literal: $input:ty => $output:ty,
        answer $answer:literal, $effect:ident;
    )+) => {
        /// All hooks, in the order of the table.
        pub fn all() -> Vec<HookRow> {
            vec![$(HookRow {
                word: stringify!($name),
                variant: stringify!($variant),
                doc: &[$($doc),*],
                value: $value,
                output: stringify!($output),
                answer: $answer,
                effect: Effect::$effect,
                input: input(stringify!($input)),
                since: $since,
            },)+]
        }

        impl HookKind {
            /// What its failure means.
            pub fn effect(self) -> Effect {
                match self { $(HookKind::$variant => Effect::$effect,)+ }
            }
        }
    };
}

hooks_of!([hook_rows]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hook_has_a_value_of_its_own_a_known_input_and_an_answer_if_it_decides() {
        let rows = all();
        for (at, row) in rows.iter().enumerate() {
            assert!(!rows.iter().skip(at + 1).any(|other| other.value == row.value), "{}", row.word);
            assert!(!row.input.rust.is_empty(), "{}", row.word);
            assert_eq!(row.answer.is_empty(), row.output == "()", "{}", row.word);
        }
    }
}
