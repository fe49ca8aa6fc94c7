//! Messages as lines of standard input and output.

use std::io::{self, BufRead, Read};

use agent_client_protocol::Lines;
use futures_util::sink::{self, Sink};
use futures_util::stream::{self, Stream};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

/// How many lines the channel between the thread and the connection holds. The connection takes them as they come.
const READ_AHEAD: usize = 64;

/// The longest line, in bytes: a prompt with several images has some.
const LONGEST: u64 = 256 << 20;

/// The lines of standard input, and standard output for others.
///
/// Not the crate's own: for that, the first line that is not UTF-8 is the end. Here U+FFFD takes the place of what is none, and
/// the line is read, or refused, as any other.
pub(super) fn lines() -> Lines<impl Sink<String, Error = io::Error> + Send, impl Stream<Item = io::Result<String>> + Send> {
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    // A thread of its own: what ends the program does not wait for a read.
    std::thread::spawn(move || read(&mut io::stdin().lock(), &sender));
    let incoming = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
    let outgoing = sink::unfold(tokio::io::stdout(), async |mut stdout, mut line: String| {
        line.push('\n');
        stdout.write_all(line.as_bytes()).await?;
        stdout.flush().await?;
        Ok(stdout)
    });
    Lines::new(Box::pin(outgoing), Box::pin(incoming))
}

/// Hands over lines until the input ends, or the receiver is dropped.
fn read(input: &mut impl BufRead, sender: &mpsc::Sender<io::Result<String>>) {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = match input.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) if !line.ends_with(b"\n") && u64::try_from(line.len()).is_ok_and(|length| length >= LONGEST) => {
                Err(io::Error::other(format!("a message has more than {LONGEST} bytes")))
            }
            Ok(_) => Ok(String::from_utf8_lossy(line.trim_ascii_end()).into_owned()),
            Err(error) => Err(error),
        };
        let is_end = read.is_err();
        if sender.blocking_send(read).is_err() || is_end {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_not_utf_8_is_no_end() {
        let (sender, mut receiver) = mpsc::channel(READ_AHEAD);
        read(&mut &b"{\"a\": 1}\r\n\xff{}\nlast"[..], &sender);
        drop(sender);
        for line in ["{\"a\": 1}", "\u{fffd}{}", "last"] {
            assert_eq!(receiver.blocking_recv().unwrap().unwrap(), line);
        }
        assert!(receiver.blocking_recv().is_none());
    }
}
