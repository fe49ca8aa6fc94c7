//! Updates of tools: bounded, before the end of their call, never after an abort.

use serde_json::json;

use super::drive::{Drive, call, config, says};
use crate::event::{Event, EventData};
use crate::machine::{Action, Input, Loop};
use crate::message::ContentBlock;
use crate::settings::Settings;

/// The first call of the run.
const CALL: u32 = 0;

/// A run whose tool works and does not answer by itself.
fn working(change: impl FnOnce(&mut Settings)) -> Drive {
    let mut drive = Drive::new(config(&[], change), &[call("a"), says("Done.")]);
    drive.answers_tools = false;
    drive.rest();
    drive
}

fn update(run: &mut Loop, text: &str) {
    run.handle(Input::ToolUpdate { call: CALL, value: json!(text) });
}

/// The next event of the run; `None` when the loop waits, or asks for something else.
fn event(run: &mut Loop, now_ms: u64) -> Option<Event> {
    loop {
        match run.poll(now_ms)? {
            Action::Emit(event) => return Some(event),
            Action::SetTimer(_) | Action::CancelTool { .. } => {}
            _ => return None,
        }
    }
}

fn text(event: &Event) -> String {
    match &event.data {
        EventData::ToolExecutionUpdate { partial_result, .. } => match &partial_result.content[..] {
            [ContentBlock::Text { text, .. }] => text.clone(),
            other => panic!("{other:?}"),
        },
        EventData::Diagnostic { code, data, .. } => format!("{code} {}", data["count"]),
        _ => event.kind().to_owned(),
    }
}

#[test]
fn of_updates_that_wait_the_newest_replaces_the_one_before() {
    let mut drive = working(|_| {});
    (1..=70).for_each(|n| update(&mut drive.run, &n.to_string()));
    drive.run.handle(Input::ToolDone { call: CALL, result: Ok("all".into()) });
    let emitted: Vec<String> = std::iter::from_fn(|| event(&mut drive.run, 0)).map(|event| text(&event)).collect();
    let kept: Vec<String> = (1..=63).chain([70]).map(|n| n.to_string()).collect();
    assert_eq!(emitted[..64], kept);
    assert_eq!(emitted[64..66], ["updates_replaced 6", "tool_execution_end"]);
}

#[test]
fn updates_that_are_taken_make_room() {
    let mut drive = working(|_| {});
    for n in 1..=200 {
        update(&mut drive.run, &n.to_string());
        assert_eq!(text(&event(&mut drive.run, 0).unwrap()), n.to_string());
    }
    drive.run.handle(Input::ToolDone { call: CALL, result: Ok("all".into()) });
    assert_eq!(text(&event(&mut drive.run, 0).unwrap()), "tool_execution_end", "nothing was replaced");
}

#[test]
fn found_a1_a_tool_that_never_stops_updating_has_its_limit() {
    let mut drive = working(|settings| settings.limits.tool_timeout_ms = 30);
    for now_ms in 0..30 {
        update(&mut drive.run, "still here");
        update(&mut drive.run, "and faster than it is heard");
        assert_eq!(event(&mut drive.run, now_ms).unwrap().kind(), "tool_execution_update");
    }
    let end = event(&mut drive.run, 30).unwrap();
    let EventData::ToolExecutionEnd { is_error, .. } = &end.data else { panic!("{end:?}") };
    assert!(is_error, "{end:?}");
}

#[test]
fn an_answer_behind_its_updates_came_in_time() {
    let mut drive = working(|settings| settings.limits.tool_timeout_ms = 30);
    ["1", "2"].iter().for_each(|text| update(&mut drive.run, text));
    drive.run.handle(Input::ToolDone { call: CALL, result: Ok("all".into()) });
    let emitted: Vec<Event> = (0..3).map(|_| event(&mut drive.run, 40).unwrap()).collect();
    assert_eq!(emitted.iter().map(text).collect::<Vec<_>>(), ["1", "2", "tool_execution_end"]);
    assert!(matches!(emitted[2].data, EventData::ToolExecutionEnd { is_error: false, .. }), "{emitted:?}");
}

#[test]
fn after_an_abort_no_update_is_emitted() {
    let mut drive = working(|settings| settings.abort_grace_ms = 100);
    ["before", "and behind it"].iter().for_each(|text| update(&mut drive.run, text));
    assert_eq!(text(&event(&mut drive.run, 0).unwrap()), "before");
    drive.run.handle(Input::Abort);
    update(&mut drive.run, "after");
    assert!(event(&mut drive.run, 0).is_none(), "the tool has the grace time, and says nothing");
    // A flood does not keep the grace time from passing.
    update(&mut drive.run, "later");
    assert_eq!(event(&mut drive.run, 100).unwrap().kind(), "tool_execution_end");
}

#[test]
fn late_updates_are_reported_once_per_call() {
    let mut drive = working(|settings| settings.limits.tool_timeout_ms = 30);
    drive.now_ms = 30;
    (0..5).for_each(|_| update(&mut drive.run, "late"));
    let mut codes = Vec::new();
    while let Some(event) = event(&mut drive.run, 30) {
        if let EventData::Diagnostic { code, .. } = &event.data {
            codes.push(code.to_string());
        }
    }
    assert_eq!(codes, ["late_update"]);
}
