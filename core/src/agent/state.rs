//! An agent's state: what it is behind the lock, and reading it, from any thread and without waiting for the run.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Agent;
use crate::error::Error;
use crate::message::Message;
use crate::model::{Model, ToolDescription};
use crate::partial::Partial;
use crate::provider::{self, ModelSpec};
use crate::run::RunShared;
use crate::runtime::Runtime;
use crate::settings::Settings;
use crate::tool::ToolSet;
use crate::transport::client::Client;

pub(super) struct State {
    pub(super) runtime: Option<Runtime>,
    pub(super) model: Source,
    pub(super) base_url: Option<String>,
    pub(super) api_key: Option<String>,
    /// The model behind `model` and `base_url`, made at the first run after either changed.
    pub(super) resolved: Option<Arc<dyn Model>>,
    pub(super) settings: Settings,
    pub(super) tools: ToolSet,
    /// What models are told of `tools`, made when first needed after they changed.
    pub(super) descriptions: Option<Arc<Vec<ToolDescription>>>,
    pub(super) messages: Arc<Vec<Arc<Message>>>,
    pub(super) active: Option<Arc<RunShared>>,
    pub(super) streaming_message: Option<Partial>,
    pub(super) pending_tool_calls: Vec<Arc<str>>,
    pub(super) error: Option<Error>,
}

#[derive(Clone)]
pub(super) enum Source {
    Spec(Box<ModelSpec>),
    Own(Arc<dyn Model>),
}

impl Agent {
    /// What the model is told first.
    pub fn current_system_prompt(&self) -> String {
        self.state().settings.system_prompt.clone()
    }

    /// `provider/id` of the model.
    pub fn model_name(&self) -> String {
        self.state().model_name()
    }

    /// The conversation: exactly what `message_end` events have shown. Shared, not copied.
    pub fn messages(&self) -> Arc<Vec<Arc<Message>>> {
        Arc::clone(&self.state().messages)
    }

    /// The tools.
    pub fn tools(&self) -> ToolSet {
        self.state().tools.clone()
    }

    /// Whether a run is active: from its acceptance until the agent is idle.
    pub fn is_streaming(&self) -> bool {
        self.state().active.is_some()
    }

    /// The assistant's message that is being streamed, as it stands.
    pub fn streaming_message(&self) -> Option<Message> {
        let partial = self.state().streaming_message.clone()?;
        Some(Message::Assistant(partial.latest().message()))
    }

    /// The ids of the calls between their execution's start and end.
    pub fn pending_tool_calls(&self) -> Vec<Arc<str>> {
        self.state().pending_tool_calls.clone()
    }

    /// The error of the last run, if its outcome was `error` or `aborted`.
    pub fn error(&self) -> Option<Error> {
        self.state().error.clone()
    }

    /// How many times a listener failed.
    pub fn listener_errors(&self) -> u64 {
        self.0.listeners.errors()
    }

    /// The state in canonical JSON: `{system_prompt, model, thinking_level, tools, messages, is_streaming, streaming_message,
    /// pending_tool_calls, error, listener_errors}`; `tools` are names.
    pub fn state_json(&self) -> Value {
        let streaming_message = self.streaming_message();
        let state = self.state();
        let mut json = json!({
            "system_prompt": state.settings.system_prompt,
            "model": state.model_name(),
            "thinking_level": "off",
            "tools": state.tools.iter().map(|tool| tool.spec().name.as_str()).collect::<Vec<_>>(),
            "messages": null,
            "is_streaming": state.active.is_some(),
            "streaming_message": null,
            "pending_tool_calls": state.pending_tool_calls.iter().map(|id| &**id).collect::<Vec<_>>(),
            "error": state.error,
            "listener_errors": self.0.listeners.errors(),
        });
        let messages = Arc::clone(&state.messages);
        // A long transcript takes a while to write: not under the lock, the run wants it.
        drop(state);
        if let Some(fields) = json.as_object_mut() {
            fields.insert("messages".into(), json!(&*messages));
            fields.insert("streaming_message".into(), json!(streaming_message));
        }
        json
    }
}

impl State {
    /// The model has to be made anew for another address; one that plays a script has none, and goes on with its script.
    pub(super) fn forget_address(&mut self) {
        if !matches!(&self.model, Source::Spec(spec) if spec.provider == "scripted") {
            self.resolved = None;
        }
    }

    pub(super) fn model_name(&self) -> String {
        match &self.model {
            Source::Spec(spec) => spec.name(),
            Source::Own(model) => format!("{}/{}", model.info().provider, model.info().id),
        }
    }

    pub(super) fn resolve(&self, client: &Arc<Client>) -> Result<Arc<dyn Model>, Error> {
        match (&self.resolved, &self.model) {
            (Some(model), _) | (None, Source::Own(model)) => Ok(Arc::clone(model)),
            (None, Source::Spec(spec)) => provider::resolve(spec, self.base_url.as_deref(), client),
        }
    }
}
