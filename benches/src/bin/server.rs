//! `bench-server`: streams rendered answers over plain HTTP/1.1, with as little work for each as possible.
//!
//! Prints its base URL on one line when it listens, and ends when its standard input does. `GET /stats` returns the
//! statistics since the last request. It understands what HTTP clients send here (a content length, keep-alive) and no more.

use std::{
    collections::HashMap,
    io::{Read, Write},
    sync::{Arc, Mutex, PoisonError},
};

use agent_loop_benches::{
    answers::{Answer, Format, Script, render},
    hold::Holds,
};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
};

/// Which answer: rendered once for each.
type Key = (Format, Script, usize);

struct Server {
    answers: Mutex<HashMap<Key, Answer>>,
    holds: Holds<Key>,
}

fn main() {
    let ended = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))
        .and_then(|runtime| runtime.block_on(serve()));
    if let Err(error) = ended {
        eprintln!("bench-server: {error}");
        std::process::exit(1);
    }
}

async fn serve() -> Result<(), String> {
    let listener = listen().map_err(|error| format!("cannot listen on 127.0.0.1: {error}"))?;
    let address = listener.local_addr().map_err(|error| format!("listening nowhere: {error}"))?;
    println!("http://{address}");
    std::io::stdout().flush().map_err(|error| format!("cannot print the URL: {error}"))?;
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let server = Arc::new(Server { answers: Mutex::new(HashMap::new()), holds: Holds::new() });
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(converse(Arc::clone(&server), stream));
            }
            Err(error) => return Err(format!("cannot accept a connection: {error}")),
        }
    }
}

/// A thousand clients connect concurrently: the backlog must hold them.
fn listen() -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, 1], 0).into())?;
    socket.listen(4096)
}

/// Answers one connection's requests until the client is gone.
async fn converse(server: Arc<Server>, mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    loop {
        let request = match Request::read(&mut stream, &mut buffer).await {
            Ok(Some(request)) => request,
            Ok(None) => return,
            Err(problem) => {
                let _ = stream.write_all(&plain("400 Bad Request", &problem)).await;
                return;
            }
        };
        let sent = match server.answer(&request, &buffer[request.body.clone()]) {
            Ok(Reply::Whole(bytes)) => stream.write_all(&bytes).await,
            Ok(Reply::Answer(key, answer)) => server.send(&mut stream, key, answer).await,
            Err((status, problem)) => stream.write_all(&plain(status, &problem)).await,
        };
        if sent.is_err() {
            return;
        }
        buffer.drain(..request.body.end);
    }
}

/// One request in the buffer: its head, and where its body is.
struct Request {
    method: String,
    path: String,
    body: std::ops::Range<usize>,
}

impl Request {
    /// Reads until `buffer` starts with a whole request; `None` when the client has closed.
    async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<Option<Request>, String> {
        let head = loop {
            if let Some(end) = memchr::memmem::find(buffer, b"\r\n\r\n") {
                break end + 4;
            }
            if !fill(stream, buffer).await? {
                return Ok(None);
            }
        };
        let text = std::str::from_utf8(&buffer[..head]).map_err(|_| "the request's head is not text".to_owned())?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Err("the request line has no method and path".to_owned());
        };
        let mut length = 0;
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse::<usize>().map_err(|_| format!("content-length {value:?} is no number"))?;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err("this server takes a content-length, no transfer-encoding".to_owned());
            }
        }
        while buffer.len() < head + length {
            if !fill(stream, buffer).await? {
                return Ok(None);
            }
        }
        Ok(Some(Request { method, path, body: head..head + length }))
    }
}

async fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<bool, String> {
    buffer.reserve(8 * 1024);
    stream.read_buf(buffer).await.map(|n| n > 0).map_err(|error| format!("cannot read the request: {error}"))
}

enum Reply {
    Whole(Vec<u8>),
    Answer(Key, Answer),
}

impl Server {
    fn answer(&self, request: &Request, body: &[u8]) -> Result<Reply, (&'static str, String)> {
        if request.method == "GET" && request.path == "/stats" {
            let stats = serde_json::to_string(&self.holds.take_stats())
                .map_err(|error| ("500 Internal Server Error", error.to_string()))?;
            return Ok(Reply::Whole(plain("200 OK", &stats)));
        }
        let (format, in_path) = match Format::of_path(&request.path) {
            Some(found) if request.method == "POST" => found,
            _ => {
                return Err(("404 Not Found", format!("nothing at {} {}", request.method, request.path)));
            }
        };
        let asked: Asked<'_> =
            serde_json::from_slice(body).map_err(|error| ("400 Bad Request", format!("the request's JSON: {error}")))?;
        let script = in_path.unwrap_or(&asked.model).parse::<Script>().map_err(|problem| ("404 Not Found", problem))?;
        let key = (format, script, asked.results(format, script));
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.entry(key).or_insert_with(|| render(format, script, key.2)).clone();
        Ok(Reply::Answer(key, answer))
    }

    async fn send(&self, stream: &mut TcpStream, key: Key, answer: Answer) -> std::io::Result<()> {
        stream.write_all(&answer.first).await?;
        match key.1 {
            Script::Calc { together } | Script::Turns { together, .. } if together > 1 => self.holds.meet(key, together).await,
            Script::Paced(_) => return paced(stream, &answer.rest).await,
            _ => {}
        }
        stream.write_all(&answer.rest).await
    }
}

/// Writes one HTTP chunk in a millisecond.
async fn paced(stream: &mut TcpStream, mut chunks: &[u8]) -> std::io::Result<()> {
    let mut tick = tokio::time::interval(std::time::Duration::from_millis(1));
    while let Some(line) = memchr::memmem::find(chunks, b"\r\n") {
        let size = std::str::from_utf8(&chunks[..line]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let (chunk, rest) = chunks.split_at((line + 4 + size.unwrap_or_default()).min(chunks.len()));
        tick.tick().await;
        stream.write_all(chunk).await?;
        chunks = rest;
    }
    Ok(())
}

fn plain(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

/// The fields of a request that select the answer.
#[derive(Deserialize)]
struct Asked<'a> {
    /// Gemini's is in the path.
    #[serde(default)]
    model: String,
    /// The other names are those of Responses and Gemini.
    #[serde(borrow, default, alias = "input", alias = "contents")]
    messages: Vec<&'a RawValue>,
}

impl Asked<'_> {
    /// How many tool results there are: all of them where turns are counted, otherwise those of the last message.
    fn results(&self, format: Format, script: Script) -> usize {
        let mark: &[u8] = match format {
            Format::Anthropic => b"\"tool_result\"",
            Format::Chat => b"\"tool_call_id\"",
            Format::Responses => b"\"function_call_output\"",
            Format::Gemini => b"\"functionResponse\"",
        };
        match script {
            Script::Turns { .. } => {
                self.messages.iter().filter(|message| memchr::memmem::find(message.get().as_bytes(), mark).is_some()).count()
            }
            _ => usize::from(self.after_tool(format)),
        }
    }

    /// Whether the last message has a tool's result.
    fn after_tool(&self, format: Format) -> bool {
        let Some(last) = self.messages.last().and_then(|last| serde_json::from_str::<Value>(last.get()).ok()) else {
            return false;
        };
        let any = |list: &Value, is: fn(&Value) -> bool| list.as_array().is_some_and(|list| list.iter().any(is));
        match format {
            Format::Anthropic => any(&last["content"], |block| block["type"] == "tool_result"),
            Format::Chat => last["role"] == "tool",
            Format::Responses => last["type"] == "function_call_output",
            Format::Gemini => any(&last["parts"], |part| part.get("functionResponse").is_some()),
        }
    }
}
