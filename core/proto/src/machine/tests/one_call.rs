//! A run that is one model call.

use std::sync::Arc;

use serde_json::Value;

use super::drive::{Drive, call, config, fails, says};
use crate::conversation::Conversation;
use crate::error::ErrorKind;
use crate::hook::HookKind;
use crate::machine::{Config, Input, Loop, Start};
use crate::message::Message;
use crate::queues::Queue;
use crate::usage::{Outcome, StopReason};

fn one_call(config: Config, answers: &[Value]) -> Drive {
    let transcript = vec![Arc::new(Message::user("go", 0))];
    Drive::start(config, Start { transcript, ..Start::one_call("run", 0) }, answers)
}

#[test]
fn one_call_has_the_hooks_of_a_model_call_alone() {
    let (result, seen) = one_call(config(HookKind::ALL, |_| {}), &[says("Done.")]).end();
    assert_eq!((result.outcome, result.turns, result.text.as_str()), (Outcome::Completed, 1, "Done."));
    assert_eq!(result.messages.len(), 1, "its messages are no prompts");
    let order = [
        "before_run",
        "agent_start",
        "turn_start",
        "prepare_request",
        "transform_context",
        "convert_to_llm",
        "get_api_key",
        "on_payload",
        "model",
        "on_response",
        "message_start",
        "message_end",
        "turn_end",
        "agent_end",
        "after_run",
    ];
    assert_eq!(seen, order);
}

#[test]
fn tool_calls_stay_in_the_message() {
    let mut settings = config(&[], |settings| settings.max_turns = 1);
    settings.is_stateless = true;
    let (result, seen) = one_call(settings, &[call("a")]).end();
    assert_eq!((result.outcome, result.stop_reason), (Outcome::Completed, Some(StopReason::ToolUse)));
    assert_eq!(result.message.unwrap().as_assistant().unwrap().tool_calls().count(), 1);
    assert!(!seen.contains(&"tool a".to_owned()), "{seen:?}");
}

#[test]
fn one_call_is_retried_and_fails_as_a_run_does() {
    let limited = || config(&[], |settings| settings.retry.max_retries = 1);
    let (result, _) = one_call(limited(), &[fails("overloaded", true), says("Here.")]).end();
    assert_eq!((result.outcome, result.text.as_str()), (Outcome::Completed, "Here."));
    let (result, _) = one_call(limited(), &[fails("overloaded", true), fails("overloaded", true)]).end();
    assert_eq!((result.outcome, result.error.unwrap().kind()), (Outcome::Error, ErrorKind::Overloaded));
}

#[test]
fn an_abort_at_each_point_of_one_call_is_the_outcome() {
    let all = one_call(config(HookKind::ALL, |_| {}), &[call("a")]).end().1;
    for step in all.iter().filter(|step| !matches!(step.as_str(), "agent_end" | "after_run")) {
        let mut drive = one_call(config(HookKind::ALL, |_| {}), &[call("a")]);
        drive.on.push((step.clone().leak(), Input::Abort));
        let (result, seen) = drive.end();
        assert_eq!((result.outcome, result.turns), (Outcome::Aborted, 1), "after {step}: {seen:?}");
        assert!(result.message.is_some(), "after {step}");
    }
}

#[test]
fn what_waits_in_a_queue_stays_there() {
    let mut drive = one_call(config(&[], |_| {}), &[says("Done.")]);
    drive.run.handle(Input::Steer(vec![Message::user("Not now.", 0)]));
    drive.run.handle(Input::FollowUp(vec![Message::user("Nor then.", 0)]));
    drive.rest();
    assert_eq!(drive.result.as_ref().map(|result| (result.turns, result.messages.len())), Some((1, 1)));
    assert_eq!(drive.run.queues().count(), 2);
}

#[test]
fn a_conversation_refuses_what_one_call_has_no_use_for() {
    let begin = |messages: Vec<Message>| {
        let messages = messages.into_iter().map(Arc::new).collect();
        let mut conversation: Conversation<Loop> = Conversation::new(Arc::new(messages)).unwrap();
        conversation.begin(config(&[], |_| {}), Start::one_call("run", 0), |run| run).map(drop).map(|()| conversation)
    };
    let refused = |messages| begin(messages).unwrap_err().message().to_owned();
    let answer = |text: &str| Message::from_json(serde_json::json!({ "role": "assistant", "content": text })).unwrap();
    assert_eq!(refused(vec![]), "messages: there is nothing to answer; give at least one message of a user");
    assert_eq!(
        refused(vec![Message::user("Hi.", 0), answer("Hello.")]),
        "messages: the last one is the model's answer; append what the model is to answer, such as the results of its tool calls"
    );
    assert_eq!(
        refused(vec![Message::user(" ", 0)]),
        "messages: the user message is empty: it has no image or other file, and no text but white space"
    );

    let mut conversation = begin(vec![Message::user("Hi.", 0)]).unwrap();
    for (queue, name) in [(Queue::Steering, "steer"), (Queue::FollowUp, "follow_up")] {
        let error = conversation.queue(queue, vec![Message::user("More.", 0)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidState);
        assert_eq!(error.message(), format!("{name}: one model call takes no further messages; make another call with them"));
    }
}
