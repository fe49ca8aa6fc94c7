//! A model call that the host makes: what it was asked, and what has come of the answer. The bytes are kept until the answer is
//! over, so that a loaded loop reads on where the saved one was.

use agent_loop_proto::chunk::{Chunk, ChunkReader};
use agent_loop_proto::machine::ModelCall;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::models::{HttpRequest, Models, unknown_model};
use super::step::HostAction;
use crate::error::{Error, ErrorKind};
use crate::model::answer::{Ending, HttpAnswer, head};
use crate::model::custom::failure;
use crate::model::{Delta, ModelRequest};

/// A model call that is under way.
pub(super) struct OpenCall {
    pub(super) call: u32,
    /// The loop's number of the model.
    pub(super) model: u32,
    raw_events: bool,
    wants_response: bool,
    asked: Asked,
    answer: Answer,
}

/// What the host was asked.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Asked {
    Http(Box<HttpRequest>),
    /// Of a custom provider; with the headers of the turn.
    Custom(Box<ModelCall>, Map<String, Value>),
}

enum Answer {
    None,
    Http {
        status: u16,
        headers: HeaderMap,
        given_headers: Map<String, Value>,
        now_ms: u64,
        reading: Box<HttpAnswer>,
        bytes: Vec<u8>,
    },
    Custom {
        reader: ChunkReader,
        chunks: Vec<Value>,
    },
}

/// A call in a saved loop.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedCall {
    call: u32,
    model: u32,
    raw_events: bool,
    wants_response: bool,
    asked: Asked,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<SavedAnswer>,
}

#[derive(Serialize, Deserialize)]
enum SavedAnswer {
    /// `rest` is what follows the text from the first byte on that is not UTF-8: mostly a part of a character.
    Http {
        status: u16,
        headers: Map<String, Value>,
        now_ms: u64,
        text: String,
        rest: Vec<u8>,
    },
    Custom {
        chunks: Vec<Value>,
    },
}

/// What came of an input: deltas, and the end of the answer if that has come.
pub(super) struct Progress {
    pub(super) deltas: Vec<Delta>,
    pub(super) end: Option<Result<(), Error>>,
}

impl OpenCall {
    pub(super) fn new(call: &ModelCall, asked: Asked) -> OpenCall {
        let ModelCall { call, model, raw_events, wants_response, .. } = *call;
        OpenCall { call, model, raw_events, wants_response, asked, answer: Answer::None }
    }

    /// The request, until there is a response.
    pub(super) fn request(&self) -> Option<&HttpRequest> {
        match (&self.asked, &self.answer) {
            (Asked::Http(request), Answer::None) => Some(request),
            _ => None,
        }
    }

    /// What the host is asked.
    pub(super) fn action(&self, models: &Models) -> HostAction {
        let call = self.call;
        match self.asked.clone() {
            Asked::Http(request) => {
                let HttpRequest { url, headers, auth, body, connect_timeout_ms } = *request;
                HostAction::CallModel { call, method: "POST".to_owned(), url, headers, auth, body, connect_timeout_ms }
            }
            Asked::Custom(asked, headers) => {
                let provider = models.provider(asked.model).to_owned();
                let request = ModelRequest { request: asked.request, headers, payload: asked.body, ..ModelRequest::default() };
                HostAction::CallCustomModel { call, provider, request }
            }
        }
    }

    /// The head of the response.
    ///
    /// # Errors
    /// `invalid_argument` for headers that are none; `invalid_state` where there is a head already, or no HTTP.
    pub(super) fn respond(
        &mut self,
        models: &Models,
        status: u16,
        given_headers: Map<String, Value>,
        now_ms: u64,
    ) -> Result<Progress, Error> {
        let endpoint = match (&self.asked, &self.answer) {
            (Asked::Http(_), Answer::None) => models.endpoint(self.model).ok_or_else(unknown_model)?,
            (Asked::Http(_), _) => return Err(self.misplaced("model_response", "has its response already")),
            (Asked::Custom(..), _) => return Err(self.misplaced("model_response", CUSTOM)),
        };
        let headers = header_map(&given_headers)?;
        let mut deltas = Vec::new();
        if self.wants_response {
            deltas.push(head(status, &headers));
        }
        let reading = Box::new(HttpAnswer::new(endpoint, status, self.raw_events));
        self.answer = Answer::Http { status, headers, given_headers, now_ms, reading, bytes: Vec::new() };
        Ok(self.progress(models, deltas, Ok(())))
    }

    /// Bytes of the response's body.
    ///
    /// # Errors
    /// `invalid_state` before the head.
    pub(super) fn feed(&mut self, models: &Models, chunk: &[u8]) -> Result<Progress, Error> {
        let mut deltas = Vec::new();
        let read = match (&mut self.answer, &self.asked) {
            (Answer::Http { reading, bytes, .. }, _) => {
                bytes.extend_from_slice(chunk);
                reading.feed(chunk, &mut deltas)
            }
            (_, Asked::Custom(..)) => return Err(self.misplaced("model_bytes", CUSTOM)),
            (_, Asked::Http(_)) => return Err(self.misplaced("model_bytes", NO_HEAD)),
        };
        Ok(self.progress(models, deltas, read))
    }

    /// A part of a custom provider's answer.
    ///
    /// # Errors
    /// `invalid_argument` for one that cannot be read: the answer goes on. `invalid_state` where the model is behind HTTP.
    pub(super) fn push(&mut self, models: &Models, chunk: Value) -> Result<Progress, Error> {
        let Asked::Custom(asked, _) = &self.asked else {
            return Err(self.misplaced("model_chunk", "is answered by a server: hand in model_response and its bytes"));
        };
        let provider = models.provider(asked.model);
        let unread = |why| Error::invalid_argument(format!("model_chunk: chunk: {why}"));
        let read = match &mut self.answer {
            Answer::Custom { reader, chunks } => {
                let read = reader.read(&chunk).map_err(unread)?;
                chunks.push(chunk);
                read
            }
            Answer::None | Answer::Http { .. } => {
                let mut reader = ChunkReader::new(provider);
                let read = reader.read(&chunk).map_err(unread)?;
                self.answer = Answer::Custom { reader, chunks: vec![chunk] };
                read
            }
        };
        Ok(match read {
            Chunk::Deltas(deltas) => Progress { deltas, end: None },
            Chunk::End(deltas) => Progress { deltas, end: Some(Ok(())) },
            Chunk::Fail(error) => Progress { deltas: Vec::new(), end: Some(Err(failure(error, provider))) },
        })
    }

    /// The answer is over, or this is why there is no more of it.
    ///
    /// # Errors
    /// `invalid_state` where there is neither a head nor an error.
    pub(super) fn end(&mut self, models: &Models, error: Option<Error>) -> Result<Progress, Error> {
        let (mut deltas, provider) = (Vec::new(), models.provider(self.model));
        let end = match (&mut self.answer, &self.asked, error) {
            (Answer::Http { headers, now_ms, reading, .. }, _, error) => {
                let ending = Ending {
                    endpoint: models.endpoint(self.model).ok_or_else(unknown_model)?,
                    headers,
                    now_ms: *now_ms,
                    redacted: &str::to_owned,
                };
                match error {
                    Some(error) => reading.broken(error, &ending, &mut deltas),
                    None => reading.end(&ending, &mut deltas),
                }
            }
            (_, _, Some(error)) => Err(failure(error, provider)),
            (Answer::Custom { reader, .. }, _, None) => {
                deltas = reader.natural_end();
                Ok(())
            }
            (Answer::None, Asked::Custom(..), None) => {
                deltas = ChunkReader::new(provider).natural_end();
                Ok(())
            }
            (Answer::None, Asked::Http(_), None) => return Err(self.misplaced("model_end", NO_HEAD_OR_ERROR)),
        };
        Ok(Progress { deltas, end: Some(end) })
    }

    /// What has come, and the end of the answer where nothing that follows counts.
    fn progress(&mut self, models: &Models, mut deltas: Vec<Delta>, read: Result<(), Error>) -> Progress {
        let wants_more = matches!(&self.answer, Answer::Http { reading, .. } if reading.wants_more());
        let end = match read {
            Err(error) => Some(Err(error)),
            Ok(()) if wants_more => None,
            Ok(()) => Some(match self.end(models, None) {
                Ok(Progress { deltas: last, end }) => {
                    deltas.extend(last);
                    end.unwrap_or(Ok(()))
                }
                Err(error) => Err(error),
            }),
        };
        Progress { deltas, end }
    }

    fn misplaced(&self, input: &str, why: &str) -> Error {
        Error::new(ErrorKind::InvalidState, format!("{input}: model call {} {why}", self.call))
    }

    pub(super) fn save(&self) -> SavedCall {
        let OpenCall { call, model, raw_events, wants_response, asked, answer } = self;
        let answer = match answer {
            Answer::None => None,
            Answer::Http { status, given_headers, now_ms, bytes, .. } => {
                let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
                let rest = bytes.get(valid.len()..).unwrap_or_default().to_vec();
                let (status, headers, text) = (*status, given_headers.clone(), valid.to_owned());
                Some(SavedAnswer::Http { status, headers, now_ms: *now_ms, text, rest })
            }
            Answer::Custom { chunks, .. } => Some(SavedAnswer::Custom { chunks: chunks.clone() }),
        };
        let (call, model, raw_events, wants_response) = (*call, *model, *raw_events, *wants_response);
        SavedCall { call, model, raw_events, wants_response, asked: asked.clone(), answer }
    }

    /// The call as it was saved: what had come is read once more, and the loop has it already.
    ///
    /// # Errors
    /// As the functions that took it in.
    pub(super) fn load(saved: SavedCall, models: &Models) -> Result<OpenCall, Error> {
        let SavedCall { call, model, raw_events, wants_response, asked, answer } = saved;
        let mut open = OpenCall { call, model, raw_events, wants_response, asked, answer: Answer::None };
        match answer {
            None => {}
            Some(SavedAnswer::Http { status, headers, now_ms, text, rest }) => {
                open.respond(models, status, headers, now_ms)?;
                open.feed(models, &[text.as_bytes(), &rest].concat())?;
            }
            Some(SavedAnswer::Custom { chunks }) => {
                for chunk in chunks {
                    open.push(models, chunk)?;
                }
            }
        }
        Ok(open)
    }
}

const CUSTOM: &str = "is the host's to answer: hand in model_chunk";
const NO_HEAD: &str = "has no response yet: hand in model_response before its bytes";
const NO_HEAD_OR_ERROR: &str = "has no response: hand in model_response before it, or give the error that kept it from coming";

/// # Errors
/// `invalid_argument` for names and values that HTTP does not allow.
fn header_map(given: &Map<String, Value>) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let wrong = |what: &str| Error::invalid_argument(format!("model_response: headers: {name:?}: {what}"));
        let read = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("HTTP has no header of this name"))?;
        let text = value.as_str().ok_or_else(|| wrong("expected text"))?;
        let value = HeaderValue::from_bytes(text.as_bytes()).map_err(|_| wrong("HTTP does not allow this value"))?;
        headers.append(read, value);
    }
    Ok(headers)
}
