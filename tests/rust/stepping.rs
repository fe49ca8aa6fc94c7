//! A loop that its host steps, with the host's own HTTP or the engine's: requests and events are those of an agent.

use agent_loop::host::{ExchangeOptions, HostLoop, Spelling};
use agent_loop::{CancelToken, Error, ErrorKind, Runtime};
use agent_mock::{Answer, Failure, Mock, Script, Speech};
use serde_json::Map;

use super::*;

const MODELS: [(&str, &str); 5] = [
    ("anthropic/claude-sonnet-4-5", "anthropic"),
    ("openai/gpt-4o-mini", "openai_chat"),
    ("openai/gpt-5", "openai_responses"),
    ("google/gemini-2.5-flash", "gemini"),
    ("amazon-bedrock/anthropic.claude-sonnet-4-5", "bedrock_converse"),
];

const EXPORT: &str = r#"{"version": 1, "origin": "", "messages": [], "steering": [], "follow_up": [], "suspended": []}"#;

fn parameters() -> Value {
    json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] })
}

fn options(model: &str, protocol: &str, mock: &Mock) -> Map<String, Value> {
    let (provider, id) = model.split_once('/').unwrap();
    let options = json!({
        "model": { "provider": provider, "id": id, "protocol": protocol, "base_url": mock.url() },
        "headers": { "X-Team": "blue" }, "system_prompt": "Be brief.", "max_retries": 2, "retry_base_ms": 1, "raw_events": true,
    });
    options.as_object().cloned().unwrap()
}

fn new(mut options: Map<String, Value>, more: Value) -> Result<HostLoop, Error> {
    options.extend(more.as_object().cloned().unwrap());
    HostLoop::new(options, Spelling::Snake)
}

/// What a host does: it may save and load the loop at each step, or leave its HTTP to the engine.
#[derive(Debug, Clone, Copy, PartialEq)]
#[rustfmt::skip]
enum How { Plain, Saves, Engine }

/// A host: its HTTP client, and the events and actions of its run.
struct Host {
    run: HostLoop,
    how: How,
    client: reqwest::Client,
    timer_ms: Option<u64>,
    events: Vec<Value>,
    actions: Vec<Value>,
}

impl Host {
    fn new(run: HostLoop, how: How) -> Host {
        let builder = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let roots = rustls::RootCertStore::empty();
        let tls = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots).with_no_client_auth();
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
        let client = client.tls_backend_preconfigured(tls).build().unwrap();
        Host { run, how, client, timer_ms: None, events: Vec::new(), actions: Vec::new() }
    }

    fn now_ms() -> u64 {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64
    }

    fn handle(&mut self, input: Value) {
        self.run.handle(&input, Spelling::Snake).unwrap();
        self.reload();
    }

    fn reload(&mut self) {
        if self.how == How::Saves {
            let saved = self.run.save().unwrap();
            assert!(!saved.contains("sk-secret"), "{saved}");
            self.run = HostLoop::load(&saved).unwrap();
            assert_eq!(self.run.save().unwrap(), saved, "saved again, it is the same");
        }
    }

    async fn play(mut self) -> Host {
        loop {
            while let Some(action) = self.run.poll(Host::now_ms()) {
                let action = serde_json::to_value(&action).unwrap();
                self.reload();
                match action["type"].as_str().unwrap() {
                    "event" => self.events.push(action["event"].clone()),
                    "set_timer" => self.timer_ms = action["at_ms"].as_u64(),
                    "call_model" if self.how == How::Engine => self.exchange(&action["call"]).await,
                    "call_model" => self.send(&action).await,
                    "call_tool" => {
                        assert_eq!(action["arguments"], json!({ "city": "Oslo" }));
                        self.handle(json!({ "type": "tool_done", "call": action["call"], "result": "rain" }));
                    }
                    "done" => return self,
                    _ => {}
                }
                self.actions.push(action);
            }
            let wait = self.timer_ms.expect("nothing is under way").saturating_sub(Host::now_ms());
            tokio::time::sleep(std::time::Duration::from_millis(wait)).await;
        }
    }

    async fn exchange(&mut self, call: &Value) {
        let (number, options) = (u32::try_from(call.as_u64().unwrap()).unwrap(), json!({ "api_key": "sk-secret" }));
        let options = ExchangeOptions::read(options.as_object().unwrap(), Spelling::Snake).unwrap();
        let exchange = self.run.exchange(number, &Runtime::current().unwrap(), options).unwrap();
        let done = exchange.send(CancelToken::new()).await;
        if let Some(status) = done.status {
            self.handle(json!({ "type": "model_response", "call": call, "status": status, "headers": done.headers }));
            self.run.model_bytes(number, &done.body).unwrap();
        }
        assert!(done.is_complete || done.error.is_some(), "{done:?}");
        self.handle(json!({ "type": "model_end", "call": call, "error": done.error }));
    }

    async fn send(&mut self, action: &Value) {
        let (call, auth) = (action["call"].clone(), &action["auth"]);
        let mut request = self.client.post(action["url"].as_str().unwrap()).body(action["body"].as_str().unwrap().to_owned());
        for (name, value) in action["headers"].as_object().unwrap() {
            request = request.header(name, value.as_str().unwrap());
        }
        request = request.header(auth["header"].as_str().unwrap(), format!("{}sk-secret", auth["prefix"].as_str().unwrap()));
        let mut response = request.send().await.unwrap();
        let text = |value: &reqwest::header::HeaderValue| value.to_str().unwrap().to_owned();
        let headers: Map<String, Value> =
            response.headers().iter().map(|(name, value)| (name.to_string(), text(value).into())).collect();
        self.handle(json!({ "type": "model_response", "call": call, "status": response.status().as_u16(), "headers": headers }));
        let number = u32::try_from(call.as_u64().unwrap()).unwrap();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    for piece in chunk.chunks(23) {
                        self.run.model_bytes(number, piece).unwrap();
                        self.reload();
                    }
                }
                Ok(None) => return self.handle(json!({ "type": "model_end", "call": call })),
                Err(_) => {
                    let error = json!({ "kind": "stream_truncated", "message": "it broke" });
                    return self.handle(json!({ "type": "model_end", "call": call, "error": error }));
                }
            }
        }
    }
}

/// What is the same in each run.
fn normal(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            for name in ["timestamp", "run_id", "duration_ms", "delay_ms"] {
                map.shift_remove(name);
            }
            for (_, value) in map.iter_mut() {
                *value = normal(value.take());
            }
            // It says how the connection broke, which each client says in its own way.
            if map.get("kind").is_some_and(|kind| kind == "stream_truncated") {
                map.shift_remove("message");
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| *value = normal(value.take())),
        _ => {}
    }
    value
}

fn requests(mock: &Mock) -> Value {
    let of = |mut request: agent_mock::Request| {
        request.headers.retain(|name, _| !["accept", "accept-encoding", "user-agent", "host"].contains(&name.as_str()));
        json!([request.path, request.headers, request.body])
    };
    mock.requests().into_iter().map(of).collect()
}

/// Plays the same answers through an agent and through loops that are stepped.
async fn compare(model: (&str, &str), script: impl Fn() -> Script) -> Vec<Value> {
    let mock = Mock::start(script());
    let options = options(model.0, model.1, &mock);
    let builder = Agent::builder(ModelSpec::from_json(options["model"].clone()).unwrap()).api_key("sk-secret").raw_events(true);
    let weather = FnTool::new("weather", "The weather.", parameters(), |_, _| async { Ok::<_, String>(json!("rain")) }).unwrap();
    let agent = builder.header("X-Team", "blue").system_prompt("Be brief.").retry_base_ms(1).tool(weather).build().unwrap();
    let (events, _) = all(agent.stream("Rain in Oslo?").unwrap()).await;
    let (expected, asked) = (normal(json!(events)), requests(&mock));
    for how in [How::Plain, How::Saves, How::Engine] {
        let mock = Mock::start(script());
        let tools = json!([{ "name": "weather", "description": "The weather.", "parameters": parameters() }]);
        let more = json!({ "prompt": "Rain in Oslo?", "tools": tools });
        let host = Host::new(new(self::options(model.0, model.1, &mock), more).unwrap(), how).play().await;
        let text = |value: &Value| value.to_string().replace(&mock.url(), "URL").replace(&mock.url()[7..], "HOST");
        let other = |value: &Value, url: &str| value.to_string().replace(url, "URL").replace(&url[7..], "HOST");
        let url = options["model"]["base_url"].as_str().unwrap();
        assert_eq!(text(&normal(json!(host.events))), other(&expected, url), "{model:?}, {how:?}");
        assert_eq!(text(&requests(&mock)), other(&asked, url), "{model:?}, {how:?}");
    }
    expected.as_array().cloned().unwrap()
}

#[tokio::test]
async fn requests_and_events_are_those_of_an_agent_in_each_format() {
    for model in MODELS {
        let events = compare(model, || {
            let call = Speech::call("weather", json!({ "city": "Oslo" }));
            Script::new().strict().answer(Answer::message(call)).answer(Answer::message(Speech::text("It rains in Öslo.")))
        });
        let last = events.await.pop().unwrap();
        assert_eq!((&last["outcome"], &last["turns"]), (&json!("completed"), &json!(2)), "{model:?}");
    }
}

#[tokio::test]
async fn failures_of_servers_are_those_of_an_agent() {
    let page = || Answer::text("<html>Bad gateway</html>").header("content-type", "text/html");
    let cases: [fn() -> Answer; 3] = [
        || Answer::message(Speech::text("It rains, it rains, it rains.")).cut_after(300),
        || Answer::text("").status(307).header("location", "https://elsewhere.example/?key=a"),
        || Answer::text("no ".repeat(40_000)).status(400).header("x-request-id", "r7"),
    ];
    for model in MODELS {
        for failure in [Failure::Authentication, Failure::ContextOverflow, Failure::Quota, Failure::NotFound] {
            let events = compare(model, || Script::new().answer(Answer::error(failure))).await;
            assert_eq!(events.last().unwrap()["outcome"], "error", "{failure:?}");
        }
        // Tried again.
        let again = || Script::new().answer(Answer::error(Failure::Overloaded)).answer(Answer::message(Speech::text("Yes.")));
        assert!(compare(model, again).await.iter().any(|event| event["type"] == "retry"));
        compare(model, || Script::new().answer(page().times(3))).await;
        for answer in cases {
            compare(model, || Script::new().answer(answer().times(3))).await;
        }
    }
}

#[test]
fn a_request_says_where_its_key_belongs_and_has_none() {
    let of = |model: Value| {
        let options = json!({ "model": model, "prompt": "Hi", "headers": { "X-Team": "blue" }, "connect_timeout_ms": 7 });
        let mut run = HostLoop::new(options.as_object().cloned().unwrap(), Spelling::Snake).unwrap();
        let action = std::iter::from_fn(|| run.poll(5)).map(|action| json!(action)).find(|action| action["type"] == "call_model");
        assert_eq!(run.open_actions().len(), 1);
        assert_eq!(json!(run.open_actions()[0]), action.clone().unwrap());
        action.unwrap()
    };
    let action = of(json!("anthropic/claude-sonnet-4-5"));
    assert_eq!((&action["method"], &action["url"]), (&json!("POST"), &json!("https://api.anthropic.com/v1/messages")));
    assert_eq!(
        action["headers"],
        json!({ "content-type": "application/json", "anthropic-version": "2023-06-01", "x-team": "blue" })
    );
    let auth = json!({ "header": "x-api-key", "prefix": "", "variables": ["ANTHROPIC_API_KEY"], "optional": false });
    assert_eq!((&action["auth"], &action["connect_timeout_ms"], &action["call"]), (&auth, &json!(7), &json!(0)));
    assert!(action["body"].as_str().unwrap().starts_with("{\"model\":\"claude-sonnet-4-5\""), "{action}");
    let action = of(json!({ "provider": "mine", "id": "m", "protocol": "openai_chat", "base_url": "http://h/v1" }));
    let auth = json!({ "header": "authorization", "prefix": "Bearer ", "variables": [], "optional": true });
    assert_eq!((&action["auth"], &action["url"]), (&auth, &json!("http://h/v1/chat/completions")));
}

#[test]
fn what_a_loop_cannot_be_made_with_is_an_error() {
    for (more, text) in [
        (json!({ "api_key": "sk-secret" }), "option \"api_key\": a loop is not given a key; add it to the request of call_model"),
        (json!({ "network": { "proxy": false } }), "option \"network\": a loop makes no connections; the host does"),
        (json!({ "record": "runs.jsonl" }), "option \"record\": the runs of agents are recorded"),
        (json!({ "headers": { "Authorization": "Bearer sk-secret" } }), "option \"headers\": \"Authorization\" may have a key"),
        (json!({ "model": null }), "option \"model\" is missing"),
        (json!({ "modle": 1 }), "unknown option \"modle\"; did you mean \"model\"?"),
        (json!({ "promt": "Hi" }), "unknown option \"promt\"; did you mean \"prompt\"?"),
        (json!({ "model": "nobody/x" }), "model \"nobody/x\": unknown provider \"nobody\""),
        (
            json!({ "model": { "provider": "openai", "id": "m", "headers": { "api-key": "sk-secret" } } }),
            "model \"openai/m\": header \"api-key\" may have a key, which a loop is not given",
        ),
        (
            json!({ "model": { "provider": "openai", "id": "m", "base_url": "http://me:sk-secret@h/v1" } }),
            "model \"openai/m\": the address has a key or a password, which a loop is not given",
        ),
        (json!({ "tools": {} }), "option \"tools\": expected an array, got an object"),
        (json!({ "tools": [{ "name": "a b" }] }), "option \"tools\": [0]: tool name \"a b\""),
        (json!({ "tools": [{ "name": "a" }, { "name": "a" }] }), "option \"tools\": [1]: there are two tools named \"a\""),
        (json!({ "tools": [{ "name": "a", "prepare_arguments": 1 }] }), "[0]: prepare_arguments: expected true or false, got 1"),
        (json!({ "hooks": ["before_run_"] }), "option \"hooks\": unknown hook \"before_run_\"; did you mean"),
        (json!({ "hooks": "before_run" }), "option \"hooks\": expected an array, got \"before_run\""),
        (json!({ "run_id": 7 }), "option \"run_id\": expected text, got 7"),
        (json!({ "providers": ["a/b"] }), "provider \"a/b\": expected a name without a slash"),
        (json!({ "prompt": 7 }), "prompt: expected text, a message or a list of messages, got 7"),
        (json!({ "prompt": " " }), "prompt: the user message is empty"),
        (json!({ "decisions": {} }), "option \"decisions\": a run begins with a prompt, or goes on with decisions"),
        (json!({ "export": "{" }), "the export cannot be read: it is not JSON"),
        (json!({ "export": { "signature": "" } }), "the export is signed, and a loop has no key to check it"),
        (json!({ "export": {} }), "the export cannot be read: version is missing"),
        (json!({ "messages": [{ "role": "system" }] }), "option \"messages\": [0]"),
        (
            json!({ "messages": [], "export": EXPORT }),
            "the export has the messages of its conversation; leave out the option \"messages\"",
        ),
    ] {
        let base = json!({ "model": "openai/gpt-5", "prompt": "Hi" }).as_object().cloned().unwrap();
        let error = new(base, more.clone()).err().unwrap_or_else(|| panic!("{more}"));
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains(text), "{more}: {error}");
        assert!(!error.message().contains("sk-secret"), "{error}");
    }
    let nothing = new(Map::new(), json!({ "model": "openai/gpt-5" })).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::InvalidState, "{nothing}");
    let camel = json!({ "model": "openai/gpt-5", "prompt": "Hi", "system_prompt": "x" }).as_object().cloned().unwrap();
    let error = HostLoop::new(camel, Spelling::Camel).unwrap_err();
    assert!(error.message().contains("did you mean \"systemPrompt\"?"), "{error}");
}

/// A run whose model call is open, and asks the host for a custom model.
fn asking(model: Value) -> HostLoop {
    let mut run = new(Map::new(), json!({ "model": model, "prompt": "Hi", "providers": ["mine"], "max_retries": 0 })).unwrap();
    while run.poll(0).is_some() {}
    run
}

#[test]
fn inputs_that_are_wrong_are_errors_and_change_nothing() {
    let (http, custom) = (|| asking(json!("openai/gpt-4o")), || asking(json!("mine/parrot")));
    let call = |kind: &str| json!({ "type": kind, "call": 0 });
    let with = |mut value: Value, more: Value| {
        value.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        value
    };
    for (run, input, kind, text) in [
        (http(), json!(7), "invalid_argument", "input: expected"),
        (http(), json!({}), "invalid_argument", "input: type is missing"),
        (http(), json!({ "type": "tool_don" }), "invalid_argument", "unknown value \"tool_don\"; did you mean \"tool_done\"?"),
        (http(), json!({ "type": "tool_done" }), "invalid_argument", "tool_done: call is missing"),
        (http(), json!({ "type": "tool_done", "call": "0" }), "invalid_argument", "tool_done: "),
        (http(), call("tool_done"), "invalid_argument", "tool_done: give result, what the tool has returned (null for nothing)"),
        (http(), with(call("tool_done"), json!({ "error": null })), "invalid_argument", "tool_done: give result"),
        (http(), json!({ "type": "abort", "now": true }), "invalid_argument", "abort: unknown field \"now\""),
        (
            http(),
            with(call("tool_done"), json!({ "result": 1, "error": "no" })),
            "invalid_argument",
            "give result or error, not both",
        ),
        (http(), json!({ "type": "steer", "message": [] }), "invalid_argument", "steer: message: the list is empty"),
        (http(), json!({ "type": "follow_up", "message": "" }), "invalid_argument", "follow_up: the user message is empty"),
        (http(), with(call("model_end"), json!({ "error": "no" })), "invalid_argument", "model_end: error: "),
        (http(), call("model_end"), "invalid_state", "model_end: model call 0 has no response: hand in model_response"),
        (http(), with(call("model_chunk"), json!({ "chunk": "a" })), "invalid_state", "model call 0 is answered by a server"),
        (
            http(),
            with(call("model_response"), json!({ "status": 200, "headers": { "a b": "c" } })),
            "invalid_argument",
            "model_response: headers: \"a b\": HTTP has no header of this name",
        ),
        (http(), json!({ "type": "configure", "options": { "prompt": "x" } }), "invalid_argument", "only a new loop takes it"),
        (http(), json!({ "type": "configure", "options": { "max_turns": "x" } }), "invalid_argument", "option \"max_turns\""),
        (
            http(),
            json!({ "type": "configure", "options": { "max_turns": 2, "base_url": "http://a:b@h" } }),
            "invalid_argument",
            "the address has a key or a password",
        ),
        (
            custom(),
            with(call("model_response"), json!({ "status": 200, "headers": {} })),
            "invalid_state",
            "model_response: model call 0 is the host's to answer: hand in model_chunk",
        ),
        (custom(), with(call("model_chunk"), json!({ "chunk": { "txt": 1 } })), "invalid_argument", "model_chunk: chunk: "),
    ] {
        let mut run = run;
        let before = run.save().unwrap();
        let error = run.handle(&input, Spelling::Snake).expect_err(&input.to_string());
        assert_eq!(error.kind().as_str(), kind, "{input}: {error}");
        assert!(error.message().contains(text), "{input}: {error}");
        assert_eq!(run.save().unwrap(), before, "{input}");
    }
    http().handle(&with(call("tool_done"), json!({ "result": null })), Spelling::Snake).unwrap();
    let error = http().export().unwrap_err();
    let text = "the loop has not ended, and its conversation cannot be exported before: poll it until its action done, or keep \
                the loop itself with save";
    assert_eq!((error.kind().as_str(), error.message()), ("busy", text));
    let error = http().model_bytes(0, b"data").unwrap_err();
    assert_eq!(error.message(), "model_bytes: model call 0 has no response yet: hand in model_response before its bytes");
}

#[test]
fn what_belongs_to_a_call_that_is_over_is_ignored() {
    let mut run = asking(json!("mine/parrot"));
    let mut handle = |input: Value| run.handle(&input, Spelling::Snake).unwrap();
    handle(json!({ "type": "model_chunk", "call": 0, "chunk": "Hello." }));
    handle(json!({ "type": "model_end", "call": 0 }));
    handle(json!({ "type": "model_chunk", "call": 0, "chunk": { "nonsense": 1 } }));
    handle(json!({ "type": "model_end", "call": 9 }));
    handle(json!({ "type": "tool_done", "call": 3, "result": 1 }));
    handle(json!({ "type": "hook_answer", "question_id": 3, "answer": 1 }));
    run.model_bytes(0, b"late").unwrap();
    let last = std::iter::from_fn(|| run.poll(1)).last().map(|action| json!(action)).unwrap();
    assert_eq!((&last["type"], &last["result"]["text"]), (&json!("done"), &json!("Hello.")));
    assert!(run.poll(2).is_none() && run.open_actions().is_empty() && run.is_over());
    // What comes now waits for another run.
    run.handle(&json!({ "type": "follow_up", "message": "And then?" }), Spelling::Snake).unwrap();
    let mut run = HostLoop::load(&run.save().unwrap()).unwrap();
    assert!(run.is_over() && run.poll(3).is_none());
    let export: Value = serde_json::from_str(&run.export().unwrap()).unwrap();
    assert_eq!(export["follow_up"][0]["content"][0]["text"], "And then?");
    let next = new(Map::new(), json!({ "model": "mine/parrot", "providers": ["mine"], "export": export })).unwrap();
    assert_eq!(next.export().unwrap_err().kind(), ErrorKind::Busy);
}

#[test]
fn limits_and_aborts_cancel_a_model_call() {
    let mut run =
        new(Map::new(), json!({ "model": "openai/gpt-4o", "prompt": "Hi", "first_byte_timeout_ms": 50, "max_retries": 0 }));
    let run = run.as_mut().unwrap();
    let last =
        |run: &mut HostLoop, now_ms| std::iter::from_fn(|| run.poll(now_ms)).map(|action| json!(action)).collect::<Vec<_>>();
    assert_eq!(*last(run, 0).last().unwrap(), json!({ "type": "set_timer", "at_ms": 50 }));
    let actions = last(run, 50);
    assert_eq!(actions[0], json!({ "type": "cancel_model", "call": 0 }));
    assert_eq!(actions.last().unwrap()["result"]["error"]["kind"], "timeout");
    let mut run = asking(json!("openai/gpt-4o"));
    run.handle(&json!({ "type": "abort" }), Spelling::Snake).unwrap();
    let actions = last(&mut run, 1);
    assert_eq!(actions[0], json!({ "type": "cancel_model", "call": 0 }));
    assert_eq!(actions.last().unwrap()["result"]["outcome"], "aborted");
}

#[test]
fn a_turn_s_changes_go_with_its_requests_and_are_saved() {
    let mut run = new(Map::new(), json!({ "model": "mine/parrot", "prompt": "Hi", "providers": ["mine"] })).unwrap();
    while run.poll(0).is_some() {}
    let options = json!({ "model": "openai/gpt-4o", "headers": { "x-team": "red" }, "max_turns": 5 });
    run.handle(&json!({ "type": "configure", "options": options }), Spelling::Snake).unwrap();
    run.handle(&json!({ "type": "follow_up", "message": "More." }), Spelling::Snake).unwrap();
    let mut run = HostLoop::load(&run.save().unwrap()).unwrap();
    run.handle(&json!({ "type": "model_chunk", "call": 0, "chunk": "Hello." }), Spelling::Snake).unwrap();
    run.handle(&json!({ "type": "model_end", "call": 0 }), Spelling::Snake).unwrap();
    let actions: Vec<Value> = std::iter::from_fn(|| run.poll(1)).map(|action| json!(action)).collect();
    let call = actions.iter().find(|action| action["type"] == "call_model").unwrap();
    assert_eq!((&call["headers"]["x-team"], &call["call"]), (&json!("red"), &json!(1)));
    assert_eq!(call["url"], "https://api.openai.com/v1/responses");
}

#[test]
fn a_text_that_is_no_saved_loop_is_refused() {
    let saved = asking(json!("openai/gpt-4o")).save().unwrap();
    for (text, why) in [
        ("".to_owned(), "the saved loop cannot be loaded: it is empty"),
        ("{}".to_owned(), "the saved loop cannot be loaded: run is missing"),
        (saved.replacen("\"version\":1", "\"version\":99", 1), "it has version 99"),
        (saved.replace("https://api.openai.com/v1/responses", "nowhere"), "nowhere: "),
    ] {
        let error = HostLoop::load(&text).unwrap_err();
        let is_newer = text.contains("\"version\":99");
        assert_eq!(error.kind(), if is_newer { ErrorKind::NewerVersion } else { ErrorKind::InvalidArgument });
        assert!(error.message().contains(why), "{error}");
    }
}
