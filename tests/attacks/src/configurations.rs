//! All that is given as JSON, mutated: options, models, tools with their arguments, messages, answers of hooks, scripts, saved
//! loops, events. Each is read, or refused with a text; what was read works.

use std::sync::Arc;

use agent_loop::hook::HookKind;
use agent_loop::host::Spelling;
use agent_loop::machine::wire::{EncodeCache, Served};
use agent_loop::machine::{Action, Config, HookAnswer, Input, Loop, ModelEntry, Start, Tools};
use agent_loop::message::Prompt;
use agent_loop::model::{BlockStart, Delta, Encoder, Request};
use agent_loop::testing::check_events;
use agent_loop::tool::Validation;
use agent_loop::{Agent, Error, Message, ModelSpec, Network, RunResult, StopReason, ToolSpec, transcript};
use serde_json::{Value, json};

use crate::check::{self, SECRET, error_text};
use crate::mutate::mutate;
use crate::random::Random;
use crate::schemas;

type Attack = fn(&mut Random) -> Result<(), String>;

const ATTACKS: &[Attack] =
    &[options, secret_options, model, tool, schema, messages, history, hook_answer, script, saved_loop, events];

/// Each kind of configuration once.
pub(crate) fn play(random: &mut Random) -> Result<u64, String> {
    ATTACKS.iter().try_for_each(|attack| attack(random))?;
    Ok(ATTACKS.len() as u64)
}

/// A refusal has a text; what was read is handed on.
fn read<T>(what: &str, given: &Value, result: Result<T, Error>) -> Result<Option<T>, String> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            error_text(error.message()).map_err(|why| format!("{what} {}: {why}", check::clipped(&given.to_string())))?;
            Ok(None)
        }
    }
}

fn scripted() -> Agent {
    let script = json!([[{ "delta": { "tool_call": { "id": "a", "name": "t", "arguments": {} } } }, { "end": {} }],
        [{ "delta": "Done." }, { "end": {} }]]);
    let spec = ModelSpec::from_json(json!({ "provider": "scripted", "id": "s", "script": script })).expect("a model");
    Agent::new(spec).expect("an agent")
}

/// Runs a scripted agent to its end.
fn prompt(agent: &Agent) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        match agent.stream("go") {
            Ok(run) => check::run(agent, run).await.map(drop),
            Err(error) => error_text(error.message()),
        }
    })
}

fn all_options() -> Value {
    let mut all = json!({
        "system_prompt": "Be brief.", "thinking_level": "high", "raw_events": true, "max_turns": 3, "steering_mode": "all",
        "follow_up_mode": "one_at_a_time", "steering_policy": "after_batch", "tool_execution": "sequential",
        "max_parallel_tools": 2, "validation": "strict", "max_result_bytes": 100, "max_message_bytes": 1000,
        "max_result_bytes_kept": 1000, "max_transcript_bytes": 10_000, "abort_grace_ms": 10, "temperature": 0.5,
        "thinking_budgets": { "low": 100, "high": 2000 }, "max_tokens": 100, "stop_sequences": ["x", "y"],
        "tool_choice": "auto", "session_id": "s1", "origin": "o1", "cache_retention": "long", "connect_timeout_ms": 100,
        "first_byte_timeout_ms": 100, "idle_timeout_ms": 100, "request_timeout_ms": 1000, "tool_timeout_ms": 100,
        "run_timeout_ms": 10_000, "max_cost": 0.5, "max_total_tokens": 1000, "max_output_tokens_total": 500, "max_tool_calls": 3,
        "max_run_ms": 1000, "max_repeated_calls": 2, "listener_timeout_ms": 100, "max_retries": 1, "retry_base_ms": 1,
        "max_retry_delay_ms": 10, "headers": { "x-a": "b" }, "base_url": "http://127.0.0.1:9/v1",
        "network": { "proxy": "http://127.0.0.1:9", "no_proxy": ["localhost"], "roots": "bundled", "resolve": {} },
        "messages": [{ "role": "user", "content": "hi" }],
    });
    let sampling = json!({
        "top_p": 0.5, "top_k": 5, "seed": -1, "frequency_penalty": 1, "presence_penalty": -1.5,
        "extra_body": { "x": { "y": null } },
        "hosted_tools": [{ "type": "web_search" }],
    });
    if let (Value::Object(all), Value::Object(sampling)) = (&mut all, sampling) {
        all.extend(sampling);
    }
    all
}

fn options(random: &mut Random) -> Result<(), String> {
    let agent = scripted();
    let mut all = all_options();
    // Few at a time, so that most are taken.
    if let Value::Object(fields) = &mut all {
        fields.retain(|_, _| random.one_in(4));
    }
    mutate(&mut all, random);
    let Value::Object(given) = &all else { return Ok(()) };
    let before = agent.state_json();
    let spelling = if random.one_in(3) { Spelling::Camel } else { Spelling::Snake };
    if read("options", &all, agent.set_options(given, spelling, &[]))?.is_none() && agent.state_json() != before {
        return Err(format!("refused options changed something: {}", check::clipped(&all.to_string())));
    }
    // Nothing is sent anywhere: only the script answers.
    if agent.model() == "scripted/s" && agent.fallbacks().is_empty() { prompt(&agent) } else { Ok(()) }
}

/// Secret options of any shape: no text shows what was in them.
fn secret_options(random: &mut Random) -> Result<(), String> {
    let secret = || -> Value { SECRET.into() };
    let wrapped = match random.below(6) {
        0 => json!([SECRET]),
        1 => json!({ "value": SECRET }),
        2 => json!(format!("{SECRET}\n")),
        3 => json!(format!("\u{0}{SECRET}☃")),
        4 => json!([[{ "authorization": SECRET }]]),
        _ => secret(),
    };
    let (scheme, host) = (*random.pick(&["http", "ftp", "socks5", "", "h p"]), random.text());
    let address = format!("{scheme}://user:{SECRET}@h{host}/v1?key={SECRET}");
    let given = match random.below(8) {
        0 => json!({ "api_key": wrapped }),
        1 => json!({ "headers": { "authorization": wrapped } }),
        2 => json!({ "headers": wrapped }),
        3 => json!({ "network": { "proxy": address } }),
        4 => json!({ "network": { "proxy": wrapped } }),
        5 => json!({ "base_url": address }),
        6 => json!({ "network": wrapped }),
        _ => json!({ "model": { "provider": "p", "id": "m", "protocol": "openai_chat", "headers": { "x-api-key": wrapped },
            "base_url": address } }),
    };
    let agent = scripted();
    let Value::Object(fields) = &given else { return Ok(()) };
    read("options", &given, agent.set_options(fields, Spelling::Snake, &[]))?;
    let state = agent.state_json().to_string() + &format!("{agent:?}");
    if state.contains(SECRET) { Err(format!("the state shows a secret: {}", check::clipped(&state))) } else { Ok(()) }
}

fn model(random: &mut Random) -> Result<(), String> {
    let mut spec = json!({
        "provider": random.pick(&["anthropic", "openai", "google", "google-vertex", "azure-openai", "deepseek", "p"]),
        "id": "m", "label": "M", "base_model": "anthropic/claude-sonnet-4-5", "protocol": "anthropic", "base_url": "http://h/v1",
        "headers": { "x-a": "b" }, "project": "p", "location": "europe-west1", "api_version": "1", "context_window": 1000,
        "max_output_tokens": 100, "input": ["text", "image"], "thinking": true,
        "cost": { "input": 1, "output": 2, "cache_read": 0.1, "cache_write": 1.2 }, "quirks": { "stream_usage": false },
    });
    if let Value::Object(fields) = &mut spec {
        fields.retain(|name, _| matches!(name.as_str(), "provider" | "id") || random.one_in(2));
    }
    mutate(&mut spec, random);
    let Some(model) = read("model", &spec, ModelSpec::from_json(spec.clone()))? else { return Ok(()) };
    read("model", &spec, Agent::new(model.clone()))?;
    let Some(served) = read("model", &spec, Served::of(&model, None, &|_| None))? else { return Ok(()) };
    let request = Request { messages: vec![Arc::new(Message::user("hi", 0))], ..Request::default() };
    let body = Encoder::new(model, served).encode(&mut EncodeCache::default(), &request).body;
    serde_json::from_slice::<Value>(&body).map(drop).map_err(|error| format!("model {spec}: the request is no JSON: {error}"))
}

fn tool(random: &mut Random) -> Result<(), String> {
    let mut spec = json!({
        "name": "weather", "label": "Weather", "description": "The weather.", "execution_mode": "parallel", "timeout_ms": 100,
        "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] },
    });
    mutate(&mut spec, random);
    read("tool", &spec, ToolSpec::from_json(spec.clone())).map(drop)
}

fn schema(random: &mut Random) -> Result<(), String> {
    let mut schema = schemas::object(random);
    let mut arguments = schemas::arguments(&schema, random);
    if random.one_in(2) {
        mutate(&mut schema, random);
    }
    if random.one_in(2) {
        mutate(&mut arguments, random);
    }
    let Some(tool) = read("schema", &schema, ToolSpec::new("t", "A tool.", schema.clone()))? else { return Ok(()) };
    let Value::Object(arguments) = arguments else { return Ok(()) };
    for validation in [Validation::Coerce, Validation::Strict, Validation::Off] {
        if let Err(why) = tool.check(&arguments, validation) {
            error_text(&why).map_err(|why| format!("schema {schema}, arguments {}: {why}", json!(arguments)))?;
        }
    }
    Ok(())
}

/// A transcript with each kind of message and block.
fn whole_transcript() -> Value {
    json!([
        { "role": "user", "content": [
            { "type": "text", "text": "Look." }, { "type": "image", "data": "aGk=", "mime_type": "image/png" }],
          "timestamp": 1, "id": "u1", "metadata": { "a": 1 } },
        { "role": "assistant", "content": [
            { "type": "thinking", "thinking": "Hm.", "signature": "s" }, { "type": "text", "text": "I look.", "signature": "t" },
            { "type": "tool_call", "id": "c1", "name": "weather", "arguments": { "city": "Oslo" }, "signature": "u" },
            { "type": "tool_call", "id": "c2", "name": "weather", "arguments": {}, "raw_arguments": "{oh" }],
          "provider": "anthropic", "protocol": "anthropic", "model": "claude-sonnet-4-5", "stop_reason": "tool_use",
          "usage": { "input": 3, "output": 4, "cache_read": 0, "cache_write": 0, "reasoning": 1, "total": 7, "cost": null },
          "raw_stop_reason": "tool_use", "response_id": "r1", "response_model": "m2", "timestamp": 2 },
        { "role": "tool_result", "tool_call_id": "c1", "tool_name": "weather", "content": [{ "type": "text", "text": "rain" }],
          "details": { "mm": 3 }, "is_error": false, "timestamp": 3 },
        { "role": "tool_result", "tool_call_id": "c2", "tool_name": "weather", "content": [], "details": null, "is_error": true,
          "timestamp": 4 },
        { "role": "note", "anything": ["of", "the", "application"] },
        { "role": "assistant", "content": [], "provider": "p", "protocol": "openai_chat", "model": "m", "stop_reason": "error",
          "error": { "kind": "server", "message": "down", "retryable": true }, "timestamp": 5 },
        { "role": "user", "content": "And now?", "timestamp": 6 }
    ])
}

fn messages(random: &mut Random) -> Result<(), String> {
    let mut given = whole_transcript()[random.place(7)].take();
    mutate(&mut given, random);
    if let Some(message) = read("message", &given, Message::from_json(given.clone()))? {
        let messages = [Arc::new(message)];
        check::read_back(&messages).and_then(|()| check::sendable(&messages))?;
    }
    if let Some(prompt) = read("prompt", &given, Prompt::from_json(given.clone()))? {
        let agent = scripted();
        if read("prompt", &given, agent.stream(prompt))?.is_none() && !agent.messages().is_empty() {
            return Err(format!("a refused prompt is in the transcript: {given}"));
        }
    }
    Ok(())
}

fn history(random: &mut Random) -> Result<(), String> {
    let mut given = whole_transcript();
    mutate(&mut given, random);
    let Some(messages) = read("history", &given, transcript::read_history(given.clone()))? else { return Ok(()) };
    let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
    check::read_back(&messages)?;
    check::sendable(&messages).map_err(|why| format!("history {}: {why}", check::clipped(&given.to_string())))?;
    let agent = scripted();
    if read("history", &given, agent.replace_messages(messages))?.is_some() && random.one_in(4) {
        return prompt_ignoring_results(&agent);
    }
    Ok(())
}

/// The history may have calls without results; the run on it ends.
fn prompt_ignoring_results(agent: &Agent) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    match runtime.block_on(agent.prompt("go").into_future()) {
        Ok(_) => Ok(()),
        Err(error) => error_text(error.message()),
    }
}

fn hook_answer(random: &mut Random) -> Result<(), String> {
    let result = json!({ "content": [{ "type": "text", "text": "x" }], "details": 1, "is_error": true, "terminate": true });
    let bases = [
        json!([{ "role": "user", "content": "x" }]),
        json!({ "block": "no", "terminate": true }),
        json!({ "arguments": { "a": 1 } }),
        result,
        json!({ "model": "anthropic/m", "thinking_level": "low", "messages": [{ "role": "user", "content": "x" }] }),
        json!("sk-1"),
        json!({ "bearer": "sk-1", "headers": { "a": "b" } }),
        json!(true),
    ];
    let mut given = random.pick(&bases).clone();
    mutate(&mut given, random);
    let kind = *random.pick(HookKind::ALL);
    match HookAnswer::from_json(kind, given.clone()) {
        Ok(_) => Ok(()),
        Err(why) => error_text(&why).map_err(|why| format!("{kind} answers {given}: {why}")),
    }
}

fn script(random: &mut Random) -> Result<(), String> {
    let mut script = json!([
        [{ "delta": "a" }, { "delta": { "thinking": "b" } },
         { "delta": { "tool_call": { "id": "c", "name": "t", "arguments": {} } } },
         { "usage": { "input": 1, "output": 2 } }, { "wait_ms": 5 },
         { "end": { "stop_reason": "tool_use", "usage": { "input": 3 }, "response_id": "r" } }],
        [{ "delta": { "type": "tool_call_start", "id": "d", "name": "t" } },
         { "delta": { "type": "tool_call_delta", "delta": "{}" } }, { "delta": { "type": "tool_call_end" } },
         { "diagnostic": { "code": "x", "message": "m", "data": {} } }, { "end": "tool_use" }],
        [{ "error": { "kind": "overloaded", "message": "busy", "retry_after_ms": 10 } }],
        [{ "delta": "c" }, { "end": "stop" }]
    ]);
    mutate(&mut script, random);
    let spec = json!({ "provider": "scripted", "id": "s", "script": script });
    let Some(spec) = read("script", &script, ModelSpec::from_json(spec))? else { return Ok(()) };
    let Some(agent) = read("script", &script, Agent::new(spec))? else { return Ok(()) };
    agent.add_tool(crate::hosts::echo("t")).expect("a tool");
    prompt(&agent).map_err(|why| format!("script {}: {why}", check::clipped(&script.to_string())))
}

/// A loop that is saved anywhere, changed, and goes on.
fn saved_loop(random: &mut Random) -> Result<(), String> {
    let model = ModelEntry::new(0, "p", "p", "m");
    let tool = ToolSpec::new("t", "A tool.", json!({ "type": "object" })).expect("a tool");
    let mut config = Config::new(model.name(), Ok(model));
    config.tools = Tools::from(vec![Arc::new(tool)]);
    let mut run = Loop::new(config, Start::new("run", 0, vec![Message::user("go", 0)]));
    for _ in 0..random.below(40) {
        step(&mut run, 0);
    }
    let mut saved: Value = serde_json::from_str(&run.save().map_err(|error| error.to_string())?).map_err(|e| e.to_string())?;
    mutate(&mut saved, random);
    let text = saved.to_string();
    let Some(mut run) = read("a saved loop", &saved, Loop::load(&text))? else { return Ok(()) };
    // Whatever it goes on with, nothing panics.
    (0..300).all(|now_ms| step(&mut run, now_ms * 10_000));
    run.save().map(drop).map_err(|error| error.message().to_owned())
}

/// Polls once and does what is asked for; whether the run goes on.
fn step(run: &mut Loop, now_ms: u64) -> bool {
    match run.poll(now_ms) {
        Some(Action::CallModel(asked)) => {
            let block = BlockStart::ToolCall { id: "c".into(), name: "t".into() };
            let block = if asked.request.messages.len() == 1 { block } else { BlockStart::Text };
            let deltas = vec![
                Delta::Start { key: 0, block },
                Delta::Append { key: 0, text: "{}".into() },
                Delta::Stop { reason: StopReason::Stop, raw: None },
            ];
            run.handle(Input::ModelDeltas { call: asked.call, deltas });
            run.handle(Input::ModelEnd { call: asked.call, result: Ok(()) });
        }
        Some(Action::CallTool { call, .. }) => run.handle(Input::ToolDone { call, result: Ok("ran".into()) }),
        Some(Action::AskHook { question_id, .. }) => {
            run.handle(Input::HookAnswer { question_id, answer: Ok(Box::new(HookAnswer::Nothing)) });
        }
        Some(_) => {}
        None => return !run.is_over(),
    }
    true
}

fn events(random: &mut Random) -> Result<(), String> {
    let agent = scripted();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (mut written, result) = runtime.block_on(async {
        let mut run = agent.stream("go").map_err(|error| error.to_string())?;
        let mut written = Vec::new();
        while let Some(event) = run.next().await {
            written.push(json!(event));
        }
        Ok::<_, String>((Value::Array(written), json!(run.ended().await.map_err(|error| error.to_string())?)))
    })?;
    mutate(&mut written, random);
    if let Value::Array(events) = &written {
        read("events", &Value::Null, check_events(events))?;
    }
    let mut result = result;
    mutate(&mut result, random);
    let _ = serde_json::from_value::<RunResult>(result);
    let mut network = json!({ "proxy": "http://h:1", "no_proxy": ["a"], "roots": "both", "resolve": { "h": "127.0.0.1:1" } });
    mutate(&mut network, random);
    read("network", &network, Network::from_json(network.clone()))?;
    Ok(())
}
