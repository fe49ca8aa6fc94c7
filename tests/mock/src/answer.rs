//! What is answered: status, headers, body, and how the body arrives.
//!
//! Plain data, written in Rust with the setters here or in JSON. Whether it makes sense (does the file exist, is there that much
//! to cut) is found out in `playback`, before the first request.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::check::{Strict, Strictness};
use crate::failure::Failure;
use crate::playback;
use crate::route::Format;
use crate::speak::Asked;
use crate::speech::Speech;
use crate::{Error, When};

/// One scripted answer. 200, whole and immediately, unless the setters change that.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Answer {
    pub(crate) name: Option<String>,
    pub(crate) when: Option<When>,
    pub(crate) times: Option<u32>,
    pub(crate) status: Option<u16>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Body,
    pub(crate) chunk: Option<Chunk>,
    pub(crate) encoding: Option<Encoding>,
    pub(crate) error_after: Option<usize>,
    /// The error of `error_after`.
    pub(crate) failure: Option<Failure>,
    pub(crate) garble_after: Option<usize>,
    pub(crate) cut_after: Option<usize>,
    pub(crate) delay_ms: u64,
    pub(crate) frame_delay_ms: u64,
    pub(crate) stall: bool,
    /// Instead of the script's.
    pub(crate) strict: Option<Strictness>,
}

/// The bytes of an answer's body.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Sent as it stands, as `text/plain`.
    Text(String),
    /// Sent as compact JSON.
    Json(Value),
    /// The bytes of a file; `.sse` and `.json` have their own content type. Relative paths start at the script file's folder,
    /// in a script made in Rust at the working directory.
    File(PathBuf),
    /// An event stream.
    Frames(Vec<Frame>),
    /// What a model says, as a stream in the wire format of the request's path.
    Message(Box<Speech>),
    /// A failure of the service, with its own status, headers and body.
    Error(Failure),
}

impl Default for Body {
    fn default() -> Self {
        Body::Text(String::new())
    }
}

/// One event of an event stream. In JSON: a string, which is the data, or `{"event": …, "data": …}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    event: Option<String>,
    data: String,
}

/// How a body is compressed, whether or not the client asked for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// `content-encoding: gzip`. With [`Chunk::Frame`] each event is flushed, so that it can be read when it comes.
    Gzip,
}

/// In which pieces a body is handed to the connection. Every piece is one HTTP chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Chunk {
    /// In one piece, with a `content-length` if it is sent to its end.
    #[default]
    Whole,
    /// One HTTP chunk per event, up to and with the empty line that ends it.
    Frame,
    /// So many bytes each, wherever that cuts.
    Bytes(usize),
}

impl Answer {
    /// An answer with this body.
    pub fn new(body: Body) -> Answer {
        Answer { body, ..Answer::default() }
    }

    /// A plain text answer.
    pub fn text(text: impl Into<String>) -> Answer {
        Answer::new(Body::Text(text.into()))
    }

    /// A JSON answer.
    pub fn json(value: Value) -> Answer {
        Answer::new(Body::Json(value))
    }

    /// The bytes of a file.
    pub fn file(path: impl Into<PathBuf>) -> Answer {
        Answer::new(Body::File(path.into()))
    }

    /// An event stream.
    pub fn frames(frames: impl IntoIterator<Item = Frame>) -> Answer {
        Answer::new(Body::Frames(frames.into_iter().collect()))
    }

    /// What a model says, streamed event by event in the wire format of the request.
    pub fn message(speech: Speech) -> Answer {
        Answer::new(Body::Message(Box::new(speech)))
    }

    /// A failure of the service, in the form of the request's.
    pub fn error(failure: Failure) -> Answer {
        Answer::new(Body::Error(failure))
    }

    /// What messages about this answer call it.
    pub fn name(mut self, name: impl Into<String>) -> Answer {
        self.name = Some(name.into());
        self
    }

    /// Only for requests that fit, and for all of them (unless [`times`](Answer::times) says how many).
    pub fn when(mut self, when: When) -> Answer {
        self.when = Some(when);
        self
    }

    /// How often this answer is given.
    pub fn times(mut self, times: u32) -> Answer {
        self.times = Some(times);
        self
    }

    /// The HTTP status, 200 to 599.
    pub fn status(mut self, status: u16) -> Answer {
        self.status = Some(status);
        self
    }

    /// Adds a header, or replaces the one of this name.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Answer {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// In which pieces the body is sent. Unless given: a message by events, everything else whole.
    pub fn chunk(mut self, chunk: Chunk) -> Answer {
        self.chunk = Some(chunk);
        self
    }

    /// Compresses the body. The bytes that the faults count are then the compressed ones.
    pub fn encoding(mut self, encoding: Encoding) -> Answer {
        self.encoding = Some(encoding);
        self
    }

    /// Breaks a message off after so many events with the service's overload error, inside of the stream that began with 200.
    pub fn error_after(mut self, frames: usize) -> Answer {
        self.error_after = Some(frames);
        self
    }

    /// Another error for [`error_after`](Answer::error_after) than the overload.
    pub fn failure(mut self, failure: Failure) -> Answer {
        self.failure = Some(failure);
        self
    }

    /// From so many bytes on the body is garbage, neither JSON nor UTF-8. Line ends and the `data: ` at their beginnings stay, so
    /// that the garbage arrives in events.
    pub fn garble_after(mut self, bytes: usize) -> Answer {
        self.garble_after = Some(bytes);
        self
    }

    /// Drops the connection after so many bytes of the body, without ending the body. With [`stall`](Answer::stall) the
    /// connection is kept instead.
    pub fn cut_after(mut self, bytes: usize) -> Answer {
        self.cut_after = Some(bytes);
        self
    }

    /// Waits before the head is sent.
    pub fn delay_ms(mut self, milliseconds: u64) -> Answer {
        self.delay_ms = milliseconds;
        self
    }

    /// Waits between two pieces of the body.
    pub fn frame_delay_ms(mut self, milliseconds: u64) -> Answer {
        self.frame_delay_ms = milliseconds;
        self
    }

    /// Never ends the body: after what was sent the connection stays open until the client leaves.
    pub fn stall(mut self) -> Answer {
        self.stall = true;
        self
    }

    /// Checks the requests it is for in this way, instead of the script's.
    pub fn strict(mut self, strict: Strict) -> Answer {
        self.strict = Some(Strictness(Some(strict)));
        self
    }

    /// Does not check the requests it is for.
    pub fn lenient(mut self) -> Answer {
        self.strict = Some(Strictness(None));
        self
    }

    /// The bytes of the body as a plain request in this format gets them, before anything is cut: how many there are, and where
    /// the events end. Every request in the format gets as many (Chat: that asks for usage), only ids differ.
    pub fn body_bytes(&self, format: Format) -> Result<Vec<u8>, Error> {
        playback::whole_body(self, &Asked::plain(format)).map_err(Error::Script)
    }

    /// In which pieces it is sent.
    pub(crate) fn chunks(&self) -> Chunk {
        self.chunk.unwrap_or(if matches!(self.body, Body::Message(_)) { Chunk::Frame } else { Chunk::Whole })
    }

    /// Whether the body depends on the request.
    pub(crate) fn is_neutral(&self) -> bool {
        matches!(self.body, Body::Message(_) | Body::Error(_))
    }

    /// How often it may be given; `None` is without end.
    pub(crate) fn limit(&self) -> Option<u32> {
        self.times.or(if self.when.is_some() { None } else { Some(1) })
    }
}

impl Frame {
    /// An event without a name: `data: …`. A string is sent as it stands, any other value as JSON.
    pub fn data(data: impl Into<Value>) -> Frame {
        let data = match data.into() {
            Value::String(text) => text,
            value => value.to_string(),
        };
        Frame { event: None, data }
    }

    /// An event with a name: `event: …` and `data: …`.
    pub fn event(event: impl Into<String>, data: impl Into<Value>) -> Frame {
        Frame { event: Some(event.into()), ..Frame::data(data) }
    }

    /// Appends the frame as it goes over the wire, with the empty line that ends it.
    /// The event, empty if there is none, and the data.
    pub(crate) fn parts(&self) -> (&str, &str) {
        (self.event.as_deref().unwrap_or_default(), &self.data)
    }

    pub(crate) fn write(&self, out: &mut String) {
        if let Some(event) = &self.event {
            out.extend(["event: ", event, "\n"]);
        }
        for line in self.data.split('\n') {
            out.extend(["data: ", line, "\n"]);
        }
        out.push('\n');
    }
}

// Written out, not `#[serde(untagged)]`: that loses the line number and says only "did not match any variant".

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Body, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Tagged {
            Text(String),
            Json(Value),
            File(PathBuf),
            Frames(Vec<Frame>),
            Message(Box<Speech>),
            Error(Failure),
        }

        struct Shape;

        impl<'de> Visitor<'de> for Shape {
            type Value = Body;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(
                    r#"a body: a string, or one of {"text": …}, {"json": …}, {"file": …}, {"frames": […]}, "#,
                    r#"{"message": …}, {"error": …}"#,
                ))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Body, E> {
                Ok(Body::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Body, A::Error> {
                Ok(match Tagged::deserialize(MapAccessDeserializer::new(map))? {
                    Tagged::Text(text) => Body::Text(text),
                    Tagged::Json(value) => Body::Json(value),
                    Tagged::File(path) => Body::File(path),
                    Tagged::Frames(frames) => Body::Frames(frames),
                    Tagged::Message(speech) => Body::Message(speech),
                    Tagged::Error(failure) => Body::Error(failure),
                })
            }
        }

        deserializer.deserialize_any(Shape)
    }
}

impl<'de> Deserialize<'de> for Frame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Frame, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Named {
            event: Option<String>,
            data: Value,
        }

        struct Shape;

        impl<'de> Visitor<'de> for Shape {
            type Value = Frame;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#"a frame: a string (its data), or {"event": …, "data": …}"#)
            }

            fn visit_str<E: serde::de::Error>(self, data: &str) -> Result<Frame, E> {
                Ok(Frame::data(data))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Frame, A::Error> {
                let Named { event, data } = Named::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Frame { event, ..Frame::data(data) })
            }
        }

        deserializer.deserialize_any(Shape)
    }
}

impl<'de> Deserialize<'de> for Chunk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Chunk, D::Error> {
        struct Shape;

        impl Visitor<'_> for Shape {
            type Value = Chunk;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#"a chunk: "whole", "frame" or a number of bytes, at least 1"#)
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Chunk, E> {
                match word {
                    "whole" => Ok(Chunk::Whole),
                    "frame" => Ok(Chunk::Frame),
                    _ => Err(E::invalid_value(Unexpected::Str(word), &self)),
                }
            }

            fn visit_u64<E: serde::de::Error>(self, bytes: u64) -> Result<Chunk, E> {
                match usize::try_from(bytes) {
                    Ok(bytes) if bytes > 0 => Ok(Chunk::Bytes(bytes)),
                    _ => Err(E::invalid_value(Unexpected::Unsigned(bytes), &self)),
                }
            }
        }

        deserializer.deserialize_any(Shape)
    }
}
