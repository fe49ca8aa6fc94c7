//! What a server's process writes to its standard error.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStderr;

use crate::cancel::CancelToken;

/// How many lines are kept.
const MOST_LINES: usize = 5;

/// How many characters of a line are kept.
const LONGEST_LINE: usize = 300;

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
                let line: String = String::from_utf8_lossy(&line).trim_end().chars().take(LONGEST_LINE).collect();
                tracing::debug!(line, "standard error of an MCP server");
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() >= MOST_LINES {
                    kept.pop_front();
                }
                kept.push_back(line);
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
        for (at, line) in lines.iter().filter(|line| !line.is_empty()).enumerate() {
            let before = if at == 0 { "; its standard error ends with: " } else { " | " };
            let _ = write!(text, "{before}{line}");
        }
        text
    }
}
