//! Models: naming them, options, scripts, and custom models.

use agent_loop::host::Spelling;
use agent_loop::model::{BlockStart, BoxFuture, Delta, DeltaSink, ModelInfo, ModelRequest};
use agent_loop::{Error, ErrorKind, Model, StopReason};
use serde_json::json;

use super::*;

#[test]
fn a_model_is_named_with_its_provider() {
    let spec: ModelSpec = "openrouter/anthropic/claude".parse().unwrap();
    assert_eq!((spec.provider.as_str(), spec.id.as_str()), ("openrouter", "anthropic/claude"), "split at the first slash");
    for name in ["gpt-5", "/x", "openai/", ""] {
        let error = ModelSpec::parse(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().starts_with(&format!("model {name:?}: expected \"provider/id\"")), "{error}");
    }
}

#[test]
fn a_model_s_text_is_its_name_or_an_object_in_json() {
    let object = json!({ "provider": "company", "id": "org/tiny", "protocol": "openai_responses", "base_url": "http://h" });
    let spec = ModelSpec::from_json(object.clone()).unwrap();
    for text in [object.to_string(), format!(" \n{object:#}\n")] {
        assert_eq!(text.parse::<ModelSpec>().unwrap(), spec);
        assert_eq!(Agent::new(&text).unwrap().model(), "company/org/tiny");
    }
    let error = |text: &str| text.parse::<ModelSpec>().unwrap_err().message().to_owned();
    assert_eq!(error("{\"provider\": \"p\""), "model is not JSON: it ends in the middle of an object (line 1, column 16)");
    assert_eq!(error("{\"provider\": \"p\", \"ID\": \"m\"}"), "unknown model field \"ID\"; did you mean \"id\"?");
    // So in every language: their strings come as JSON's, with names as the language spells them.
    assert_eq!(ModelSpec::from_json(json!(object.to_string())).unwrap(), spec);
    let camel = json!(object.to_string().replace("base_url", "baseUrl"));
    assert_eq!(ModelSpec::from_json_spelled(camel, Spelling::Camel).unwrap(), spec);
}

/// A misspelt field would have no effect, and nobody would see why.
#[test]
fn configuration_that_serde_reads_has_no_unknown_fields_and_data_may() {
    use agent_loop::hook::{ToolOverride, TurnChange};
    use agent_loop::machine::{Config, Limits, RetryPolicy, Settings, Start};
    use agent_loop::model::{ModelOptions, PriceTier, Prices};
    use agent_loop::{Network, UserMessage};

    /// What is read of a value, and of the same with a further field.
    fn with_another<T: serde::de::DeserializeOwned>(mut value: Value) -> Result<T, String> {
        T::deserialize(&value).expect("a value that it has written");
        value["temprature"] = json!(1);
        serde_json::from_str(&value.to_string()).map_err(|error| error.to_string())
    }
    fn refuses<T: serde::de::DeserializeOwned>(value: Value) {
        let name = std::any::type_name::<T>();
        let error = with_another::<T>(value).err().unwrap_or_else(|| panic!("{name} reads unknown fields"));
        assert!(error.starts_with("unknown field `temprature`, expected one of `"), "{name}: {error}");
    }
    fn written<T: serde::Serialize>(value: T) -> Value {
        serde_json::to_value(value).unwrap()
    }
    refuses::<Settings>(written(Settings::default()));
    refuses::<ModelOptions>(json!({}));
    refuses::<Limits>(written(Limits::default()));
    refuses::<RetryPolicy>(written(RetryPolicy::default()));
    refuses::<Config>(written(Config::new("p/m", Err(Error::new(ErrorKind::InvalidArgument, "none")))));
    refuses::<Start>(written(Start::resume("run", 0)));
    refuses::<Prices>(json!({}));
    refuses::<PriceTier>(json!({ "above": 1 }));
    refuses::<Network>(json!({}));
    refuses::<TurnChange>(json!({}));
    refuses::<ToolOverride>(json!({}));
    // Messages and counts come from elsewhere, also from a later version.
    assert!(with_another::<UserMessage>(written(UserMessage::new(Vec::new()))).is_ok());
    assert!(with_another::<agent_loop::Usage>(json!({})).is_ok());
}

#[test]
fn an_error_in_a_model_is_reported() {
    for (value, text) in [
        (json!({ "provider": "p", "id": "x", "base_ur": "" }), "unknown model field \"base_ur\"; did you mean \"base_url\"?"),
        (json!({ "provider": "p" }), "model: id is missing"),
        (json!({ "provider": "p", "id": "x", "input": "text" }), "model: input: expected an array, got \"text\""),
        (json!({ "provider": "", "id": "x" }), "model: provider and id may not be empty"),
        (json!(7), "model: expected \"provider/id\" or an object, got 7"),
        (json!({ "provider": "p", "id": "x", "headers": { "a": 1 } }), "model: headers: \"a\": expected text"),
        (json!({ "provider": "p", "id": "x", "quirks": { "imges": 1 } }), "unknown quirk \"imges\"; known are"),
        (json!("p/x\n"), "model \"p/x\\n\" has the control character U+000A at byte 3; leave it out"),
        (json!({ "provider": "p", "id": "x\0" }), "model: id \"x\\0\" has the control character U+0000 at byte 1; leave it out"),
        (
            json!({ "provider": "p", "id": "x", "project": "\u{1b}" }),
            "model: project \"\\u{1b}\" has the control character U+001B at byte 0; leave it out",
        ),
    ] {
        let list = json!([value]);
        let error = ModelSpec::from_json(value).unwrap_err();
        assert!(error.message().starts_with(text), "{error}");
        // Part of a program's own configuration, too.
        assert_eq!(serde_json::from_value::<Vec<ModelSpec>>(list).unwrap_err().to_string(), error.message());
    }
    let specs: Vec<ModelSpec> = serde_json::from_str(r#"["openai/gpt-5", {"provider": "openai", "id": "gpt-5"}]"#).unwrap();
    assert_eq!(specs[0], specs[1]);
    assert_eq!(serde_json::to_string(&specs[0]).unwrap(), r#"{"provider":"openai","id":"gpt-5"}"#);
    let check = |value: Value| Agent::builder(ModelSpec::from_json(value).unwrap()).build().unwrap_err().message().to_owned();
    assert_eq!(
        check(json!("antropic/x")),
        "model \"antropic/x\": unknown provider \"antropic\"; did you mean \"anthropic\"? For another server give base_url"
    );
    assert_eq!(
        check(json!("gemini/gemini-2.5-pro")),
        "model \"gemini/gemini-2.5-pro\": unknown provider \"gemini\"; did you mean \"google\"? For another server give base_url"
    );
    let error = check(json!("nobody/x"));
    assert!(error.starts_with("model \"nobody/x\": unknown provider \"nobody\"; known are anthropic, openai, "), "{error}");
    assert!(error.ends_with(", openai-compatible, relay, scripted; for another server give base_url"), "{error}");
    assert_eq!(
        check(json!({ "provider": "p", "id": "x", "base_url": "http://h\n/v1" })),
        "base_url \"http://h\\n/v1\": it has a line break or another control character; give an address such as \
         \"http://127.0.0.1:8080/v1\""
    );
    assert_eq!(
        check(json!({ "provider": "p", "id": "x", "base_url": "localhost:8080" })),
        "base_url \"localhost:8080\": it does not begin with http:// or https://; give an address such as \
         \"http://127.0.0.1:8080/v1\""
    );
    assert_eq!(
        check(json!({ "provider": "p", "id": "x", "base_url": "http://h", "protocol": "antropic" })),
        "unknown protocol \"antropic\"; did you mean \"anthropic\"?"
    );
}

#[test]
fn an_error_in_a_script_is_reported_with_its_place() {
    let check = |script: Value| builder(script).build().unwrap_err().message().to_owned();
    assert_eq!(check(json!("x")), "model \"scripted/s\": script: expected a list of answers, got \"x\"");
    assert_eq!(check(json!([[], "x"])), "model \"scripted/s\": script[1]: expected a list of steps, got \"x\"");
    assert_eq!(
        check(json!([[{ "detla": "x" }]])),
        "model \"scripted/s\": script[0][0]: unknown step \"detla\"; did you mean \"delta\"?"
    );
    assert_eq!(
        check(json!([[{ "delta": { "type": "tool_call_start", "id": "a" } }]])),
        "model \"scripted/s\": script[0][0]: delta: tool call: name is missing"
    );
    assert_eq!(check(json!([[{ "wait_ms": -1 }]])), "model \"scripted/s\": script[0][0]: wait_ms: expected milliseconds, got -1");
}

#[tokio::test]
async fn a_script_that_is_used_up_says_so() {
    let error = scripted(json!([])).prompt("go").await.unwrap_err();
    assert_eq!(error.to_string(), "provider: the script has 0 answers, and this is model call 1");
    let agent = scripted(json!([[{ "delta": "x" }, { "end": { "stop_reason": "stop" } }]]));
    agent.prompt("go").await.unwrap();
    let error = agent.prompt("go").await.unwrap_err();
    assert_eq!(error.to_string(), "provider: the script has 1 answer, and this is model call 2");
}

#[test]
fn options_are_set_by_name_all_or_none() {
    let agent = scripted(json!([]));
    let set = |options: Value, spelling| agent.set_options(options.as_object().unwrap(), spelling, &["tools"]);
    set(
        json!({ "system_prompt": "x", "temperature": 0, "max_turns": 3, "headers": { "a": "b" }, "max_tokens": null }),
        Spelling::Snake,
    )
    .unwrap();
    assert_eq!(agent.system_prompt(), "x");
    for (options, spelling, text) in [
        (json!({ "temprature": 1 }), Spelling::Snake, "unknown option \"temprature\"; did you mean \"temperature\"?"),
        (json!({ "baseURL": "x" }), Spelling::Camel, "unknown option \"baseURL\"; did you mean \"baseUrl\"?"),
        (json!({ "tool": "x" }), Spelling::Camel, "unknown option \"tool\"; did you mean \"tools\"?"),
        (json!({ "temperature": "hot" }), Spelling::Snake, "option \"temperature\": expected a number, got \"hot\""),
        (
            json!({ "maxTurns": 1.5 }),
            Spelling::Camel,
            "option \"maxTurns\": expected a whole number of turns (0 for no limit), got 1.5",
        ),
        (
            json!({ "max_parallel_tools": 0 }),
            Spelling::Snake,
            "option \"max_parallel_tools\": expected a whole number of at least 1, got 0",
        ),
        (json!({ "api_key": 5 }), Spelling::Snake, "option \"api_key\": expected text"),
        (json!({ "extraBody": [] }), Spelling::Camel, "option \"extraBody\": expected an object of fields, got []"),
        (
            json!({ "extraBody": { "n": 2 } }),
            Spelling::Camel,
            "option \"extraBody\": the engine writes \"n\" itself; a model gives one answer; leave it out",
        ),
        (
            json!({ "hostedTools": [{}] }),
            Spelling::Camel,
            "option \"hostedTools\": [0]: the object is empty; give it as the provider describes it, such as \
             {\"type\": \"web_search\"} or {\"google_search\": {}}",
        ),
        (
            json!({ "messages": [{ "role": 1 }] }),
            Spelling::Snake,
            "option \"messages\": [0]: role: expected a word such as \"user\", got 1",
        ),
        (
            json!({ "system_prompt": "changed", "validation": "lax" }),
            Spelling::Snake,
            "option \"validation\": expected \"coerce\", \"strict\" or \"off\", got \"lax\"",
        ),
    ] {
        let error = set(options, spelling).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, text));
    }
    assert_eq!(agent.system_prompt(), "x", "nothing of a set with an error is taken");
    let twice = json!([{ "role": "user", "content": "a", "id": "m" }, { "role": "user", "content": "b", "id": "m" }]);
    let all = json!({
        "model": "openai/a", "api_key": "k", "headers": { "b": "c" }, "fallbacks": ["openai/b"],
        "messages": twice, "system_prompt": "changed",
    });
    let error = set(all, Spelling::Snake).unwrap_err();
    let text = "option \"messages\": [1]: the id \"m\" is given to two messages; an id is there once in a transcript";
    assert_eq!(error.message(), text);
    let now = (agent.model(), agent.headers()["a"].clone(), agent.fallbacks().len(), agent.system_prompt());
    assert_eq!(now, ("scripted/s".into(), json!("b"), 0, "x".into()));
}

/// A custom model that streams a long text, a piece per poll or in one.
struct Counts(u32);

impl Model for Counts {
    fn info(&self) -> ModelInfo<'_> {
        ModelInfo { provider: "own", protocol: "counting", id: "c", prices: None }
    }

    fn stream<'a>(&'a self, request: &'a ModelRequest, sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            assert_eq!(request.request.model, "own/c");
            sink.push(Delta::Start { key: 7, block: BlockStart::Text });
            for i in 0..self.0 {
                sink.push(Delta::Append { key: 7, text: format!("{i} ") });
                sink.ready().await;
            }
            sink.push(Delta::Stop { reason: StopReason::Stop, raw: None });
            Ok(())
        })
    }
}

#[tokio::test]
async fn a_model_of_ones_own_and_a_reader_slower_than_it() {
    let agent = Agent::builder(Counts(5000)).build().unwrap();
    let mut run = agent.stream("go").unwrap();
    let mut seen = 0;
    while let Some(event) = run.next().await {
        seen += usize::from(event.kind() == "text_delta");
        if seen % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(seen, 5000);
    let message = run.result().await.unwrap().message.unwrap();
    let assistant = message.as_assistant().unwrap();
    assert_eq!((assistant.provider.as_str(), assistant.protocol.as_str(), assistant.model.as_str()), ("own", "counting", "c"));
    assert!(assistant.usage.cost.is_none(), "no price is known, so there is none, not a zero");
}

#[tokio::test]
async fn asking_for_the_result_throws_away_what_is_unread() {
    let agent = Agent::builder(Counts(20_000)).build().unwrap();
    let mut run = agent.stream("go").unwrap();
    assert_eq!(run.next().await.unwrap().kind(), "agent_start");
    assert!(run.result().await.unwrap().text.ends_with("19999 "), "the full queue did not keep it waiting");
    assert!(run.next().await.is_none());
}

struct Broken(&'static str);

impl Model for Broken {
    fn info(&self) -> ModelInfo<'_> {
        ModelInfo { provider: "own", protocol: "broken", id: "b", prices: None }
    }

    fn stream<'a>(&'a self, _request: &'a ModelRequest, sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            match self.0 {
                "panics" => panic!("lost it"),
                "strays" => sink.push(Delta::Append { key: 3, text: "x".into() }),
                _ => {}
            }
            Ok(())
        })
    }
}

#[tokio::test]
async fn what_models_do_wrong_ends_the_run_with_its_reason() {
    for (how, text) in [
        ("panics", "provider: the model panicked: lost it"),
        ("strays", "protocol: the model's stream goes on with block 3, which was not started or has ended"),
        ("leaves", "stream_truncated: own's answer ended without its closing event"),
    ] {
        let agent = Agent::builder(Broken(how)).build().unwrap();
        let (events, result) = play(&agent).await;
        check(&agent, &events);
        assert_eq!(result.error.unwrap().to_string(), text);
    }
}
