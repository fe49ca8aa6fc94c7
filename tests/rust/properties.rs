//! What holds of every run, whatever happens in it: any mixture of answers, cuts, retries, tools that are slow, fail or never
//! answer, aborts, steering and limits.

use agent_loop::host::Spelling;
use agent_loop::testing::check_events;
use agent_loop::tool::ExecutionMode;
use agent_loop::{Agent, Error, ErrorKind, EventData, FnTool, Message, Outcome, QueueMode, SteeringPolicy, ToolContext};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::builder;

/// What one model call does.
#[derive(Debug, Clone)]
enum Answer {
    Says { pieces: u8, wait_ms: u64 },
    Calls(Vec<ToolKind>),
    Cut { pieces: u8 },
    Fails { retryable: bool, pieces: u8 },
    CutCalls(u8),
    Refuses,
    Empty,
}

#[derive(Debug, Clone, Copy)]
enum ToolKind {
    Quick,
    Slow(u64),
    Throws,
    Terminates,
    Steers,
    FollowsUp,
    Aborts,
    IgnoresCancel(u64),
    Unknown,
    BadArguments,
}

/// What the application does at one of the run's events.
#[derive(Debug, Clone, Copy)]
enum Meddling {
    Steer,
    FollowUp,
    Abort,
    Clear,
}

#[derive(Debug, Clone)]
struct Course {
    answers: Vec<Answer>,
    meddling: Vec<(usize, Meddling)>,
    sequential: bool,
    all_at_once: bool,
    after_batch: bool,
    at_once: usize,
    max_turns: u32,
    max_retries: u32,
    tool_timeout_ms: u64,
    run_timeout_ms: u64,
}

fn tool_kind() -> impl Strategy<Value = ToolKind> {
    prop_oneof![
        4 => Just(ToolKind::Quick),
        3 => (1..200_u64).prop_map(ToolKind::Slow),
        1 => Just(ToolKind::Throws),
        1 => Just(ToolKind::Terminates),
        1 => Just(ToolKind::Steers),
        1 => Just(ToolKind::FollowsUp),
        1 => Just(ToolKind::Aborts),
        1 => (1..3000_u64).prop_map(ToolKind::IgnoresCancel),
        1 => Just(ToolKind::Unknown),
        1 => Just(ToolKind::BadArguments),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        3 => (1..4_u8, 0..100_u64).prop_map(|(pieces, wait_ms)| Answer::Says { pieces, wait_ms }),
        5 => prop::collection::vec(tool_kind(), 1..5).prop_map(Answer::Calls),
        1 => (0..3_u8).prop_map(|pieces| Answer::Cut { pieces }),
        2 => (any::<bool>(), 0..3_u8).prop_map(|(retryable, pieces)| Answer::Fails { retryable, pieces }),
        1 => (1..3_u8).prop_map(Answer::CutCalls),
        1 => Just(Answer::Refuses),
        1 => Just(Answer::Empty),
    ]
}

fn meddling() -> impl Strategy<Value = Meddling> {
    prop_oneof![3 => Just(Meddling::Steer), 2 => Just(Meddling::FollowUp), 1 => Just(Meddling::Abort), 1 => Just(Meddling::Clear)]
}

fn course() -> impl Strategy<Value = Course> {
    let limits = (0..4_u32, 0..3_u32, prop_oneof![Just(0), 1..150_u64], prop_oneof![3 => Just(0), 1 => 1..500_u64]);
    (
        prop::collection::vec(answer(), 1..6),
        prop::collection::vec((0..80_usize, meddling()), 0..5),
        any::<(bool, bool, bool)>(),
        1..4_usize,
        limits,
    )
        .prop_map(|(answers, meddling, (sequential, all_at_once, after_batch), at_once, limits)| {
            let (max_turns, max_retries, tool_timeout_ms, run_timeout_ms) = limits;
            Course {
                answers,
                meddling,
                sequential,
                all_at_once,
                after_batch,
                at_once,
                max_turns,
                max_retries,
                tool_timeout_ms,
                run_timeout_ms,
            }
        })
}

fn script(answers: &[Answer]) -> Value {
    let mut id = 0;
    let texts = |pieces: u8| (0..pieces).map(|i| json!({ "delta": format!("piece {i}. ") })).collect::<Vec<Value>>();
    let mut answers: Vec<Value> = answers
        .iter()
        .map(|answer| match answer {
            Answer::Says { pieces, wait_ms } => {
                let mut steps = texts(*pieces);
                steps.push(json!({ "wait_ms": wait_ms }));
                steps.push(json!({ "end": { "usage": { "input": 3, "output": 4 } } }));
                Value::Array(steps)
            }
            Answer::Calls(kinds) => {
                let mut steps = texts(1);
                for kind in kinds {
                    id += 1;
                    let (name, arguments) = match kind {
                        ToolKind::Unknown => ("nobody", json!({})),
                        ToolKind::BadArguments => ("t", json!("{\"oh")),
                        ToolKind::Slow(ms) => ("t", json!({ "kind": "slow", "ms": ms })),
                        ToolKind::IgnoresCancel(ms) => ("t", json!({ "kind": "ignores", "ms": ms })),
                        other => ("t", json!({ "kind": format!("{other:?}") })),
                    };
                    steps.push(
                        json!({ "delta": { "tool_call": { "id": format!("c{id}"), "name": name, "arguments": arguments } } }),
                    );
                }
                steps.push(json!({ "end": {} }));
                Value::Array(steps)
            }
            Answer::Cut { pieces } => Value::Array(texts(*pieces)),
            Answer::Fails { retryable, pieces } => {
                let kind = if *retryable { "overloaded" } else { "invalid_request" };
                let mut steps = texts(*pieces);
                steps.push(json!({ "error": { "kind": kind, "message": "no" } }));
                Value::Array(steps)
            }
            Answer::CutCalls(calls) => {
                let call =
                    |i| json!({ "delta": { "tool_call": { "id": format!("cut{i}"), "name": "t", "arguments": "{\"kin" } } });
                let mut steps: Vec<Value> = (0..*calls).map(call).collect();
                steps.push(json!({ "end": { "stop_reason": "length" } }));
                Value::Array(steps)
            }
            Answer::Refuses => json!([{ "delta": "no" }, { "end": { "stop_reason": "refusal" } }]),
            Answer::Empty => json!([{ "end": {} }]),
        })
        .collect();
    // Enough to end on.
    answers.extend((0..30).map(|_| json!([{ "delta": "done" }, { "end": {} }])));
    Value::Array(answers)
}

/// A tool that does as its arguments say.
async fn work(agent: Agent, sent: Arc<AtomicUsize>, arguments: Value, context: ToolContext) -> Result<Value, String> {
    let number = sent.fetch_add(1, Ordering::SeqCst);
    let ms = arguments["ms"].as_u64().unwrap_or(0);
    match arguments["kind"].as_str().unwrap_or_default() {
        "slow" => {
            context.update(json!("working"));
            if !context.sleep(ms).await {
                return Err("cancelled".to_owned());
            }
        }
        "ignores" => {
            // After its cancellation it goes on for a while, in the engine's time.
            context.sleep(ms).await;
            context.update(json!("still here"));
            tokio::task::yield_now().await;
        }
        "Throws" => return Err("broken".to_owned()),
        "Terminates" => return Ok(json!({ "content": [], "terminate": true })),
        "Steers" => drop(agent.steer(format!("steered by tool {number}").as_str())),
        "FollowsUp" => drop(agent.follow_up(format!("followed by tool {number}").as_str())),
        "Aborts" => agent.abort(),
        _ => {}
    }
    Ok(json!({ "done": number }))
}

async fn play(course: Course) -> Result<(), TestCaseError> {
    let agent = builder(script(&course.answers))
        .max_turns(course.max_turns)
        .max_retries(course.max_retries)
        .max_parallel_tools(course.at_once)
        .tool_timeout_ms(course.tool_timeout_ms)
        .run_timeout_ms(course.run_timeout_ms)
        .abort_grace_ms(100)
        .tool_execution(if course.sequential { ExecutionMode::Sequential } else { ExecutionMode::Parallel })
        .steering_policy(if course.after_batch { SteeringPolicy::AfterBatch } else { SteeringPolicy::SkipRemaining })
        .steering_mode(if course.all_at_once { QueueMode::All } else { QueueMode::OneAtATime })
        .follow_up_mode(if course.all_at_once { QueueMode::All } else { QueueMode::OneAtATime })
        .build()
        .unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let worker = {
        let (agent, sent) = (agent.clone(), Arc::clone(&sent));
        move |arguments, context| work(agent.clone(), Arc::clone(&sent), arguments, context)
    };
    agent.add_tool(Arc::new(FnTool::new("t", "", json!({ "type": "object" }), worker).unwrap())).unwrap();
    // What was queued, unless it was cleared.
    let queued: Arc<Mutex<Vec<String>>> = Arc::default();
    let cleared = Arc::new(AtomicUsize::new(0));
    let meddle = {
        let (agent, queued, cleared, meddling) =
            (agent.clone(), Arc::clone(&queued), Arc::clone(&cleared), course.meddling.clone());
        let seen = AtomicUsize::new(0);
        move |_: &agent_loop::Event| {
            let at = seen.fetch_add(1, Ordering::SeqCst);
            for (i, (_, what)) in meddling.iter().enumerate().filter(|(_, (when, _))| *when == at) {
                let text = format!("queued {i}");
                match what {
                    Meddling::Steer => drop(agent.steer(text.as_str())),
                    Meddling::FollowUp => drop(agent.follow_up(text.as_str())),
                    Meddling::Abort => agent.abort(),
                    Meddling::Clear => {
                        cleared.fetch_add(1, Ordering::SeqCst);
                        agent.clear_all_queues();
                    }
                }
                if matches!(what, Meddling::Steer | Meddling::FollowUp) {
                    queued.lock().unwrap().push(text);
                }
            }
        }
    };
    let _subscription = agent.subscribe(meddle);
    let mut emitted_before = 0;
    // One prompt, then whatever is left to do.
    for round in 0..3 {
        let started = if round == 0 { agent.stream("go") } else { agent.stream_resume() };
        let mut run = match started {
            Ok(run) => run,
            Err(error) => {
                prop_assert_eq!(error.kind(), ErrorKind::InvalidState, "{}", error);
                break;
            }
        };
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            events.push(event);
        }
        let result = run.ended().await.unwrap();
        let written: Vec<Value> = events.iter().map(|event| json!(event)).collect();
        check_events(&written).map_err(|error: Error| {
            let lines: Vec<String> = written.iter().map(ToString::to_string).collect();
            TestCaseError::fail(format!("{error}\n{}", lines.join("\n")))
        })?;
        prop_assert_eq!(events.iter().filter(|event| event.kind() == "agent_end").count(), 1);
        prop_assert_eq!(result.error.is_some(), matches!(result.outcome, Outcome::Aborted | Outcome::Error));
        // The transcript is what the events showed.
        let emitted: Vec<&Arc<Message>> = events
            .iter()
            .filter_map(|event| match &event.data {
                EventData::MessageEnd { message } => Some(message),
                _ => None,
            })
            .collect();
        let messages = agent.messages();
        prop_assert_eq!(messages.len(), emitted_before + emitted.len());
        prop_assert!(messages.iter().skip(emitted_before).zip(&emitted).all(|(a, b)| Arc::ptr_eq(a, b)));
        emitted_before = messages.len();
    }
    let messages = agent.messages();
    each_call_has_one_result(&messages)?;
    let lost = nothing_is_lost(&agent, &queued, &cleared).await;
    // It holds the agent, which holds it.
    agent.remove_tool("t");
    lost
}

fn each_call_has_one_result(messages: &[Arc<Message>]) -> Result<(), TestCaseError> {
    let mut results: BTreeMap<&str, usize> = BTreeMap::new();
    let mut calls = 0;
    for message in messages {
        if let Message::ToolResult(result) = &**message {
            *results.entry(&result.tool_call_id).or_default() += 1;
        }
    }
    let mut ids = std::collections::BTreeSet::new();
    for call in messages.iter().filter_map(|message| message.as_assistant()).flat_map(|message| message.tool_calls()) {
        calls += 1;
        ids.insert(call.id.as_str());
    }
    prop_assert_eq!(results.values().sum::<usize>(), calls, "each call has one result");
    prop_assert!(results.keys().all(|id| ids.contains(id)));
    Ok(())
}

/// Each queued message is in the transcript, once, or still in its queue (unless the application cleared the queues).
async fn nothing_is_lost(agent: &Agent, queued: &Mutex<Vec<String>>, cleared: &AtomicUsize) -> Result<(), TestCaseError> {
    // What is left is taken up by further runs that nothing limits.
    let unlimited = json!({ "max_turns": 0, "run_timeout_ms": 0 });
    agent.set_options(unlimited.as_object().unwrap(), Spelling::Snake, &[]).unwrap();
    for _ in 0..20 {
        if !agent.has_queued_messages() {
            break;
        }
        let _ = agent.prompt("more").await;
    }
    let texts: Vec<String> = agent.messages().iter().map(|message| message.text()).collect();
    let cleared = cleared.load(Ordering::SeqCst) > 0;
    for text in queued.lock().unwrap().iter() {
        let times = texts.iter().filter(|emitted| *emitted == text).count();
        prop_assert!(times == 1 || (cleared && times == 0), "{} was emitted {} times", text, times);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_run_is_one_that_the_contract_allows(course in course()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(play(course))?;
    }
}
