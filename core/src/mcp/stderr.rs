//! What a server's process writes to its standard error.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStderr;

use crate::cancel::CancelToken;

/// How many lines are kept, and how many characters of them, in whole lines.
const MOST_LINES: usize = 10;
const MOST_CHARACTERS: usize = 2000;

/// How long the last lines of a process are waited for that has closed its output.
const LAST_LINES_LIMIT: Duration = Duration::from_millis(500);

/// The last lines that a process wrote to its standard error, for messages. Each is also a record of `tracing`.
#[derive(Clone, Default)]
pub(super) struct LastLines {
    lines: Arc<Mutex<VecDeque<String>>>,
    /// Cancelled when there will be no more; none for a server without a process.
    ended: Arc<OnceLock<CancelToken>>,
}

impl LastLines {
    /// Reads them from now on.
    pub(super) fn read(&self, from: ChildStderr) {
        let ended = self.ended.get_or_init(CancelToken::new).clone();
        let kept = Arc::clone(&self.lines);
        tokio::spawn(async move {
            let _ended = ended.drop_guard();
            let mut lines = BufReader::new(from).split(b'\n');
            while let Ok(Some(line)) = lines.next_segment().await {
                let line = shortened(String::from_utf8_lossy(&line).trim_end());
                tracing::debug!(line, "standard error of an MCP server");
                if !line.is_empty() {
                    keep(&mut kept.lock().unwrap_or_else(PoisonError::into_inner), line);
                }
            }
        });
    }

    /// Of a process that has ended, as the end of a message; empty when nothing was written.
    pub(super) async fn of_ended(&self) -> String {
        if let Some(ended) = self.ended.get() {
            // What it wrote last says why.
            let _ = tokio::time::timeout(LAST_LINES_LIMIT, ended.wait()).await;
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        for (at, line) in lines.iter().enumerate() {
            let before = if at == 0 { "; its standard error ends with: " } else { " | " };
            let _ = write!(text, "{before}{line}");
        }
        text
    }
}

/// Keeps a line, and of those before it what there is room for.
fn keep(kept: &mut VecDeque<String>, line: String) {
    kept.push_back(line);
    let mut characters = 0;
    let fits = |line: &&String| {
        characters += line.chars().count();
        characters <= MOST_CHARACTERS
    };
    let room = kept.iter().rev().take(MOST_LINES).take_while(fits).count();
    kept.drain(..kept.len() - room);
}

/// A line, which ends with what says so if it is too long to be kept.
fn shortened(line: &str) -> String {
    const CUT: &str = " […]";
    match line.chars().nth(MOST_CHARACTERS) {
        None => line.to_owned(),
        Some(_) => line.chars().take(MOST_CHARACTERS - CUT.chars().count()).chain(CUT.chars()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_are_kept_the_last_ones_first() {
        let mut kept = VecDeque::new();
        (0..30).for_each(|at| keep(&mut kept, format!("line {at}")));
        assert_eq!((kept.len(), &*kept[0], &*kept[9]), (10, "line 20", "line 29"));
        keep(&mut kept, "e".repeat(1990));
        assert_eq!((kept.len(), &*kept[0]), (2, "line 29"), "others have no room");
        keep(&mut kept, shortened(&"e".repeat(9000)));
        assert_eq!(kept.len(), 1);
        assert!(kept[0].ends_with("e […]") && kept[0].chars().count() == MOST_CHARACTERS);
    }
}
