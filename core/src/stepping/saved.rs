//! Saving a stepped loop and loading it again.

use agent_loop_proto::conversation::Conversation;
use agent_loop_proto::conversation::export::Export;
use agent_loop_proto::json_error::words;
use agent_loop_proto::json_reader::from_text;
use agent_loop_proto::machine::{Action, Loop};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::host_loop::{HostLoop, Open};
use super::models::{Models, SavedModel};
use super::open_call::{OpenCall, SavedCall};
use super::options::{Layer, Options, Side};
use crate::error::{Error, ErrorKind};

/// A loop with what its host knows of it. The version is that of the loop inside.
#[derive(Serialize, Deserialize)]
struct Saved {
    run: SavedRun,
    options: Vec<Layer>,
    models: Vec<SavedModel>,
    turn: Side,
    next: Side,
    open: Vec<SavedOpen>,
    given_ms: Option<u64>,
    now_ms: u64,
}

#[derive(Serialize, Deserialize)]
enum SavedRun {
    #[serde(deserialize_with = "as_text")]
    Active(Box<RawValue>),
    /// The conversation that it has left.
    Over(Box<Export>),
}

#[derive(Serialize, Deserialize)]
enum SavedOpen {
    Model(SavedCall),
    Other(Action),
}

/// The text of a value, which is read by itself.
fn as_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RawValue>, D::Error> {
    RawValue::from_string(Value::deserialize(deserializer)?.to_string()).map_err(D::Error::custom)
}

impl HostLoop {
    /// The whole state as one text, for [`HostLoop::load`]; between any two calls, also in the middle of a model's answer. It has
    /// the conversation and the options, and no key.
    ///
    /// # Errors
    /// `invalid_state` when the state cannot be written, which is a bug.
    pub fn save(&self) -> Result<String, Error> {
        let unsaved = |why: serde_json::Error| Error::new(ErrorKind::InvalidState, format!("the loop cannot be saved: {why}"));
        let run = match self.conversation.active() {
            Some(run) => SavedRun::Active(RawValue::from_string(run.save()?).map_err(unsaved)?),
            None => SavedRun::Over(Box::new(self.conversation.export()?)),
        };
        let open = self.open.iter().map(|open| match open {
            Open::Model(call) => SavedOpen::Model(call.save()),
            Open::Other(action) => SavedOpen::Other(action.clone()),
        });
        let saved = Saved {
            run,
            options: self.options.layers().to_vec(),
            models: self.models.save(),
            turn: self.turn.clone(),
            next: self.next.clone(),
            open: open.collect(),
            given_ms: self.given_ms,
            now_ms: self.now_ms,
        };
        serde_json::to_string(&saved).map_err(unsaved)
    }

    /// A loop as it was saved, in this or in another language. The same inputs lead to the same actions as those of the saved
    /// one. [`HostLoop::open_actions`] has what the host was doing.
    ///
    /// # Errors
    /// `invalid_argument`: the text is not a saved loop, or one of an older version; `newer_version`: one of a newer version.
    pub fn load(text: &str) -> Result<HostLoop, Error> {
        let refused = |why: &str| Error::invalid_argument(format!("the saved loop cannot be loaded: {why}"));
        let saved: Saved = from_text(text.as_bytes()).map_err(|why| refused(&words(&why)))?;
        let (conversation, is_over) = match saved.run {
            SavedRun::Active(run) => (Conversation::of_run(Loop::load(run.get())?), false),
            SavedRun::Over(export) => {
                let mut conversation = Conversation::default();
                conversation.import(*export)?;
                (conversation, true)
            }
        };
        let within = |error: Error| refused(error.message());
        let models = Models::load(saved.models).map_err(within)?;
        let open = saved.open.into_iter().map(|open| match open {
            SavedOpen::Model(call) => OpenCall::load(call, &models).map(Open::Model),
            SavedOpen::Other(action) => Ok(Open::Other(action)),
        });
        Ok(HostLoop {
            options: Options::load(saved.options).map_err(within)?,
            open: open.collect::<Result<_, _>>().map_err(within)?,
            models,
            is_over,
            conversation,
            turn: saved.turn,
            next: saved.next,
            // A loaded loop asks for its timer first, if it needs one.
            wanted_ms: None,
            given_ms: saved.given_ms,
            now_ms: saved.now_ms,
        })
    }
}
