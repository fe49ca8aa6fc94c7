use serde_json::{Value, from_value, json};

use super::*;
use crate::machine::Input;

fn steer(text: &str) -> InboxInput {
    InboxInput::Steer { message: text.into() }
}

fn opened() -> Inbox {
    let mut inbox = Inbox::default();
    assert_eq!(inbox.open("inv_1".to_owned()), []);
    inbox
}

fn suspended(ids: &[&str]) -> Suspended {
    Suspended { awakeable: "awk_1".to_owned(), ids: ids.iter().map(|id| (*id).to_owned()).collect() }
}

fn decisions(given: Value) -> serde_json::Map<String, Value> {
    from_value(given).unwrap()
}

/// The numbers of the signals of these inputs; `None` for one that waits.
fn put(inbox: &mut Inbox, inputs: &[InboxInput]) -> Vec<Option<usize>> {
    let signal = |input: &InboxInput| {
        let signal = inbox.put(input.clone(), None).unwrap()?;
        assert_eq!((&signal.invocation[..], &signal.input), ("inv_1", input));
        Some(signal.number)
    };
    inputs.iter().map(signal).collect()
}

#[test]
fn inputs_without_a_run_wait_and_are_the_first_ones_of_the_next() {
    let mut inbox = Inbox::default();
    assert_eq!(put(&mut inbox, &[steer("a"), InboxInput::Abort, steer("b")]), [None, None, None]);
    assert_eq!(inbox.now().waiting, [steer("a"), steer("b")]);
    assert_eq!(inbox.open("inv_1".to_owned()), [steer("a"), steer("b")]);
    assert_eq!(inbox.now(), InboxState { is_running: true, waiting: vec![], suspended: vec![] });
    // They count among those that are sent.
    assert_eq!(put(&mut inbox, &[steer("c"), InboxInput::Abort, steer("d")]), [Some(2), Some(3), Some(4)]);
}

#[test]
fn inputs_that_a_run_has_not_stored_wait_for_the_next() {
    let mut inbox = opened();
    put(&mut inbox, &[steer("a"), steer("b"), InboxInput::Abort, steer("c")]);
    inbox.close(1);
    assert_eq!(inbox.now(), InboxState { is_running: false, waiting: vec![steer("b"), steer("c")], suspended: vec![] });
    put(&mut inbox, &[steer("d")]);
    assert_eq!(inbox.open("inv_2".to_owned()), [steer("b"), steer("c"), steer("d")]);
}

#[test]
fn a_run_that_was_killed_leaves_what_it_has_not_stored() {
    let mut inbox = opened();
    put(&mut inbox, &[steer("a"), steer("b")]);
    inbox.suspend(suspended(&["c1"]), 1);
    assert_eq!(inbox.now().suspended, ["c1"]);
    assert_eq!(inbox.open("inv_2".to_owned()), [steer("b")]);
    assert_eq!(inbox.now().suspended, [""; 0]);
}

#[test]
fn the_first_decision_about_all_calls_counts() {
    let mut inbox = opened();
    let refused = |inbox: &mut Inbox, given: Value| {
        let before = inbox.clone();
        let error = inbox.decide(&decisions(given)).unwrap_err();
        assert_eq!((error.kind(), &before), (ErrorKind::InvalidState, &*inbox));
        error.message().to_owned()
    };
    let none = "no call of this session waits for a decision; it may have been decided meanwhile";
    assert_eq!(refused(&mut inbox, json!({ "c1": "approve" })), none);
    inbox.suspend(suspended(&["c1", "c2"]), 0);
    let others = "other calls wait for a decision meanwhile: c1, c2";
    for given in [json!({}), json!({ "c1": "deny" }), json!({ "c1": "deny", "c3": "deny" })] {
        assert_eq!(refused(&mut inbox, given), others);
    }
    assert_eq!(inbox.decide(&decisions(json!({ "c2": "deny", "c1": "approve" }))).unwrap(), "awk_1");
    assert_eq!(refused(&mut inbox, json!({ "c2": "deny", "c1": "approve" })), none);
}

#[test]
fn an_abort_denies_the_calls_that_wait() {
    let mut inbox = opened();
    inbox.suspend(suspended(&["c1"]), 0);
    put(&mut inbox, &[steer("a")]);
    assert_eq!(inbox.now().suspended, ["c1"]);
    put(&mut inbox, &[InboxInput::Abort]);
    assert_eq!(inbox.now().suspended, [""; 0]);
    assert_eq!(inbox.decide(&decisions(json!({ "c1": "approve" }))).unwrap_err().kind(), ErrorKind::InvalidState);
}

#[test]
fn what_is_no_message_is_refused() {
    let expected = "message: expected text, a message or a list of messages, got";
    for (message, why) in [
        (Value::Null, format!("{expected} null")),
        (json!({ "rolle": "user" }), format!("{expected} {{\"rolle\":\"user\"}}")),
        (
            json!("  "),
            "message: the user message is empty: it has no image or other file, and no text but white space".to_owned(),
        ),
    ] {
        for mut inbox in [Inbox::default(), opened()] {
            let before = inbox.clone();
            let error = inbox.put(InboxInput::FollowUp { message: message.clone() }, None).unwrap_err();
            assert_eq!((error.kind(), error.message(), &inbox), (ErrorKind::InvalidArgument, &*why, &before));
        }
    }
}

#[test]
fn a_message_that_there_is_no_room_for_is_refused() {
    let room = |stored_bytes| Some(Room { stored_bytes, max_bytes: Some(100) });
    let message = steer(&"m".repeat(38));
    for mut inbox in [Inbox::default(), opened()] {
        // Forty bytes in JSON, twice.
        inbox.put(message.clone(), room(20)).unwrap();
        inbox.put(message.clone(), room(20)).unwrap();
        let before = inbox.clone();
        let error = inbox.put(steer("m"), room(20)).unwrap_err();
        let text = "the conversation would have 103 bytes with what waits and this message, and max_conversation_bytes is 100: \
                    send a shorter one, or begin a new session, with a summary of this one";
        assert_eq!((error.kind(), error.message(), &inbox), (ErrorKind::Limit, text, &before));
        assert!(inbox.put(InboxInput::Abort, room(100)).is_ok());
    }
    // What is in the stored conversation waits no longer.
    let mut inbox = opened();
    put(&mut inbox, &[message.clone(), message.clone()]);
    assert!(inbox.put(message.clone(), room(20)).is_err());
    inbox.suspend(suspended(&["c1"]), 1);
    assert!(inbox.put(message, room(20)).is_ok());
    let error = Inbox::default().put(steer("m"), room(98)).unwrap_err();
    assert!(error.message().starts_with("the conversation would have 101 bytes with this message, and"), "{error}");
    let by_default = |stored_bytes| Inbox::default().put(steer("m"), Some(Room { stored_bytes, max_bytes: None }));
    assert!(by_default(MAX_CONVERSATION_BYTES - 3).is_ok() && by_default(MAX_CONVERSATION_BYTES - 2).is_err());
}

#[test]
fn an_input_is_what_a_loop_takes() {
    let input = InboxInput::FollowUp { message: json!([{ "role": "user", "content": "Hi." }]) };
    assert!(matches!(input.to_input(), Ok(Input::FollowUp(messages)) if messages[0].text() == "Hi."));
    assert!(matches!(steer("Hi.").to_input(), Ok(Input::Steer(messages)) if messages.len() == 1));
    assert!(matches!(InboxInput::Abort.to_input(), Ok(Input::Abort)));
}

/// What the packages for Python and Node stored before this module was.
#[test]
fn stored_inboxes_are_read() {
    let read = |json: Value| crate::json_reader::from_value::<Inbox>(&json).unwrap();
    let message = json!({ "type": "steer", "message": "In short." });
    assert_eq!(read(json!({})), Inbox::default());
    assert_eq!(read(json!({ "waiting": [message] })).now().waiting, [steer("In short.")]);
    let follow_up = json!({ "type": "follow_up", "message": { "role": "user", "content": "And then?" } });
    let mut inbox = read(json!({
        "invocation": "inv_1", "sent": [message, { "type": "abort" }, follow_up], "saved": 1,
        "suspended": { "awakeable": "awk_1", "ids": ["c1"] },
    }));
    assert_eq!((inbox.now().is_running, inbox.now().suspended), (true, vec!["c1".to_owned()]));
    assert_eq!(put(&mut inbox, &[steer("a")]), [Some(3)]);
    assert_eq!(inbox.open("inv_2".to_owned()), [from_value(follow_up).unwrap(), steer("a")]);
    // What an older version has to read: no invocation, where there is none.
    inbox.close(2);
    assert_eq!(json!(inbox), json!({ "sent": [], "saved": 0, "waiting": [] }));
    for inbox in [Inbox::default(), opened()] {
        assert_eq!(read(json!(inbox)), inbox);
    }
}

fn pending_call() -> Value {
    json!({ "tool_call_id": "c1", "tool_name": "pay", "arguments": {}, "reason": "5 euros", "idempotency_key": "k" })
}

fn stored() -> StoredConversation {
    let mut call = pending_call();
    call["is_checked"] = true.into();
    StoredConversation::new(2, json!({ "version": 1, "messages": ["ü"], "suspended": [call] })).unwrap()
}

#[test]
fn a_conversation_is_stored_with_the_calls_that_wait_until_they_are_decided() {
    let mut stored = stored();
    assert_eq!(json!(stored)["pending"], json!([pending_call()]));
    let text = stored.to_json(None).unwrap();
    assert_eq!(crate::json_reader::from_text::<StoredConversation>(text.as_bytes()).unwrap(), stored);
    stored.begin_decided();
    let after = json!({ "runs": 2, "export": { "version": 1, "messages": ["ü"], "suspended": [] }, "pending": [] });
    assert_eq!(json!(stored), after);
    let error = StoredConversation::new(0, json!({})).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, "export: suspended: expected an array, got null"));
}

#[test]
fn a_conversation_that_is_too_large_is_not_stored() {
    let stored = stored();
    let bytes = stored.to_json(None).unwrap().len();
    assert!(stored.to_json(Some(bytes)).is_ok());
    let error = stored.to_json(Some(bytes - 1)).unwrap_err();
    let text = format!(
        "the conversation would have {bytes} bytes, and max_conversation_bytes is {}: it stays as it was before this run, whose \
         prompt, steering and follow-ups are dropped; begin a new session, with a summary of this one",
        bytes - 1
    );
    assert_eq!((error.kind(), error.message()), (ErrorKind::Limit, &*text));
}

#[test]
fn a_prompt_that_no_run_can_begin_with_is_refused() {
    let room = Room { stored_bytes: 90, max_bytes: Some(100) };
    let kind = |stored: &StoredConversation, prompt: Value| stored.check_prompt(&prompt, room).map_err(|error| error.kind());
    let none = StoredConversation::default();
    assert_eq!(kind(&none, json!("12345678")), Ok(()));
    assert_eq!(kind(&none, json!("123456789")), Err(ErrorKind::Limit));
    assert_eq!(kind(&none, json!(5)), Err(ErrorKind::InvalidArgument));
    assert_eq!(kind(&stored(), json!("Hi.")), Err(ErrorKind::InvalidState));
}

#[test]
fn mistakes_of_a_caller_have_their_http_status() {
    let kinds = [ErrorKind::InvalidArgument, ErrorKind::InvalidState, ErrorKind::Limit, ErrorKind::NewerVersion];
    assert_eq!(kinds.map(http_status), [400, 409, 413, 500]);
}
