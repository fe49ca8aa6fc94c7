//! A recorded loop: its turns, who said what in them, and what it came to.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};

use agent_loop::ContentBlock;
use agent_loop::message::Media;
use agent_mock::{Answer, Frame};
use serde_json::{Value, json};

use super::asked::{Asked, Said};

pub(super) struct Recording {
    pub(super) name: String,
    pub(super) api: String,
    pub(super) provider: String,
    /// Whether results name their calls by the ids that the model gave.
    pub(super) linked: bool,
    pub(super) turns: Vec<Turn>,
    /// `loop.json`.
    pub(super) whole: Value,
}

pub(super) struct Turn {
    /// The request and its body; one recording lacks its last.
    pub(super) request: Option<(Asked, Value)>,
    pub(super) response: Response,
    pub(super) expected: Value,
}

pub(super) enum Response {
    Stream(String),
    /// What was not streamed.
    Whole(Value),
}

/// What a tool answers, and what the user says before the model is asked again.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) output: Value,
    pub(super) steering: Vec<ContentBlock>,
}

/// The folder of the loops; none where the recordings are not at hand.
pub(super) fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/wire/loops");
    folder.is_dir().then_some(folder)
}

pub(super) fn all(folder: &Path) -> Vec<Recording> {
    let mut loops: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    loops.sort();
    loops.iter().map(|path| Recording::read(path)).collect()
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Recording {
    fn read(folder: &Path) -> Recording {
        let whole = json_of(&folder.join("loop.json"));
        let api = whole["api"].as_str().unwrap().to_owned();
        let turns = (1..=whole["turns"].as_array().unwrap().len()).map(|number| {
            let file = |what: &str| folder.join(format!("{number:02}.{what}"));
            let request = file("request.json").is_file().then(|| {
                let request = json_of(&file("request.json"));
                let body = request["body"].clone();
                (Asked::read(&api, request["path"].as_str().unwrap(), &body), body)
            });
            let response = match std::fs::read_to_string(file("response.sse")) {
                Ok(stream) => Response::Stream(stream),
                Err(_) => Response::Whole(json_of(&file("response.json"))),
            };
            Turn { request, response, expected: json_of(&file("expected.json")) }
        });
        Recording {
            name: folder.file_name().unwrap().to_str().unwrap().to_owned(),
            provider: whole["provider"].as_str().unwrap().to_owned(),
            linked: whole["linked"] == true,
            turns: turns.collect(),
            api,
            whole,
        }
    }

    pub(super) fn first(&self) -> (&Asked, &Value) {
        self.turns[0].request.as_ref().map(|(asked, body)| (asked, body)).unwrap()
    }

    /// The turns of each prompt: one ends where the model called nothing, or failed.
    pub(super) fn runs(&self) -> Vec<Range<usize>> {
        let mut runs = Vec::new();
        let mut begin = 0;
        for (at, turn) in self.turns.iter().enumerate() {
            let last = at + 1 == self.turns.len();
            if last || turn.expected["tool_calls"].as_array().unwrap().is_empty() {
                runs.push(begin..at + 1);
                begin = at + 1;
            }
        }
        runs
    }

    /// What stands in a turn's request behind the model's last message.
    fn news(&self, turn: usize) -> &[Said] {
        let Some((asked, _)) = self.turns.get(turn).and_then(|turn| turn.request.as_ref()) else { return &[] };
        let of_client = |said: &Said| matches!(said, Said::User(_) | Said::Image { .. } | Said::Result { .. });
        let begin = asked.said.iter().rposition(|said| !of_client(said)).map_or(0, |at| at + 1);
        &asked.said[begin..]
    }

    /// What the user said before a turn.
    pub(super) fn prompt(&self, turn: usize) -> Vec<ContentBlock> {
        self.news(turn).iter().filter_map(block).collect()
    }

    /// What the tools answered to all calls of the loop, in the order of the calls.
    pub(super) fn results(&self) -> VecDeque<Answered> {
        let mut all = VecDeque::new();
        for (at, turn) in self.turns.iter().enumerate() {
            let mut results: Vec<&Said> = self.news(at + 1).iter().filter(|said| matches!(said, Said::Result { .. })).collect();
            let calls = turn.expected["tool_calls"].as_array().unwrap();
            for (place, call) in calls.iter().enumerate() {
                // By its id where the client kept that, else by its place.
                let named = |said: &&Said| matches!(said, Said::Result { id, .. } if call["id"] == json!(id));
                let Some(found) = results.iter().position(named).or((!results.is_empty()).then_some(0)) else { continue };
                let Said::Result { text, images, is_error, .. } = results.remove(found) else { unreachable!() };
                let texts = (!text.is_empty()).then(|| ContentBlock::text(text));
                let content: Vec<ContentBlock> = texts.into_iter().chain(images.iter().filter_map(block)).collect();
                let last = place + 1 == calls.len();
                all.push_back(Answered {
                    output: json!({ "content": content, "is_error": is_error }),
                    steering: if last { self.prompt(at + 1) } else { Vec::new() },
                });
            }
        }
        all
    }
}

/// A piece of what the user said.
fn block(said: &Said) -> Option<ContentBlock> {
    match said {
        Said::User(text) => Some(ContentBlock::text(text)),
        Said::Image { mime_type, data } => Some(ContentBlock::Image(Media::data(data, mime_type))),
        _ => None,
    }
}

impl Response {
    /// An answer that was not streamed is given as the shortest stream that says the same: the engine always streams.
    pub(super) fn answer(&self, api: &str) -> Answer {
        match self {
            Response::Stream(stream) => Answer::text(stream).header("content-type", "text/event-stream"),
            Response::Whole(message) if api == "anthropic-messages" => Answer::frames([
                Frame::event("message_start", json!({ "type": "message_start", "message": message })),
                Frame::event("message_stop", json!({ "type": "message_stop" })),
            ]),
            Response::Whole(message) => Answer::frames([Frame::data(message.clone())]),
        }
    }
}
