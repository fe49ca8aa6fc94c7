//! The chain of models for a turn whose model fails, over HTTP: who is asked, with which key, in which format.

use std::sync::Arc;

use agent_loop::hook::Hook;
use agent_loop::host::Spelling;
use agent_loop::model::ModelCall;
use agent_loop::{Agent, Context, ErrorKind, Message, ModelSpec};
use agent_mock::{Answer, Failure, Mock, Script, Speech};
use serde_json::json;

fn fails() -> Mock {
    Mock::start(Script::new().strict().answer(Answer::error(Failure::Quota).times(9)))
}

fn answers() -> Mock {
    Mock::start(Script::new().strict().answer(Answer::message(Speech::text("Here.")).times(9)))
}

fn spec(provider: &str, id: &str, base_url: Option<&str>) -> ModelSpec {
    let mut spec = ModelSpec::parse(&format!("{provider}/{id}")).unwrap();
    spec.base_url = base_url.map(str::to_owned);
    spec
}

#[tokio::test]
async fn another_provider_is_asked_in_its_own_format_without_the_agents_key() {
    let (first, second) = (fails(), Mock::start(Script::new().answer(Answer::message(Speech::text("Here.")))));
    let agent = Agent::builder("openai/gpt-5")
        .base_url(&first.url())
        .api_key("sk-first")
        .header("x-api-key", "sk-header")
        .header("x-team", "blue")
        .fallbacks([spec("anthropic", "claude-x", Some(&second.url()))])
        .build()
        .unwrap();
    let result = agent.prompt("go").await.unwrap();
    assert_eq!(result.text, "Here.");
    let Message::Assistant(message) = &*result.messages[1] else { panic!("no answer") };
    assert_eq!(
        (message.provider.as_str(), message.protocol.as_str(), message.model.as_str()),
        ("anthropic", "anthropic", "claude-x")
    );
    let asked = &second.requests()[0];
    assert_eq!(asked.path, "/v1/messages");
    let all = format!("{asked:?}");
    assert!(!all.contains("sk-first") && !all.contains("sk-header"), "{all}");
    assert_eq!(asked.headers.get("x-team").map(String::as_str), Some("blue"));
}

#[tokio::test]
async fn another_model_of_the_same_server_is_asked_there_with_the_same_key() {
    let mock = Mock::start(
        Script::new().strict().answer(Answer::error(Failure::NotFound)).answer(Answer::message(Speech::text("Here."))),
    );
    let agent = Agent::builder("openai/new")
        .base_url(&mock.url())
        .api_key("sk-1")
        .fallbacks(vec![spec("openai", "old", None)])
        .build()
        .unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().text, "Here.");
    let asked = mock.requests();
    let models: Vec<_> = asked.iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(models, [json!("new"), json!("old")]);
    assert!(asked.iter().all(|request| request.headers.get("authorization").is_some_and(|key| key == "Bearer sk-1")));
}

#[tokio::test]
async fn each_turn_begins_with_the_agents_own_model() {
    let (first, second) = (fails(), answers());
    let agent = Agent::builder("openai/m").base_url(&first.url()).api_key("k").build().unwrap();
    let mut other = spec("groq", "n", Some(&second.url()));
    other.headers.insert("authorization".into(), json!("Bearer k2"));
    agent.set_fallbacks([other]).unwrap();
    for _ in 0..2 {
        assert_eq!(agent.prompt("go").await.unwrap().text, "Here.");
    }
    assert_eq!((first.requests().len(), second.requests().len()), (2, 2));
}

#[tokio::test]
async fn the_last_failure_is_the_runs_and_says_what_the_first_one_was() {
    let refused = |status, said: &str| Answer::json(json!({ "error": { "message": said } })).status(status);
    let long = "x".repeat(300);
    let mock = Mock::start(Script::new().answer(refused(400, &long)).answer(refused(404, "gone")).answer(refused(402, "Pay.")));
    let agent = Agent::builder("openai/m").base_url(&mock.url()).api_key("k").build().unwrap();
    agent.set_fallbacks(["openai/n", "openai/o"]).unwrap();
    let error = agent.prompt("go").await.unwrap_err();
    assert_eq!((error.kind(), error.http_status()), (ErrorKind::Quota, Some(402)));
    let server = format!("openai at {}", mock.url().replace("http://", ""));
    let start = format!("{server} answered 402: Pay. Before that, openai/m failed: {server} answered 400: xxx");
    assert!(error.message().starts_with(&start) && error.message().ends_with("xxx…"), "{error}");
    assert!(error.message().len() < start.len() + 200, "{error}");
}

#[tokio::test]
async fn a_model_that_cannot_be_used_is_refused_before_the_first_request() {
    let mock = answers();
    let builder = Agent::builder("openai/m").base_url(&mock.url()).api_key("k");
    let text = "option \"fallbacks\": [1]: model \"opnai/gpt-5\": unknown provider \"opnai\"; did you mean \"openai\"? For \
                another server give base_url";
    let error = builder.clone().fallbacks(["openai/n", "opnai/gpt-5"]).build().unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, text));
    // As the bindings make it: found out when a run starts.
    let agent = builder.fallbacks(["openai/n", "opnai/gpt-5"]).build_unchecked().unwrap();
    let error = agent.prompt("go").await.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, text));
    let error = agent_loop::run(&Context::default(), "go", &agent).stream().err().unwrap();
    assert_eq!(error.message(), text);
    assert!(mock.requests().is_empty());

    agent.set_fallbacks(vec![spec("opnai", "gpt-5", Some(&mock.url()))]).unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().text, "Here.", "at a custom address any name is good");
}

#[tokio::test]
async fn a_refused_model_changes_nothing() {
    let mock = answers();
    let agent = Agent::builder("openai/m").base_url(&mock.url()).api_key("k").build().unwrap();
    let unknown = "model \"opnai/x\": unknown provider \"opnai\"; did you mean \"openai\"? For another server give base_url";
    let refused = |result: Result<(), agent_loop::Error>, text: &str| {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, text));
        assert_eq!(agent.model(), "openai/m");
    };
    let set = |options: serde_json::Value| agent.set_options(options.as_object().unwrap(), Spelling::Snake, &[]);

    refused(
        agent.set_fallbacks(vec![spec("openai", "n", None), spec("opnai", "x", None)]),
        &format!("option \"fallbacks\": [1]: {unknown}"),
    );
    refused(set(json!({ "fallbacks": ["opnai/x"] })), &format!("option \"fallbacks\": [0]: {unknown}"));
    let address = "base_url \"localhost\": it does not begin with http:// or https://; \
                   give an address such as \"http://127.0.0.1:8080/v1\"";
    refused(agent.set_base_url(Some("localhost")), address);
    refused(set(json!({ "base_url": "localhost", "system_prompt": "New." })), address);
    refused(set(json!({ "base_url": null, "model": "opnai/x" })), unknown);
    let script = ModelSpec::from_json(json!({ "provider": "scripted", "id": "s", "script": [[{ "dleta": "x" }]] })).unwrap();
    refused(agent.set_model(script), "model \"scripted/s\": script[0][0]: unknown step \"dleta\"; did you mean \"delta\"?");
    assert_eq!(agent.system_prompt(), "");
    assert_eq!(agent.prompt("go").await.unwrap().text, "Here.", "address, model and key are as they were");

    let agent = Agent::new("openai/m").unwrap();
    assert_eq!(agent.set_model("opnai/x").unwrap_err().message(), unknown);
    agent.set_provider(Some(Arc::new(|_| ()))).unwrap();
    agent.set_model("opnai/x").unwrap();
    assert_eq!(agent.set_provider(None).unwrap_err().message(), unknown);
    agent.set_fallbacks(["nobody/x"]).unwrap();
}

/// A custom provider that says its name and the model's, or fails.
fn custom(name: &'static str, fails: bool) -> impl Fn(ModelCall) + Send + Sync + 'static {
    move |call| {
        let chunk = match fails {
            true => json!({ "error": { "kind": "quota", "message": "no more" } }),
            false => json!(format!("{name}: {}", call.request().request.model)),
        };
        call.push(&chunk).unwrap();
        call.finish();
    }
}

#[tokio::test]
async fn found_e10_custom_providers_and_known_ones_are_mixed() {
    let server = Mock::start(Script::new().answer(Answer::message(Speech::text("Here.")).times(9)));
    let broken = fails();
    // A known provider falls back on a custom one, and the other way round.
    let agent = Agent::builder("openai/m")
        .base_url(&broken.url())
        .api_key("k")
        .custom_provider("mine", custom("mine", false))
        .custom_provider("tired", custom("tired", true))
        .fallbacks(["tired/a", "mine/b"])
        .build()
        .unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().text, "mine: mine/b");
    let agent = Agent::builder("tired/a")
        .custom_provider("mine", custom("mine", false))
        .custom_provider("tired", custom("tired", true))
        .fallbacks([spec("openai", "m", Some(&server.url()))])
        .build()
        .unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().text, "Here.");
    assert_eq!((broken.requests().len(), server.requests().len()), (1, 1));
    // One that has a known provider's name stands for it.
    agent.set_custom_provider("openai", Some(Arc::new(custom("own", false)))).unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().text, "own: openai/m");
    agent.set_custom_provider("openai", None).unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().text, "Here.");
}

#[tokio::test]
async fn found_e10_the_provider_without_a_name_is_not_asked_for_another_vendor_s_model() {
    let server = Mock::start(Script::new().answer(Answer::message(Speech::text("Here.")).times(9)));
    let own = |call: ModelCall| {
        let model = call.request().request.model.clone();
        match model.as_str() {
            "openai/first" => call.push(&json!({ "error": { "kind": "quota", "message": "no more" } })).unwrap(),
            _ => call.push(&json!(model)).unwrap(),
        }
        call.finish();
    };
    let agent = Agent::builder("openai/first").provider(own).build().unwrap();
    let fallbacks = |models: Vec<ModelSpec>| agent.set_fallbacks(models).unwrap();
    fallbacks(vec![spec("anthropic", "claude-x", Some(&server.url()))]);
    assert_eq!(agent.prompt("go").await.unwrap().text, "Here.");
    fallbacks(vec![
        ModelSpec::from_json(json!({
            "provider": "scripted", "id": "s", "script": [[{ "delta": "From a script." }, { "end": {} }]],
        }))
        .unwrap(),
    ]);
    assert_eq!(agent.prompt("go").await.unwrap().text, "From a script.");
    // Those of its own provider, and of unknown providers, it is.
    for model in ["openai/second", "nobody/x"] {
        fallbacks(vec![ModelSpec::parse(model).unwrap()]);
        assert_eq!(agent.prompt("go").await.unwrap().text, model);
    }
    agent.set_model("anthropic/claude-x").unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().text, "anthropic/claude-x", "the agent's own model always");
}

#[tokio::test]
async fn found_e10_a_provider_that_is_needed_stays() {
    let agent = Agent::builder("mine/a").custom_provider("mine", custom("mine", false)).build().unwrap();
    let unknown = "model \"mine/a\": unknown provider \"mine\"";
    assert!(agent.set_custom_provider("mine", None).unwrap_err().message().starts_with(unknown));
    assert_eq!(agent.prompt("go").await.unwrap().text, "mine: mine/a");
    agent.set_model("openai/m").unwrap();
    agent.set_fallbacks(["mine/a"]).unwrap();
    assert!(agent.set_custom_provider("mine", None).unwrap_err().message().starts_with("option \"fallbacks\": [0]: model"));
    agent.set_fallbacks(Vec::<ModelSpec>::new()).unwrap();
    agent.set_custom_provider("mine", None).unwrap();
    assert!(agent.set_model("mine/a").is_err());
    for name in ["", "a/b"] {
        let error = agent.set_custom_provider(name, Some(Arc::new(custom("x", false)))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("expected a name without a slash"), "{error}");
        assert!(Agent::builder("openai/m").custom_provider(name, custom("x", false)).build().is_err());
    }
}

#[test]
fn what_an_environment_variable_may_still_give_is_accepted() {
    if std::env::var_os("GOOGLE_CLOUD_LOCATION").is_some() {
        println!("skipped: GOOGLE_CLOUD_LOCATION is set");
        return;
    }
    let agent = Agent::new("openai/m").unwrap();
    agent.set_model(ModelSpec::parse("google-vertex/gemini-2.5-flash").unwrap()).unwrap();
    assert!(agent.check().unwrap_err().message().contains("set the environment variable GOOGLE_CLOUD_"));
}

#[tokio::test]
async fn a_model_that_became_unusable_during_a_run_is_passed_over() {
    if std::env::var_os("GOOGLE_CLOUD_LOCATION").is_some() {
        println!("skipped: GOOGLE_CLOUD_LOCATION is set");
        return;
    }
    let first = fails();
    let agent = Agent::builder("openai/m").base_url(&first.url()).api_key("k").build().unwrap();
    let late = agent.clone();
    agent.set_hook(Hook::before_run(move |_, _| {
        // The first one waits for a variable of the environment.
        late.set_fallbacks(["google-vertex/gemini-2.5-flash", "openai/n"]).unwrap();
        async { Ok::<_, &str>(()) }
    }));
    let error = agent.prompt("go").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Quota, "{error}");
    assert_eq!(first.requests().len(), 2);
}
