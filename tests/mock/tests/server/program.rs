//! The program `agent-mock`, and what it says about bad scripts.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::client::{Ended, connect, get, post, receive, request, send};

/// A script in its own folder, under cargo's directory for test files. The number keeps apart what tests that run at the
/// same time call by the same name.
fn script(name: &str, text: &str) -> PathBuf {
    static SCRIPTS: AtomicUsize = AtomicUsize::new(0);
    let folder = format!("{}-{name}", SCRIPTS.fetch_add(1, Ordering::Relaxed));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("agent-mock").join(folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test's files");
    let path = folder.join("script.json");
    std::fs::write(&path, text).expect("the script is written");
    path
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agent-mock"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start(command: &mut Command) -> (Child, String) {
    let mut child = command.spawn().expect("the program starts");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("an address");
    (child, line.trim_end().to_owned())
}

#[test]
fn it_plays_until_standard_input_closes() {
    let path = script(
        "plays",
        r#"{
            "about": "two answers",
            "answers": [
                { "name": "file", "body": { "file": "body.sse" }, "chunk": "frame" },
                { "status": 201, "body": "text", "chunk": 2, "headers": { "x-a": "b" } },
                { "body": { "frames": ["[DONE]", { "event": "e", "data": { "b": 1, "a": 2 } }] }, "cut_after": 14 }
            ]
        }"#,
    );
    std::fs::write(path.with_file_name("body.sse"), "data: 1\n\ndata: 2\n\n").unwrap();
    // Another working directory: the file is found beside the script.
    let (mut child, url) = start(program().arg(&path).current_dir("/"));
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");

    let reply = get(&url, "/");
    assert_eq!(reply.chunks, ["data: 1\n\n", "data: 2\n\n"]);
    assert!(reply.has_header("content-type: text/event-stream"), "{}", reply.head);
    let reply = get(&url, "/");
    assert_eq!((reply.status, reply.chunks.join("|").as_str()), (201, "te|xt"));
    assert!(reply.has_header("x-a: b"), "{}", reply.head);
    let reply = get(&url, "/");
    assert_eq!((reply.body().as_str(), reply.ended), ("data: [DONE]\n\n", Ended::Cut));
    assert_eq!(get(&url, "/__requests").json().as_array().map(Vec::len), Some(3));

    // Also requests that are forgotten were asked.
    assert_eq!(request(&url, "DELETE", "/__requests", "").status, 200);
    drop(child.stdin.take());
    let Output { status, stderr, .. } = child.wait_with_output().expect("it ends");
    assert_eq!((status.success(), String::from_utf8_lossy(&stderr).as_ref()), (true, ""));
}

#[test]
fn it_takes_the_port_it_is_given() {
    let path = script("port", r#"{"answers": []}"#);
    // Below the range that port 0 is taken from, so that no other test gets it in between.
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let from = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let free = (from..32_000).find(is_free).unwrap();
    let (mut child, url) = start(program().arg("--port").arg(free.to_string()).arg(&path));
    assert_eq!(url, format!("http://127.0.0.1:{free}"));

    let mut second = program().arg("--port").arg(free.to_string()).arg(&path).spawn().unwrap();
    let mut said = String::new();
    second.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains(&format!("cannot listen on 127.0.0.1:{free}")), "{said}");
    assert_eq!(second.wait().unwrap().code(), Some(1));

    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn with_strict_it_refuses_what_the_services_refuse() {
    let path = script("strict", r#"{"answers": [{"body": {"message": {"text": "Yes."}}}]}"#);
    let (mut child, url) = start(program().arg(&path).arg("--strict"));
    let reply = post(&url, "/v1/messages", &serde_json::json!({"model": "m"}));
    assert_eq!((reply.status, reply.json()["error"]["type"].as_str()), (401, Some("authentication_error")));
    let log = get(&url, "/__requests").json();
    assert_eq!(log[0]["refused"], "x-api-key header is required");
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn a_refusal_tells_its_flavour_beside_the_services_words_and_each_reason_once() {
    let path = script("flavour", r#"{"strict": true, "answers": []}"#);
    let (mut child, url) = start(program().arg(&path));
    let body = serde_json::json!({"model": "m", "messages": [{"role": "user", "content": "?"}], "thinking": {}});
    for _ in 0..2 {
        let mut stream = connect(&url);
        send(&mut stream, "POST", "/v1/chat/completions", "authorization: Bearer key\r\n", &body.to_string());
        assert_eq!(receive(&mut stream).json()["error"]["message"], "Unknown parameter: 'thinking'.");
    }
    let log = get(&url, "/__requests").json();
    let reason = log[0]["refused"].as_str().expect("a reason");
    assert!(reason.starts_with("Unknown parameter: 'thinking'. [checked as flavour \"openai\"; "), "{reason}");
    assert!(reason.contains(r#""strict": {"flavour": …}"#), "{reason}");

    drop(child.stdin.take());
    let said = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    assert_eq!(said, format!("agent-mock: refused POST /v1/chat/completions: {reason}\n"));
}

#[test]
fn without_standard_input_it_says_that_it_ends() {
    let path = script("closed", r#"{"answers": []}"#);
    let Output { status, stdout, stderr } = program().arg(&path).stdin(Stdio::null()).output().expect("the program starts");
    assert!(status.success() && stdout.starts_with(b"http://127.0.0.1:"), "{status}");
    let said = String::from_utf8(stderr).expect("text");
    assert_eq!(said, "agent-mock: standard input closed before any request came, and so this ends; with --forever it goes on\n");
}

#[test]
fn forever_is_without_standard_input_too() {
    let path = script("forever", r#"{"answers": [{"times": 2, "body": "yes"}]}"#);
    let (mut child, url) = start(program().arg(&path).arg("--forever").stdin(Stdio::null()));
    assert_eq!(get(&url, "/").body(), "yes");
    assert!(child.try_wait().expect("it can be asked").is_none(), "it runs");
    assert_eq!(get(&url, "/").body(), "yes");
    child.kill().expect("it is killed");
    child.wait().unwrap();
}

fn fails(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = program().args(arguments).stdin(Stdio::null()).output().expect("the program starts");
    assert!(stdout.is_empty(), "no address is printed");
    (status.code(), String::from_utf8(stderr).expect("text"))
}

#[test]
fn a_bad_command_line_says_what_is_right() {
    for (arguments, message) in [
        (&[][..], "which script?"),
        (&["a.json", "b.json"], "one script at a time; what is b.json?"),
        (&["--prot", "1"], "unknown option --prot"),
        (&["a.json", "--port"], "--port needs a number"),
        (&["a.json", "--port", "70000"], "--port 70000: not a port; use 0 to 65535"),
    ] {
        let (code, said) = fails(arguments);
        assert_eq!(code, Some(2), "{arguments:?}");
        assert!(said.starts_with(&format!("agent-mock: {message}\nusage: ")), "{said}");
    }
}

#[test]
fn a_bad_script_says_where_and_what() {
    for (name, text, message) in [
        ("syntax", "{\n  \"answers\": [\n}", "not a script: answer 1: expected value at line 3 column 1"),
        (
            "second",
            r#"{"answers": [{"name": "first", "body": "a"}, {"body": {"txt": "a"}}]}"#,
            "not a script: answer 2: unknown variant `txt`, expected one of `text`, `json`, `file`, `frames`, `message`, `error` \
             at line 1 column 60",
        ),
        ("no_answers", "{}", "not a script: missing field `answers` at line 1 column 2"),
        (
            "unknown",
            "{\"answers\": [\n  {\"staus\": 200}\n]}",
            "not a script: answer 1: unknown field `staus`, expected one of `name`, `when`, `times`, `status`, `headers`, \
             `body`, `chunk`, `encoding`, `error_after`, `failure`, `garble_after`, `cut_after`, `delay_ms`, `frame_delay_ms`, \
             `stall`, `strict` at line 2 column 10",
        ),
        (
            "last",
            r#"{"answers": [{"when": {"last": "tool"}}]}"#,
            "not a script: answer 1: unknown variant `tool`, expected one of `user`, `assistant`, `tool_result`, `system` at \
             line 1 column 37",
        ),
        (
            "body",
            r#"{"answers": [{"body": 7}]}"#,
            "not a script: answer 1: invalid type: integer `7`, expected a body: a string, or one of {\"text\": …}, {\"json\": \
             …}, {\"file\": …}, {\"frames\": […]}, {\"message\": …}, {\"error\": …} at line 1 column 23",
        ),
        (
            "body_kind",
            r#"{"answers": [{"body": {"txt": "a"}}]}"#,
            "not a script: answer 1: unknown variant `txt`, expected one of `text`, `json`, `file`, `frames`, `message`, `error` \
             at line 1 column 28",
        ),
        (
            "frame",
            r#"{"answers": [{"body": {"frames": [1]}}]}"#,
            "not a script: answer 1: invalid type: integer `1`, expected a frame: a string (its data), or {\"event\": …, \
             \"data\": …} at line 1 column 35",
        ),
        (
            "chunk",
            r#"{"answers": [{"chunk": "line"}]}"#,
            "not a script: answer 1: invalid value: string \"line\", expected a chunk: \"whole\", \"frame\" or a number of \
             bytes, at least 1 at line 1 column 29",
        ),
        (
            "message",
            r#"{"answers": [{"body": {"message": {"text": "a", "content": []}}}]}"#,
            "not a script: answer 1: a message has either content (a list of blocks) or thinking, text and tool_calls at line 1 \
             column 63",
        ),
        (
            "strict",
            r#"{"strict": "yes", "answers": []}"#,
            "not a script: invalid type: string \"yes\", expected strict: true, false or an object (alternation, \
             empty_signatures, no_call_ids, flavour, key) at line 1 column 16",
        ),
        ("status", r#"{"answers": [{}, {"status": 20}]}"#, "answer 2: status 20 is not the status of an answer; use 200 to 599"),
        (
            "cut",
            r#"{"answers": [{"name": "cut", "body": "ab", "cut_after": 3}]}"#,
            "answer 1 (cut): cut_after 3: the body has only 2 bytes; use at most that",
        ),
    ] {
        let path = script(name, text);
        let path = path.to_str().expect("a path in UTF-8");
        let (code, said) = fails(&[path]);
        assert_eq!(code, Some(1), "{name}");
        assert_eq!(said.trim_end(), format!("agent-mock: {path}: {message}"), "{name}");
    }

    let (code, said) = fails(&["no/such/script.json"]);
    assert_eq!(code, Some(1));
    assert!(said.starts_with("agent-mock: no/such/script.json: cannot be read: "), "{said}");

    let path = script("file", r#"{"answers": [{"body": {"file": "gone.sse"}}]}"#);
    let (_, said) = fails(&[path.to_str().unwrap()]);
    let file = path.with_file_name("gone.sse");
    assert!(said.contains(&format!("answer 1: body file {}: ", file.display())), "{said}");
    assert!(said.trim_end().ends_with("its path is relative to the script's folder"), "{said}");
}
