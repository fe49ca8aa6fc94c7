//! An editor: the protocol's own client library, with the program as its agent.

use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock, InitializeRequest, InitializeResponse, NewSessionRequest, PromptRequest, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome, SessionId, SessionNotification, StopReason,
};
use agent_client_protocol::{Agent, ByteStreams, Client, Error, on_receive_notification, on_receive_request};
use agent_mock::Mock;
use blocking::Unblock;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::Place;

/// What the user answers when a call needs approval: the id of an option, or nothing for a cancellation.
pub(crate) type Answer = Option<&'static str>;

/// What an editor has got, as JSON, and what its user answers.
#[derive(Clone, Default)]
pub(crate) struct Editor {
    updates: Arc<Mutex<Vec<Value>>>,
    asked: Arc<Mutex<Vec<Value>>>,
    answers: Arc<Mutex<Vec<Answer>>>,
    came: Arc<Notify>,
}

impl Editor {
    /// One whose user answers so, one after the other; after that, no question is answered.
    pub(crate) fn answering(answers: &[Answer]) -> Editor {
        let editor = Editor::default();
        editor.answers.lock().unwrap().extend(answers.iter().rev());
        editor
    }

    /// The updates, each as the protocol has it.
    pub(crate) fn updates(&self) -> Vec<Value> {
        self.updates.lock().unwrap().clone()
    }

    /// Those of a kind.
    pub(crate) fn of(&self, kind: &str) -> Vec<Value> {
        self.updates().into_iter().filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// The text of all chunks of a kind.
    pub(crate) fn text(&self, kind: &str) -> String {
        self.of(kind).iter().filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    /// The fields of a call that its updates have set, the last ones first.
    pub(crate) fn call(&self, id: &str) -> Value {
        let mut fields = json!({ "statuses": [] });
        for update in self.updates().iter().filter(|update| update["toolCallId"] == id) {
            for (name, value) in update.as_object().unwrap() {
                fields[name] = value.clone();
            }
            // A new call is pending where it does not say otherwise.
            let first = (update["sessionUpdate"] == "tool_call").then(|| json!("pending"));
            let statuses = fields["statuses"].as_array_mut().unwrap();
            if let Some(status) = update.get("status").cloned().or(first).filter(|status| statuses.last() != Some(status)) {
                statuses.push(status);
            }
        }
        fields
    }

    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn forget(&self) {
        self.updates.lock().unwrap().clear();
    }

    /// Waits until something of what came fits.
    pub(crate) async fn until(&self, fits: impl Fn(&Editor) -> bool) {
        loop {
            let came = self.came.notified();
            if fits(self) {
                return;
            }
            came.await;
        }
    }

    /// Connects to a program, does something, and closes its standard input. Gives what the program exits with.
    pub(crate) async fn work<T>(
        &self,
        child: &mut Child,
        work: impl AsyncFnOnce(ConnectionTo<Agent>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (input, output): (ChildStdin, ChildStdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (updates, permissions) = (self.clone(), self.clone());
        Client
            .v1()
            .on_receive_notification(
                async move |notification: SessionNotification, _| {
                    updates.updates.lock().unwrap().push(json!(notification.update));
                    updates.came.notify_waiters();
                    Ok(())
                },
                on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, _| {
                    permissions.asked.lock().unwrap().push(json!(request));
                    permissions.came.notify_waiters();
                    let Some(answer) = permissions.answers.lock().unwrap().pop() else {
                        // The user is away.
                        std::mem::forget(responder);
                        return Ok(());
                    };
                    let outcome = answer.map_or(RequestPermissionOutcome::Cancelled, |id| {
                        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id))
                    });
                    responder.respond(RequestPermissionResponse::new(outcome))
                },
                on_receive_request!(),
            )
            .connect_with(ByteStreams::new(Unblock::new(input), Unblock::new(output)), work)
            .await
    }
}

/// The program with these arguments, as an editor starts it, and with a model that the server plays.
pub(crate) fn started(place: &Place, mock: &Mock, arguments: &[&str]) -> Child {
    let url = mock.url();
    let model = ["-m", "anthropic/claude-sonnet-4-5", "--base-url", url.as_str()];
    started_as(place, &[&model, arguments].concat())
}

/// The same with these arguments alone.
pub(crate) fn started_as(place: &Place, arguments: &[&str]) -> Child {
    let mut command: Command = place.command(&[&["acp"], arguments].concat());
    if !arguments.is_empty() {
        command.env("ANTHROPIC_API_KEY", "sk-test-1234567890");
    }
    command.stdin(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
}

pub(crate) async fn initialize(agent: &ConnectionTo<Agent>) -> Result<InitializeResponse, Error> {
    agent.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await
}

/// A new session in the place's folder.
pub(crate) async fn session(agent: &ConnectionTo<Agent>, place: &Place) -> Result<SessionId, Error> {
    initialize(agent).await?;
    Ok(agent.send_request(NewSessionRequest::new(place.path(""))).block_task().await?.session_id)
}

/// Prompts with a text.
pub(crate) async fn prompt(agent: &ConnectionTo<Agent>, id: &SessionId, text: &str) -> Result<StopReason, Error> {
    let request = PromptRequest::new(id.clone(), vec![ContentBlock::from(text)]);
    Ok(agent.send_request(request).block_task().await?.stop_reason)
}
