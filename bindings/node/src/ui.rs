//! Runs for a browser: the frames of their events, and the browser's requests.

use agent_loop::Error;
use agent_loop::host::Spelling;
use agent_loop::ui;
use napi_derive::napi;

use crate::agent::Agent;
use crate::error::{Result, thrown};
use crate::{camel_case, message};

/// The conversation of an agent as the AI SDK has it, as JSON.
#[napi(catch_unwind)]
pub fn ui_messages(agent: &Agent, options: String, until: Option<u32>) -> Result<String> {
    let write = || -> std::result::Result<_, Error> {
        let options = ui::UiOptions::from_json(message::read("options", &options)?, Spelling::Camel)?;
        Ok(agent.agent.to_ui_messages_until(until.map(|until| until as usize), &options).to_string())
    };
    write().map_err(|e| thrown(&e))
}

/// What of the frames follows the one with this id.
#[napi(catch_unwind)]
pub fn ui_frames_after(sent: String, last_event_id: String) -> Option<String> {
    ui::frames_after(&sent, &last_event_id).map(str::to_owned)
}

/// Writes the frames of one run.
#[napi]
pub struct UiFrames {
    protocol: ui::UiProtocol,
    pub(crate) stream: ui::UiFrames,
}

#[napi]
impl UiFrames {
    /// `options` is JSON.
    #[napi(constructor, catch_unwind)]
    pub fn new(protocol: String, options: String, request: Option<&UiRequest>) -> Result<UiFrames> {
        let read = || -> std::result::Result<_, Error> {
            let protocol = ui::UiProtocol::parse(&protocol)?;
            let options = ui::UiOptions::from_json(message::read("options", &options)?, Spelling::Camel)?;
            Ok((protocol, options))
        };
        let (protocol, mut options) = read().map_err(|e| thrown(&e))?;
        if let Some(request) = request {
            options = options.of(&request.0);
        }
        Ok(UiFrames { protocol, stream: ui::UiFrames::new(protocol, options) })
    }

    /// After how many milliseconds without anything to send a comment is sent.
    #[napi(getter, catch_unwind)]
    pub fn keep_alive_ms(&self) -> Option<f64> {
        self.stream.keep_alive_ms().map(|ms| ms as f64)
    }

    /// The headers of the response: each a name and a value.
    #[napi(getter, catch_unwind)]
    pub fn headers(&self) -> Vec<Vec<&'static str>> {
        self.protocol.headers().iter().map(|(name, value)| vec![*name, *value]).collect()
    }
}

/// A browser's request.
#[napi]
pub struct UiRequest(ui::UiRequest);

#[napi]
impl UiRequest {
    /// Reads the text of a body. `options` is JSON.
    #[napi(factory, catch_unwind)]
    pub fn read(protocol: String, body: String, options: String) -> Result<UiRequest> {
        let read = || -> std::result::Result<_, Error> {
            let options = ui::UiRequestOptions::from_json(message::read("options", &options)?, Spelling::Camel)?;
            Ok(ui::UiRequest::read_text(ui::UiProtocol::parse(&protocol)?, &body)?.with_options(options))
        };
        read().map(UiRequest).map_err(|e| thrown(&e))
    }

    /// The id of the conversation.
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> Option<String> {
        self.0.id.clone()
    }

    /// The id of the run.
    #[napi(getter, catch_unwind)]
    pub fn run_id(&self) -> Option<String> {
        self.0.run_id.clone()
    }

    /// The message that is to be answered anew.
    #[napi(getter, catch_unwind)]
    pub fn message_id(&self) -> Option<String> {
        self.0.message_id.clone()
    }

    /// Whether the last answer is to be made anew.
    #[napi(getter, catch_unwind)]
    pub fn is_regenerate(&self) -> bool {
        self.0.is_regenerate
    }

    /// `{history, prompt, losses}`, as JSON.
    #[napi(catch_unwind)]
    pub fn messages(&self) -> String {
        #[derive(serde::Serialize)]
        struct Messages<'a> {
            history: &'a [std::sync::Arc<agent_loop::Message>],
            prompt: Option<&'a agent_loop::Message>,
            losses: &'a [agent_loop::transcript::Loss],
        }
        let ui::UiRequest { history, prompt, losses, .. } = &self.0;
        camel_case::to_json(&Messages { history, prompt: prompt.as_deref(), losses })
    }

    /// What to begin with the agent, as canonical JSON; and how many messages there are `before` the first answer.
    #[napi(catch_unwind)]
    pub fn start(&self, agent: &Agent) -> Result<String> {
        let messages = agent.agent.messages();
        let start = self.0.start(&messages, &agent.agent.pending()).map_err(|e| thrown(&e))?;
        let mut found = start.to_json();
        if let Some(found) = found.as_object_mut() {
            found.insert("before".to_owned(), start.messages_before(messages.len()).into());
        }
        Ok(found.to_string())
    }
}
