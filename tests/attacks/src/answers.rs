//! What models, tools and hooks answer, drawn at random: mostly sensible, at times late, broken, odd or nothing at all.

use agent_loop::hook::{ApiKey, HookKind};
use agent_loop::machine::{HookAnswer, Input};
use agent_loop::model::{BlockStart, Delta};
use agent_loop::{Error, ErrorKind, Message, StopReason, Usage};
use serde_json::json;

use crate::random::Random;

/// Inputs, each with the time after which it comes.
pub(crate) type Later = Vec<(u64, Input)>;

/// The names of tools that answers call; the last one does not exist.
pub(crate) const TOOLS: &[&str] = &["a", "b", "c", "nobody"];

/// The answer to a model call; at times it never ends.
pub(crate) fn of_model(call: u32, random: &mut Random) -> Later {
    let mut at_ms = random.below(3000);
    let mut inputs = Vec::new();
    let mut send = |at_ms: u64, deltas: Vec<Delta>| inputs.push((at_ms, Input::ModelDeltas { call, deltas }));
    let parts = random.below(6);
    for key in 0..u32::try_from(parts).unwrap_or_default() {
        at_ms += random.below(900);
        send(at_ms, block(key, random));
        if random.one_in(12) {
            at_ms += random.below(900);
            send(at_ms, vec![odd(random)]);
        }
    }
    at_ms += random.below(500);
    let result = match random.below(24) {
        // Silence: a time limit ends it.
        0 => return inputs,
        1 => Err(Error::new(ErrorKind::Overloaded, "busy").with_retryable(true)),
        2 => Err(Error::new(ErrorKind::Connection, "reset").with_retryable(true)),
        3 => Err(Error::new(ErrorKind::InvalidRequest, "no")),
        4 => Err(Error::new(ErrorKind::RateLimited, "slower").with_retryable(true).with_retry_after_ms(random.below(90_000))),
        // The stream is cut: no stop comes.
        5 => Ok(()),
        _ => {
            let reasons = [StopReason::Stop, StopReason::ToolUse, StopReason::Length, StopReason::Refusal];
            let reason = if random.one_in(8) { *random.pick(&reasons) } else { reasons[usize::from(random.one_in(2))] };
            let usage = Usage { input: random.below(5000), output: random.below(500), ..Usage::default() };
            send(at_ms, vec![Delta::Usage(Box::new(usage)), Delta::Stop { reason, raw: None }]);
            Ok(())
        }
    };
    inputs.push((at_ms, Input::ModelEnd { call, result }));
    inputs
}

/// A block in a few pieces.
fn block(key: u32, random: &mut Random) -> Vec<Delta> {
    let append = |text: &str| Delta::Append { key, text: text.to_owned() };
    let mut deltas = match random.below(5) {
        0 => vec![Delta::Start { key, block: BlockStart::Text }, append("It "), append("rains.")],
        1 => vec![Delta::Start { key, block: BlockStart::Thinking { redacted: random.one_in(5) } }, append("Hm.")],
        _ => {
            let id = if random.one_in(10) { random.text() } else { format!("call_{key}") };
            let name = (*random.pick(TOOLS)).to_owned();
            let arguments = match random.below(8) {
                0 => random.text(),
                1 => random.json(3).to_string(),
                2 => "{\"n\": 1".to_owned(),
                _ => "{\"n\": 1}".to_owned(),
            };
            vec![Delta::Start { key, block: BlockStart::ToolCall { id, name } }, append(&arguments)]
        }
    };
    if !random.one_in(6) {
        deltas.push(Delta::End { key });
    }
    deltas
}

/// A delta that does not fit what was before it.
fn odd(random: &mut Random) -> Delta {
    let key = u32::try_from(random.below(8)).unwrap_or_default();
    match random.below(8) {
        0 => Delta::Append { key, text: random.text() },
        1 => Delta::End { key },
        2 => Delta::Start { key, block: BlockStart::Text },
        3 => Delta::Signature { key, signature: random.text() },
        4 => Delta::Usage(Box::new(Usage { input: u64::MAX, output: random.next(), ..Usage::default() })),
        5 => Delta::ResponseId(random.text()),
        6 => Delta::Diagnostic { code: "odd".into(), message: random.text(), data: Box::new(random.json(2)) },
        _ => Delta::Stop { reason: StopReason::Stop, raw: Some(random.text()) },
    }
}

/// What a tool does; at times it never returns.
pub(crate) fn of_tool(call: u32, random: &mut Random) -> Later {
    let mut at_ms = 0;
    let mut inputs = Vec::new();
    let updates = if random.one_in(30) { 300 } else { random.below(3) };
    for _ in 0..updates {
        at_ms += random.below(50);
        inputs.push((at_ms, Input::ToolUpdate { call, value: random.json(2) }));
    }
    at_ms += if random.one_in(10) { random.below(300_000) } else { random.below(2000) };
    let done = |result| Input::ToolDone { call, result };
    match random.below(20) {
        0 => {}
        1 => inputs.push((at_ms, done(Err(random.text())))),
        2 => inputs.push((at_ms, done(Ok(random.json(4))))),
        3 => inputs.push((at_ms, done(Ok(json!({ "content": [], "terminate": true }))))),
        // Twice, and an update after it.
        4 => {
            inputs.push((at_ms, done(Ok(json!("once")))));
            inputs.push((at_ms, done(Ok(json!("twice")))));
            inputs.push((at_ms + 1, Input::ToolUpdate { call, value: json!("late") }));
        }
        _ => inputs.push((at_ms, done(Ok(json!("ran"))))),
    }
    inputs
}

/// What a hook answers.
pub(crate) fn of_hook(question_id: u32, kind: Option<HookKind>, random: &mut Random) -> Later {
    let at_ms = if random.one_in(4) { random.below(2000) } else { 0 };
    let answer = match (kind, random.below(12)) {
        (_, 0) => Err(Error::new(ErrorKind::Callback, random.text())),
        // The answer to another question.
        (_, 1) => Ok(HookAnswer::GetApiKey(Some(ApiKey::from("sk-1")))),
        (Some(HookKind::GetSteeringMessages), 2) => Ok(HookAnswer::GetSteeringMessages(vec![Message::user("steered", 0)])),
        (Some(HookKind::GetFollowUpMessages), 2) => Ok(HookAnswer::GetFollowUpMessages(vec![Message::user("followed", 0)])),
        (Some(HookKind::ShouldStopAfterTurn), 2 | 3) => Ok(HookAnswer::ShouldStopAfterTurn(true)),
        (Some(kind), 2 | 3) => HookAnswer::from_json(kind, random.json(2)).map_err(|why| Error::new(ErrorKind::Callback, why)),
        _ => Ok(HookAnswer::Nothing),
    };
    vec![(at_ms, Input::HookAnswer { question_id, answer: answer.map(Box::new) })]
}
