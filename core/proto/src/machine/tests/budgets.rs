//! Budgets: what counts, and which outcome a run has that its budget ends. The scenarios have what each limit does.

use serde_json::{Value, json};

use super::drive::{Drive, call, config, says};
use crate::budget::Budget;
use crate::event::EventData;
use crate::hook::{HookAnswer, HookKind};
use crate::machine::{Action, Config, Input, Start};
use crate::message::Message;
use crate::tool::ExecutionMode;
use crate::usage::Outcome;

const NOTHING: Budget = Budget {
    max_cost: Some(0.0),
    max_total_tokens: Some(0),
    max_output_tokens_total: Some(0),
    max_tool_calls: Some(0),
    max_run_ms: Some(0),
};

fn limited(hooks: &[HookKind], budget: Budget) -> Config {
    config(hooks, |settings| settings.budget = budget)
}

#[test]
fn with_nothing_from_the_start_no_model_is_called() {
    let (result, seen) = Drive::new(limited(&[], NOTHING), &[says("Done.")]).end();
    assert_eq!((result.outcome, result.turns, result.messages.len()), (Outcome::Budget, 1, 1));
    assert!(result.message.is_none() && result.error.is_none());
    let after_the_prompt = ["agent_start", "turn_start", "message_start", "message_end", "turn_end", "diagnostic", "agent_end"];
    assert_eq!(seen, after_the_prompt);
}

#[test]
fn an_abort_at_each_point_comes_before_the_budget() {
    let start = || Drive::new(limited(HookKind::ALL, NOTHING), &[]);
    for step in start().end().1.iter().filter(|step| !matches!(step.as_str(), "diagnostic" | "agent_end" | "after_run")) {
        let mut drive = start();
        drive.on.push((step.clone().leak(), Input::Abort));
        let (result, seen) = drive.end();
        assert_eq!((result.outcome, result.turns), (Outcome::Aborted, 1), "after {step}: {seen:?}");
        assert!(!seen.contains(&"diagnostic".to_owned()), "after {step}: {seen:?}");
    }
}

#[test]
fn a_failing_hook_comes_before_the_budget() {
    let mut drive = Drive::new(limited(&[HookKind::BeforeRun], NOTHING), &[]);
    drive.hook = |_| Err("no".to_owned());
    assert_eq!(drive.end().0.outcome, Outcome::Error);
}

#[test]
fn one_model_call_has_no_budget() {
    let transcript = vec![Message::user("go", 0).into()];
    let start = Start { transcript, ..Start::one_call("run", 0) };
    let (result, _) = Drive::start(limited(&[], NOTHING), start, &[says("Done.")]).end();
    assert_eq!((result.outcome, result.text.as_str()), (Outcome::Completed, "Done."));
}

#[test]
fn skipped_calls_and_those_of_a_cut_message_do_not_count() {
    let both = |reason: &str| {
        let call = |id| json!({ "tool_call": { "id": id, "name": "a", "arguments": {} } });
        json!([call("1"), call("2"), { "end": { "stop_reason": reason } }])
    };
    let budget = Budget { max_tool_calls: Some(2), ..Budget::default() };
    let mut settings = limited(&[], budget);
    settings.settings.tool_execution = ExecutionMode::Sequential;
    let mut drive = Drive::new(settings, &[both("length"), both("tool_use"), call("a"), says("Done.")]);
    drive.on.push(("tool a", Input::Steer(vec![Message::user("Wait.", 0)])));
    let (result, seen) = drive.end();
    assert_eq!((result.outcome, result.text.as_str()), (Outcome::Completed, "Done."));
    assert_eq!(seen.iter().filter(|step| *step == "tool a").count(), 2);
}

/// The data of the diagnostics of a run with these answers.
fn repeated(most: u32, answers: &[Value]) -> (Outcome, Vec<Value>) {
    let mut drive = Drive::new(config(&[], |settings| (settings.max_turns, settings.max_repeated_calls) = (0, most)), answers);
    let mut reported = Vec::new();
    loop {
        match drive.run.poll(0) {
            Some(Action::Emit(event)) => {
                if let EventData::Diagnostic { data, .. } = event.data {
                    reported.push(data["count"].clone());
                }
            }
            Some(Action::CallModel(model)) => drive.answer(model.call),
            Some(Action::CallTool { call, .. }) => drive.run.handle(Input::ToolDone { call, result: Ok("ran".into()) }),
            Some(Action::AskHook { question_id, .. }) => {
                drive.run.handle(Input::HookAnswer { question_id, answer: Ok(Box::new(HookAnswer::Nothing)) });
            }
            Some(Action::Done(result)) => return (result.outcome, reported),
            Some(_) => {}
            None => unreachable!("everything is answered at once"),
        }
    }
}

#[test]
fn a_repeated_call_is_reported_each_time_that_the_number_has_doubled() {
    let mut answers = vec![call("a"); 13];
    answers.push(says("Done."));
    assert_eq!(repeated(0, &answers), (Outcome::Completed, vec![json!(3), json!(6), json!(12)]));
    assert_eq!(repeated(5, &answers), (Outcome::Stopped, vec![json!(3), json!(5)]));
    assert_eq!(repeated(1, &answers), (Outcome::Stopped, vec![json!(1)]));
}

#[test]
fn texts_of_arguments_that_are_no_objects_are_compared() {
    let cut = |text: &str| json!([{ "tool_call": { "id": "c", "name": "a", "arguments": text } }, { "end": {} }]);
    let answers = [cut("[1]"), cut("[2]"), cut("[3]"), cut("[3]"), cut("[3]"), says("Done.")];
    assert_eq!(repeated(0, &answers), (Outcome::Completed, vec![json!(3)]));
}
