//! Few descriptors, few threads, few megabytes: runs in child processes that the system gives little. Each run ends with a result
//! or with an error of the system's or the connection's, and when there is enough again, the same runtime works.
//!
//! A process that runs out of heap ends, as every program in Rust does: the limits of memory leave room for the heap, and none
//! for further stacks. The allocator's end is told from a panic, and is a failure here, too.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::child;
use crate::random::Random;
use crate::server::{HTTP_1, Server, Step};

/// How many processes a case has, at the same time.
const AT_ONCE: usize = 4;

/// How long a process may take: far longer than the limits of its runs.
const LONGEST: Duration = Duration::from_secs(120);

/// Some processes, each with limits of its own, and the servers that they ask.
pub(crate) fn play(random: &mut Random) -> Result<u64, String> {
    let connections = vec![
        vec![Step::ReadRequest, Step::Send(answer(&tools())), Step::ReadRequest, Step::Send(answer(&text()))],
        vec![Step::ReadRequest, Step::Send(answer(&text()))],
    ];
    let plain = Server::start(None, connections.clone());
    let secure = Server::start(Some(&HTTP_1), connections);
    let ca_file = HTTP_1.ca_file.to_string_lossy().into_owned();
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut children = Vec::new();
    for _ in 0..AT_ONCE {
        let ports = [&plain, &secure].map(|server| server.address().port().to_string());
        let seed = random.next().to_string();
        let arguments = [child::NAME, &seed, &ports[0], &ports[1], &ca_file];
        let mut command = Command::new(&program);
        // Further arenas of the allocator take addresses that stacks are meant to lack.
        command.args(arguments).env("MALLOC_ARENA_MAX", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = command.spawn().map_err(|error| format!("a process cannot be started: {error}"))?;
        children.push((arguments.join(" "), started));
    }
    // All of them end before any failure is told.
    let ended: Vec<Result<(), String>> =
        children.into_iter().map(|(name, child)| end(child).map_err(|why| format!("{name}: {why}"))).collect();
    ended.into_iter().collect::<Result<(), String>>().map(|()| AT_ONCE as u64)
}

/// Waits for a process, and says what is wrong with its end.
fn end(mut child: Child) -> Result<(), String> {
    let started = Instant::now();
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if started.elapsed() > LONGEST {
            child.kill().map_err(|error| error.to_string())?;
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    match (output.status.code(), output.status.signal()) {
        (Some(0 | child::NOT_LIMITED), _) => Ok(()),
        (_, Some(libc::SIGABRT)) if said.contains("memory allocation of") => Err(format!("there was no memory left: {said}")),
        (_, Some(libc::SIGKILL)) => Err(format!("it does not end: {said}")),
        _ => Err(format!("{}: {said}", output.status)),
    }
}

/// A tool that has the limit set, and one of each kind.
fn tools() -> Vec<Value> {
    let call = |(index, name): (usize, &&str)| {
        let function = json!({ "name": name, "arguments": "{\"n\": 1}" });
        json!({ "tool_calls": [{ "index": index, "id": format!("call_{index}"), "type": "function", "function": function }] })
    };
    child::TOOLS.iter().enumerate().map(call).collect()
}

fn text() -> Vec<Value> {
    vec![json!({ "content": "It " }), json!({ "content": "rains." })]
}

/// The answer of an OpenAI-like server, on a connection that is kept.
fn answer(deltas: &[Value]) -> Vec<u8> {
    let reason = if deltas[0].get("tool_calls").is_some() { "tool_calls" } else { "stop" };
    let chunk = |delta: &Value, reason: Option<&str>| {
        let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
        format!("data: {chunk}\n\n")
    };
    let mut body: String = deltas.iter().map(|delta| chunk(delta, None)).collect();
    body += &chunk(&json!({}), Some(reason));
    body += "data: [DONE]\n\n";
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n", body.len());
    [head, body].concat().into_bytes()
}
