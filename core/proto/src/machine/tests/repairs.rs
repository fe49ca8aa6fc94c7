//! Reports of repairs: each once in a run.

use std::sync::Arc;

use serde_json::json;

use super::drive::{Drive, call, config, says};
use crate::event::EventData;
use crate::hook::{HookAnswer, HookKind, Question};
use crate::machine::{Action, Input};
use crate::message::Message;

#[test]
fn a_repair_is_reported_once_though_its_place_shifts() {
    // Another model's thinking becomes text.
    let thinking = json!({ "role": "assistant", "content": [{ "type": "thinking", "thinking": "hm" }], "model": "another" });
    let thinking: Arc<Message> = Arc::new(serde_json::from_value(thinking).unwrap());
    let first = Arc::new(Message::user("long ago", 0));
    let contexts = [vec![&thinking], vec![&first, &thinking], vec![&first, &thinking, &thinking]];
    let mut contexts = contexts.into_iter();
    let mut drive = Drive::new(config(&[HookKind::TransformContext], |_| {}), &[call("a"), call("b"), says("Done.")]);
    let mut reports = Vec::new();
    while let Some(action) = drive.run.poll(0) {
        match action {
            Action::Emit(event) => {
                if let EventData::Diagnostic { data, .. } = &event.data {
                    let places = data["repairs"].as_array().unwrap().iter().map(|repair| repair["message_index"].clone());
                    reports.push((event.turn, places.collect::<Vec<_>>()));
                }
            }
            Action::AskHook { question_id, question: Question::TransformContext(messages), .. } => {
                let before = contexts.next().unwrap().into_iter().cloned();
                let answer = HookAnswer::TransformContext(Some(before.chain(messages).collect()));
                drive.run.handle(Input::HookAnswer { question_id, answer: Ok(Box::new(answer)) });
            }
            // The tool's own preparation of its arguments.
            Action::AskHook { question_id, .. } => {
                drive.run.handle(Input::HookAnswer { question_id, answer: Ok(Box::new(HookAnswer::Nothing)) })
            }
            Action::CallModel(model) => drive.answer(model.call),
            Action::CallTool { call, .. } => drive.run.handle(Input::ToolDone { call, result: Ok("ran".into()) }),
            _ => {}
        }
    }
    assert!(drive.run.is_over());
    assert_eq!(reports, [(1, vec![json!(0)]), (3, vec![json!(2)])], "not again in the second turn");
}
