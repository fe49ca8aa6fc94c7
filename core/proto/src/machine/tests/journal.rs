//! What a run with a session writes, and when; and a run whose session cannot be written.

use std::sync::Arc;

use serde_json::{Value, json};

use super::drive::{Drive, call, config, ended, fails, journaled, model, says, written};
use crate::error::ErrorKind;
use crate::event::EventData;
use crate::gate::Gate;
use crate::hook::{HookAnswer, HookKind, ToolDecision, ToolOverride};
use crate::machine::{Action, Input, Loop, Start};
use crate::message::Message;
use crate::session::JournalRecord;
use crate::suspension::Decision;
use crate::usage::Outcome;

/// The steps of a run, without hooks and turns.
fn steps(drive: Drive) -> Vec<String> {
    let (_, seen) = drive.end();
    seen.into_iter().filter(|step| !["turn_start", "turn_end"].contains(&&**step)).collect()
}

#[test]
fn each_record_is_written_before_its_effect() {
    assert_eq!(
        steps(Drive::new(journaled(&[]), &[call("a"), says("Done.")])),
        [
            "write run_start",
            "agent_start",
            "write message",
            "message_start",
            "message_end",
            "model",
            "message_start",
            "write message",
            "message_end",
            "tool_execution_start",
            "write tool_start",
            "tool a",
            "write tool_answer, message",
            "tool_execution_end",
            "message_start",
            "message_end",
            "model",
            "message_start",
            "write message",
            "message_end",
            "write run_end",
            "agent_end",
        ]
    );
}

#[test]
fn a_run_without_a_session_writes_nothing() {
    let mut drive = Drive::new(config(&[], |_| {}), &[call("a"), says("Done.")]);
    drive.run.handle(Input::Steer(vec![Message::user("s", 0)]));
    drive.run.handle(Input::ClearSteering);
    assert!(ended(drive).records.is_empty());
}

#[test]
fn what_is_written_says_what_has_happened() {
    let drive = ended(Drive::new(journaled(&[]), &[call("a"), says("Done.")]));
    assert_eq!(written(&drive, "run_start"), [json!({ "kind": "run_start", "run_id": "run", "of": "prompt" })]);
    let start = json!({
        "kind": "tool_start", "tool_call_id": "a", "tool_name": "a", "arguments": {}, "idempotency_key": "run/1/a",
    });
    assert_eq!(written(&drive, "tool_start"), [start]);
    let result = json!({ "content": [{ "type": "text", "text": "ran" }], "details": null, "terminate": false });
    let answer = json!({ "kind": "tool_answer", "tool_call_id": "a", "result": result, "is_error": false });
    assert_eq!(written(&drive, "tool_answer"), [answer]);
    let end = &written(&drive, "run_end")[0];
    assert_eq!((&end["outcome"], &end["turns"], &end["run_id"]), (&json!("completed"), &json!(2), &json!("run")));
    let roles: Vec<Value> = written(&drive, "message").iter().map(|record| record["message"]["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool_result", "assistant"]);
}

#[test]
fn an_answer_is_written_with_its_first_token_and_what_failed_before_it() {
    let call = json!([{ "tool_call": { "id": "a", "name": "a", "arguments": {} } }]);
    let end = json!([{ "end": { "stop_reason": "tool_use" } }]);
    let mut drive = Drive::new(journaled(&[]), &[fails("overloaded", true), json!([]), call, end, says("Done.")]);
    drive.rest();
    // The backoff is over; the loop is that of another process.
    drive.now_ms = drive.timer_ms.unwrap() + 20;
    drive.run = Loop::load(&drive.run.save().unwrap()).unwrap();
    drive.rest();
    for at in [700, 900] {
        drive.now_ms = at;
        drive.answer(1);
        drive.rest();
    }
    let drive = ended(drive);
    let records = written(&drive, "message");
    let failed = json!({ "kind": "overloaded", "message": "no", "provider": "script", "retryable": true });
    assert_eq!(records[1]["retries"], json!([{ "at": 0, "attempt": 1, "delay_ms": 500, "error": failed }]));
    assert_eq!((&records[1]["message"]["timestamp"], &records[1]["first_token_at"]), (&json!(520), &json!(700)));
    assert_eq!((&records[3]["first_token_at"], records[3].get("retries")), (&json!(900), None), "what failed is said once");
    let of_others = [&records[0], &records[2]].map(|record| record.get("first_token_at"));
    assert_eq!(of_others, [None; 2], "a prompt and a result have no first token");
}

#[test]
fn what_failed_under_another_model_is_written_with_the_answer() {
    let mut with_fallback = journaled(&[]);
    with_fallback.fallbacks = vec![("script/other".to_owned(), Ok(model("other")))];
    with_fallback.settings.retry.max_retries = 1;
    let drive = ended(Drive::new(with_fallback, &[fails("overloaded", true), fails("overloaded", true), says("Done.")]));
    let answer = &written(&drive, "message")[1];
    assert_eq!(answer["message"]["model"], "other");
    let failed: Vec<_> = answer["retries"].as_array().unwrap().iter().map(|retried| &retried["attempt"]).collect();
    assert_eq!(failed, [1, 2], "the last one of the first model, too");
    assert_eq!(answer["retries"][1]["delay_ms"], 0);
}

#[test]
fn an_answer_without_content_has_no_first_token() {
    let mut without_retries = journaled(&[]);
    without_retries.settings.retry.max_retries = 0;
    let drive = ended(Drive::new(without_retries, &[fails("overloaded", true)]));
    let answer = &written(&drive, "message")[1];
    assert_eq!((&answer["message"]["stop_reason"], answer.get("first_token_at")), (&json!("error"), None));
}

#[test]
fn the_starts_of_calls_that_run_together_are_one_write() {
    let both = json!([
        { "tool_call": { "id": "1", "name": "a", "arguments": {} } },
        { "tool_call": { "id": "2", "name": "b", "arguments": {} } },
        { "end": {} },
    ]);
    let steps = steps(Drive::new(journaled(&[]), &[both, says("Done.")]));
    let write = steps.iter().position(|step| step == "write tool_start, tool_start").unwrap();
    assert_eq!(steps[write + 1..write + 3], ["tool a", "tool b"]);
}

#[test]
fn queue_changes_are_written_before_anything_else() {
    let mut drive = Drive::new(journaled(&[]), &[call("a"), says("Done."), says("Fine.")]);
    drive.on = vec![
        ("tool a", Input::Steer(vec![Message::user("kept", 0)])),
        ("tool_execution_end", Input::FollowUp(vec![Message::user("f1", 0), Message::user("f2", 0)])),
        ("turn_end", Input::ClearFollowUp),
    ];
    let drive = ended(drive);
    let after = |step: &str| drive.seen.iter().skip_while(|seen| *seen != step).nth(1).unwrap();
    assert_eq!((&**after("tool a"), &**after("tool_execution_end")), ("write queued", "write queued, queued"));
    assert_eq!(after("turn_end"), "write queue_cleared");
    let queued: Vec<_> = written(&drive, "queued").iter().map(|record| json!([record["queue"], record["number"]])).collect();
    assert_eq!(queued, [json!(["steering", 1]), json!(["follow_up", 2]), json!(["follow_up", 3])]);
    assert_eq!(written(&drive, "queue_cleared"), [json!({ "kind": "queue_cleared", "queue": "follow_up", "numbers": [2, 3] })]);
    let from_queue = written(&drive, "message").into_iter().find(|record| !record["queue"].is_null()).unwrap();
    assert_eq!(from_queue["queue"], json!({ "queue": "steering", "number": 1 }));
}

#[test]
fn a_decision_for_always_is_written_before_the_call_runs_on_it() {
    let mut with_gate = journaled(&[HookKind::OnApproval]);
    with_gate.settings.gate = Some(Gate::new().ask(["a"]).unwrap());
    let mut drive = Drive::new(with_gate, &[call("a"), call("a"), says("Done.")]);
    drive.hook = |_| Ok(HookAnswer::OnApproval(Some(Decision::ApproveAlways)));
    let drive = ended(drive);
    let at = |step: &str| drive.seen.iter().position(|seen| seen == step).unwrap_or_else(|| panic!("{step}: {:?}", drive.seen));
    assert!(at("on_approval") < at("write hook_decision, remembered"));
    assert!(at("write hook_decision, remembered") < at("write tool_start"));
    assert_eq!(drive.seen.iter().filter(|step| *step == "on_approval").count(), 1);
    assert_eq!(written(&drive, "remembered"), [json!({ "kind": "remembered", "allow": ["a({})"], "deny": [] })]);
    assert_eq!(written(&drive, "hook_decision")[0]["answer"], "approve_always");
    assert_eq!(drive.run.remembered().allow[0].as_str(), "a({})");
}

#[test]
fn nobody_is_asked_about_a_call_that_is_denied_anyway() {
    let mut with_gate = journaled(&[HookKind::BeforeToolCall]);
    with_gate.settings.gate = Some(Gate::new().deny(["a"]).unwrap());
    let mut drive = Drive::new(with_gate, &[call("a"), says("Done.")]);
    drive.hook = |_| Ok(HookAnswer::BeforeToolCall(ToolDecision::suspend("look")));
    let drive = ended(drive);
    assert_eq!(drive.result.as_ref().unwrap().outcome, Outcome::Completed);
    assert!(drive.seen.iter().any(|step| step == "before_tool_call") && written(&drive, "suspended").is_empty());
}

#[test]
fn clearing_what_is_empty_is_no_change() {
    let mut drive = Drive::new(journaled(&[]), &[says("Done.")]);
    drive.run.handle(Input::ClearSteering);
    assert!(!drive.run.is_recording());
    assert!(written(&ended(drive), "queue_cleared").is_empty());
}

#[test]
fn the_host_is_known_to_write_until_it_polls_or_has_handed_over() {
    let mut run = Drive::new(journaled(&[]), &[]).run;
    assert!(!run.is_recording());
    assert!(matches!(run.poll(0), Some(Action::Record(_))) && run.is_recording());
    run.records_handed_over();
    assert!(!run.is_recording());
    run.handle(Input::Steer(vec![Message::user("s", 0)]));
    assert!(run.is_recording());
    assert!(matches!(run.poll(0), Some(Action::Record(_))) && run.is_recording());
    assert!(matches!(run.poll(0), Some(Action::Emit(_))) && !run.is_recording());
}

#[test]
fn a_hooks_messages_are_queued_before_they_join() {
    let mut config = journaled(&[HookKind::GetFollowUpMessages]);
    config.settings.max_turns = 2;
    let mut drive = Drive::new(config, &[says("Done."), says("Fine.")]);
    drive.hook = |_| Ok(HookAnswer::GetFollowUpMessages(vec![Message::user("more", 0)]));
    let drive = ended(drive);
    let after = drive.seen.iter().skip_while(|step| *step != "get_follow_up_messages").nth(1).unwrap();
    assert_eq!(after, "write queued");
    assert_eq!(written(&drive, "queued")[0]["queue"], json!("follow_up"));
}

#[test]
fn what_a_hook_changed_is_written_and_what_it_left_is_not() {
    let hooks = [HookKind::BeforeToolCall, HookKind::AfterToolCall, HookKind::ShouldStopAfterTurn];
    let quiet = ended(Drive::new(journaled(&hooks), &[call("a"), says("Done.")]));
    assert!(written(&quiet, "hook_decision").is_empty());
    let mut drive = Drive::new(journaled(&hooks), &[call("a"), says("Done.")]);
    drive.hook = |kind| {
        Ok(match kind {
            HookKind::BeforeToolCall => HookAnswer::BeforeToolCall(ToolDecision::Replace {
                arguments: [("n".to_owned(), 1.into())].into_iter().collect(),
            }),
            HookKind::AfterToolCall => HookAnswer::AfterToolCall(ToolOverride::default().details(Value::Null).is_error(true)),
            _ => HookAnswer::ShouldStopAfterTurn(true),
        })
    };
    let drive = ended(drive);
    let decisions: Vec<_> = written(&drive, "hook_decision")
        .into_iter()
        .map(|record| json!([record["hook"], record["tool_call_id"], record["answer"]]))
        .collect();
    assert_eq!(
        decisions,
        [
            json!(["before_tool_call", "a", { "arguments": { "n": 1 } }]),
            json!(["after_tool_call", "a", { "details": null, "is_error": true }]),
            json!(["should_stop_after_turn", null, true]),
        ]
    );
    assert_eq!(written(&drive, "tool_start")[0]["arguments"], json!({ "n": 1 }), "what the tool gets");
    assert_eq!(written(&drive, "tool_answer")[0]["is_error"], json!(false), "the tool's own answer");
}

#[test]
fn a_time_out_and_an_abort_are_answers_of_calls_that_had_started() {
    let mut config = journaled(&[]);
    config.settings.limits.tool_timeout_ms = 30;
    let mut drive = Drive::new(config, &[call("a"), says("Done.")]);
    drive.answers_tools = false;
    assert_eq!(written(&ended(drive), "tool_answer")[0]["is_error"], json!(true));
    let mut drive = Drive::new(journaled(&[]), &[call("a")]);
    drive.answers_tools = false;
    drive.on = vec![("tool a", Input::Abort)];
    let drive = ended(drive);
    assert_eq!(written(&drive, "tool_answer")[0]["result"]["content"][0]["text"], json!("aborted"));
    assert_eq!(written(&drive, "run_end")[0]["error"]["kind"], json!("aborted"));
}

#[test]
fn calls_that_wait_are_written_before_the_run_ends() {
    let mut config = journaled(&[HookKind::BeforeToolCall]);
    config.settings.max_turns = 3;
    let mut drive = Drive::new(config, &[call("a")]);
    drive.hook = |_| Ok(HookAnswer::BeforeToolCall(ToolDecision::suspend("ask")));
    let drive = ended(drive);
    let steps: Vec<_> = drive.seen.iter().rev().take(2).collect();
    assert_eq!(steps, ["agent_end", "write suspended, run_end"]);
    assert_eq!(written(&drive, "suspended")[0]["calls"][0]["reason"], json!("ask"));
}

/// A run that cannot write this kind of record.
fn failing(kind: &'static str, answers: &[Value]) -> Drive {
    let mut drive = Drive::new(journaled(&[HookKind::OnError, HookKind::AfterRun]), answers);
    drive.unwritable = Some(kind);
    ended(drive)
}

#[test]
fn nothing_that_is_not_written_has_an_effect() {
    for (kind, not) in [
        ("run_start", "turn_start"),
        ("message", "message_end"),
        ("tool_start", "tool a"),
        ("tool_answer", "tool_execution_end"),
        ("run_end", ""),
    ] {
        let drive = failing(kind, &[call("a"), says("Done.")]);
        let seen = &drive.seen;
        assert!(!seen.contains(&not.to_owned()), "{kind}: {seen:?}");
        let last = seen.iter().rposition(|step| step.starts_with("write")).unwrap();
        // No further record, and the end of a run with its hooks.
        let rest: Vec<&str> = seen[last + 1..].iter().map(String::as_str).collect();
        let start: &[&str] = if kind == "run_start" { &["agent_start"] } else { &[] };
        assert_eq!(rest, [start, &["on_error", "agent_end", "after_run"]].concat(), "{kind}");
        let result = drive.result.unwrap();
        assert_eq!((result.outcome, result.error.unwrap().message()), (Outcome::Error, "the disk is full"), "{kind}");
    }
}

#[test]
fn what_is_under_way_is_cancelled_when_nothing_can_be_written() {
    let mut drive = Drive::new(journaled(&[]), &[call("a")]);
    drive.answers_tools = false;
    drive.on = vec![("tool a", Input::Steer(vec![Message::user("s", 0)]))];
    drive.unwritable = Some("queued");
    let drive = ended(drive);
    assert_eq!(drive.seen[drive.seen.len() - 2..], ["cancel tool, abandoned: true", "agent_end"]);
    let mut drive = Drive::new(journaled(&[]), &[]);
    drive.on = vec![("model", Input::FollowUp(vec![Message::user("s", 0)]))];
    drive.unwritable = Some("queued");
    let drive = ended(drive);
    assert_eq!(drive.seen[drive.seen.len() - 2..], ["cancel model", "agent_end"]);
    assert_eq!(drive.run.queues().count(), 1, "it waits still");
}

#[test]
fn a_journal_that_fails_comes_before_an_abort() {
    let mut drive = Drive::new(journaled(&[]), &[fails("server", false)]);
    drive.on = vec![("model", Input::Abort)];
    drive.unwritable = Some("run_end");
    let result = ended(drive).result.unwrap();
    assert_eq!((result.outcome, result.error.unwrap().kind()), (Outcome::Error, ErrorKind::Io));
}

#[test]
fn after_its_end_a_run_does_not_fail() {
    let mut drive = Drive::new(journaled(&[HookKind::AfterRun]), &[says("Done.")]);
    drive.on = vec![("agent_end", Input::Steer(vec![Message::user("late", 0)]))];
    drive.unwritable = Some("queued");
    let drive = ended(drive);
    assert_eq!(drive.result.unwrap().outcome, Outcome::Completed);
}

#[test]
fn a_saved_loop_goes_on_writing() {
    let mut drive = Drive::new(journaled(&[]), &[says("Done.")]);
    drive.run.handle(Input::FollowUp(vec![Message::user("f", 0)]));
    drive.run = Loop::load(&drive.run.save().unwrap()).unwrap();
    let drive = ended(drive);
    assert_eq!(drive.seen[0], "write queued");
    assert!(drive.seen.contains(&"write run_end".to_owned()));
}

#[test]
fn decisions_are_written_with_the_start_of_their_run() {
    let mut drive = Drive::new(journaled(&[HookKind::BeforeToolCall]), &[call("a")]);
    drive.hook = |_| Ok(HookAnswer::BeforeToolCall(ToolDecision::suspend("ask")));
    let drive = ended(drive);
    let messages: Vec<Arc<Message>> = drive.result.as_ref().unwrap().messages.clone();
    let decisions = vec![("a".to_owned(), crate::suspension::Decision::Approve)];
    let decided = crate::machine::decide(&messages, drive.run.suspended(), decisions, &journaled(&[])).unwrap();
    let start = Start { decided, transcript: messages, ..Start::resume("next", 0) };
    let drive = ended(Drive::start(journaled(&[]), start, &[says("Done.")]));
    assert_eq!(drive.seen[0], "write run_start, decisions");
    assert_eq!(written(&drive, "run_start")[0]["of"], json!("decisions"));
    assert_eq!(written(&drive, "decisions")[0]["decisions"], json!({ "a": "approve" }));
    assert_eq!(written(&drive, "tool_start")[0]["idempotency_key"], json!("run/1/a"), "that of the run that suspended it");
}

#[test]
fn records_are_actions_that_can_be_stored() {
    let mut run = Drive::new(journaled(&[]), &[]).run;
    let Some(action) = run.poll(0) else { panic!("no action") };
    let stored: Action = serde_json::from_value(json!(action)).unwrap();
    assert!(matches!(stored, Action::Record(records) if matches!(*records, [JournalRecord::RunStart(_)])));
    assert!(matches!(run.poll(0), Some(Action::Emit(event)) if matches!(event.data, EventData::AgentStart)));
}
