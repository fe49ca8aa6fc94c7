//! Calls that wait for a decision, and the runs that go on with them.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::drive::{Drive, config as base, says};
use crate::chunk::{Chunk, ChunkReader};
use crate::conversation::Conversation;
use crate::error::{Error, ErrorKind};
use crate::event::{Event, EventData};
use crate::hook::{HookAnswer, HookKind, InterruptedDecision, Question, ToolDecision};
use crate::machine::{Action, Config, Input, Loop, Start, Tools};
use crate::message::{ContentBlock, Message, ToolResultMessage};
use crate::queues::Queue;
use crate::result::RunResult;
use crate::suspension::Decision;
use crate::testing::check_events;
use crate::tool::{Approval, ExecutionMode, OnInterrupted, ToolSpec};
use crate::usage::Outcome;

/// A conversation, its tools `a`, `b` and `c`, and what happens in it.
struct Play {
    conversation: Conversation<Loop>,
    config: Config,
    answers: Vec<Value>,
    /// Answers a hook.
    hook: fn(&Question) -> HookAnswer,
    /// What a tool reports, by its name.
    tool: fn(&str) -> Result<Value, &'static str>,
    /// The input that is handled when an event of this type is emitted, or something that begins so is seen.
    on: Option<(&'static str, Input)>,
    /// What was emitted, executed and asked, without deltas.
    seen: Vec<String>,
    keys: Vec<Arc<str>>,
}

/// An answer with a call for each tool.
fn calls(names: &[&str]) -> Value {
    let mut chunks: Vec<Value> = names
        .iter()
        .map(|name| json!({ "tool_call": { "id": format!("id_{name}"), "name": name, "arguments": { "n": 1 } } }))
        .collect();
    chunks.push(json!({ "end": {} }));
    json!(chunks)
}

impl Play {
    fn new(needs_approval: &[&str], mode: ExecutionMode, answers: &[Value]) -> Play {
        let mut config = base(&[], |settings| settings.tool_execution = mode);
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
        let tool = |name: &str| {
            let approval = if needs_approval.contains(&name) { Approval::Needed } else { Approval::NotNeeded };
            Arc::new(ToolSpec::new(name, "A tool.", schema.clone()).unwrap().with_needs_approval(approval))
        };
        config.tools = Tools::from(vec![tool("a"), tool("b"), tool("c")]);
        Play {
            conversation: Conversation::default(),
            config,
            answers: answers.to_vec(),
            hook: |_| HookAnswer::Nothing,
            tool: |_| Ok("ran".into()),
            on: None,
            seen: Vec::new(),
            keys: Vec::new(),
        }
    }

    fn parallel(needs_approval: &[&str], answers: &[Value]) -> Play {
        Play::new(needs_approval, ExecutionMode::Parallel, answers)
    }

    fn sequential(needs_approval: &[&str], answers: &[Value]) -> Play {
        Play::new(needs_approval, ExecutionMode::Sequential, answers)
    }

    fn prompt(&mut self) -> RunResult {
        let start = Start::new("run_1", 0, vec![Message::user("go", 0)]);
        self.begin(start).unwrap()
    }

    fn decide(&mut self, decisions: Value) -> Result<RunResult, Error> {
        self.begin(Start::decided("run_2", 0, Decision::all_from_json(decisions)?))
    }

    /// Plays a run, saved and loaded after each action, and checks its events.
    fn begin(&mut self, start: Start) -> Result<RunResult, Error> {
        self.conversation.begin(self.config.clone(), start, |run| run)?;
        self.seen.clear();
        let mut events = Vec::new();
        let mut now_ms = 0;
        loop {
            let Some(action) = self.conversation.poll(now_ms) else {
                now_ms += 1000;
                assert!(now_ms < 10_000, "nothing happens any more after {:?}", self.seen);
                continue;
            };
            // A loaded loop asks for its timer again.
            let loads = !matches!(action, Action::SetTimer(_));
            match action {
                Action::Emit(event) => {
                    events.push(json!(event));
                    self.emitted(&event);
                }
                Action::CallModel(call) => self.answer(call.call),
                Action::CallTool { call, name, arguments, idempotency_key, .. } => {
                    self.seen.push(format!("run {name} {}", json!(arguments)));
                    self.keys.push(idempotency_key);
                    self.conversation.handle(match (self.tool)(&name) {
                        Ok(value) => Input::ToolDone { call, result: Ok(value) },
                        Err(reason) => Input::ToolSuspended { call, reason: reason.to_owned() },
                    });
                }
                Action::AskHook { question_id, question, .. } => {
                    if !matches!(question, Question::PrepareArguments { .. }) {
                        let name = question.kind().map_or("needs_approval", HookKind::as_str);
                        self.seen.push(format!("ask {name}"));
                    }
                    let answer = Ok(Box::new((self.hook)(&question)));
                    self.conversation.handle(Input::HookAnswer { question_id, answer });
                }
                Action::Done(result) => {
                    check_events(&events).unwrap();
                    return Ok(*result);
                }
                _ => {}
            }
            if let Some(run) = self.conversation.active_mut().filter(|_| loads) {
                *run = Loop::load(&run.save().unwrap()).unwrap();
            }
        }
    }

    fn emitted(&mut self, event: &Event) {
        match &event.data {
            EventData::MessageUpdate(_) | EventData::MessageStart { .. } => return,
            EventData::MessageEnd { message } => self.seen.push(format!("{}: {}", message.role(), message.text())),
            EventData::ToolExecutionStart { tool_name, .. } => self.seen.push(format!("start {tool_name}")),
            EventData::ToolExecutionEnd { tool_name, is_error, .. } => {
                self.seen.push(format!("{} {tool_name}", if *is_error { "error" } else { "end" }));
            }
            EventData::ToolCallSuspended { tool_name, arguments, reason, .. } => {
                self.seen.push(format!("suspend {tool_name} {}: {reason}", json!(arguments)));
            }
            EventData::TurnEnd { message, .. } => {
                self.seen.push(if message.is_some() { "turn_end" } else { "turn_end without message" }.to_owned());
            }
            EventData::AgentEnd { outcome, .. } => self.seen.push(outcome.as_str().to_owned()),
            _ => {}
        }
        let last = self.seen.last().map_or("", String::as_str);
        if let Some((_, input)) = self.on.take_if(|(on, _)| *on == event.kind() || last.starts_with(*on)) {
            self.conversation.handle(input);
        }
    }

    fn answer(&mut self, call: u32) {
        self.seen.push("model".to_owned());
        let mut chunks = ChunkReader::new("script");
        for chunk in self.answers.remove(0).as_array().unwrap() {
            let (Chunk::Deltas(deltas) | Chunk::End(deltas)) = chunks.read(chunk).unwrap() else { panic!("{chunk}") };
            self.conversation.handle(Input::ModelDeltas { call, deltas });
        }
        self.conversation.handle(Input::ModelEnd { call, result: Ok(()) });
    }

    /// What was seen after the model's answer.
    fn batch(&self) -> Vec<&str> {
        let from = self.seen.iter().rposition(|seen| seen.starts_with("assistant")).map_or(0, |at| at + 1);
        self.seen[from..].iter().map(String::as_str).collect()
    }
}

fn ids(result: &RunResult) -> Vec<&str> {
    result.pending.iter().map(|call| &*call.tool_call_id).collect()
}

const NEEDED: &str = r#"suspend a {"n":1}: the tool a needs approval"#;

#[test]
fn a_parallel_batch_ends_but_for_the_calls_that_wait() {
    let mut play = Play::parallel(&["a"], &[calls(&["a", "b"]), says("Done.")]);
    let result = play.prompt();
    let expected = ["start a", NEEDED, "start b", r#"run b {"n":1}"#, "end b", "tool_result: ran", "turn_end", "suspended"];
    assert_eq!(play.batch(), expected);
    assert_eq!((result.outcome, ids(&result)), (Outcome::Suspended, vec!["id_a"]));
    let call = &result.pending[0];
    assert_eq!((&*call.tool_name, call.reason.as_str()), ("a", "the tool a needs approval"));
    assert_eq!(&*call.idempotency_key, "run_1/1/id_a");
    assert!(play.conversation.pending_tool_calls().is_empty());
    assert_eq!(json!(play.conversation.state(&play.config.settings, String::new(), [], 0))["pending"], json!(result.pending));

    let result = play.decide(json!({ "id_a": "approve" })).unwrap();
    let expected = [
        "start a",
        r#"run a {"n":1}"#,
        "end a",
        "tool_result: ran",
        "turn_end without message",
        "model",
        "assistant: Done.",
        "turn_end",
        "completed",
    ];
    assert_eq!(play.seen, expected);
    assert_eq!((result.turns, result.pending.len()), (2, 0));
    // The key of a call is the same in whatever run it is executed; `b` has another one.
    assert_eq!(play.keys, ["run_1/1/id_b".into(), Arc::<str>::from("run_1/1/id_a")]);
}

#[test]
fn in_a_sequential_batch_the_calls_behind_are_not_started() {
    let mut play = Play::sequential(&["b"], &[calls(&["a", "b", "c"]), says("Done.")]);
    let result = play.prompt();
    let expected = [
        "start a",
        r#"run a {"n":1}"#,
        "end a",
        "tool_result: ran",
        "start b",
        r#"suspend b {"n":1}: the tool b needs approval"#,
        "turn_end",
        "suspended",
    ];
    assert_eq!(play.batch(), expected);
    assert_eq!(ids(&result), ["id_b", "id_c"]);
    assert_eq!(result.pending[1].reason, "it comes after a call that waits for a decision");

    let result = play.decide(json!({ "id_b": { "deny": "too dear" }, "id_c": "approve" })).unwrap();
    let expected = [
        "start b",
        "error b",
        "tool_result: too dear",
        "start c",
        r#"run c {"n":1}"#,
        "end c",
        "tool_result: ran",
        "turn_end without message",
    ];
    assert_eq!(play.seen[..8], expected);
    assert_eq!(result.outcome, Outcome::Completed);
}

#[test]
fn a_hook_suspends_and_is_not_asked_again_about_a_call_that_it_has_seen() {
    let mut play = Play::sequential(&[], &[calls(&["a", "b"]), says("Done.")]);
    play.config.hooks = [HookKind::BeforeToolCall, HookKind::AfterToolCall].into_iter().collect();
    play.hook = |question| match question {
        Question::BeforeToolCall(_) => HookAnswer::BeforeToolCall(ToolDecision::suspend("a person is to look")),
        _ => HookAnswer::Nothing,
    };
    let result = play.prompt();
    assert_eq!(play.batch()[..3], ["start a", "ask before_tool_call", r#"suspend a {"n":1}: a person is to look"#]);
    assert_eq!(ids(&result), ["id_a", "id_b"]);

    play.decide(json!({ "id_a": { "arguments": { "n": "2" } }, "id_b": "approve" })).unwrap();
    // The hook has not seen b; what it answers is decided already.
    let expected = [
        "start a",
        r#"run a {"n":2}"#,
        "ask after_tool_call",
        "end a",
        "tool_result: ran",
        "start b",
        "ask before_tool_call",
        r#"run b {"n":1}"#,
        "ask after_tool_call",
        "end b",
        "tool_result: ran",
        "turn_end without message",
    ];
    assert_eq!(play.seen[..12], expected);
}

#[test]
fn a_hook_may_still_block_a_call_that_it_has_not_seen() {
    let mut play = Play::sequential(&["a"], &[calls(&["a", "b"]), says("Done.")]);
    play.config.hooks = [HookKind::BeforeToolCall].into_iter().collect();
    play.hook = |question| match question {
        Question::BeforeToolCall(call) if call.tool_name == "b" => HookAnswer::BeforeToolCall(ToolDecision::block("never")),
        _ => HookAnswer::Nothing,
    };
    play.prompt();
    play.decide(json!({ "id_a": { "result": { "ok": true } }, "id_b": "approve" })).unwrap();
    let expected =
        ["start a", "end a", r#"tool_result: {"ok":true}"#, "start b", "ask before_tool_call", "error b", "tool_result: never"];
    assert_eq!(play.seen[..7], expected);
}

#[test]
fn a_tool_suspends_itself_with_the_arguments_that_it_got() {
    let mut play = Play::parallel(&[], &[calls(&["a", "b"]), says("Done.")]);
    play.config.hooks = [HookKind::BeforeToolCall].into_iter().collect();
    play.hook = |question| match question {
        Question::BeforeToolCall(call) if call.tool_name == "a" => {
            let arguments: Map<String, Value> = [("n".to_owned(), json!(7))].into_iter().collect();
            HookAnswer::BeforeToolCall(ToolDecision::Replace { arguments })
        }
        _ => HookAnswer::Nothing,
    };
    play.tool = |name| if name == "a" { Err("the answer comes by mail") } else { Ok("ran".into()) };
    let result = play.prompt();
    assert!(play.seen.contains(&r#"suspend a {"n":7}: the answer comes by mail"#.to_owned()), "{:?}", play.seen);
    assert_eq!((ids(&result), json!(result.pending[0].arguments)), (vec!["id_a"], json!({ "n": 7 })));
    // It may wait again, and again.
    let result = play.decide(json!({ "id_a": "approve" })).unwrap();
    let expected = ["start a", r#"run a {"n":7}"#, r#"suspend a {"n":7}: the answer comes by mail"#, "turn_end without message"];
    assert_eq!((&play.seen[..4], result.outcome, result.turns), (&expected.map(str::to_owned)[..], Outcome::Suspended, 1));
    let result = play.decide(json!({ "id_a": { "result": "it came" } })).unwrap();
    assert_eq!(play.seen[..3], ["start a", "end a", "tool_result: it came"]);
    assert_eq!(result.outcome, Outcome::Completed);
}

#[test]
fn a_tool_is_asked_whether_a_call_needs_approval() {
    let mut play = Play::parallel(&[], &[calls(&["a", "b", "c"]), says("Done.")]);
    let asks = |name| {
        let schema = json!({ "type": "object" });
        Arc::new(ToolSpec::new(name, "A tool.", schema).unwrap().with_needs_approval(Approval::Asked))
    };
    play.config.tools = Tools::from(vec![asks("a"), asks("b"), asks("c")]);
    play.hook = |question| match question {
        Question::NeedsApproval { tool, arguments } => match &**tool {
            "a" => HookAnswer::NeedsApproval(Some(format!("{} is a lot", arguments["n"]))),
            "b" => HookAnswer::NeedsApproval(None),
            // A host without the function.
            _ => HookAnswer::Nothing,
        },
        _ => HookAnswer::Nothing,
    };
    let result = play.prompt();
    let reasons: Vec<&str> = result.pending.iter().map(|call| call.reason.as_str()).collect();
    assert_eq!((ids(&result), reasons), (vec!["id_a", "id_c"], vec!["1 is a lot", "the tool c needs approval"]));
    play.decide(json!({ "id_a": "approve", "id_c": "deny" })).unwrap();
    assert!(!play.seen.iter().any(|seen| seen.starts_with("ask")), "a decided call is not asked about: {:?}", play.seen);
    assert!(play.seen.contains(&"tool_result: the call was denied".to_owned()), "{:?}", play.seen);
}

#[test]
fn a_suspended_agent_takes_decisions_only_and_all_of_them() {
    let mut play = Play::parallel(&["a", "b"], &[calls(&["a", "b", "c"]), says("Done."), says("Later.")]);
    play.prompt();
    let before = play.conversation.messages().len();
    let error = play.begin(Start::new("run_2", 0, vec![Message::user("go", 0)])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidState);
    let text = "the agent is suspended: 2 calls wait for a decision: id_a (a), id_b (b); go on with resume and a decision for \
                each, or discard them with reset, clear_messages or replace_messages";
    assert_eq!(error.message(), text);
    let error = play.conversation.append([Message::user("more", 0)]).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidState, text));
    play.conversation.queue(Queue::FollowUp, vec![Message::user("later", 0)]).unwrap();
    assert_eq!(play.begin(Start::resume_if_queued("run_2", 0)).unwrap_err().message(), text);

    for (decisions, text) in [
        (json!({}), "nothing is decided about id_a (a), id_b (b); decide all calls that wait, in one resume"),
        (json!({ "id_a": "approve" }), "nothing is decided about id_b (b); decide all calls that wait, in one resume"),
        (json!({ "id_a": "approve", "id_c": "approve", "id_b": "approve" }), "the call id_c has its result already"),
        (json!({ "id_z": "approve" }), "no call id_z waits for a decision; those that wait are id_a (a), id_b (b)"),
        (
            json!({ "id_a": { "arguments": {} }, "id_b": "approve" }),
            "id_a: the arguments do not fit the schema of a:\n/n: is required",
        ),
        (
            json!({ "id_a": { "result": { "content": [], "is_error": "no" } }, "id_b": "approve" }),
            "id_a: is_error: expected true or false, got \"no\"",
        ),
    ] {
        let error = play.decide(decisions.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{decisions}");
        assert!(error.message().contains(text), "{decisions}: {error}");
    }
    let twice = vec![("id_a".to_owned(), Decision::Approve), ("id_a".to_owned(), Decision::deny("no"))];
    let error = play.begin(Start::decided("run_2", 0, twice)).unwrap_err();
    assert_eq!(error.message(), "decisions: the call id_a is decided twice");
    assert_eq!((play.conversation.messages().len(), play.conversation.suspended().len()), (before, 2), "nothing has run");
    assert_eq!(play.decide(json!({ "id_b": "deny", "id_a": "approve" })).unwrap().outcome, Outcome::Completed);
    let error = play.decide(json!({ "id_a": "approve" })).unwrap_err();
    assert_eq!(error.message(), "decisions: the call id_a has its result already");
    let error = play.decide(json!({ "id_z": "approve" })).unwrap_err();
    assert_eq!(error.message(), "decisions: no call id_z waits for a decision; none waits at all");
}

#[test]
fn reset_and_replaced_messages_discard_what_waits() {
    for discards in [
        |conversation: &mut Conversation<Loop>| conversation.reset(),
        |conversation: &mut Conversation<Loop>| conversation.replace(Vec::<Message>::new()),
    ] {
        let mut play = Play::parallel(&["a"], &[calls(&["a"]), says("Done.")]);
        play.prompt();
        discards(&mut play.conversation).unwrap();
        assert_eq!(play.decide(json!({ "id_a": "approve" })).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(play.prompt().outcome, Outcome::Completed);
    }
}

#[test]
fn an_abort_before_the_turn_s_end_answers_the_calls_that_wait() {
    // While another call of the batch runs, at the suspension, and at the last result.
    for (on, sequential) in [("suspend", false), ("suspend", true), ("end b", false), ("tool_result", false)] {
        let mode = if sequential { ExecutionMode::Sequential } else { ExecutionMode::Parallel };
        let mut play = Play::new(&["a"], mode, &[calls(&["a", "b"]), says("Done.")]);
        play.on = Some((on, Input::Abort));
        play.prompt();
        assert_eq!(play.seen.last().map(String::as_str), Some("aborted"), "{on}: {:?}", play.seen);
        let results = play.conversation.messages().iter().filter(|message| message.role() == "tool_result");
        let mut results: Vec<String> = results.map(|message| message.text()).collect();
        results.sort();
        assert_eq!(results.first().map(String::as_str), Some("aborted"), "{on}: {results:?}");
        assert_eq!(results.len(), 2, "{on}: {results:?}");
        assert!(play.conversation.suspended().is_empty());
    }
}

#[test]
fn an_abort_after_the_turn_s_end_comes_too_late() {
    let mut play = Play::parallel(&["a"], &[calls(&["a"]), says("Done.")]);
    play.on = Some(("turn_end", Input::Abort));
    let result = play.prompt();
    assert_eq!((result.outcome, ids(&result), &result.error), (Outcome::Suspended, vec!["id_a"], &None));
    assert_eq!(play.decide(json!({ "id_a": "approve" })).unwrap().outcome, Outcome::Completed);
}

#[test]
fn what_was_decided_stands_in_an_abort() {
    let mut play = Play::sequential(&["a", "b"], &[calls(&["a", "b", "c"])]);
    play.prompt();
    play.on = Some(("turn_start", Input::Abort));
    let decisions = json!({ "id_a": { "result": "paid" }, "id_b": "approve", "id_c": { "deny": "no" } });
    let result = play.decide(decisions).unwrap();
    assert_eq!(result.outcome, Outcome::Aborted);
    let results: Vec<&str> = play.seen.iter().filter_map(|seen| seen.strip_prefix("tool_result: ")).collect();
    assert_eq!(results, ["paid", "aborted", "no"]);
}

#[test]
fn the_turn_of_decided_calls_is_not_counted_and_polls_steering_after_its_batch() {
    let mut play = Play::parallel(&["a", "b"], &[calls(&["a", "b"]), calls(&["c"])]);
    play.prompt();
    play.conversation.queue(Queue::Steering, vec![Message::user("stop that", 0)]).unwrap();
    play.config.settings.max_turns = 1;
    let result = play.decide(json!({ "id_a": "approve", "id_b": "approve" })).unwrap();
    let expected = [
        "start a",
        "start b",
        r#"run a {"n":1}"#,
        r#"run b {"n":1}"#,
        "end a",
        "end b",
        "tool_result: ran",
        "tool_result: ran",
        "turn_end without message",
        "user: stop that",
        "model",
    ];
    assert_eq!(play.seen[..11], expected);
    assert_eq!((result.outcome, result.turns), (Outcome::MaxTurns, 2));
}

#[test]
fn a_poll_that_fails_in_the_batch_answers_the_calls_that_wait() {
    let mut play = Play::sequential(&["b"], &[calls(&["a", "b", "c"])]);
    play.config.hooks = [HookKind::GetSteeringMessages].into_iter().collect();
    play.hook = |question| match question {
        Question::GetSteeringMessages(()) => HookAnswer::GetSteeringMessages(vec![Message::user(" ", 0)]),
        _ => HookAnswer::Nothing,
    };
    // The first poll fails the turn's message; so the hook is set when the model has answered.
    let hooks = std::mem::take(&mut play.config.hooks);
    let failing = Config { hooks, ..play.config.clone() };
    play.on = Some(("turn_end", Input::Configure(Arc::new(failing))));
    play.answers.insert(0, calls(&["c"]));
    let result = play.prompt();
    assert_eq!(result.outcome, Outcome::Error);
    let results: Vec<&str> = play.seen.iter().filter_map(|seen| seen.strip_prefix("tool_result: ")).collect();
    assert_eq!(results, ["ran", "ran", "not decided, as the run has failed; make the call again", "ran"]);
    assert!(play.conversation.suspended().is_empty() && result.pending.is_empty());
}

/// A conversation that ends with an answer whose call of `a` has no result, as after a crash.
fn crashed(on_interrupted: OnInterrupted, needs_approval: bool) -> Play {
    let mut play = Play::parallel(&[], &[calls(&["a", "b"]), says("Done.")]);
    play.tool = |_| panic!("the process ends");
    let start = Start::new("run_1", 0, vec![Message::user("go", 0)]);
    play.conversation.begin(play.config.clone(), start, |run| run).unwrap();
    while let Some(action) = play.conversation.poll(0) {
        match action {
            Action::CallModel(call) => play.answer(call.call),
            Action::CallTool { .. } => break,
            Action::AskHook { question_id, .. } => {
                let answer = Ok(Box::new(HookAnswer::Nothing));
                play.conversation.handle(Input::HookAnswer { question_id, answer });
            }
            _ => {}
        }
    }
    let messages = play.conversation.messages().to_vec();
    let (play_answers, tools) = (play.answers.clone(), play.config.tools.clone());
    let mut later = Play::parallel(&[], &play_answers);
    let spec = |name: &str| {
        let approval = if needs_approval { Approval::Needed } else { Approval::NotNeeded };
        let spec = ToolSpec::clone(tools.get(name).unwrap());
        Arc::new(spec.with_on_interrupted(on_interrupted).with_needs_approval(approval))
    };
    later.config.tools = Tools::from(vec![spec("a"), spec("b"), spec("c")]);
    let answered = Message::ToolResult(ToolResultMessage::new("id_b", "b", vec![ContentBlock::text("ran before")]));
    later.conversation.replace(messages.into_iter().chain([Arc::new(answered)])).unwrap();
    later
}

impl Play {
    fn resume(&mut self) -> RunResult {
        self.begin(Start::resume("run_2", 0)).unwrap()
    }
}

#[test]
fn a_call_without_a_result_is_reported_by_default() {
    let mut play = crashed(OnInterrupted::Report, false);
    assert_eq!(play.resume().outcome, Outcome::Completed);
    let unknown = "tool_result: the outcome of this call is not known: the run ended while it was executed; check before you \
                   make it again";
    assert_eq!(play.seen[..4], ["start a", "error a", unknown, "turn_end without message"]);
}

#[test]
fn a_call_without_a_result_runs_again_if_its_tool_says_so() {
    let mut play = crashed(OnInterrupted::Retry, false);
    assert_eq!(play.resume().outcome, Outcome::Completed);
    assert_eq!(play.seen[..3], ["start a", r#"run a {"n":1}"#, "end a"]);
    // It may need approval, which it never had.
    let mut play = crashed(OnInterrupted::Retry, true);
    let result = play.resume();
    assert_eq!((result.outcome, ids(&result)), (Outcome::Suspended, vec!["id_a"]));
    assert_eq!(play.decide(json!({ "id_a": "approve" })).unwrap().outcome, Outcome::Completed);
}

#[test]
fn a_hook_decides_about_a_call_without_a_result() {
    let hook: fn(&Question) -> HookAnswer = |question| match question {
        Question::OnInterruptedCall(call) if call.idempotency_key == "run_2/1/id_a" => {
            HookAnswer::OnInterruptedCall(InterruptedDecision::Result { result: "it was sent".into() })
        }
        _ => HookAnswer::Nothing,
    };
    let mut play = crashed(OnInterrupted::Ask, false);
    (play.config.hooks, play.hook) = ([HookKind::OnInterruptedCall].into_iter().collect(), hook);
    play.resume();
    assert_eq!(play.seen[..4], ["start a", "ask on_interrupted_call", "end a", "tool_result: it was sent"]);
    // Without the hook it is reported; aborted, too, as it may have run.
    let mut play = crashed(OnInterrupted::Ask, false);
    play.resume();
    assert_eq!(play.seen[..2], ["start a", "error a"]);
    let mut play = crashed(OnInterrupted::Retry, false);
    play.on = Some(("turn_start", Input::Abort));
    assert_eq!(play.resume().outcome, Outcome::Aborted);
    assert!(play.seen[2].starts_with("tool_result: the outcome of this call is not known"), "{:?}", play.seen);
}

#[test]
fn calls_without_a_result_can_be_decided_and_come_before_queued_messages() {
    let mut play = crashed(OnInterrupted::Report, false);
    play.conversation.queue(Queue::FollowUp, vec![Message::user("and now?", 0)]).unwrap();
    let error = play.decide(json!({ "id_b": "approve" })).unwrap_err();
    assert_eq!(error.message(), "decisions: the call id_b has its result already");
    play.answers.push(says("Later."));
    play.begin(Start::resume_if_queued("run_2", 0)).unwrap();
    assert_eq!(play.seen[..2], ["start a", "error a"]);
    assert!(play.seen.contains(&"user: and now?".to_owned()), "{:?}", play.seen);
}

#[test]
fn keys_begin_with_the_origin_of_the_start_or_of_the_settings() {
    for (of_start, of_settings, origin) in [("", "", "run_1"), ("", "set", "set"), ("given", "set", "given")] {
        let mut config = Play::parallel(&["a"], &[]).config;
        config.settings.origin = of_settings.to_owned();
        let start = Start { origin: of_start.to_owned(), ..Start::new("run_1", 0, vec![Message::user("go", 0)]) };
        let (result, _) = Drive::start(config, start, &[calls(&["a"])]).end();
        assert_eq!(*result.pending[0].idempotency_key, *format!("{origin}/1/id_a"));
    }
}
