use agent_client_protocol::v1::schema::{CancelNotification, StopReason};
use agent_mock::{Answer, Mock, Script, Speech};
use serde_json::{Value, json};

use super::block_on;
use super::editor::{self, Editor, prompt, session, started};
use crate::Place;

/// A model that writes this file once for each text, each in a turn of its own that ends with a word.
fn writes(contents: &[&str]) -> Mock {
    let script = contents.iter().fold(Script::new().strict(), |script, content| {
        let call = Speech::call("write_file", json!({ "path": "a.txt", "content": content }));
        script.answer(Answer::message(call)).answer(Answer::message(Speech::text("Done.")))
    });
    Mock::start(script)
}

/// Prompts so often, with these answers of the user.
fn play(place: &Place, mock: &Mock, prompts: usize, answers: &[editor::Answer]) -> (Editor, Vec<StopReason>) {
    let editor = Editor::answering(answers);
    let mut child = started(place, mock, &["--tools", "all"]);
    let stops = block_on(editor.work(&mut child, async |agent| {
        let id = session(&agent, place).await?;
        let mut stops = Vec::new();
        for _ in 0..prompts {
            stops.push(prompt(&agent, &id, "Write.").await?);
        }
        Ok(stops)
    }));
    child.wait().unwrap();
    (editor, stops.unwrap())
}

fn first_call(editor: &Editor) -> Value {
    let id = editor.of("tool_call")[0]["toolCallId"].as_str().unwrap().to_owned();
    editor.call(&id)
}

#[test]
fn an_allowed_call_has_its_diff_before_and_after() {
    let place = Place::new();
    place.write("a.txt", "old\n");
    let (editor, _) = play(&place, &writes(&["new\n"]), 1, &[Some("allow")]);
    assert_eq!(place.read("a.txt"), "new\n");

    let path = place.path("a.txt").canonicalize().unwrap();
    let diff = json!({ "type": "diff", "path": path, "oldText": "old\n", "newText": "new\n" });
    let asked = &editor.asked()[0];
    let kinds: Vec<&Value> = asked["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once", "reject_always"]);
    assert_eq!(asked["options"][1]["name"], "Always allow write_file(a.txt)");
    assert_eq!(asked["toolCall"]["content"][1], diff, "{asked}");

    let call = first_call(&editor);
    assert_eq!(call["statuses"], json!(["pending", "in_progress", "pending", "in_progress", "completed"]));
    assert_eq!((&call["kind"], &call["title"]), (&json!("edit"), &json!("Write a.txt")));
    assert_eq!(call["locations"], json!([{ "path": path }]));
    assert_eq!(call["rawInput"], json!({ "path": "a.txt", "content": "new\n" }));
    assert_eq!(call["content"], json!([diff]));
}

#[test]
fn a_rejected_call_does_not_run_and_the_model_goes_on() {
    let place = Place::new();
    let mock = writes(&["new\n"]);
    let (editor, stops) = play(&place, &mock, 1, &[Some("reject")]);
    assert!(!place.path("a.txt").exists());
    assert_eq!(first_call(&editor)["status"], "failed");
    assert_eq!((editor.text("agent_message_chunk").as_str(), stops.as_slice()), ("Done.", [StopReason::EndTurn].as_slice()));
    assert!(mock.requests()[1].body.to_string().contains("the user has denied it"));
}

#[test]
fn always_is_asked_once() {
    let place = Place::new();
    let (editor, _) = play(&place, &writes(&["one", "two"]), 2, &[Some("allow_always")]);
    assert_eq!((editor.asked().len(), place.read("a.txt").as_str()), (1, "two"));
    let place = Place::new();
    let (editor, _) = play(&place, &writes(&["one", "two"]), 2, &[Some("reject_always")]);
    assert_eq!((editor.asked().len(), place.path("a.txt").exists()), (1, false));
}

#[test]
fn a_cancelled_question_ends_the_turn_and_the_session_goes_on() {
    let place = Place::new();
    let mock = writes(&["one", "two"]);
    let (editor, stops) = play(&place, &mock, 2, &[None, Some("allow")]);
    assert_eq!(stops, [StopReason::Cancelled, StopReason::EndTurn]);
    assert_eq!(first_call(&editor)["status"], "failed");
    // The model's second answer was for the call that was cancelled.
    assert_eq!((editor.asked().len(), mock.requests().len()), (1, 2));
}

#[test]
fn a_turn_is_cancelled_while_a_call_waits() {
    let place = Place::new();
    let mock = writes(&["one"]);
    let editor = Editor::default();
    let mut child = started(&place, &mock, &["--tools", "write_file"]);
    let worked = block_on(editor.work(&mut child, async |agent| {
        let id = session(&agent, &place).await?;
        let cancelled = async {
            editor.until(|editor| !editor.asked().is_empty()).await;
            agent.send_notification(CancelNotification::new(id.clone()))
        };
        let (stop, ()) = tokio::try_join!(prompt(&agent, &id, "Write."), cancelled)?;
        assert_eq!(stop, StopReason::Cancelled);
        assert_eq!(prompt(&agent, &id, "And now?").await?, StopReason::EndTurn);
        Ok(())
    }));
    worked.unwrap();
    child.wait().unwrap();
    assert!(!place.path("a.txt").exists());
}
