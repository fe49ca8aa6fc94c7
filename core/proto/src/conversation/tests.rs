//! What an agent's calls do between runs and during one.

use serde_json::json;

use super::journal::InterruptedPhase;
use super::*;
use crate::machine::ModelEntry;
use crate::media::Media;
use crate::message::{AssistantMessage, ContentBlock, ToolCall, ToolResultMessage, UserMessage};
use crate::model_spec::ModelSpec;
use crate::queues::Delivery;
use crate::script::Script;
use crate::session::{Fold, JournalRecord, Rebuilt, RunOf, RunStart};

/// A model that answers "Hello.", or one that cannot be used.
fn config(answers: bool) -> Config {
    let model = ModelEntry::new(0, "script", "script", "model");
    Config::new("script/model", answers.then_some(model).ok_or(Error::new(ErrorKind::Authentication, "no key")))
}

fn prompt(text: &str) -> Start {
    Start::new("run", 0, vec![Message::user(text, 1)])
}

fn begin(conversation: &mut Conversation<Loop>, answers: bool, start: Start) {
    conversation.begin(config(answers), start, |run| run).unwrap();
}

/// Drives the active run to its end. `on` is called after each event of this kind.
fn drive(conversation: &mut Conversation<Loop>, kind: &str, mut on: impl FnMut(&mut Conversation<Loop>)) {
    while let Some(action) = conversation.poll(1) {
        match action {
            Action::Emit(event) if event.kind() == kind => on(conversation),
            Action::CallModel(call) => {
                let script = json!([[{ "delta": "Hello." }, { "end": {} }]]);
                let spec = ModelSpec::from_json(json!({ "provider": "scripted", "id": "a", "script": script })).unwrap();
                let inputs = Script::of(&spec).unwrap().next_inputs(call.call, 1);
                inputs.into_iter().for_each(|(_, input)| conversation.handle(input));
            }
            _ => {}
        }
    }
}

/// A conversation after a run with this prompt.
fn after(text: &str, answers: bool) -> Conversation<Loop> {
    let mut conversation = Conversation::default();
    begin(&mut conversation, answers, prompt(text));
    drive(&mut conversation, "", |_| {});
    conversation
}

fn user(text: &str) -> Vec<Message> {
    vec![Message::user(text, 1)]
}

fn texts(conversation: &Conversation<Loop>) -> Vec<String> {
    conversation.messages().iter().map(|message| message.text()).collect()
}

#[test]
fn the_transcript_is_what_message_end_has_carried() {
    let conversation = after("Hi.", true);
    assert_eq!(texts(&conversation), ["Hi.", "Hello."]);
    assert!(conversation.error().is_none() && conversation.streaming_message().is_none() && conversation.active().is_none());
}

#[test]
fn an_error_stays_until_the_next_run_begins() {
    let mut conversation = after("Hi.", false);
    assert_eq!(conversation.error().map(Error::kind), Some(ErrorKind::Authentication));
    begin(&mut conversation, true, prompt("Again."));
    assert!(conversation.error().is_none());
}

#[test]
fn a_message_is_queued_for_the_active_run_or_for_the_next_one() {
    let mut conversation = Conversation::default();
    conversation.queue(Queue::Steering, user("before")).unwrap();
    begin(&mut conversation, true, prompt("Hi."));
    assert!(conversation.has_queued());
    drive(&mut conversation, "turn_end", |conversation| {
        if conversation.messages().len() == 3 {
            conversation.queue(Queue::FollowUp, user("during")).unwrap();
        }
    });
    assert_eq!(texts(&conversation), ["Hi.", "before", "Hello.", "during", "Hello."]);
    assert!(!conversation.has_queued());
}

#[test]
fn what_no_turn_has_begun_with_waits_for_the_next_run() {
    let mut conversation = Conversation::default();
    begin(&mut conversation, false, prompt("Hi."));
    conversation.queue(Queue::FollowUp, user("later")).unwrap();
    drive(&mut conversation, "", |_| {});
    assert!(conversation.has_queued());
    conversation.clear_queue(Queue::Steering);
    assert!(conversation.has_queued(), "another queue");
    conversation.clear_queue(Queue::FollowUp);
    assert!(!conversation.has_queued());
}

#[test]
fn the_queues_of_the_active_run_are_cleared() {
    let mut conversation = Conversation::default();
    begin(&mut conversation, true, prompt("Hi."));
    for queue in [Queue::Steering, Queue::FollowUp] {
        conversation.queue(queue, user("no")).unwrap();
        conversation.clear_queue(queue);
    }
    drive(&mut conversation, "", |_| {});
    assert_eq!(texts(&conversation), ["Hi.", "Hello."]);
}

#[test]
fn a_run_resumes_with_what_is_queued_or_not_at_all() {
    let mut conversation = after("Hi.", true);
    let resume = Start::resume("run", 0);
    let error = conversation.begin(config(true), resume.clone(), |run| run).unwrap_err();
    assert_eq!((error.kind(), conversation.active().is_some()), (ErrorKind::InvalidState, false));
    conversation.queue(Queue::FollowUp, user("More.")).unwrap();
    begin(&mut conversation, true, resume);
    drive(&mut conversation, "", |_| {});
    assert_eq!(texts(&conversation), ["Hi.", "Hello.", "More.", "Hello."]);
}

#[test]
fn an_empty_list_of_prompts_is_refused_and_does_not_resume() {
    let mut conversation = Conversation::new(Arc::new(vec![Arc::new(Message::user("Hi.", 0))])).unwrap();
    let error = conversation.begin(config(true), Start::new("run", 0, Vec::new()), |run| run).unwrap_err();
    assert_eq!((error.kind(), conversation.active().is_some()), (ErrorKind::InvalidArgument, false));
    begin(&mut conversation, true, Start::resume("run", 0));
}

#[test]
fn a_message_that_says_nothing_is_refused() {
    let image = ContentBlock::Image(Media::data("iVBORw0KGgo=", "image/png"));
    let empty: [Vec<ContentBlock>; 4] = [
        vec![],
        vec![ContentBlock::text("")],
        vec![ContentBlock::text(" \n\u{a0}")],
        vec![ContentBlock::text(""), ContentBlock::Thinking { thinking: "no user's".into(), signature: None, redacted: false }],
    ];
    let mut conversation: Conversation<Loop> = Conversation::default();
    let why = "the user message is empty: it has no image or other file, and no text but white space";
    for content in empty {
        let message = Message::User(UserMessage::new(content));
        let error = conversation.begin(config(true), Start::new("run", 0, vec![message.clone()]), |run| run).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.message(), format!("prompt: {why}; to go on without a new message, use resume"));
        for (queue, call) in [(Queue::Steering, "steer"), (Queue::FollowUp, "follow_up")] {
            let error = conversation.queue(queue, vec![Message::user("a", 0), message.clone()]).unwrap_err();
            let text = format!("{call}: [1]: {why}; leave the call out where there is nothing to say");
            assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, &*text));
            let error = conversation.queue(queue, vec![]).unwrap_err();
            assert_eq!(error.message(), format!("{call}: the list is empty; give at least one message"));
        }
    }
    assert!(!conversation.has_queued() && conversation.active().is_none());
    let with_image = Message::User(UserMessage::new(vec![ContentBlock::text(""), image]));
    conversation.queue(Queue::Steering, vec![with_image]).unwrap();
    let none = Message::ToolResult(ToolResultMessage::new("a", "t", vec![]));
    conversation.append([Message::User(UserMessage::new(vec![])), none]).unwrap();
}

#[test]
fn the_transcript_cannot_be_changed_during_a_run() {
    let mut conversation = after("Hi.", false);
    begin(&mut conversation, true, prompt("Again."));
    let refused = [
        conversation.append(user("no")),
        conversation.replace(user("no")),
        conversation.reset(),
        conversation.begin(config(true), prompt("no"), |run| run).map(drop),
    ];
    assert!(refused.iter().all(|result| result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Busy)), "{refused:?}");
    conversation.end();
    conversation.append(user("yes")).unwrap();
    assert_eq!(texts(&conversation), ["Hi.", "", "yes"]);
    conversation.replace(user("new")).unwrap();
    assert_eq!(texts(&conversation), ["new"]);
    conversation.queue(Queue::Steering, user("no")).unwrap();
    conversation.reset().unwrap();
    assert!(conversation.messages().is_empty() && conversation.error().is_none() && !conversation.has_queued());
}

#[test]
fn a_stateless_run_takes_no_message_after_its_end() {
    let mut conversation = Conversation::new(Arc::default()).unwrap();
    let config = Config { is_stateless: true, ..config(true) };
    conversation.begin(config, prompt("Hi."), |run| run).unwrap();
    drive(&mut conversation, "agent_end", |conversation| {
        let error = conversation.queue(Queue::Steering, user("late")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidState, "the result would not have it");
    });
    let error = conversation.queue(Queue::Steering, user("no")).unwrap_err();
    assert_eq!((error.kind(), conversation.has_queued()), (ErrorKind::InvalidState, false));
}

#[test]
fn the_state_of_an_agent_follows_the_events() {
    let state = |conversation: &Conversation<Loop>| json!(conversation.state(&Settings::default(), "a/b".to_owned(), ["c"], 1));
    let mut conversation = Conversation::default();
    assert_eq!(
        state(&conversation).to_string(),
        r#"{"system_prompt":"","model":"a/b","thinking_level":"off","tools":["c"],"messages":[],"is_streaming":false,"#
            .to_owned()
            + r#""streaming_message":null,"pending_tool_calls":[],"error":null,"listener_errors":1}"#
    );
    begin(&mut conversation, true, prompt("Hi."));
    let mut streamed = Vec::new();
    drive(&mut conversation, "text_delta", |conversation| {
        let now = state(conversation);
        streamed.push((now["is_streaming"].clone(), now["streaming_message"]["content"][0]["text"].clone()));
    });
    assert_eq!(streamed, [(json!(true), json!("Hello."))]);
}

#[test]
fn a_revision_says_what_of_the_transcript_is_as_before() {
    let mut conversation = after("Hi.", true);
    let (replaced, count) = conversation.revision();
    assert_eq!(count, 2);
    begin(&mut conversation, true, prompt("More."));
    drive(&mut conversation, "", |_| {});
    conversation.append(user("x")).unwrap();
    assert_eq!(conversation.revision(), (replaced, 5), "runs and appended messages leave what was there");
    conversation.replace(conversation.messages().to_vec()).unwrap();
    let again = conversation.revision();
    assert!(again.0 > replaced && again.1 == 5);
    conversation.replace(vec![Arc::new(Message::user("x", 1)), Arc::new(Message::user("y", 1))]).unwrap();
    conversation.replace(Vec::<Message>::new()).unwrap();
    let emptied = conversation.revision();
    assert!(emptied.0 > again.0);
    conversation.append(user("z")).unwrap();
    conversation.reset().unwrap();
    let reset = conversation.revision();
    assert!(reset.0 > emptied.0, "no revision comes twice");
    conversation.import(after("Hi.", true).export().unwrap()).unwrap();
    assert!(conversation.revision().0 > reset.0, "the messages of an export are others");
}

#[test]
fn a_replacement_that_is_refused_changes_nothing() {
    let mut conversation = after("Hi.", true);
    let before = (conversation.revision(), texts(&conversation));
    let with_id = |text: &str| {
        let message = Message::given(json!({ "role": "user", "content": text, "id": "m" }));
        Arc::new(message.unwrap())
    };
    let twice = [with_id("a"), with_id("b")];
    let error = conversation.check_replacement(&twice).unwrap_err();
    assert_eq!(error, conversation.replace(twice).unwrap_err());
    assert_eq!((conversation.revision(), texts(&conversation)), before);
    assert_eq!(conversation.check_replacement(&[with_id("a")]), Ok(()));
}

#[test]
fn a_reset_gives_no_message_the_number_of_an_earlier_one() {
    let mut conversation: Conversation<Loop> = Conversation::default();
    let mut numbers = Vec::new();
    for _ in 0..2 {
        for which in [Queue::Steering, Queue::FollowUp] {
            conversation.queue(which, user("x")).unwrap();
        }
        let queues = json!(conversation.queues);
        numbers.extend([&queues["steering"], &queues["follow_up"]].map(|queue| queue[0]["number"].as_u64().unwrap()));
        conversation.reset().unwrap();
        assert!(!conversation.has_queued());
    }
    assert_eq!(numbers, [1, 2, 3, 4]);
    let mut exported: Conversation<Loop> = Conversation::default();
    exported.queue(Queue::Steering, user("x")).unwrap();
    conversation.import(exported.export().unwrap()).unwrap();
    assert_eq!(json!(conversation.queues)["steering"][0]["number"], 5, "nor does an export");
}

/// What comes of these records.
fn rebuilt(records: impl IntoIterator<Item = JournalRecord>) -> Rebuilt {
    let mut fold = Fold::new();
    records.into_iter().for_each(|record| fold.push(record));
    fold.finish()
}

fn kinds(records: &[JournalRecord]) -> Vec<String> {
    records.iter().map(|record| json!(record)["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_changes_of_a_session_between_runs_are_records() {
    let mut conversation: Conversation<Loop> = Conversation::of_session("s", &Rebuilt::default());
    conversation.append(user("a")).unwrap();
    conversation.queue(Queue::Steering, user("s1")).unwrap();
    conversation.queue(Queue::FollowUp, user("f2")).unwrap();
    conversation.clear_queue(Queue::Steering);
    conversation.clear_queue(Queue::Steering);
    conversation.replace(user("b")).unwrap();
    let mut records = conversation.take_records();
    assert_eq!(kinds(&records), ["appended", "queued", "queued", "queue_cleared", "replaced"]);
    assert!(conversation.take_records().is_empty() && Conversation::<Loop>::default().take_records().is_empty());

    // Opened again, it is the same, and its numbers and its keys go on.
    let again = rebuilt(records.clone());
    let mut other: Conversation<Loop> = Conversation::of_session("s", &again);
    assert_eq!(json!(other.export().unwrap()), json!(conversation.export().unwrap()));
    other.queue(Queue::FollowUp, user("f3")).unwrap();
    assert_eq!(json!(other.take_records())[0]["number"], json!(3));
    other.reset().unwrap();
    records.extend(other.take_records());
    let emptied = rebuilt(records);
    assert_eq!((emptied.messages.len(), emptied.replaced), (0, 2), "both messages count for the keys to come");
}

#[test]
fn what_a_run_took_no_notice_of_is_recorded_at_its_end() {
    let mut conversation: Conversation<Loop> = Conversation::of_session("s", &Rebuilt::default());
    begin(&mut conversation, true, prompt("Hi."));
    while let Some(action) = conversation.active_mut().unwrap().poll(1) {
        match action {
            Action::CallModel(call) => {
                conversation.handle(Input::ModelEnd { call: call.call, result: Err(Error::new(ErrorKind::Permission, "no")) });
            }
            Action::Done(_) => break,
            _ => {}
        }
    }
    assert_eq!(conversation.queue(Queue::Steering, user("late")).unwrap(), Delivery::Queued);
    assert!(conversation.take_records().is_empty(), "the run may still ask for it");
    conversation.end();
    assert_eq!(kinds(&conversation.take_records()), ["queued"]);
}

#[test]
fn what_was_left_is_of_the_last_answer_alone() {
    let call = |id: &str| ContentBlock::ToolCall(ToolCall::new(id, "a", serde_json::Map::new()));
    let asked = Message::Assistant(AssistantMessage::new(vec![call("call_1")]));
    let records = [
        JournalRecord::RunStart(RunStart::new("run", RunOf::Prompt)),
        JournalRecord::message(Message::user("Hi.", 1)),
        JournalRecord::message(asked),
    ];
    let mut conversation: Conversation<Loop> = Conversation::of_session("s", &rebuilt(records));
    let interrupted = conversation.interrupted().unwrap();
    assert_eq!((&*interrupted.run_id, interrupted.phase, interrupted.calls.len()), ("run", InterruptedPhase::Tools, 1));
    begin(&mut conversation, true, prompt("Never mind."));
    assert_eq!((conversation.interrupted(), conversation.left().len()), (None, 1));
    drive(&mut conversation, "", |_| {});
    assert!(conversation.left().is_empty());
}
