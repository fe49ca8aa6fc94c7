//! `bench-floor`: the bare HTTP client. It counts `data:` lines and knows beforehand what to send next; no program that
//! receives the same stream through reqwest can cost less.

use std::process::ExitCode;

use agent_loop_benches::{
    answers::{CALCULATOR_ARGUMENTS, Format, Script},
    cli::Tally,
    harness::{self, Client},
    http,
    measure::Marks,
};

struct Floor {
    http: reqwest::Client,
    url: String,
    format: Format,
}

fn main() -> ExitCode {
    harness::main(|command| {
        let url = command.url.trim_end_matches('/').to_owned();
        Ok(Floor { http: http::client()?, url, format: command.format })
    })
}

impl Client for Floor {
    async fn run(&self, model: &str, marks: &Marks) -> Result<Tally, String> {
        let turns = match model.parse()? {
            Script::Text(_) | Script::Paced(_) => 1,
            Script::Tool(_) | Script::Args(_) | Script::Calc { .. } => 2,
            Script::Turns { turns, .. } => turns,
        };
        // The body around the messages, and the messages as they are sent.
        let body = http::request(self.format, model, &["messages".into()]);
        let (before, behind) = body.split_once("\"messages\"]").ok_or("the request has no messages")?;
        let mut messages = http::prompt(self.format).to_string();
        let mut lines = 0;
        for turn in 1..=turns {
            lines += self.count(model, [before, &messages, "]", behind].concat(), marks).await?;
            marks.turn();
            let call = http::tool_call(self.format, &format!("call_{turn}"), "calculator", CALCULATOR_ARGUMENTS.concat());
            let result = http::tool_result(self.format, &format!("call_{turn}"), "calculator", "345");
            messages.extend([",".to_owned(), call.to_string(), ",".to_owned(), result.to_string()]);
        }
        Ok(Tally::Lines { lines })
    }
}

impl Floor {
    async fn count(&self, model: &str, body: String, marks: &Marks) -> Result<u64, String> {
        let url = format!("{}{}", self.url, self.format.path(model));
        let mut response = http::post(&self.http, &url, body).await?;
        let mut lines = DataLines { count: 0, matched: Some(0) };
        while let Some(chunk) = response.chunk().await.map_err(|error| format!("the stream broke: {error}"))? {
            lines.feed(&chunk);
            marks.delta();
        }
        Ok(lines.count)
    }
}

/// Counts the lines that begin with `data:`, wherever the chunks are cut.
struct DataLines {
    count: u64,
    /// How much of `data:` the line has so far; `None` when it is decided.
    matched: Option<usize>,
}

impl DataLines {
    fn feed(&mut self, mut bytes: &[u8]) {
        const START: &[u8] = b"data:";
        while !bytes.is_empty() {
            match self.matched {
                None => {
                    let Some(end) = memchr::memchr(b'\n', bytes) else {
                        return;
                    };
                    bytes = &bytes[end + 1..];
                    self.matched = Some(0);
                }
                Some(matched) => {
                    let wanted = &START[matched..];
                    let same = wanted.iter().zip(bytes).take_while(|(a, b)| a == b).count();
                    if same == wanted.len() {
                        self.count += 1;
                        self.matched = None;
                    } else if same == bytes.len() {
                        self.matched = Some(matched + same);
                    } else {
                        self.matched = None;
                    }
                    bytes = &bytes[same..];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_same_wherever_it_is_cut() {
        let text = b"event: x\ndata: a\n\ndatum\ndata:\n\n data: no\ndata: b";
        for cut in 0..text.len() {
            let mut lines = DataLines { count: 0, matched: Some(0) };
            lines.feed(&text[..cut]);
            lines.feed(&text[cut..]);
            assert_eq!(lines.count, 3, "cut at {cut}");
        }
    }
}
