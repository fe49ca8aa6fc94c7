//! `bench-floor`: the bare HTTP client. It counts `data:` lines and knows beforehand what to send next; no program that
//! receives the same stream through reqwest can cost less.

use std::process::ExitCode;

use agent_loop_benches::{
    answers::{Format, Script},
    cli::Tally,
    harness::{self, Client},
    http,
};
use serde_json::Value;

struct Floor {
    http: reqwest::Client,
    url: String,
    format: Format,
}

fn main() -> ExitCode {
    harness::main(|url, format| Ok(Floor { http: http::client()?, url: url.trim_end_matches('/').to_owned(), format }))
}

impl Client for Floor {
    async fn run(&self, model: &str) -> Result<Tally, String> {
        let mut messages = vec![http::prompt(self.format)];
        let mut lines = self.count(model, &messages).await?;
        if !matches!(model.parse()?, Script::Text(_)) {
            messages.push(http::tool_result(self.format, "call_1", "echo", "345"));
            lines += self.count(model, &messages).await?;
        }
        Ok(Tally::Lines { lines })
    }
}

impl Floor {
    async fn count(&self, model: &str, messages: &[Value]) -> Result<u64, String> {
        let url = format!("{}{}", self.url, self.format.path(model));
        let mut response = http::post(&self.http, &url, http::request(self.format, model, messages)).await?;
        let mut lines = DataLines { count: 0, matched: Some(0) };
        while let Some(chunk) = response.chunk().await.map_err(|error| format!("the stream broke: {error}"))? {
            lines.feed(&chunk);
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
