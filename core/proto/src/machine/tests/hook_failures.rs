//! What the failure of each hook means, compared with the table of hooks.

use std::sync::Arc;

use serde_json::json;

use super::drive::{Drive, call, config, fails, says};
use crate::gate::Gate;
use crate::hook::HookKind;
use crate::machine::{Config, Input, Loop, Start, Tools, interrupted};
use crate::message::{AssistantMessage, ContentBlock, Message};
use crate::output::OutputSpec;
use crate::result::RunResult;
use crate::table::hooks::{Effect, all};
use crate::tool::{OnInterrupted, ToolSpec};
use crate::usage::Outcome;

/// What the failure of a hook has led to.
fn effect(result: &RunResult, seen: &[String]) -> Effect {
    let last = result.messages.last().and_then(|message| message.as_assistant());
    let has_failed_call = result.messages.iter().any(|message| matches!(&**message, Message::ToolResult(it) if it.is_error));
    match result.outcome {
        Outcome::Error if last.is_some_and(|message| message.has_failed()) => Effect::Message,
        Outcome::Error => Effect::Run,
        Outcome::Suspended => Effect::Decision,
        _ if has_failed_call => Effect::Call,
        _ if seen.iter().any(|step| step == "diagnostic") => Effect::Reported,
        _ => Effect::Logged,
    }
}

/// A run of two turns with a retry: each of these hooks would be asked, and fails.
fn run(hooks: &[HookKind]) -> Drive {
    let config_of = |hooks: &[HookKind]| {
        config(hooks, |settings| {
            if hooks == [HookKind::OnApproval] {
                settings.gate = Some(Gate::new().ask(["*"]).unwrap());
            }
            // Asked about the answer: the text of the last turn.
            if hooks == [HookKind::CheckOutput] {
                settings.output = Some(OutputSpec::new(json!({ "type": "integer" })).unwrap().or_text());
            }
        })
    };
    let mut drive = Drive::new(config_of(hooks), &[fails("overloaded", true), call("a"), says("Done.")]);
    drive.hook = |_| Err("broken".to_owned());
    if hooks == [HookKind::OnInterruptedCall] {
        drive.run = resumed(config(hooks, |_| {}));
    }
    drive
}

/// A run that goes on with a call without a result.
fn resumed(mut config: Config) -> Loop {
    let asks = ToolSpec::clone(config.tools.get("a").unwrap()).with_on_interrupted(OnInterrupted::Ask);
    config.tools = Tools::from(vec![Arc::new(asks)]);
    let call: ContentBlock =
        serde_json::from_value(json!({ "type": "tool_call", "id": "a", "name": "a", "arguments": {} })).unwrap();
    let transcript = vec![Arc::new(Message::Assistant(AssistantMessage::new(vec![call])))];
    Loop::new(config, Start { decided: interrupted(&transcript, &[]), transcript, ..Start::resume("run", 0) })
}

#[test]
fn each_failure_means_what_the_table_says() {
    // What a server asks, the loop does not.
    for row in all().into_iter().filter(|row| !row.effect.is_of_servers()) {
        let kind = HookKind::parse(row.word).unwrap();
        assert_eq!(kind.effect(), row.effect);
        let (result, seen) = run(&[kind]).end();
        assert!(seen.iter().any(|step| step == row.word), "{kind} is not asked: {seen:?}");
        let expected = if row.effect == Effect::FirstPoll { Effect::Message } else { row.effect };
        assert_eq!(effect(&result, &seen), expected, "{kind}: {seen:?}");
    }
}

#[test]
fn a_poll_that_fails_after_the_first_turn_ends_the_run() {
    for kind in HookKind::ALL.iter().copied().filter(|kind| kind.effect() == Effect::FirstPoll) {
        let mut drive = run(&[]);
        // The second turn has the hook.
        drive.on.push(("turn_end", Input::Configure(config(&[kind], |_| {}).into())));
        let (result, seen) = drive.end();
        assert_eq!(effect(&result, &seen), Effect::Run, "{kind}: {seen:?}");
    }
}
