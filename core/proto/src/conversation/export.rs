//! A conversation as one JSON, and back: for those who keep it themselves, also with calls that wait for a decision.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ActiveRun, Conversation};
use crate::error::{Error, ErrorKind};
use crate::gate::Remembered;
use crate::json_error::words;
use crate::json_reader::from_value;
use crate::machine::has_call_without_result;
use crate::message::Message;
use crate::message_ids::NewIds;
use crate::queues::Queue;
use crate::suspension::StoredCall;

/// The version of an export. One of a newer version is refused; older ones are read.
pub const EXPORT_VERSION: u32 = 1;

/// A conversation between two runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename = "strict", deny_unknown_fields)]
pub struct Export {
    version: u32,
    /// What the idempotency keys of its calls begin with.
    origin: String,
    messages: Vec<Arc<Message>>,
    steering: Vec<Arc<Message>>,
    follow_up: Vec<Arc<Message>>,
    suspended: Vec<StoredCall>,
    #[serde(default, skip_serializing_if = "Remembered::is_empty")]
    remembered: Remembered,
}

impl Export {
    /// Reads an export in JSON.
    ///
    /// # Errors
    /// `newer_version`: a newer version of this library has written it; `invalid_argument`: no export, and calls that wait and
    /// are no calls of the last answer.
    pub fn from_json(value: serde_json::Value) -> Result<Export, Error> {
        let version = value.get("version").and_then(serde_json::Value::as_u64);
        if version.is_some_and(|version| version > u64::from(EXPORT_VERSION)) {
            let version = version.unwrap_or_default();
            let text = format!("the export has version {version}; this library reads versions up to {EXPORT_VERSION}: update it");
            return Err(Error::new(ErrorKind::NewerVersion, text));
        }
        let refused = |why: String| Error::invalid_argument(format!("the export cannot be read: {why}"));
        let export: Export = from_value(&value).map_err(|error| refused(words(&error)))?;
        let ids = NewIds::of(&export.messages).map_err(|error| refused(error.message().to_owned()))?;
        ids.check_against(export.steering.iter().chain(&export.follow_up).map(Arc::as_ref))
            .map_err(|error| refused(error.message().to_owned()))?;
        for StoredCall { call, .. } in &export.suspended {
            if !has_call_without_result(&export.messages, &call.tool_call_id, &call.tool_name) {
                let (id, tool) = (&call.tool_call_id, &call.tool_name);
                return Err(refused(format!("no call {id} of {tool} in its last answer waits for a result")));
            }
        }
        Ok(export)
    }
}

impl<R: ActiveRun> Conversation<R> {
    /// The conversation, to be kept by the host.
    ///
    /// # Errors
    /// `busy` while a run is active.
    pub fn export(&self) -> Result<Export, Error> {
        self.check_idle("it cannot be exported")?;
        Ok(Export {
            version: EXPORT_VERSION,
            origin: self.origin.current().to_owned(),
            messages: self.messages.to_vec(),
            steering: self.queues.messages(Queue::Steering),
            follow_up: self.queues.messages(Queue::FollowUp),
            suspended: self.suspended.clone(),
            remembered: self.remembered.clone(),
        })
    }

    /// Goes on from an export, in place of what was there.
    ///
    /// # Errors
    /// `busy` while a run is active.
    pub fn import(&mut self, export: Export) -> Result<(), Error> {
        self.check_idle("an export cannot be loaded")?;
        let Export { version: _, origin, messages, steering, follow_up, suspended, remembered } = export;
        // Its revision and the numbers of queued messages go on.
        self.reset()?;
        self.push_queued(Queue::Steering, steering.into_iter().map(Arc::unwrap_or_clone).collect());
        self.push_queued(Queue::FollowUp, follow_up.into_iter().map(Arc::unwrap_or_clone).collect());
        self.record_appended(&messages);
        self.record_suspended(&suspended);
        self.set_remembered(remembered);
        (self.messages, self.suspended) = (Arc::new(messages), suspended);
        self.origin.import(origin);
        Ok(())
    }
}
