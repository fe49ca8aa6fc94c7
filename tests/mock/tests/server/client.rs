//! A client that hides nothing: it sends a request by hand and keeps the bytes as they came.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long a connection must be silent to count as held open: longer than a busy machine pauses.
const SILENCE: Duration = Duration::from_secs(5);

/// Everything that came back.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Status line and headers, header names in lower case.
    pub(crate) head: String,
    /// The body, one entry for each HTTP chunk; one in all if there is a content-length.
    pub(crate) chunks: Vec<String>,
    /// The body as it came.
    pub(crate) bytes: Vec<u8>,
    pub(crate) ended: Ended,
    /// Until the first byte.
    pub(crate) waited: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Complete,
    /// The connection was closed before the body was complete.
    Cut,
    /// The connection is open and silent.
    Held,
}

impl Reply {
    pub(crate) fn body(&self) -> String {
        self.chunks.concat()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body()).expect("a JSON body")
    }

    pub(crate) fn has_header(&self, line: &str) -> bool {
        self.head.lines().any(|it| it == line)
    }
}

pub(crate) fn connect(url: &str) -> TcpStream {
    let stream = TcpStream::connect(url.strip_prefix("http://").expect("an http address")).expect("the mock listens");
    stream.set_read_timeout(Some(SILENCE)).expect("a read timeout");
    stream
}

pub(crate) fn get(url: &str, path: &str) -> Reply {
    request(url, "GET", path, "")
}

pub(crate) fn post(url: &str, path: &str, body: &Value) -> Reply {
    request(url, "POST", path, &body.to_string())
}

pub(crate) fn request(url: &str, method: &str, path: &str, body: &str) -> Reply {
    let mut stream = connect(url);
    send(&mut stream, method, path, "connection: close\r\n", body);
    receive(&mut stream)
}

pub(crate) fn send(stream: &mut TcpStream, method: &str, path: &str, headers: &str, body: &str) {
    let length = body.len();
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: mock\r\n{headers}content-length: {length}\r\n\r\n{body}").expect("sent");
}

/// Reads one response.
pub(crate) fn receive(stream: &mut TcpStream) -> Reply {
    let begin = Instant::now();
    let mut waited = None;
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let stop = loop {
        if parse(&bytes).is_some_and(|(_, _, complete)| complete) {
            break Ended::Complete;
        }
        match stream.read(&mut buffer) {
            Ok(0) => break Ended::Cut,
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                break Ended::Held;
            }
            Err(e) if e.kind() == ErrorKind::ConnectionReset => break Ended::Cut,
            // A process that was stopped and goes on; with a time limit, the system does not read again by itself.
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => panic!("reading the response: {e}"),
        }
        waited.get_or_insert_with(|| begin.elapsed());
    };
    let (head, chunks, _) = parse(&bytes).unwrap_or_default();
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let (bytes, chunks) = (chunks.concat(), chunks.iter().map(|chunk| String::from_utf8_lossy(chunk).into_owned()).collect());
    Reply { status, head, chunks, bytes, ended: stop, waited: waited.unwrap_or_default() }
}

/// Head, chunks that are complete so far, and whether the body is; `None` until the head is.
fn parse(bytes: &[u8]) -> Option<(String, Vec<Vec<u8>>, bool)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let split = bytes.windows(4).position(|it| it == b"\r\n\r\n")?;
    let (head, mut rest) = (text(&bytes[..split]).to_lowercase(), &bytes[split + 4..]);
    if let Some(length) = head.lines().find_map(|line| line.strip_prefix("content-length: ")) {
        let length: usize = length.parse().expect("a length");
        return Some((head, vec![rest.to_vec()], rest.len() == length));
    }
    let mut chunks = Vec::new();
    loop {
        let Some(line) = rest.windows(2).position(|it| it == b"\r\n") else {
            return Some((head, chunks, false));
        };
        let length = usize::from_str_radix(&text(&rest[..line]), 16).expect("a chunk length");
        if length == 0 {
            return Some((head, chunks, true));
        }
        let Some(chunk) = rest.get(line + 2..line + 2 + length) else {
            return Some((head, chunks, false));
        };
        chunks.push(chunk.to_vec());
        rest = rest.get(line + 2 + length + 2..).unwrap_or_default();
    }
}
