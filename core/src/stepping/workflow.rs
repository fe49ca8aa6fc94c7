//! What hosts of other languages keep of a session on a workflow engine, `agent_loop_proto::workflow`: its operations in JSON.

use agent_loop_proto::json_error::read_value;
use agent_loop_proto::workflow::{Inbox, InboxInput, Room, Signal, StoredConversation, Suspended, http_status};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::clock::Clock;
use crate::error::{Error, ErrorKind};

/// An operation. Those up to `State` are handlers of inboxes, which keep their names and what they take: a run that an older
/// version of the program has begun calls them, too.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Open(String),
    Put(Put),
    Suspend(Suspend),
    Decide(Map<String, Value>),
    Close(usize),
    State,
    CheckPrompt { message: Value, pending: Value, room: Room },
    Store { runs: u32, export: Value, max_bytes: Option<usize> },
    HttpStatus(ErrorKind),
}

#[derive(Deserialize)]
struct Put {
    #[serde(flatten)]
    input: InboxInput,
    room: Option<Room>,
}

#[derive(Deserialize)]
struct Suspend {
    #[serde(flatten)]
    suspended: Suspended,
    saved: usize,
}

/// What came of an operation, and what its host is to do.
#[derive(Debug, Serialize)]
pub struct WorkflowStep {
    /// The state of the inbox, to be stored; `None` if it has not changed.
    pub state: Option<Inbox>,
    /// What the handler returns.
    pub answer: Value,
    /// What is to be sent to the active run.
    pub signal: Option<Signal>,
    /// The awakeable to be resolved with the decisions.
    pub awakeable: Option<String>,
}

/// Carries out an operation on the state of an inbox, null for a new one, or on none.
///
/// # Errors
/// Those of the operation; `invalid_argument` for an unknown one, and for a state or an argument that it cannot have.
pub fn workflow_step(operation: &str, given: Value, state: &Value) -> Result<WorkflowStep, Error> {
    let operation = Value::Object([(operation.to_owned(), given)].into_iter().collect());
    let operation = read_value(&operation).map_err(|unread| unread.at("operation").invalid_argument())?;
    let before: Option<Inbox> = read_value(state).map_err(|unread| unread.at("state").invalid_argument())?;
    let before = before.unwrap_or_default();
    let (mut inbox, mut answer, mut signal, mut awakeable) = (before.clone(), Value::Null, None, None);
    match operation {
        Operation::Open(invocation) => {
            answer = json!({ "waiting": inbox.open(invocation), "at_ms": Clock::real().now_ms() });
        }
        Operation::Put(Put { input, room }) => {
            signal = inbox.put(input, room)?;
            answer = if signal.is_some() { "joined" } else { "queued" }.into();
        }
        Operation::Suspend(Suspend { suspended, saved }) => inbox.suspend(suspended, saved),
        Operation::Decide(decisions) => awakeable = Some(inbox.decide(&decisions)?),
        Operation::Close(saved) => inbox.close(saved),
        Operation::State => answer = json!(inbox.now()),
        Operation::CheckPrompt { message, pending, room } => {
            StoredConversation::new(0, json!({ "suspended": pending }))?.check_prompt(&message, room)?;
        }
        Operation::Store { runs, export, max_bytes } => {
            let export = match export {
                Value::String(text) => text.parse().unwrap_or_default(),
                export => export,
            };
            answer = StoredConversation::new(runs, export)?.to_json(max_bytes)?.into();
        }
        Operation::HttpStatus(kind) => answer = http_status(kind).into(),
    }
    Ok(WorkflowStep { state: (inbox != before).then_some(inbox), answer, signal, awakeable })
}
