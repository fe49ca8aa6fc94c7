//! What may be chosen of a stream for a browser.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::did_you_mean::{Spelling, canonical_names};
use crate::error::Error;
use crate::json_error::{shown, words};
use crate::json_reader::from_value;

/// The options of a stream for a browser. In JSON, all may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct UiOptions {
    /// Whether the texts of errors are sent, of failed tools, too. They may name addresses, files and accounts of the server.
    /// Without it the browser gets `error_text`.
    pub show_errors: bool,
    /// What the browser gets in place of an error's text.
    pub error_text: String,
    /// Whether thinking is sent.
    pub reasoning: bool,
    /// Whether the signatures of thinking, texts and calls are sent: who keeps the history in the browser needs them there.
    pub signatures: bool,
    /// Whether the tokens of the run are sent.
    pub usage: bool,
    /// Whether it is sent what subagents write and which tools they call. Their answers are the results of their calls anyway.
    pub subagents: bool,
    /// After how many milliseconds without anything to send a comment is sent, so that no proxy closes the connection; 0: none.
    pub keep_alive_ms: u64,
    /// Whether each frame has an id, by which a browser that has lost the connection says what it has ([`frames_after`]).
    ///
    /// [`frames_after`]: super::frames_after
    pub event_ids: bool,
    /// Tools that the browser runs: it is not asked to approve their calls, but for their outputs.
    pub client_tools: Vec<String>,
    /// The id of the message in the browser (AI SDK); without it the browser makes one.
    pub message_id: Option<String>,
    /// The id of the conversation (AG-UI); without it the run's.
    pub thread_id: Option<String>,
    /// The id of the run that the browser knows (AG-UI); without it the run's own.
    pub run_id: Option<String>,
    /// Whether the run goes on with the last message that the browser has, whose calls it decided. [`UiOptions::of`] sets it.
    #[serde(skip)]
    pub(super) continues: bool,
    /// The calls that were denied, by their ids. [`UiOptions::of`] sets them.
    #[serde(skip)]
    pub(super) denied: Vec<String>,
    /// Whether a call may be approved with other arguments. [`UiOptions::of`] sets it.
    #[serde(skip)]
    pub(super) edit_arguments: bool,
}

/// The options that JSON may have.
const NAMES: [&str; 12] = [
    "show_errors",
    "error_text",
    "reasoning",
    "signatures",
    "usage",
    "subagents",
    "keep_alive_ms",
    "event_ids",
    "client_tools",
    "message_id",
    "thread_id",
    "run_id",
];

impl Default for UiOptions {
    fn default() -> UiOptions {
        UiOptions {
            show_errors: false,
            error_text: "An error occurred.".to_owned(),
            reasoning: true,
            signatures: true,
            usage: true,
            subagents: false,
            keep_alive_ms: 15_000,
            event_ids: false,
            client_tools: Vec::new(),
            message_id: None,
            thread_id: None,
            run_id: None,
            continues: false,
            denied: Vec::new(),
            edit_arguments: false,
        }
    }
}

impl UiOptions {
    /// Reads options in JSON, with names in this spelling.
    ///
    /// # Errors
    /// `invalid_argument`: names the option that is wrong, or not known.
    pub fn from_json(options: Value, spelling: Spelling) -> Result<UiOptions, Error> {
        read("option of a UI stream", options, &NAMES, spelling)
    }

    /// The text of an error, as the browser may read it.
    pub(super) fn shown<'a>(&'a self, text: &'a str) -> &'a str {
        if self.show_errors { text } else { &self.error_text }
    }

    pub(super) fn is_client_tool(&self, name: &str) -> bool {
        self.client_tools.iter().any(|tool| tool == name)
    }
}

/// What a server lets a browser decide. In JSON, all may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct UiRequestOptions {
    /// Tools that the browser runs. A call of any other tool takes no result of it.
    pub client_tools: Vec<String>,
    /// Whether a call may be approved with other arguments than those that were asked for (AG-UI).
    pub edit_arguments: bool,
    /// Whether calls may be approved that have no result and do not wait: those of an agent that has the request's `history`, and
    /// of one whose messages were stored without the calls that wait.
    pub open_calls: bool,
    /// Whether the conversation stays as it is: no message is edited, and no answer is made anew.
    pub keep_messages: bool,
}

impl UiRequestOptions {
    /// Reads options in JSON, with names in this spelling.
    ///
    /// # Errors
    /// `invalid_argument`: names the option that is wrong, or not known.
    pub fn from_json(options: Value, spelling: Spelling) -> Result<UiRequestOptions, Error> {
        read("option of a UI request", options, &["client_tools", "edit_arguments", "open_calls", "keep_messages"], spelling)
    }
}

fn read<T: DeserializeOwned + Default>(what: &str, options: Value, names: &[&str], spelling: Spelling) -> Result<T, Error> {
    let given = match options {
        Value::Null => return Ok(T::default()),
        Value::Object(given) => given,
        other => return Err(Error::invalid_argument(format!("options: expected an object, got {}", shown(&other)))),
    };
    let given = canonical_names(what, given, names, spelling)?;
    for (name, value) in &given {
        let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
        if let Err(error) = from_value::<T>(&alone) {
            let name = spelling.spell(name);
            return Err(Error::invalid_argument(format!("options: {name}: {}", words(&error))));
        }
    }
    from_value(&Value::Object(given)).map_err(|error| Error::invalid_argument(format!("options: {}", words(&error))))
}
