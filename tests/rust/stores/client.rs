//! A client of a session as a web page is one, and a model that answers what the test says.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use agent_loop::AgentBuilder;
use agent_loop::model::ModelCall;
use agent_loop::session::{FollowLive, Store};
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// What a page knows of a session, from the JSON of what it follows.
pub(crate) struct Client {
    store: Store,
    follow: FollowLive,
    /// The number of the last record.
    pub(crate) after: u64,
    pub(crate) messages: Vec<Value>,
    /// The message that is being streamed.
    pub(crate) partial: Option<Value>,
    /// What came, in a few words.
    pub(crate) seen: Vec<String>,
    /// Whether it reads so rarely that it may miss the end of a message.
    pub(crate) is_slow: bool,
}

impl Client {
    pub(crate) fn new(store: &Store) -> Client {
        let follow = store.session("s").unwrap().follow_live(0);
        let (messages, seen) = (Vec::new(), Vec::new());
        Client { store: store.clone(), follow, after: 0, messages, partial: None, seen, is_slow: false }
    }

    /// Connects anew: behind the last record, or as a page that knows nothing.
    pub(crate) fn reconnect(&mut self, is_reloaded: bool) {
        if is_reloaded {
            let is_slow = self.is_slow;
            *self = Client::new(&self.store);
            self.is_slow = is_slow;
        } else {
            self.partial = None;
            self.follow = self.store.session("s").unwrap().follow_live(self.after);
        }
    }

    /// Reads what is there.
    pub(crate) fn read(&mut self) {
        while let Poll::Ready(next) = Pin::new(&mut self.follow).poll_next(&mut Context::from_waker(Waker::noop())) {
            self.take(&json!(next.unwrap().unwrap()));
        }
    }

    /// Reads until this is so.
    pub(crate) async fn until(&mut self, is_so: impl Fn(&Client) -> bool) {
        while !is_so(self) {
            let next = self.follow.next().await.unwrap();
            self.take(&json!(next));
        }
    }

    /// Reads until a record of this kind.
    pub(crate) async fn until_record(&mut self, kind: &str) {
        let (kind, before) = (format!("record {kind}"), self.seen.len());
        self.until(|client| client.seen[before..].iter().any(|seen| seen.starts_with(&kind))).await;
    }

    /// The text so far of the message that is being streamed.
    pub(crate) fn text(&self) -> String {
        let blocks = self.partial.iter().flat_map(|message| message["content"].as_array().unwrap());
        blocks.filter_map(|block| block["text"].as_str()).collect()
    }

    fn take(&mut self, item: &Value) {
        match item.get("event") {
            None => self.record(item),
            Some(event) => {
                assert_eq!(item["after"], self.after, "{item}");
                self.event(event);
            }
        }
    }

    fn record(&mut self, record: &Value) {
        self.after += 1;
        assert_eq!(record["seq"], self.after, "each record once");
        let kind = record["kind"].as_str().unwrap();
        let role = record["message"]["role"].as_str().unwrap_or_default();
        self.seen.push(format!("record {kind} {role}").trim_end().to_owned());
        if kind == "message" {
            let message = &record["message"];
            if role == "assistant"
                && let Some(partial) = self.partial.take()
                && !self.is_slow
                && message["error"].is_null()
            {
                assert_eq!(partial["content"], message["content"], "all pieces of it came before, each once");
            }
            self.messages.push(message.clone());
        }
    }

    fn event(&mut self, event: &Value) {
        let kind = event["type"].as_str().unwrap();
        let more = match kind {
            "message_start" => {
                self.partial = Some(event["message"].clone());
                self.text()
            }
            "tool_execution_update" => event["partial_result"]["content"][0]["text"].to_string(),
            "retry" | "diagnostic" | "agent_end" => String::new(),
            _ => self.piece(kind, event),
        };
        self.seen.push(format!("{kind} {more}").trim_end().to_owned());
    }

    fn piece(&mut self, kind: &str, event: &Value) -> String {
        let partial = self.partial.as_mut().expect("a piece comes behind the start of its message");
        let blocks = partial["content"].as_array_mut().unwrap();
        let at = usize::try_from(event["content_index"].as_u64().unwrap()).unwrap();
        let delta = event["delta"].as_str().unwrap_or_default();
        let field = match kind.split_once('_').unwrap().0 {
            "tool" => "raw_arguments",
            field => field,
        };
        if kind.ends_with("_start") {
            assert_eq!(at, blocks.len(), "blocks begin once");
            blocks.push(json!({ "type": "?" }));
        } else if kind.ends_with("_end") {
            if field != "raw_arguments" {
                assert_eq!(blocks[at][field].as_str().unwrap_or_default(), event["block"][field]);
            }
            blocks[at] = event["block"].clone();
        } else {
            let before = blocks[at][field].as_str().unwrap_or_default();
            blocks[at][field] = format!("{before}{delta}").into();
        }
        delta.to_owned()
    }
}

/// An agent's description, and the calls of its model, which the test answers.
pub(crate) fn answered_by_hand() -> (AgentBuilder, mpsc::UnboundedReceiver<ModelCall>) {
    let (sender, calls) = mpsc::unbounded_channel();
    let builder = agent_loop::Agent::builder("own/model").provider(move |call| drop(sender.send(call)));
    (builder, calls)
}

/// Pieces of an answer's text.
pub(crate) fn push(call: &ModelCall, pieces: &[&str]) {
    for piece in pieces {
        call.push(&json!({ "text": piece })).unwrap();
    }
}
