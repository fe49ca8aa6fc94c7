//! Recorded agent loops of other clients, played turn by turn through the real one: the recorded server's answers in, our
//! requests compared with theirs. The recordings are not part of this repository: where they are not at hand
//! (`../shared/wire/loops` beside it), the test says that it skips.

mod asked;
mod difference;
mod recording;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use agent_loop::hook::Hook;
use agent_loop::host::Spelling;
use agent_loop::{Agent, AssistantMessage, ContentBlock, FnTool, Message, ModelSpec, Outcome, Prompt, ToolSet, ToolSpec, Usage};
use agent_mock::{Mock, Script};
use serde_json::{Map, Value, json};

use self::asked::{Asked, Offer};
use self::difference::{Difference, KNOWN};
use self::recording::{Answered, Recording, Turn};

#[tokio::test]
async fn recorded_loops_run_through_ours_with_requests_that_mean_the_same() {
    let Some(folder) = recording::folder() else {
        println!("skipped: no recorded loops at hand");
        return;
    };
    let loops = recording::all(&folder);
    let (mut turns, mut alike, mut wrong) = (0, 0, Vec::new());
    for recording in &loops {
        let (compared, found) = play(recording).await;
        turns += recording.turns.len();
        alike += compared;
        wrong.extend(found.into_iter().map(|what| format!("{}: {what}", recording.name)));
    }
    for (name, ..) in KNOWN {
        if !loops.iter().any(|recording| recording.name == *name) {
            wrong.push(format!("{name}: listed, but not there"));
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    assert!(turns > 0, "no loop was played");
    println!("played {} loops of {turns} turns; {alike} requests mean what the recorded ones mean", loops.len());
}

/// The server of a recording as a user would name it: its row where there is one, else by its format.
fn spec(recording: &Recording, url: &str) -> Value {
    let (protocol, provider) = match (recording.api.as_str(), recording.provider.as_str()) {
        ("anthropic-messages", "vertex") => ("anthropic", "google-vertex"),
        ("anthropic-messages", _) => ("anthropic", "anthropic"),
        ("google-generative", "vertex") => ("gemini", "google-vertex"),
        ("google-generative", _) => ("gemini", "google"),
        ("openai-responses", "azure") => ("openai_responses", "azure-openai"),
        ("openai-responses", name @ ("openai" | "xai" | "deepseek")) => ("openai_responses", name),
        ("openai-responses", _) => ("openai_responses", "openai-compatible"),
        (_, "llamacpp") => ("openai_chat", "llama-cpp"),
        (_, "azure" | "copilot" | "avian" | "venice" | "vercel-gateway") => ("openai_chat", "openai-compatible"),
        (_, name) => ("openai_chat", name),
    };
    // Quirks of servers without a row.
    let quirks = match recording.provider.as_str() {
        "avian" => json!({ "reasoning_field": "reasoning_content" }),
        "vercel-gateway" => json!({ "reasoning_field": "reasoning_details", "thinking": "nested_switch" }),
        _ => json!({}),
    };
    json!({
        "provider": provider, "protocol": protocol, "id": recording.first().0.model, "base_url": format!("{url}/v1"),
        "quirks": quirks, "project": "p", "location": "us-east5",
    })
}

/// The options of the first request, in our words.
fn options(first: &Asked) -> Map<String, Value> {
    let mut options: Map<String, Value> = first.options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    match options.remove("thinking") {
        Some(Value::Number(tokens)) => {
            options.insert("thinking_level".into(), "high".into());
            options.insert("thinking_budgets".into(), json!({ "high": tokens }));
        }
        Some(Value::String(word)) => _ = options.insert("thinking_level".into(), word.into()),
        Some(_) => _ = options.insert("thinking_level".into(), "medium".into()),
        None => {}
    }
    // Calls in their order, so that results can be given in it.
    options.insert("tool_execution".into(), "sequential".into());
    options.insert("retry_base_ms".into(), 0.into());
    options
}

/// What the tools of a loop share.
struct Play {
    agent: Agent,
    results: Mutex<VecDeque<Answered>>,
    /// System prompt and tools by turn.
    offers: Vec<Option<(String, ToolSet)>>,
    turn: Mutex<usize>,
}

impl Play {
    /// Offers what the client offered in a turn.
    fn offer(&self, turn: usize) {
        if let Some(Some((system, tools))) = self.offers.get(turn) {
            self.agent.set_system_prompt(system);
            self.agent.set_tools(tools.clone());
        }
    }

    fn answer(&self) -> Value {
        let Some(Answered { output, steering }) = self.results.lock().unwrap().pop_front() else { return Value::Null };
        if !steering.is_empty() {
            self.agent.steer(Prompt::from(steering)).unwrap();
        }
        output
    }
}

/// The tools of a request. A server's own, which the model calls like ours, needs one here, too.
fn tools(asked: &Asked, answer: &Arc<dyn Fn() -> Value + Send + Sync>) -> ToolSet {
    let mut set = ToolSet::default();
    for (name, offer) in &asked.tools {
        let (description, schema) = match offer {
            Offer::Ours { description, schema } => (description.clone(), schema.clone()),
            Offer::Theirs(tool) => {
                let given = tool.get("input_schema").or(tool.get("parameters"));
                (String::new(), given.cloned().unwrap_or_else(|| json!({ "type": "object" })))
            }
        };
        let answer = Arc::clone(answer);
        let spec = ToolSpec::new(name, &description, schema).unwrap();
        let tool = FnTool::with_spec(spec, move |_, _| {
            let answer = answer();
            async move { Ok::<_, String>(answer) }
        });
        set.add(Arc::new(tool)).unwrap();
    }
    set
}

/// Puts a server's own tools into our request, as an application does that wants them.
fn with_tools_of_the_server(mut body: Map<String, Value>, theirs: &[(String, Value)]) -> Map<String, Value> {
    if let Some(tools) = body.get_mut("tools").and_then(Value::as_array_mut) {
        for (name, tool) in theirs {
            tools.retain(|ours| ours["name"] != json!(name));
            tools.push(tool.clone());
        }
    }
    body
}

/// Plays a loop; gives how many requests were compared, and what is not as recorded.
async fn play(recording: &Recording) -> (usize, Vec<String>) {
    let script = recording.turns.iter().fold(Script::new(), |script, turn| script.answer(turn.response.answer(&recording.api)));
    let mock = Mock::start(script);
    let first = recording.first().0;
    let theirs: Vec<(String, Value)> = first
        .tools
        .iter()
        .filter_map(|(name, offer)| match offer {
            Offer::Theirs(tool) => Some((name.clone(), tool.clone())),
            Offer::Ours { .. } => None,
        })
        .collect();
    let agent =
        Agent::builder(ModelSpec::from_json(spec(recording, &mock.url())).unwrap()).api_key("k").max_retries(0).build().unwrap();
    if !theirs.is_empty() {
        agent.set_hook(Hook::on_payload(move |payload, _| {
            let body = with_tools_of_the_server(payload.payload, &theirs);
            async move { Ok::<_, String>(Some(body)) }
        }));
    }
    agent.set_options(&options(first), Spelling::Snake, &[]).unwrap();

    let mut found = Vec::new();
    let shared: Arc<Mutex<Option<Arc<Play>>>> = Arc::default();
    let of_tools = Arc::clone(&shared);
    let answer: Arc<dyn Fn() -> Value + Send + Sync> =
        Arc::new(move || of_tools.lock().unwrap().clone().map_or(Value::Null, |play| play.answer()));
    let offers = recording.turns.iter().map(|turn| {
        let (asked, _) = turn.request.as_ref()?;
        Some((asked.system.clone(), tools(asked, &answer)))
    });
    let play = Arc::new(Play {
        agent: agent.clone(),
        results: Mutex::new(recording.results()),
        offers: offers.collect(),
        turn: Mutex::new(0),
    });
    *shared.lock().unwrap() = Some(Arc::clone(&play));
    // What a turn offers is set when the one before it is over.
    let of_listener = Arc::clone(&play);
    let _listening = agent.subscribe(move |event| {
        if event.kind() == "turn_end" {
            let mut turn = of_listener.turn.lock().unwrap();
            *turn += 1;
            of_listener.offer(*turn);
        }
    });

    play.offer(0);
    let mut usage = Usage::default();
    for turns in recording.runs() {
        let most = json!({ "max_turns": turns.len() });
        agent.set_options(most.as_object().unwrap(), Spelling::Snake, &[]).unwrap();
        let prompt = recording.prompt(turns.start);
        let failed = turns.start > 0 && !recording.turns[turns.start - 1].expected["error"].is_null();
        let run = match prompt.is_empty() {
            true if failed => agent.stream_resume(),
            true => agent.stream("Go on."),
            false => agent.stream(Prompt::from(prompt)),
        };
        let (events, result) = super::all(run.unwrap()).await;
        super::check(&agent, &events);
        usage = Usage::sum([&usage, &result.usage]);
        let fails = !recording.turns[turns.end - 1].expected["error"].is_null();
        if (result.outcome == Outcome::Error) != fails {
            found.push(format!("the run of turns {turns:?} ended {:?}: {:?}", result.outcome, result.error));
        }
    }
    drop(shared.lock().unwrap().take());

    let messages = agent.messages();
    let answers: Vec<&AssistantMessage> = messages.iter().filter_map(|message: &Arc<Message>| message.as_assistant()).collect();
    let requests = mock.requests();
    if (answers.len(), requests.len()) != (recording.turns.len(), recording.turns.len()) {
        let counts = (answers.len(), requests.len(), recording.turns.len());
        found.push(format!("(answers, requests, recorded turns) are {counts:?}"));
        return (0, found);
    }
    for (number, (turn, message)) in (1..).zip(recording.turns.iter().zip(&answers)) {
        let (ours, expected) = (summary(message, &turn.expected), expectation(&recording.api, &turn.expected));
        for field in ["text", "thinking", "tool_calls", "stop_reason", "usage", "error"] {
            if ours[field] != expected[field] {
                found.push(format!("answer {number}: {field}: {} but expected {}", ours[field], expected[field]));
            }
        }
    }
    if answers.last().unwrap().text() != recording.whole["final_text"].as_str().unwrap_or_default() {
        found.push(format!("the final text is {:?}", answers.last().unwrap().text()));
    }
    let mut sum = buckets(&recording.api, &recording.whole["usage_total"]);
    // Of a server whose cached tokens are more than its input, the sum cannot be computed from the sums.
    sum[0] = recording
        .turns
        .iter()
        .filter_map(|turn| buckets(&recording.api, &turn.expected["usage"])[0].as_u64())
        .sum::<u64>()
        .into();
    if counts(&usage) != sum {
        found.push(format!("usage: {} but expected {sum}", counts(&usage)));
    }

    let known: Vec<&Difference> = KNOWN.iter().filter(|(name, ..)| *name == recording.name).map(|(_, known, _)| known).collect();
    let unnamed = |turn: &Turn| turn.expected["tool_calls"].as_array().unwrap().iter().any(|call| call["id"].is_null());
    let renamed = !recording.linked || recording.turns.iter().any(unnamed);
    let compare = |known: &[&Difference]| {
        let mut found = Vec::new();
        for (number, (turn, request)) in (1..).zip(recording.turns.iter().zip(&requests)) {
            let Some((theirs, _)) = &turn.request else { continue };
            let mut ours = Asked::read(&recording.api, &request.path, &request.body);
            let mut theirs = theirs.clone();
            if renamed {
                ours.number_ids();
                theirs.number_ids();
            }
            known.iter().for_each(|difference| difference.forgive(&mut ours, &mut theirs));
            found.extend(differences(&ours, &theirs).into_iter().map(|what| format!("request {number}: {what}")));
        }
        found
    };
    found.extend(compare(&known));
    for (at, difference) in known.iter().enumerate() {
        let others: Vec<&Difference> = known.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, other)| *other).collect();
        if compare(&others).is_empty() {
            found.push(format!("listed as {difference:?}, but is not"));
        }
    }
    (recording.turns.iter().filter(|turn| turn.request.is_some()).count(), found)
}

fn differences(ours: &Asked, theirs: &Asked) -> Vec<String> {
    let mut found = Vec::new();
    if ours.model != theirs.model {
        found.push(format!("model {:?} but {:?}", ours.model, theirs.model));
    }
    if ours.system != theirs.system {
        found.push(format!("system {:?} but {:?}", ours.system, theirs.system));
    }
    if ours.tools != theirs.tools {
        found.push(format!("tools {} but {}", short(&format!("{:?}", ours.tools)), short(&format!("{:?}", theirs.tools))));
    }
    if ours.options != theirs.options {
        found.push(format!("options {:?} but {:?}", ours.options, theirs.options));
    }
    let longest = ours.said.len().max(theirs.said.len());
    if let Some(at) = (0..longest).find(|at| ours.said.get(*at) != theirs.said.get(*at)) {
        let text = |asked: &Asked| {
            asked.said.iter().skip(at).take(2).map(|said| short(&format!("{said:?}"))).collect::<Vec<_>>().join(", ")
        };
        found.push(format!("the messages differ from {at}:\n    ours   {}\n    theirs {}", text(ours), text(theirs)));
    }
    found
}

fn short(text: &str) -> String {
    if text.chars().count() > 400 { text.chars().take(400).chain(['…']).collect() } else { text.to_owned() }
}

/// An answer in the words of the expectation.
fn summary(message: &AssistantMessage, expected: &Value) -> Value {
    let thinking: String = message
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Thinking { thinking, .. } => Some(thinking.as_str()),
            _ => None,
        })
        .collect();
    // An id that we gave (Gemini often sends none) is null there.
    let given = |at: usize, id: &str| if expected["tool_calls"][at]["id"].is_null() { Value::Null } else { id.into() };
    let calls = message.tool_calls().enumerate().map(|(at, call)| json!([given(at, &call.id), call.name, call.arguments]));
    let said = message.error.as_ref().map(|error| error.message().to_owned());
    let theirs = expected["error"]["message"].as_str();
    json!({
        "text": message.text(), "thinking": thinking, "tool_calls": calls.collect::<Vec<_>>(),
        "stop_reason": message.raw_stop_reason, "usage": counts(&message.usage),
        // Ours has the server's words, and more.
        "error": said.map(
            |said| if theirs.is_some_and(|theirs| said.contains(theirs)) { theirs.unwrap().to_owned() } else { said },
        ),
    })
}

fn expectation(api: &str, expected: &Value) -> Value {
    let calls = expected["tool_calls"].as_array().unwrap();
    let calls: Vec<Value> = calls.iter().map(|call| json!([call["id"], call["name"], call["arguments"]])).collect();
    json!({
        "text": expected["text"], "thinking": expected["thinking"], "tool_calls": calls, "stop_reason": expected["stop_reason"],
        "usage": buckets(api, &expected["usage"]), "error": expected["error"]["message"],
    })
}

fn counts(usage: &Usage) -> Value {
    json!([usage.input, usage.output, usage.cache_read, usage.cache_write])
}

/// Usage in our buckets from the provider's numbers.
fn buckets(api: &str, given: &Value) -> Value {
    let count = |name: &str| given[name].as_u64().unwrap_or_default();
    let (output, read, write) = (count("output"), count("cache_read"), count("cache_write"));
    // Only Anthropic's input leaves the cached tokens out, and only Gemini's output the thoughts.
    let cached = if api == "anthropic-messages" { 0 } else { read + write };
    let thoughts = if api == "google-generative" { count("reasoning") } else { 0 };
    json!([count("input").saturating_sub(cached), output + thoughts, read, write])
}
