//! A saved loop.

use std::sync::Arc;

use serde_json::json;

use super::drive::{Drive, call, config, says};
use crate::delta::{BlockStart, Delta};
use crate::error::ErrorKind;
use crate::hook::{HookAnswer, HookKind};
use crate::machine::{Action, Config, Encoder, Input, Loop, ModelEntry, STATE_VERSION, Start, Timer, Tools};
use crate::model_spec::ModelSpec;
use crate::provider::Served;
use crate::tool::ToolSpec;
use crate::usage::{Outcome, StopReason};

#[test]
fn a_loop_of_another_version_is_refused() {
    let saved = Drive::new(config(&[], |_| {}), &[]).run.save().unwrap();
    assert!(Loop::load(&saved).is_ok());
    let other = saved.replacen(&format!("\"version\":{STATE_VERSION}"), "\"version\":99", 1);
    let error = Loop::load(&other).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NewerVersion);
    let text = "the saved loop cannot be loaded: it has version 99; this library loads version 1: update it";
    assert_eq!(error.message(), text);
    // A version says more than a field that is not known any more.
    let error = Loop::load(r#"{"phase": "Nowhere", "version": 2}"#).unwrap_err();
    assert!(error.message().contains("it has version 2"), "{error}");
    let older = saved.replacen(&format!("\"version\":{STATE_VERSION}"), "\"version\":0", 1);
    for (refused, text) in [(&*older, "it has version 0"), ("{}", "version")] {
        let error = Loop::load(refused).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(text), "{error}");
    }
}

#[test]
fn a_damaged_state_is_refused_or_goes_on() {
    let mut drive = Drive::new(config(&[], |_| {}), &[says("Done.")]);
    drive.rest();
    let saved = drive.run.save().unwrap();
    let state: serde_json::Value = serde_json::from_str(&saved).unwrap();
    let mut waits = state.clone();
    (waits["phase"], waits["model_calls"]["current"]) = (json!("Answer"), json!(null));
    let error = Loop::load(&waits.to_string()).unwrap_err();
    assert_eq!(error.message(), "the saved loop cannot be loaded: it waits for an answer, and has no model call");
    // Numbers that nothing can be added to.
    let mut full = serde_json::from_str::<serde_json::Value>(&Drive::new(config(&[], |_| {}), &[]).run.save().unwrap()).unwrap();
    (full["run"]["emitter"]["seq"], full["run"]["emitter"]["turn"]) = (json!(u64::MAX), json!(u32::MAX));
    (full["run"]["questions"]["next"], full["model_calls"]["next"]) = (json!(u32::MAX), json!(u32::MAX));
    let mut drive = Drive::new(config(&[], |_| {}), &[call("a"), says("Done.")]);
    drive.run = Loop::load(&full.to_string()).unwrap();
    assert_eq!(drive.end().0.outcome, Outcome::MaxTurns);
}

#[test]
fn the_schemas_of_tools_are_compiled_again() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let tool = ToolSpec::new("a", "A tool.", schema).unwrap();
    let tools = Tools::from(vec![Arc::new(tool)]);
    let mut drive = Drive::new(Config { tools, ..config(&[], |_| {}) }, &[call("a"), says("Done.")]);
    drive.run = Loop::load(&drive.run.save().unwrap()).unwrap();
    let (result, seen) = drive.end();
    assert_eq!(result.outcome, Outcome::Completed);
    assert!(!seen.contains(&"tool a".to_owned()), "arguments without n do not pass: {seen:?}");
}

#[test]
fn no_key_and_no_header_is_saved() {
    let spec = json!({ "provider": "anthropic", "id": "claude-sonnet-4-5", "headers": { "x-api-key": "top-secret" } });
    let spec = ModelSpec::from_json(spec).unwrap();
    let served = Served::of(&spec, Some("https://user:top-secret@example.com/v1"), &|_| Some("top-secret".to_owned()));
    let served = served.or_else(|_| Served::of(&spec, None, &|_| Some("top-secret".to_owned()))).unwrap();
    let entry = ModelEntry {
        key: 0,
        provider: "anthropic".to_owned(),
        protocol: "anthropic".to_owned(),
        id: spec.id.clone(),
        prices: None,
        constraints: served.constraints(&spec),
        encoder: Some(Arc::new(Encoder { spec, served })),
    };
    let run = Loop::new(Config { model: Ok(entry), ..config(&[], |_| {}) }, Start::default());
    let saved = run.save().unwrap();
    assert!(saved.contains("claude-sonnet-4-5") && !saved.contains("top-secret"), "{saved}");
    assert!(Loop::load(&saved).is_ok());
}

#[test]
fn the_key_that_a_hook_answers_is_not_saved() {
    let mut drive = Drive::new(config(&[HookKind::GetApiKey], |_| {}), &[says("Done.")]);
    let question_id = loop {
        match drive.run.poll(0) {
            Some(Action::AskHook { question_id, .. }) => break question_id,
            Some(_) => {}
            None => panic!("the hook is not asked"),
        }
    };
    drive.run.handle(Input::HookAnswer { question_id, answer: Ok(Box::new(HookAnswer::GetApiKey(Some("top-secret".into())))) });
    let saved = drive.run.save().unwrap();
    assert!(saved.contains("\"answer\":{\"Ok\"") && !saved.contains("top-secret"), "{saved}");
    drive.run = Loop::load(&saved).unwrap();
    assert_eq!(drive.end().0.outcome, Outcome::Completed);
}

#[test]
fn a_loaded_loop_asks_for_its_timer_before_anything_else() {
    let mut drive = Drive::new(config(&[], |settings| settings.limits.tool_timeout_ms = 30), &[call("a"), says("Done.")]);
    drive.answers_tools = false;
    drive.rest();
    assert_eq!(drive.timer_ms, Some(30));
    drive.run = Loop::load(&drive.run.save().unwrap()).unwrap();
    drive.run.handle(Input::ToolUpdate { call: 0, value: json!("half") });
    let first = drive.run.poll(0);
    assert!(matches!(first, Some(Action::SetTimer(Some(Timer { at_ms: 30, is_limit: true })))), "{first:?}");
    drive.timer_ms = Some(30);
    let (result, seen) = drive.end();
    assert_eq!(result.outcome, Outcome::Completed);
    assert!(seen.contains(&"cancel tool, abandoned: true".to_owned()), "the limit still holds: {seen:?}");
}

#[test]
fn found_a6_what_waits_is_saved_and_read_however_deep() {
    let nested = |levels| Box::new((0..levels).fold(json!("x"), |inner, _| json!([inner])));
    let raw = |levels| Delta::Raw(nested(levels));
    let diagnostic = |levels| Delta::Diagnostic { code: "odd".into(), message: "Odd.".to_owned(), data: nested(levels) };
    let opaque = |levels| Delta::Start { key: 0, block: BlockStart::Opaque { protocol: "p".to_owned(), data: nested(levels) } };
    let stop = || Delta::Stop { reason: StopReason::Stop, raw: None };
    // The events and the end of a run to which these deltas came, saved and loaded before it took them in, or not.
    let play = |delta: Delta, is_saved: bool| {
        let mut run = Drive::new(config(&[], |settings| settings.retry.max_retries = 0), &[]).run;
        let mut events = Vec::new();
        while let Some(action) = run.poll(0) {
            match action {
                Action::CallModel(model) => {
                    run.handle(Input::ModelDeltas { call: model.call, deltas: vec![delta.clone(), stop()] });
                    run.handle(Input::ModelEnd { call: model.call, result: Ok(()) });
                    if is_saved {
                        run = Loop::load(&run.save().unwrap()).unwrap();
                    }
                }
                Action::Emit(event) => events.push(event.to_json()),
                Action::Done(result) => return (events, result.outcome, result.error.map(|error| error.message().to_owned())),
                _ => {}
            }
        }
        panic!("no end")
    };
    for (levels, outcome) in [(64, Outcome::Completed), (65, Outcome::Error), (2000, Outcome::Error)] {
        let (events, ended, error) = play(opaque(levels), true);
        assert_eq!((ended, error.is_some()), (outcome, levels > 64), "{levels}: {error:?}");
        assert_eq!((events, ended, error), play(opaque(levels), false), "{levels}");
    }
    for levels in [112, 113, 2000] {
        assert_eq!(play(raw(levels), true), play(raw(levels), false), "{levels}");
        assert_eq!(play(diagnostic(levels), true), play(diagnostic(levels), false), "{levels}");
    }
}
