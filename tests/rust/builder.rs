//! The builder and the handle: what is checked, what changes whom, and that no option is forgotten.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::sync::Mutex;

use agent_loop::hook::{HookKind, ToolDecision};
use agent_loop::host::Spelling;
use agent_loop::model::{ModelSource, ThinkingBudgets};
use agent_loop::{Error, ErrorKind, Outcome, PendingRun, Prompt, QueueMode};
use agent_loop_proto::options_of;
use agent_loop_proto::table::options;
use serde_json::json;

use super::*;

#[test]
fn a_builder_is_a_description_that_no_agent_and_no_clone_changes() {
    let first = builder(json!([])).max_turns(3).header("x-a", "1").tool(tool("t", |_, _| async { Ok(json!(1)) }));
    let second =
        first.clone().max_turns(5).header("x-b", "2").before_tool_call(|_, _| async { Ok::<_, String>(ToolDecision::Allow) });
    let (first, second) = (first.build().unwrap(), second.build().unwrap());
    assert_eq!((first.max_turns(), second.max_turns()), (3, 5));
    assert_eq!((first.headers().len(), second.headers().len()), (1, 2));
    assert!(!first.remove_hook(HookKind::BeforeToolCall) && second.remove_hook(HookKind::BeforeToolCall));

    // An agent's clone is the same agent.
    let same = first.clone();
    same.set_max_turns(7);
    assert!(same.remove_tool("t"));
    assert_eq!((first.max_turns(), first.tools().is_empty(), second.tools().is_empty()), (7, true, false));
}

#[test]
fn building_checks_everything_with_the_errors_of_the_setters() {
    let refused = |builder: AgentBuilder| {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        error.message().to_owned()
    };
    let agent = Agent::builder("company/m").base_url("http://h").header("x-kept", "1").build().unwrap();
    let before = |agent: &Agent| (agent.model(), agent.base_url(), agent.fallbacks(), json!(agent.headers()));
    let state = before(&agent);
    for (builder, set) in [
        (Agent::builder("no-slash"), agent.set_model("no-slash")),
        (Agent::builder("opnai/x"), Agent::new("openai/x").unwrap().set_model("opnai/x")),
        (Agent::builder("company/m").base_url("localhost"), agent.set_base_url(Some("localhost"))),
        (Agent::builder("openai/m").fallbacks(["openai/n", "opnai/x"]), agent.set_fallbacks(["openai/n", "opnai/x"])),
        (Agent::builder("openai/m").fallbacks(["openai/n", "x"]), agent.set_fallbacks(["openai/n", "x"])),
        (Agent::builder("openai/m").header("a b", "c"), agent.set_headers([("a b", "c")])),
    ] {
        assert_eq!(refused(builder), set.unwrap_err().message());
    }
    assert_eq!(before(&agent), state, "a refused change changes nothing");

    let double = || tool("t", |_, _| async { Ok(json!(1)) });
    let one = builder(json!([])).tool(double()).build().unwrap();
    assert_eq!(refused(builder(json!([])).tool(double()).tool(double())), one.add_tool(double()).unwrap_err().message());
    assert_eq!(one.tools().iter().count(), 1);
}

#[test]
fn debug_output_of_a_builder_has_no_secrets() {
    let model = r#"{"provider": "company", "id": "m", "headers": {"authorization": "sk-1"}, "base_url": "http://u:sk-2@h"}"#;
    let builder = Agent::builder(model).api_key("sk-3").header("x-key", "sk-4").fallbacks([model]);
    let agent = builder.clone().build().unwrap();
    for text in [format!("{builder:?}"), format!("{builder:#?}"), format!("{agent:?}"), format!("{:?}", ModelSource::from(model))]
    {
        assert!(!text.contains("sk-"), "{text}");
    }
}

/// The options that a builder and an agent have functions for, from the table itself: what is missing does not compile.
macro_rules! options_with_functions {
    (@run origin, $function:expr) => {};
    (@run $name:ident, $function:expr) => {
        let _setter_of_a_run = $function;
    };
    ($names:ident, $agent:ident; $(
        $(#[doc = $doc:literal])* $(#[serde($($serde:tt)*)])*
        $name:ident: $field:ty = $default:expr, $(words $words:literal,)? $(at_least $least:literal,)?
        fn $set:ident $(($argument:ty))? $([$optional:ty])?, $kind:expr, $group:ident, $since:literal;
    )+) => {
        $(
            assert!($names.insert(stringify!($name)));
            assert_eq!(stringify!($set), concat!("set_", stringify!($name)));
            let _setter_of_the_builder: fn(AgentBuilder, $($argument)? $($optional)?) -> AgentBuilder = AgentBuilder::$name;
            options_with_functions!(@run $name, PendingRun::$name as fn(PendingRun, $($argument)? $($optional)?) -> PendingRun);
            let _setter: fn(&Agent, $($argument)? $(Option<$optional>)?) = Agent::$set;
            let default: $field = $default;
            assert_eq!(json!($agent.$name()), json!(default), "{}: the default", stringify!($name));
        )+
    };
}

#[test]
fn every_option_has_a_builder_setter_a_setter_and_a_getter() {
    use agent_loop::context::ContextPolicy;
    use agent_loop::gate::Gate;
    use agent_loop::model::{CacheRetention, ToolChoice};
    use agent_loop::output::OutputSpec;
    use agent_loop::tool::{ExecutionMode, Validation};
    use agent_loop::{Network, SteeringPolicy, ThinkingLevel};
    use serde_json::Map;
    let mut names = BTreeSet::new();
    let agent = scripted(json!([]));
    options_of!(settings, options_with_functions names, agent;);
    options_of!(model, options_with_functions names, agent;);
    options_of!(limits, options_with_functions names, agent;);
    options_of!(retry, options_with_functions names, agent;);
    options_of!(budget, options_with_functions names, agent;);
    // Those that are no plain values are written by hand. A key cannot be read back.
    let by_hand = [
        "model",
        "messages",
        "base_url",
        "api_key",
        "fallbacks",
        "headers",
        "network",
        "limiter",
        "builtin_tools",
        "mcp",
        "record",
        "replay",
        "traces",
        "trace_content",
        "traceparent",
        "agent_name",
    ];
    let all: BTreeSet<&str> = options::names().collect();
    assert_eq!(all, names.into_iter().chain(by_hand).collect());

    let agent = Agent::builder("company/m")
        .base_url("http://h")
        .api_key("k")
        .fallbacks(["company/n"])
        .header("x-a", "b")
        .network(Network::from_json(json!({ "proxy": false })).unwrap())
        .messages([Message::user("before", 1)])
        .build()
        .unwrap();
    assert_eq!((agent.model(), agent.base_url(), agent.messages().len()), ("company/m".into(), Some("http://h".into()), 1));
    assert_eq!((agent.fallbacks(), json!(agent.headers())), (vec!["company/n".to_owned()], json!({ "x-a": "b" })));
    assert_eq!(agent.network(), Network::from_json(json!({ "proxy": false })).unwrap());
    agent.set_network(Network::default());
    agent.set_headers([("x-c", "d")]).unwrap();
    assert_eq!((agent.network(), json!(agent.headers())), (Network::default(), json!({ "x-c": "d" })));
}

#[test]
fn what_is_set_can_be_read_and_taken_back() {
    let budgets = ThinkingBudgets { low: 7, ..ThinkingBudgets::default() };
    let agent = builder(json!([]))
        .system_prompt("Be brief.")
        .temperature(0.5)
        .session_id("s")
        .origin("o")
        .thinking_budgets(budgets)
        .max_parallel_tools(0)
        .steering_mode(QueueMode::All)
        .build()
        .unwrap();
    assert_eq!((agent.system_prompt(), agent.temperature()), ("Be brief.".to_owned(), Some(0.5)));
    assert_eq!((agent.session_id().as_deref(), agent.thinking_budgets().low), (Some("s"), 7));
    assert_eq!(agent.origin(), "o");
    assert_eq!((agent.max_parallel_tools(), agent.steering_mode()), (1, QueueMode::All), "at least one");
    agent.set_temperature(None);
    agent.set_session_id(None);
    agent.set_system_prompt("New.");
    assert_eq!((agent.temperature(), agent.session_id(), agent.system_prompt()), (None, None, "New.".to_owned()));
}

#[tokio::test]
async fn found_e18_a_refused_change_changes_nothing() {
    let agent = builder(json!([says("One."), says("Two."), says("Three.")])).temperature(0.5).build().unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().text, "One.");
    agent.set_fallbacks(["ollama/spare"]).unwrap();
    agent.set_headers([("x-a", "b")]).unwrap();
    let before = || (agent.state_json(), agent.fallbacks(), agent.base_url(), agent.headers(), agent.temperature());
    let known = before();
    let spoilt = r#"{"provider": "ollama", "id": "x", "base_url": "no address"}"#;
    let add = || agent.add_tool(tool("t", |_, _| async { Ok(json!(1)) }));
    type Change<'a> = &'a dyn Fn() -> Result<(), Error>;
    let refused: [(&str, Change<'_>); 7] = [
        ("an unknown provider", &|| agent.set_model("nobody/x")),
        ("no name", &|| agent.set_model("x")),
        ("a bad script", &|| agent.set_model(r#"{"provider": "scripted", "id": "x", "script": 1}"#)),
        ("an unknown fallback", &|| agent.set_fallbacks(["ollama/other", "nobody/x"])),
        ("no address", &|| agent.set_model(spoilt)),
        ("a header", &|| agent.set_headers([("x-c", "d"), ("a b", "c")])),
        ("a second tool of a name", &|| {
            add().unwrap();
            let again = add();
            assert!(agent.remove_tool("t"));
            again
        }),
    ];
    for (what, refused) in refused {
        assert_eq!(refused().unwrap_err().kind(), ErrorKind::InvalidArgument, "{what}");
        assert_eq!(before(), known, "{what}");
    }
    for options in [
        json!({ "model": "nobody/x", "temperature": 1, "messages": [] }),
        json!({ "fallbacks": ["nobody/x"], "headers": { "x-z": "1" }, "temperature": 1 }),
        json!({ "model": "ollama/m", "base_url": "no address", "temperature": 1 }),
        json!({ "model": "ollama/m", "temperature": "hot" }),
        json!({ "model": "ollama/m", "messages": [{ "role": 1 }] }),
    ] {
        let refused = agent.set_options(options.as_object().unwrap(), Spelling::Snake, &[]);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument, "{options}");
        assert_eq!(before(), known, "{options}");
    }
    // The one that was set before a refused one is what stays, where its script had come to.
    assert_eq!(agent.prompt("go").await.unwrap().text, "Two.");
    assert_eq!(agent.set_model("nobody/x").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(agent.prompt("go").await.unwrap().text, "Three.");
}

#[tokio::test]
async fn an_error_has_its_source() {
    let (_socket, address) = closed_port();
    let agent = Agent::builder("company/m").base_url(&format!("http://{address}")).max_retries(0).build().unwrap();
    let error = agent.prompt("go").await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Connection, true));
    let sources: Vec<&(dyn std::error::Error + 'static)> =
        std::iter::successors(error.source(), |source| (*source).source()).collect();
    assert!(sources.iter().any(|source| source.is::<std::io::Error>()), "{sources:?}");
    assert!(!error.to_string().contains('\n'));

    let unreadable = Prompt::from_json(json!([{ "type": "txt" }])).unwrap_err();
    assert!(unreadable.source().is_some_and(|source| source.is::<serde_json::Error>()));
}

#[test]
fn what_a_program_holds_can_be_sent_between_threads() {
    fn sent<T: Send + 'static>() {}
    fn shared<T: Send + Sync + Unpin + 'static>() {}
    shared::<Agent>();
    shared::<AgentBuilder>();
    shared::<Run>();
    shared::<Hook>();
    shared::<FnTool>();
    shared::<agent_loop::CancelToken>();
    shared::<agent_loop::Error>();
    sent::<PendingRun>();
}

/// Options of one run are in the place of the agent's, whatever is set meanwhile, and end with it.
#[tokio::test]
async fn options_of_one_run() {
    let call = json!([{ "delta": { "tool_call": { "id": "a", "name": "t" } } }, { "end": "tool_use" }]);
    let agent = builder(json!([call, [{ "delta": "Done." }, { "end": "stop" }], call, call]))
        .system_prompt("Be brief.")
        .max_turns(1)
        .tool(tool("t", |_, _| async { Ok(json!(1)) }))
        .build()
        .unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&seen);
    agent.set_hook(agent_loop::hook::Hook::on_payload(move |request, _| {
        let payload = request.payload;
        record.lock().unwrap().push((payload["system_prompt"].clone(), payload["options"]["temperature"].clone()));
        async { Ok::<_, String>(None) }
    }));
    let other = agent.clone();
    let subscription = agent.subscribe(move |_event| other.set_max_turns(1));
    let result = agent.prompt("go").system_prompt("Take your time.").temperature(0.5).max_turns(3).await.unwrap();
    drop(subscription);
    assert_eq!((result.outcome, result.turns), (Outcome::Completed, 2));
    assert_eq!(agent.prompt("again").await.unwrap().outcome, Outcome::MaxTurns);
    let own = (json!("Take your time."), json!(0.5));
    assert_eq!(*seen.lock().unwrap(), [own.clone(), own, (json!("Be brief."), json!(null))]);
    assert_eq!((agent.max_turns(), agent.temperature(), &*agent.system_prompt()), (1, None, "Be brief."));
}
