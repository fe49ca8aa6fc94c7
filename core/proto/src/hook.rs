//! Hooks: their types, made from the table. When a hook is asked, and what its failure means, is in the documentation of the
//! loop.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use crate::api_key::ApiKey;
use crate::error::Error;
pub use crate::hook_answers::*;
pub use crate::mcp_answers::{McpElicited, McpSampled};
use crate::message::Message;
use crate::model_entry::ModelEntry;
use crate::model_spec::ModelSpec;
use crate::request::ThinkingLevel;
use crate::result::RunResult;
use crate::suspension::Decision;
use crate::tool::ToolOutput;

macro_rules! hook_kinds {
    ($($(#[doc = $doc:literal])* $kind:ident $name:ident: $input:ty => $output:ty,)+) => {
        /// Which hook.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
        pub enum HookKind { $($(#[doc = $doc])* $kind,)+ }

        impl HookKind {
            /// All hooks.
            pub const ALL: &'static [HookKind] = &[$(HookKind::$kind,)+];

            /// The canonical word, for example `before_tool_call`.
            pub fn as_str(self) -> &'static str {
                match self { $(HookKind::$kind => stringify!($name),)+ }
            }
        }

        /// A hook with its input.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
        pub enum Question {
            $($(#[doc = $doc])* $kind($input),)+
            /// A tool's own preparation of its arguments, before they are validated.
            PrepareArguments {
                /// The tool's name.
                tool: Arc<str>,
                /// The model's own arguments.
                arguments: Arc<Map<String, Value>>,
            },
            /// Whether a call needs approval, of a tool that decides it for each call.
            NeedsApproval {
                /// The tool's name.
                tool: Arc<str>,
                /// The validated arguments.
                arguments: Arc<Map<String, Value>>,
            },
        }

        impl Question {
            /// Which hook; `None` for a tool's `prepare_arguments` and `needs_approval`.
            pub fn kind(&self) -> Option<HookKind> {
                match self {
                    $(Question::$kind(..) => Some(HookKind::$kind),)+
                    Question::PrepareArguments { .. } | Question::NeedsApproval { .. } => None,
                }
            }
        }

        /// What a hook answers. The loop ignores the answer to another question than its own.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
        #[allow(clippy::large_enum_variant)] // In a box, where there may be many.
        pub enum HookAnswer {
            $($(#[doc = $doc])* $kind($output),)+
            /// Of `prepare_next_turn` and `prepare_request`, with the model that the change names: see [`HookAnswer::resolved`].
            ChangeModel {
                /// The rest of the change.
                change: TurnChange,
                /// The model.
                model: Box<ModelEntry>,
            },
            /// The arguments that replace the given ones, of a tool's `prepare_arguments`.
            PrepareArguments(Map<String, Value>),
            /// Why the call needs approval, of a tool's `needs_approval`; `None`: it needs none.
            NeedsApproval(Option<String>),
            /// No change, of any hook.
            Nothing,
        }
    };
}

crate::for_each_hook!(hook_kinds);

macro_rules! hook_inputs {
    ($(
        $(#[doc = $doc:literal])* $name:ident $parameter:ident, $since:literal
        { $($(#[doc = $field_doc:literal])* $field:ident: $type:ty $(as $exact:ident)? $(= $field_since:literal)?,)* }
    )+) => {
        $(
            $(#[doc = $doc])*
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
            #[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
            pub struct $name { $($(#[doc = $field_doc])* pub $field: $type,)* }
        )+
    };
}

crate::hook_inputs_of!(object, hook_inputs);
crate::hook_inputs_of!(value, hook_inputs);

/// Read from what a server asks with.
impl McpSampling {
    #[doc(hidden)]
    pub fn of(server: String, request: Map<String, Value>) -> McpSampling {
        let system_prompt = request.get("systemPrompt").and_then(Value::as_str).map(str::to_owned);
        let max_tokens = request.get("maxTokens").and_then(Value::as_u64).unwrap_or_default();
        McpSampling { server, prompt: texts_of(&request), system_prompt, max_tokens, request }
    }
}

/// The texts of the messages of a request, each on lines of its own.
fn texts_of(request: &Map<String, Value>) -> String {
    let mut texts: Vec<&str> = Vec::new();
    for message in request.get("messages").and_then(Value::as_array).into_iter().flatten() {
        let blocks = match message.get("content") {
            Some(Value::Array(blocks)) => blocks.as_slice(),
            Some(block) => std::slice::from_ref(block),
            None => &[],
        };
        texts.extend(blocks.iter().filter_map(|block| block.get("text")?.as_str()));
    }
    texts.join("\n")
}

impl McpElicitation {
    #[doc(hidden)]
    pub fn of(server: String, mut request: Map<String, Value>) -> McpElicitation {
        let message = request.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        let requested_schema = match request.remove("requestedSchema") {
            Some(Value::Object(schema)) => schema,
            _ => Map::new(),
        };
        McpElicitation { server, message, requested_schema }
    }
}

impl McpSignIn {
    #[doc(hidden)]
    pub fn of(server: String, url: String, redirect_uri: String) -> McpSignIn {
        McpSignIn { server, url, redirect_uri }
    }
}

impl std::fmt::Display for HookKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl HookKind {
    /// The hook of that canonical word.
    pub fn parse(word: &str) -> Option<HookKind> {
        HookKind::ALL.iter().copied().find(|kind| kind.as_str() == word)
    }
}

impl HookAnswer {
    /// The answer with the model that its change names, as the loop takes it: the host calls this before it hands the answer on.
    /// `resolve` finds the model. Answers that name none stay as they are.
    ///
    /// # Errors
    /// That of `resolve`.
    pub fn resolved(self, resolve: impl FnOnce(&ModelSpec) -> Result<ModelEntry, Error>) -> Result<HookAnswer, Error> {
        let mut answer = self;
        if let HookAnswer::PrepareNextTurn(change) | HookAnswer::PrepareRequest(change) = &mut answer
            && let Some(spec) = change.model.take()
        {
            let model = Box::new(resolve(&spec)?);
            return Ok(HookAnswer::ChangeModel { change: std::mem::take(change), model });
        }
        Ok(answer)
    }
}
