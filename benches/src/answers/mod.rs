//! The answers the server streams, rendered once: HTTP head, then one HTTP chunk per SSE event.
//!
//! What is streamed is chosen by the requested model's name, a [`Script`], and by whether the request's last message
//! is a tool result.

mod anthropic;
mod body;
mod chat;
mod gemini;
mod responses;

use std::{fmt, str::FromStr};

use bytes::Bytes;

/// The tool `tool-N` calls, with one string argument `text`.
pub const ECHO: &str = "echo";
/// The tool `calc` calls, with [`CALCULATOR_ARGUMENTS`].
pub const CALCULATOR: &str = "calculator";
/// The arguments of `calc`'s call, in the chunks in which they are streamed.
pub const CALCULATOR_ARGUMENTS: [&str; 6] = ["{\"oper", "ation\":", "\"multiply\"", ",\"a\":15", ",\"b\":", "23}"];
/// The last answer of `calc`.
pub const CALC_ANSWER: &str = "15 multiplied by 23 equals 345.";

/// Text before the calculator's call.
const CALC_PREFACE: [&str; 4] = ["Let", " me", " work", " it out."];
const CALC_PIECES: [&str; 6] = ["15", " multiplied", " by 23", " equals", " 345", "."];
/// The text after an echoed tool call.
const ECHO_PIECES: [&str; 5] = ["That", " is", " what", " came", " back."];
/// Ordinary text: chunks of four to six characters, like tokens, with a line end now and then.
const WORDS: [&str; 16] = [
    " then", " the", " model", " goes", " ahead", " with", " more", " words", " until", " each", " line", " comes", " back",
    " quite", " soon", ".\n\n",
];

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Gemini.
    Gemini,
}

/// Gemini's paths: the parts before and after the model.
const GEMINI: (&str, &str) = ("/v1beta/models/", ":streamGenerateContent");

impl Format {
    /// All of them.
    pub const ALL: [Format; 4] = [Format::Anthropic, Format::Chat, Format::Responses, Format::Gemini];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Anthropic => "anthropic",
            Format::Chat => "chat",
            Format::Responses => "responses",
            Format::Gemini => "gemini",
        }
    }

    /// Where requests of this format go.
    #[must_use]
    pub fn path(self, model: &str) -> String {
        match self {
            Format::Anthropic => "/v1/messages".to_owned(),
            Format::Chat => "/v1/chat/completions".to_owned(),
            Format::Responses => "/v1/responses".to_owned(),
            Format::Gemini => format!("{}{model}{}?alt=sse", GEMINI.0, GEMINI.1),
        }
    }

    /// The format of requests to `path`, and the model where the path names it.
    #[must_use]
    pub fn of_path(path: &str) -> Option<(Format, Option<&str>)> {
        let path = path.split('?').next().unwrap_or_default();
        if let Some(model) = path.strip_prefix(GEMINI.0).and_then(|rest| rest.strip_suffix(GEMINI.1)) {
            return Some((Format::Gemini, Some(model)));
        }
        [Format::Anthropic, Format::Chat, Format::Responses]
            .into_iter()
            .find(|format| format.path("") == path)
            .map(|format| (format, None))
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        let names = Format::ALL.map(Format::name).join(", ");
        Format::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| format!("no format {text:?}; there are {names}"))
    }
}

/// The script that a model's name selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Script {
    /// `text-N`: N text deltas.
    Text(usize),
    /// `tool-N`: a call of [`ECHO`] with its arguments in N chunks; after its result a short text.
    Tool(usize),
    /// `args-N`: as `tool-N`, with chunks of 20 bytes.
    Args(usize),
    /// `paced-N`: N text deltas, one in a millisecond.
    Paced(usize),
    /// `turns-N` and `turns-N-M`: N turns: N - 1 times what `calc` answers first, then [`CALC_ANSWER`]. With M, every answer
    /// stops half way until M requests have come as far.
    Turns {
        /// How many turns.
        turns: usize,
        /// How many answers wait for each other; 1: none.
        together: usize,
    },
    /// `calc` and `calc-N`: a short text and a call of [`CALCULATOR`]; after its result [`CALC_ANSWER`]. With N, every
    /// answer stops half way until N requests have come as far.
    Calc {
        /// How many answers wait for each other; 1: none.
        together: usize,
    },
}

impl FromStr for Script {
    type Err = String;

    fn from_str(name: &str) -> Result<Script, String> {
        let unknown = || {
            format!(
                "no model {name:?}; there are text-N, paced-N, tool-N, args-N (from 2), calc, calc-N, turns-N, turns-N-M (from 1)"
            )
        };
        let mut parts = name.split('-');
        let kind = parts.next().unwrap_or_default();
        let numbers = parts.map(str::parse).collect::<Result<Vec<usize>, _>>().map_err(|_| unknown())?;
        match (kind, numbers.as_slice()) {
            ("text", &[n]) => Ok(Script::Text(n)),
            ("paced", &[n]) => Ok(Script::Paced(n)),
            ("tool", &[n]) if n >= 2 => Ok(Script::Tool(n)),
            ("args", &[n]) if n >= 2 => Ok(Script::Args(n)),
            ("calc", &[]) => Ok(Script::Calc { together: 1 }),
            ("calc", &[together]) if together >= 1 => Ok(Script::Calc { together }),
            ("turns", &[turns]) if turns >= 1 => Ok(Script::Turns { turns, together: 1 }),
            ("turns", &[turns, together]) if turns >= 1 && together >= 1 => Ok(Script::Turns { turns, together }),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Script::Text(n) => write!(f, "text-{n}"),
            Script::Paced(n) => write!(f, "paced-{n}"),
            Script::Tool(n) => write!(f, "tool-{n}"),
            Script::Args(n) => write!(f, "args-{n}"),
            Script::Turns { turns, together: 1 } => write!(f, "turns-{turns}"),
            Script::Turns { turns, together } => write!(f, "turns-{turns}-{together}"),
            Script::Calc { together: 1 } => write!(f, "calc"),
            Script::Calc { together } => write!(f, "calc-{together}"),
        }
    }
}

/// One rendered answer. Head and chunk framing are in the bytes.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Sent immediately.
    pub first: Bytes,
    /// Sent when the others have come as far; immediately if none waits.
    pub rest: Bytes,
}

/// The answer of `script` in `format`, to a request with so many tool results.
#[must_use]
pub fn render(format: Format, script: Script, results: usize) -> Answer {
    let calculate = || {
        let arguments = owned(&CALCULATOR_ARGUMENTS);
        vec![Part::Text(owned(&CALC_PREFACE)), Part::Call { name: CALCULATOR, number: results, arguments }]
    };
    let echo = |pieces: Vec<String>| {
        let pieces = std::iter::once("{\"text\":\"".to_owned()).chain(pieces).chain(["\"}".to_owned()]);
        vec![Part::Call { name: ECHO, number: results, arguments: pieces.collect() }]
    };
    let parts = match (script, results > 0) {
        (Script::Text(n) | Script::Paced(n), _) => vec![Part::Text(words(n).collect())],
        (Script::Tool(n), false) => echo(words(n - 2).map(|word| word.replace('\n', "\\n")).collect()),
        (Script::Args(n), false) => echo(vec!["some twenty letters ".to_owned(); n - 2]),
        (Script::Tool(_) | Script::Args(_), true) => vec![Part::Text(owned(&ECHO_PIECES))],
        (Script::Turns { turns, .. }, _) if results + 1 < turns => calculate(),
        (Script::Calc { .. }, false) => calculate(),
        (Script::Calc { .. } | Script::Turns { .. }, _) => vec![Part::Text(owned(&CALC_PIECES))],
    };
    let events = match format {
        Format::Anthropic => anthropic::events(&script.to_string(), &parts),
        Format::Chat => chat::events(&script.to_string(), &parts),
        Format::Responses => responses::events(&script.to_string(), &parts),
        Format::Gemini => gemini::events(&script.to_string(), &parts),
    };
    let cut = if matches!(script, Script::Paced(_)) { 0 } else { events.len() / 2 };
    body::chunked(&events, cut)
}

/// A part of an answer, in the chunks in which it is streamed.
enum Part {
    Text(Vec<String>),
    Call {
        name: &'static str,
        /// Part of its id: the tool results before it.
        number: usize,
        arguments: Vec<String>,
    },
}

fn words(n: usize) -> impl Iterator<Item = String> {
    WORDS.iter().cycle().take(n).map(|&word| word.to_owned())
}

fn owned(pieces: &[&str]) -> Vec<String> {
    pieces.iter().map(|&piece| piece.to_owned()).collect()
}

/// `text` as a JSON string, quotes included.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
