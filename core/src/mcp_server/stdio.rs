//! The process's standard input and output. Threads of their own read and write them: a read of a terminal or a pipe cannot be
//! ended, and nothing else is to wait for it.

use std::io::{BufRead, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::error::{Error, ErrorKind};
use crate::threads::{blocked, without_sigpipe};

/// The longest message that is taken.
const LONGEST_LINE: u64 = 64 << 20;

/// How many messages wait to be answered, and to be written.
const BOUND: usize = 256;

/// How long the last messages may take to be written.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

/// Whether a thread reads the input.
static IS_READ: AtomicBool = AtomicBool::new(false);

/// The lines of the input, until it ends.
///
/// # Errors
/// `invalid_state` where they are read already, `io` without a thread.
pub(super) fn lines() -> Result<mpsc::Receiver<Vec<u8>>, Error> {
    if IS_READ.swap(true, Ordering::AcqRel) {
        let text = "this process's standard input is served already; it can be served once until it ends";
        return Err(Error::new(ErrorKind::InvalidState, text));
    }
    let (sender, receiver) = mpsc::channel(BOUND);
    let read = move || {
        loop {
            let mut line = Vec::new();
            let read = std::io::stdin().lock().take(LONGEST_LINE).read_until(b'\n', &mut line);
            // One that is too long is cut, and so no message; what follows would be none either.
            let is_over = line.len() as u64 == LONGEST_LINE;
            if !matches!(read, Ok(1..)) || sender.blocking_send(line).is_err() || is_over {
                break;
            }
        }
        IS_READ.store(false, Ordering::Release);
    };
    let started = blocked(|| Builder::new().name("agent-mcp-in".to_owned()).spawn(read));
    if let Err(error) = started {
        IS_READ.store(false, Ordering::Release);
        return Err(refused(error));
    }
    Ok(receiver)
}

fn refused(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the system gives no thread: {error}")).with_source(error)
}

/// The output.
pub(super) struct Output {
    sender: mpsc::Sender<Value>,
    finished: oneshot::Receiver<()>,
}

impl Output {
    /// # Errors
    /// `io` without a thread.
    pub(super) fn new() -> Result<Output, Error> {
        let (sender, mut receiver) = mpsc::channel::<Value>(BOUND);
        let (finish, finished) = oneshot::channel();
        let write = move || {
            while let Some(message) = receiver.blocking_recv() {
                let line = format!("{message}\n");
                let write = || {
                    let mut output = std::io::stdout().lock();
                    output.write_all(line.as_bytes()).and_then(|()| output.flush())
                };
                if without_sigpipe(write).is_err() {
                    break;
                }
            }
            drop(receiver);
            let _ = finish.send(());
        };
        blocked(|| Builder::new().name("agent-mcp-out".to_owned()).spawn(write)).map_err(refused)?;
        Ok(Output { sender, finished })
    }

    pub(super) fn sender(&self) -> mpsc::Sender<Value> {
        self.sender.clone()
    }

    /// Waits until all is written, unless the reader has gone.
    pub(super) async fn close(self) {
        drop(self.sender);
        let _ = tokio::time::timeout(FLUSH_LIMIT, self.finished).await;
    }
}
