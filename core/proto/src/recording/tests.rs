use serde_json::{Value, json};

use super::*;
use crate::delta::{BlockStart, Delta};
use crate::error::{Error, ErrorKind};
use crate::machine::{Action, Config, EndCause, Input, Loop, ModelCall, ModelEntry, Start};
use crate::message::Message;
use crate::usage::StopReason;

fn answer(run: &mut Loop, call: u32, text: &str) {
    let deltas = vec![
        Delta::Start { key: 0, block: BlockStart::Text },
        Delta::Append { key: 0, text: text.into() },
        Delta::Stop { reason: StopReason::Stop, raw: None },
    ];
    run.handle(Input::ModelDeltas { call, deltas });
    run.handle(Input::ModelEnd { call, result: Ok(()) });
}

fn begun(recorder: &Recorder, prompt: &str) -> Loop {
    let model = ModelEntry::new(0, "mine", "mine", "oracle");
    let mut start = Start::new("run_1", 7, vec![Message::user(prompt, 1)]);
    start.observed = Some(recorder.observed());
    Loop::new(Config::new(model.name(), Ok(model)), start)
}

/// A run in which the model answers this after a second, and a follow-up with the same text.
fn recorded(prompt: &str, text: &str) -> (String, Vec<String>) {
    let recorder = Recorder::new(true);
    let mut run = begun(&recorder, prompt);
    let (mut events, mut now_ms) = (Vec::new(), 1000);
    while let Some(action) = run.poll(now_ms) {
        match action {
            Action::Emit(event) => events.push(event.to_json()),
            Action::CallModel(call) => {
                recorder.frame(call.call, &json!({ "n": call.call }));
                if call.call == 0 {
                    run.handle(Input::FollowUp(vec![Message::user("more", 2)]));
                }
                run.check_limits(now_ms);
                run.check_limits(now_ms);
                now_ms += 1000;
                answer(&mut run, call.call, text);
            }
            _ => {}
        }
    }
    (String::from_utf8(recorder.take_text()).unwrap(), events)
}

fn played(text: &str) -> Result<Vec<String>, Error> {
    let (mut run, mut player) = Player::new(read(text.as_bytes())?.remove(0));
    let mut events = Vec::new();
    while let Played::Event(event) = player.next(&mut run)? {
        events.push(event.to_json());
    }
    Ok(events)
}

#[test]
fn a_recorded_run_has_the_same_events() {
    let (text, events) = recorded("Rain?", "Yes.");
    assert_eq!(played(&text).unwrap(), events);
    assert_eq!(text.matches("\"frame\"").count(), 2);
    // The same time again says nothing new.
    assert_eq!(text.matches("\"check\"").count(), 2);
    assert!(text.starts_with("{\"agent_loop_recording\":1,\"library\":"), "{text}");
}

#[test]
fn a_file_has_several_runs() {
    let both = recorded("Rain?", "Yes.").0 + "\n" + &recorded("Snow?", "No.").0;
    let runs = read(both.as_bytes()).unwrap();
    let of = |run: &RecordedRun| (run.number, run.started_ms(), run.start.prompts.as_ref().unwrap()[0].text());
    assert_eq!(runs.iter().map(of).collect::<Vec<_>>(), [(1, 1000, "Rain?".to_owned()), (2, 1000, "Snow?".to_owned())]);
    let prompts = vec![Message::user("Snow?", 99)];
    let began: Vec<bool> = runs.iter().map(|run| run.began_with("mine/oracle", Some(&prompts), None)).collect();
    assert_eq!(began, [false, true]);
    assert!(!runs[1].began_with("mine/other", Some(&prompts), None));
    assert!(!runs[1].began_with("mine/oracle", None, Some(&Vec::new())));
}

#[test]
fn an_end_that_was_forced_is_played() {
    let recorder = Recorder::new(false);
    let mut run = begun(&recorder, "Rain?");
    let mut events = Vec::new();
    for _ in 0..3 {
        if let Some(Action::Emit(event)) = run.poll(0) {
            events.push(event.to_json());
        }
    }
    let cause = EndCause::Failure(Error::new(ErrorKind::Io, "no host"));
    events.extend(run.force_end(cause).0.iter().map(|event| event.to_json()));
    let text = String::from_utf8(recorder.take_text()).unwrap();
    assert!(text.ends_with('\n') && text.lines().last().unwrap().starts_with(END), "{text}");
    assert_eq!(played(&text).unwrap(), events);
}

#[test]
fn an_abort_while_it_is_played_ends_it() {
    let (text, events) = recorded("Rain?", "Yes.");
    let (mut run, mut player) = Player::new(read(text.as_bytes()).unwrap().remove(0));
    for _ in 0..4 {
        assert!(matches!(player.next(&mut run).unwrap(), Played::Event(_)));
    }
    player.abort(&mut run);
    let mut kinds = Vec::new();
    let result = loop {
        match player.next(&mut run).unwrap() {
            Played::Event(event) => kinds.push(event.kind()),
            Played::Done(result) => break result,
        }
    };
    assert_eq!(result.outcome, crate::usage::Outcome::Aborted);
    assert_eq!(kinds.last(), Some(&"agent_end"));
    assert!(kinds.len() < events.len(), "{kinds:?}");
}

#[test]
fn what_is_not_as_it_was_recorded_names_its_line() {
    let (text, _) = recorded("Rain in Oslo?", "Yes.");
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}: {text}");
        played(&text.replacen(from, to, 1)).unwrap_err()
    };
    let error = changed("{\"event\":{\"type\":\"message_end\"", "{\"event\":{\"type\":\"message_and\"");
    assert_eq!(error.kind(), ErrorKind::Replay);
    assert!(error.message().contains("type is \"message_end\", and was recorded as \"message_and\""), "{error}");
    assert!(error.message().starts_with("line 5, in run 1: the event message_and (seq 3): "), "{error}");
    // An answer that says something else: what it leads to differs.
    let error = changed("\"text\":\"Yes.\"", "\"text\":\"No.\"");
    assert!(error.message().contains("content[0].text is \"No.\", and was recorded as \"Yes.\""), "{error}");
    // The loop gives something else, nothing, or more than was recorded.
    let error = changed("{\"request\":{", "{\"tool_call\":{\"name\":\"look\",");
    assert!(error.message().contains("a request to mine/oracle where a call of the tool look was recorded"), "{error}");
    let error = changed("{\"request\":{", "{\"question\":{\"hook\":\"before_run\",");
    assert!(error.message().contains("where a question to the hook before_run was recorded"), "{error}");
    // Of the second run of a file.
    let mut run = read(format!("{text}{}", text.replacen("message_end", "message_and", 1)).as_bytes()).unwrap().remove(1);
    run.file = "the recording runs.jsonl: ".into();
    let (mut machine, mut player) = Player::new(run);
    let error = loop {
        if let Err(error) = player.next(&mut machine) {
            break error;
        }
    };
    let place = format!("the recording runs.jsonl: line {}, in run 2: ", text.lines().count() + 5);
    assert!(error.message().starts_with(&place), "{error}");
}

#[test]
fn damaged_files_name_the_line() {
    let (text, _) = recorded("Rain?", "Yes.");
    let lines: Vec<&str> = text.lines().collect();
    let refused = |text: &str| {
        let error = read(text.as_bytes()).unwrap_err();
        (error.kind(), error.message().to_owned())
    };
    let damaged = |text: &str, begins: &str| {
        let (kind, message) = refused(text);
        assert_eq!(kind, ErrorKind::Damaged);
        assert!(message.starts_with(begins), "{message}");
    };
    damaged("", "line 1: the recording is empty");
    damaged("not a recording\n", "line 1: this is no recording");
    damaged(&lines[1..].join("\n"), "line 1: this is no recording");
    damaged(&format!("{text}{}\n", lines[1]), &format!("line {}: a run begins with", lines.len() + 1));
    // Cut between two lines, and within one; and a line that is missing.
    damaged(&lines[..5].join("\n"), "line 6: the run 1 begins in line 1 and has no end");
    damaged(&text[..lines[0].len() + 10], "line 2: it cannot be read (it ends too early); it begins with \"{\\\"poll");
    damaged(&[&lines[..6], &lines[7..]].concat().join("\n"), &format!("line {}: the run 1 has ", lines.len() - 1));
    damaged(&text.replace("\"poll\"", "\"pull\""), "line 2: it cannot be read (unknown variant `pull`");
    damaged(&format!("{}\n{text}", lines[..5].join("\n")), "line 6: the run 1 begins in line 1 and has no end");
    let newer = text.replacen(":1,", ":2,", 1).replacen("\"config\"", "\"settings\"", 1);
    let (kind, message) = refused(&newer);
    assert_eq!(kind, ErrorKind::NewerVersion);
    assert!(message.starts_with("line 1: the run has version 2") && message.ends_with("update agent-loop"), "{message}");
}

#[test]
fn any_cut_and_any_flipped_bit_is_an_error_or_read() {
    let (text, _) = recorded("Rain?", "Yes.");
    for at in (0..text.len()).step_by(7) {
        drop(read(&text.as_bytes()[..at]));
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1 << (at % 8);
        if let Ok(mut runs) = read(&bytes) {
            let (mut run, mut player) = Player::new(runs.remove(0));
            while let Ok(Played::Event(_)) = player.next(&mut run) {}
        }
    }
}

/// The first requests of a run with this prompt.
fn request(prompt: &str) -> ModelCall {
    let mut run = begun(&Recorder::new(false), prompt);
    loop {
        if let Some(Action::CallModel(call)) = run.poll(5) {
            return call;
        }
    }
}

#[test]
fn answers_are_for_the_recorded_requests() {
    let (text, _) = recorded("Rain in Oslo?", "Yes.");
    let mut run = read(text.as_bytes()).unwrap().remove(0);
    run.file = "the recording runs.jsonl: ".into();
    let mut answers = Answers::of(&run);
    let RecordedAnswer { place, parts } = answers.next(&request("Rain in Oslo?")).unwrap();
    assert_eq!(place, "the recording runs.jsonl: line 6: request 1 of run 1");
    let shown: Vec<(u64, &str)> = parts
        .iter()
        .map(|(after_ms, part)| match part {
            AnswerPart::Deltas(_) => (*after_ms, "deltas"),
            AnswerPart::Activity => (*after_ms, "activity"),
            AnswerPart::Intervention { .. } => (*after_ms, "intervention"),
            AnswerPart::End(_) => (*after_ms, "end"),
        })
        .collect();
    assert_eq!(shown, [(1000, "intervention"), (1000, "deltas"), (1000, "end")]);
    let left = answers.left_over().unwrap();
    assert_eq!(left.kind(), ErrorKind::Replay);
    assert!(left.message().contains("the run has ended, and request 2 of run 1 was recorded and not made"), "{left}");

    let mut answers = Answers::of(&run);
    let error = answers.next(&request("Rain in Bergen?")).unwrap_err();
    let expected = "request.messages[0].content[0].text is \"Rain in Bergen?\", and was recorded as \"Rain in Oslo?\"";
    assert!(error.message().contains(expected), "{error}");
    assert!(
        error.message().starts_with("the recording runs.jsonl: line 6: request 1 of run 1 is not the recorded one: "),
        "{error}"
    );
    // The first difference counts.
    assert_eq!(answers.next(&request("Rain in Oslo?")).unwrap_err(), error);
    assert_eq!(answers.left_over(), None);

    let mut none = Answers::none("the recording runs.jsonl: ".into(), "nothing here");
    let error = none.next(&request("Rain?")).unwrap_err();
    assert!(error.message().starts_with("the recording runs.jsonl: nothing here."), "{error}");
}

#[test]
fn the_place_where_two_values_differ() {
    let shown = |now: Value, recorded: Value| difference(&now, &recorded).map(|difference| difference.to_string());
    assert_eq!(shown(json!({ "a": 1, "b": [2] }), json!({ "b": [2], "a": 1 })), None);
    let text = |now, recorded| shown(now, recorded).unwrap();
    assert_eq!(text(json!({ "a": [1, 2] }), json!({ "a": [1] })), "a[1] is 2, and was not there in the recording");
    assert_eq!(text(json!({}), json!({ "a b": { "c": 1 } })), "[\"a b\"] is not there, and was recorded as {\"c\":1}");
    assert_eq!(text(json!({ "a": { "b": null } }), json!({ "a": { "b": 1 } })), "a.b is null, and was recorded as 1");
    assert_eq!(text(json!(1), json!("1")), "it is 1, and was recorded as \"1\"");
    // Of long texts, what is about the place.
    let (before, after) = ("é".repeat(300), "z".repeat(300));
    let long = text(json!(format!("{before}x{after}")), json!(format!("{before}y{after}")));
    assert!(long.starts_with(&format!("it is \"…{}xzzz", "é".repeat(40))) && long.len() < 600, "{long}");
}
