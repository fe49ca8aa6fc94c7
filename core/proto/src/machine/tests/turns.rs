//! Turns, outcomes, hooks and queues.

use super::drive::{Drive, call, config, fails, model, says};
use crate::event::{Event, EventData};
use crate::hook::{HookAnswer, HookKind, Question};
use crate::machine::{Action, Input, ListenerReport, Loop, Start};
use crate::message::Message;
use crate::queues::SteeringPolicy;
use crate::tool::ExecutionMode;
use crate::usage::Outcome;

fn words(seen: &[String], kept: &[&str]) -> Vec<String> {
    seen.iter().filter(|step| kept.iter().any(|kept| step.starts_with(kept))).cloned().collect()
}

#[test]
fn a_turn_follows_each_batch_of_calls() {
    let (result, seen) = Drive::new(config(&[], |_| {}), &[call("a"), says("Done.")]).end();
    assert_eq!((result.outcome, result.turns, result.text.as_str()), (Outcome::Completed, 2, "Done."));
    let order = words(&seen, &["turn", "model", "tool a", "agent"]);
    assert_eq!(
        order,
        ["agent_start", "turn_start", "model", "tool a", "turn_end", "turn_start", "model", "turn_end", "agent_end"]
    );
}

#[test]
fn prompts_without_a_time_have_that_of_the_first_poll() {
    let prompts = vec![Message::user("a", 0), Message::user("b", 7)];
    let mut run = Loop::new(config(&[HookKind::BeforeRun], |_| {}), Start::new("run", 0, prompts));
    let mut times = Vec::new();
    while let Some(action) = run.poll(99) {
        let prompts = match action {
            Action::AskHook { question_id, question: Question::BeforeRun(task), .. } => {
                run.handle(Input::HookAnswer { question_id, answer: Ok(Box::new(HookAnswer::Nothing)) });
                task.prompts
            }
            Action::Emit(Event { data: EventData::MessageEnd { message }, .. }) => vec![message],
            _ => Vec::new(),
        };
        times.extend(
            prompts.iter().filter_map(|message| if let Message::User(user) = &**message { Some(user.timestamp) } else { None }),
        );
    }
    assert_eq!(times, [99, 7, 99, 7], "in the hook, and in the transcript");
}

#[test]
fn the_hooks_of_a_turn_come_in_order() {
    let (_, seen) = Drive::new(config(HookKind::ALL, |_| {}), &[says("Done.")]).end();
    let names: Vec<&str> = HookKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let order = [
        "before_run",
        "get_steering_messages",
        "prepare_request",
        "transform_context",
        "convert_to_llm",
        "get_api_key",
        "on_payload",
        "on_response",
        "prepare_next_turn",
        "should_stop_after_turn",
        "get_steering_messages",
        "get_follow_up_messages",
        "after_run",
    ];
    assert_eq!(words(&seen, &names), order);
}

#[test]
fn each_end_has_its_outcome() {
    let outcome = |max_turns, answers: &[_]| Drive::new(config(&[], |s| s.max_turns = max_turns), answers).end().0.outcome;
    assert_eq!(outcome(0, &[says("Done.")]), Outcome::Completed);
    assert_eq!(outcome(1, &[says("Done.")]), Outcome::Completed);
    assert_eq!(outcome(1, &[call("a")]), Outcome::MaxTurns);
    assert_eq!(outcome(2, &[call("a"), says("Done.")]), Outcome::Completed);
    assert_eq!(outcome(0, &[fails("permission", false)]), Outcome::Error);
}

#[test]
fn a_hook_stops_the_run() {
    let mut drive = Drive::new(config(&[HookKind::ShouldStopAfterTurn], |_| {}), &[call("a")]);
    drive.hook = |_| Ok(HookAnswer::ShouldStopAfterTurn(true));
    assert_eq!(drive.end().0.outcome, Outcome::Stopped);
}

#[test]
fn a_failing_hook_ends_the_run() {
    for kind in [
        HookKind::BeforeRun,
        HookKind::GetSteeringMessages,
        HookKind::TransformContext,
        HookKind::ConvertToLlm,
        HookKind::GetApiKey,
        HookKind::OnPayload,
        HookKind::PrepareNextTurn,
        HookKind::ShouldStopAfterTurn,
        HookKind::GetFollowUpMessages,
    ] {
        let mut drive = Drive::new(config(&[kind], |_| {}), &[says("Done.")]);
        drive.hook = |_| Err("broken".to_owned());
        let (result, _) = drive.end();
        assert_eq!(result.outcome, Outcome::Error, "{kind}");
        assert_eq!(result.error.unwrap().message(), format!("the hook {kind} failed: broken"));
    }
}

#[test]
fn hooks_after_a_turn_are_those_of_the_next_one_and_the_last_is_not_cancelled() {
    let mut drive = Drive::new(config(HookKind::ALL, |_| {}), &[call("a"), says("Done.")]);
    drive.rest();
    let of_next_turn = [HookKind::PrepareNextTurn, HookKind::ShouldStopAfterTurn, HookKind::AfterRun];
    for (kind, is_of_next_turn, is_cancellable) in &drive.asked {
        assert_eq!(*is_of_next_turn, of_next_turn.contains(kind), "{kind}");
        assert_eq!(*is_cancellable, *kind != HookKind::AfterRun, "{kind}");
    }
    let asked = |kind: &HookKind| drive.asked.iter().any(|(asked, ..)| asked == kind);
    assert!(of_next_turn.iter().all(asked) && asked(&HookKind::BeforeToolCall), "{:?}", drive.asked);
}

#[test]
fn an_abort_at_each_point_is_the_outcome() {
    let all = Drive::new(config(HookKind::ALL, |_| {}), &[call("a"), says("Done.")]).end().1;
    assert!(all.len() > 30, "{all:?}");
    for step in all.iter().filter(|step| !matches!(step.as_str(), "agent_end" | "after_run")) {
        let mut drive = Drive::new(config(HookKind::ALL, |_| {}), &[call("a"), says("Done.")]);
        drive.on.push((step.clone().leak(), Input::Abort));
        let (result, seen) = drive.end();
        assert_eq!(result.outcome, Outcome::Aborted, "after {step}: {seen:?}");
        assert_eq!(seen.iter().filter(|step| *step == "agent_end").count(), 1);
    }
}

#[test]
fn steering_skips_the_calls_that_do_not_run_yet() {
    let both = || {
        let mut both = call("a");
        both.as_array_mut().unwrap().insert(1, call("b")[0].clone());
        both
    };
    for (policy, ran) in [(SteeringPolicy::SkipRemaining, vec!["tool a"]), (SteeringPolicy::AfterBatch, vec!["tool a", "tool b"])]
    {
        let settings = config(&[], |settings| {
            settings.steering_policy = policy;
            settings.tool_execution = ExecutionMode::Sequential;
        });
        let mut drive = Drive::new(settings, &[both(), says("Done.")]);
        drive.on.push(("tool a", Input::Steer(vec![Message::user("wait", 0)])));
        let (result, seen) = drive.end();
        assert_eq!((result.outcome, result.turns), (Outcome::Completed, 2));
        assert_eq!(words(&seen, &["tool a", "tool b"]), ran, "{policy:?}");
    }
}

#[test]
fn a_follow_up_starts_another_turn() {
    let mut drive = Drive::new(config(&[], |_| {}), &[says("One."), says("Two.")]);
    drive.on.push(("agent_start", Input::FollowUp(vec![Message::user("more", 0)])));
    let (result, _) = drive.end();
    assert_eq!((result.turns, result.text.as_str()), (2, "Two."));
}

#[test]
fn a_failed_call_is_retried_and_then_another_model_is_asked() {
    let mut settings = config(&[], |settings| settings.retry.max_retries = 1);
    settings.fallbacks = vec![("script/other".to_owned(), Ok(model("other")))];
    let busy = || fails("overloaded", true);
    let (result, seen) = Drive::new(settings, &[busy(), busy(), says("Here.")]).end();
    assert_eq!((result.outcome, result.text.as_str(), result.turns), (Outcome::Completed, "Here.", 1));
    assert_eq!(words(&seen, &["model", "retry", "diagnostic"]), ["model", "retry", "model", "diagnostic", "model"]);
    assert_eq!(result.message.unwrap().as_assistant().unwrap().model, "other");
}

#[test]
fn a_failed_listener_is_reported_but_not_on_the_report_or_the_end() {
    let no = || vec![ListenerReport::Failed("no".to_owned())];
    let failed = |event: &str| Input::ListenerReports { event: event.to_owned(), reports: no() };
    let mut drive = Drive::new(config(&[], |_| {}), &[says("Done.")]);
    drive.on = ["turn_end", "diagnostic", "agent_end"].map(|event| (event, failed(event))).into();
    let (_, seen) = drive.end();
    assert_eq!(words(&seen, &["turn_end", "diagnostic", "agent_end"]), ["turn_end", "diagnostic", "agent_end"]);
}
