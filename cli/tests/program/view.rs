use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::Child;

use serde_json::json;

use super::*;

/// The data in a page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn exported(place: &Place, of: &[&str]) -> Value {
    let called = place.call(&[&["view", "--spec", "agent.toml"], of, &["--export", "run.html"]].concat());
    assert_eq!((called.code, called.out.as_str(), called.err.as_str()), (0, "", "run.html is written\n"), "{called:?}");
    data(&place.read("run.html"))
}

/// An agent with a tool, and a run of it as a session, a recording and events.
fn place() -> Place {
    let place = Place::new();
    let mut script = says(&["It has a list."]);
    script.as_array_mut().unwrap().insert(0, calls("list_directory", json!({ "path": "." })));
    place.spec(&script, "tools = [\"list_directory\"]");
    let called = place.call(&[
        "--spec",
        "agent.toml",
        "--session",
        "s1",
        "--record",
        "runs.jsonl",
        "--json",
        "--output",
        "events.jsonl",
        "What is here?",
    ]);
    assert_eq!(called.code, 0, "{called:?}");
    place
}

fn kinds(run: &Value) -> Vec<&str> {
    run["entries"].as_array().unwrap().iter().map(|entry| entry["kind"].as_str().unwrap()).collect()
}

#[test]
fn a_session_a_recording_and_events_are_exported() {
    let place = place();
    for (of, source) in
        [(Some("s1"), "session"), (None, "session"), (Some("runs.jsonl"), "recording"), (Some("events.jsonl"), "events")]
    {
        let data = exported(&place, &of.into_iter().collect::<Vec<_>>());
        let document = &data["documents"][0];
        assert_eq!((&data["version"], &document["source"]), (&Value::Null, &json!(source)), "{of:?}");
        let runs = document["runs"].as_array().unwrap();
        assert_eq!((runs.len(), &runs[0]["outcome"], &runs[0]["turns"]), (1, &json!("completed"), &json!(2)), "{of:?}");
        assert_eq!(kinds(&runs[0]), ["message", "model", "tool", "message", "message", "model", "message"], "{of:?}");
    }
    let data = exported(&place, &["s1", "runs.jsonl"]);
    assert_eq!(data["documents"].as_array().unwrap().len(), 2);
    // A page that was exported can be read again, to be compared with another one.
    std::fs::copy(place.path("run.html"), place.path("before.html")).unwrap();
    assert_eq!(exported(&place, &["before.html"])["documents"], data["documents"]);
}

#[test]
fn messages_and_an_exported_session_are_shown() {
    let place = place();
    let shown = place.call(&["--spec", "agent.toml", "--json", "sessions", "show", "s1"]);
    place.write("messages.jsonl", &shown.out);
    let data = exported(&place, &["messages.jsonl"]);
    assert_eq!((&data["documents"][0]["source"], &data["documents"][0]["runs"][0]["turns"]), (&json!("messages"), &json!(2)));
    place.write(
        "journal.jsonl",
        "{\"seq\":1,\"at\":5,\"kind\":\"session\",\"id\":\"other\"}\n\
         {\"seq\":2,\"at\":6,\"kind\":\"run_start\",\"run_id\":\"r\",\"of\":\"prompt\"}\n",
    );
    assert_eq!(exported(&place, &["journal.jsonl"])["documents"][0]["runs"][0]["id"], "r");
}

#[test]
fn events_have_the_time() {
    let place = place();
    for line in lines(&place.read("events.jsonl")) {
        assert!(line["time"].as_u64().is_some_and(|time| time > 1_700_000_000_000), "{line}");
    }
}

#[test]
fn what_is_no_run_is_refused() {
    let place = place();
    place.write("empty.jsonl", "");
    place.write("torn.jsonl", "{\"agent_loop_recording\": 1}\nnonsense\n");
    place.write("page.html", "<!doctype html><p>Hello");
    let cases: &[(&[&str], &str)] = &[
        (&["none"], "there is no file \"none\", and no session of the agent tester"),
        (&["empty.jsonl"], "empty.jsonl has no run"),
        (&["torn.jsonl"], "torn.jsonl: line 2: no JSON"),
        (&["page.html"], "page.html is no page that --export wrote"),
        (&["s1", "--export", "none/run.html"], "none/run.html cannot be written"),
        (&["a", "b", "c"], "unexpected"),
    ];
    for (of, expected) in cases {
        let called = place.call(&[&["view", "--spec", "agent.toml"], *of].concat());
        assert!(called.code == 2 && called.err.contains(expected), "{of:?}: {called:?}");
    }
    let fresh = Place::new();
    let called = fresh.call(&["view", "--export", "run.html"]);
    assert!(called.code == 2 && called.err.contains("there is no session yet"), "{called:?}");
}

/// The program while it serves.
struct Served {
    child: Child,
    port: u16,
    token: String,
}

impl Served {
    fn of(place: &Place, of: &[&str]) -> Served {
        Served::by(place.command(&[&["view", "--spec", "agent.toml"], of].concat()))
    }

    fn by(mut command: Command) -> Served {
        let mut child = command.spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
        let (port, token) = address.trim().strip_prefix("http://127.0.0.1:").unwrap().split_once('/').unwrap();
        Served { port: port.parse().unwrap(), token: token.trim_end_matches('/').to_owned(), child }
    }

    /// The head and the content of what it answers.
    fn asked(&self, method: &str, target: &str, host: &str) -> (String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    fn get(&self, rest: &str) -> String {
        let (head, body) = self.asked("GET", &format!("/{}/{rest}", self.token), &format!("127.0.0.1:{}", self.port));
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        body
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn only_who_knows_the_address_gets_the_page() {
    let place = place();
    let served = Served::of(&place, &["s1"]);
    assert_eq!(served.token.len(), 32);
    let (host, page) = (format!("127.0.0.1:{}", served.port), format!("/{}/", served.token));
    for (method, target, host, status) in [
        ("GET", "/", host.as_str(), "404"),
        ("GET", "/data?seen=0", &host, "404"),
        ("GET", &page[..page.len() - 1], &host, "404"),
        ("GET", &format!("{page}other"), &host, "404"),
        ("GET", &page, "agent.example", "403"),
        ("GET", &page, &format!("agent.example:{}", served.port), "403"),
        ("GET", &page, "", "403"),
        ("POST", &page, &host, "405"),
        ("GET", &page, &format!("localhost:{}", served.port), "200"),
    ] {
        let (head, body) = served.asked(method, target, host);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {target} {host}: {head}");
        assert_eq!(body.contains("What is here?"), status == "200");
    }
    let (head, _) = served.asked("GET", &page, &host);
    for header in ["cache-control: no-store", "x-frame-options: DENY", "cross-origin-resource-policy: same-origin"] {
        assert!(head.contains(header), "{head}");
    }
}

/// A browser's command line has an address that works once.
#[cfg(target_os = "linux")]
#[test]
fn a_browser_is_given_an_address_for_once() {
    let place = place();
    std::fs::create_dir(place.path("bin")).unwrap();
    let browser = place.write("bin/xdg-open", "#!/bin/sh\nprintf '%s\\n' \"$1\" > opened.new && mv opened.new opened\n");
    std::fs::set_permissions(browser, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = place.command(&["view", "--spec", "agent.toml", "s1", "--open"]);
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
    command.env("PATH", path);
    let served = Served::by(command);
    while !place.path("opened").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let (opened, host) = (place.read("opened"), format!("127.0.0.1:{}", served.port));
    let target = opened.trim().strip_prefix(&format!("http://{host}")).unwrap();
    assert!(!target.contains(&served.token));
    let (head, body) = served.asked("GET", target, &host);
    assert!(head.starts_with("HTTP/1.1 200 ") && body.contains(&format!("url=/{}/", served.token)), "{head} {body}");
    assert!(served.asked("GET", target, &host).0.starts_with("HTTP/1.1 404 "));
    assert!(served.get("").contains("What is here?"));
}

#[test]
fn what_comes_is_served() {
    let place = place();
    let served = Served::of(&place, &["s1"]);
    let page = data(&served.get(""));
    assert_eq!((&page["version"], page["documents"][0]["runs"].as_array().unwrap().len()), (&json!(1), 1));
    // Whatever was seen of something else.
    let all: Value = serde_json::from_str(&served.get("data?seen=0&from=0")).unwrap();
    assert_eq!(all["documents"][0]["document"]["runs"], page["documents"][0]["runs"]);
    let first = &page["documents"][0]["runs"][0];
    let kept = format!("1~{}~{}", first["entries"].as_array().unwrap().len(), first["id"].as_str().unwrap());
    let called = place.call(&["--spec", "agent.toml", "--session", "s1", "And now?"]);
    assert_eq!(called.code, 0, "{called:?}");
    let another: Value = serde_json::from_str(&served.get("data?seen=0&from=1~3~run_of_before")).unwrap();
    assert_eq!(another["documents"][0]["from"], 0, "a page that has another run gets all of them");
    let mut seen = 1;
    loop {
        let news: Value = serde_json::from_str(&served.get(&format!("data?seen={seen}&from={kept}"))).unwrap();
        assert!(news["version"].as_u64().unwrap() > seen, "it answers when there is something: {news}");
        seen = news["version"].as_u64().unwrap();
        let document = &news["documents"][0];
        assert_eq!(document["from"], 1);
        let runs = document["document"]["runs"].as_array().unwrap();
        if runs.first().is_some_and(|run| run["outcome"] == "completed") {
            assert_eq!(runs.len(), 1, "the first one has been sent before");
            break;
        }
    }
}

#[test]
fn a_port_that_is_taken_is_said() {
    let place = place();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let called = place.call(&["view", "--spec", "agent.toml", "s1", "--port", &port]);
    assert!(called.code == 2 && called.err.contains(&format!("the port {port} cannot be used")), "{called:?}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_it_with_success() {
    let place = place();
    let mut served = Served::of(&place, &["s1"]);
    let killed = Command::new("kill").args(["-INT", &served.child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

#[test]
fn nothing_but_an_older_page_is_overwritten() {
    let place = Place::new();
    place.spec(&says(&["Hello."]), "");
    assert_eq!(place.call(&["agent.toml", "--record", "runs.jsonl", "Hi"]).code, 0);
    let before = place.read("runs.jsonl");
    let called = place.call(&["view", "runs.jsonl", "--export", "runs.jsonl"]);
    assert!(called.code == 2 && called.err.contains("runs.jsonl is there already and is no page"), "{called:?}");
    assert_eq!(place.read("runs.jsonl"), before);
    for _ in 0..2 {
        assert_eq!(place.call(&["view", "runs.jsonl", "--export", "run.html"]).err, "run.html is written\n");
    }
}
