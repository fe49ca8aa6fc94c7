//! What comes of a journal.

use super::*;

fn folded(records: impl IntoIterator<Item = JournalRecord>) -> Rebuilt {
    let mut fold = Fold::new();
    records.into_iter().for_each(|record| fold.push(record));
    fold.finish()
}

fn texts(messages: &[Arc<Message>]) -> Vec<String> {
    messages.iter().map(|message| message.text()).collect()
}

fn said(text: &str) -> JournalRecord {
    JournalRecord::message(Message::user(text, 0))
}

fn run(of: RunOf) -> JournalRecord {
    JournalRecord::RunStart(RunStart::new("run_1", of))
}

fn end(outcome: Outcome) -> JournalRecord {
    JournalRecord::RunEnd(RunEnd::new("run_1", outcome, Usage::new(1, 2), 1))
}

#[test]
fn a_run_that_has_ended_leaves_its_messages() {
    let rebuilt =
        folded([run(RunOf::Prompt), said("Hello"), JournalRecord::message(answer("Hi.", &[])), end(Outcome::Completed)]);
    assert_eq!(texts(&rebuilt.messages), ["Hello", "Hi."]);
    assert_eq!((rebuilt.interrupted, rebuilt.open_calls.len()), (None, 0));
    let last = rebuilt.last_run.unwrap();
    assert_eq!((&*last.run_id, last.outcome, last.usage.total, last.turns), ("run_1", Outcome::Completed, 3, 1));
}

#[test]
fn what_is_remembered_is_the_last_of_its_records_and_a_reset_forgets_it() {
    let record = |rule| JournalRecord::Remembered(remembered(rule));
    assert_eq!(folded([record("a"), record("b")]).remembered, remembered("b"));
    // Another transcript changes nothing of what was decided.
    let kept = folded([record("a"), said("Hello"), JournalRecord::Replaced(Replaced::new(Vec::new()))]);
    assert_eq!(kept.remembered, remembered("a"));
    assert!(folded([record("a"), JournalRecord::Reset(Reset {})]).remembered.is_empty());
}

#[test]
fn a_run_that_has_not_ended_is_interrupted_and_says_how_far_each_call_came() {
    let answered = ToolOutput::new(vec![ContentBlock::text("3")]);
    let rebuilt = folded([
        run(RunOf::Prompt),
        said("Add"),
        JournalRecord::message(answer("", &["done", "answered", "started", "waiting"])),
        JournalRecord::ToolStart(start("done")),
        JournalRecord::ToolStart(start("answered")),
        JournalRecord::ToolStart(start("started")),
        JournalRecord::ToolAnswer(ToolAnswer::new("done", answered.clone(), false)),
        JournalRecord::ToolAnswer(ToolAnswer::new("answered", answered.clone(), false)),
        JournalRecord::message(result("done", "3")),
    ]);
    let interrupted = rebuilt.interrupted.unwrap();
    assert_eq!((&*interrupted.run_id, interrupted.of), ("run_1", RunOf::Prompt));
    let calls: Vec<_> = rebuilt.open_calls.iter().map(|call| (&*call.tool_call_id, &call.progress)).collect();
    assert_eq!(
        calls,
        [
            ("answered", &CallProgress::Answered { result: answered, is_error: false }),
            ("started", &CallProgress::Started),
            ("waiting", &CallProgress::Waiting),
        ]
    );
    // What the tool got, where it was called; else what the model said.
    assert_eq!(rebuilt.open_calls[1].arguments["a"], 2);
    assert_eq!(rebuilt.open_calls[1].idempotency_key.as_deref(), Some("s/1/started"));
    assert_eq!((&rebuilt.open_calls[2].arguments["a"], &rebuilt.open_calls[2].idempotency_key), (&json!(1), &None));
}

#[test]
fn calls_of_a_failed_answer_and_of_an_earlier_one_are_not_open() {
    let Message::Assistant(mut failed) = answer("", &["c"]) else { unreachable!() };
    failed.stop_reason = Some(StopReason::Aborted);
    assert!(folded([JournalRecord::message(Message::Assistant(failed))]).open_calls.is_empty());
    let rebuilt =
        folded([JournalRecord::message(answer("", &["old"])), said("never mind"), JournalRecord::message(answer("Fine.", &[]))]);
    assert!(rebuilt.open_calls.is_empty());
}

#[test]
fn a_queue_has_what_waits() {
    let queued = |queue, number, text: &str| JournalRecord::Queued(Queued::new(queue, number, Message::user(text, 0)));
    let rebuilt = folded([
        queued(Queue::Steering, 1, "a"),
        queued(Queue::FollowUp, 2, "b"),
        queued(Queue::Steering, 3, "c"),
        queued(Queue::FollowUp, 4, "d"),
        queued(Queue::Steering, 5, "e"),
        JournalRecord::Message(MessageRecord::of_queue(Message::user("a", 0), Queue::Steering, 1)),
        // A turn has begun with 5, so that clearing the queue leaves it; 4 is in the other queue.
        JournalRecord::QueueCleared(QueueCleared::new(Queue::Steering, vec![3, 4])),
    ]);
    assert_eq!(texts(&rebuilt.messages), ["a"]);
    let numbers = |queue: &[WaitingMessage]| queue.iter().map(|waiting| waiting.number).collect::<Vec<_>>();
    assert_eq!((numbers(&rebuilt.steering), numbers(&rebuilt.follow_up), rebuilt.last_queued), (vec![5], vec![2, 4], 5));
}

#[test]
fn calls_wait_for_decisions_once() {
    let mut records = vec![
        run(RunOf::Prompt),
        JournalRecord::message(answer("", &["one", "two"])),
        JournalRecord::ToolStart(start("one")),
        JournalRecord::Suspended(Suspended::new(vec![waiting("one", "later"), waiting("two", "ask")])),
        end(Outcome::Completed),
    ];
    let rebuilt = folded(records.clone());
    assert_eq!(rebuilt.suspended.iter().map(|waiting| &*waiting.call.reason).collect::<Vec<_>>(), ["later", "ask"]);
    assert!(rebuilt.interrupted.is_none());
    assert_eq!(rebuilt.open_calls[0].progress, CallProgress::Waiting, "it has suspended itself");

    records.push(JournalRecord::Decisions(Decisions::new(object(json!({ "one": "approve", "two": { "deny": "no" } })))));
    let decided = folded(records.clone());
    assert!(decided.suspended.is_empty());
    let decisions: Vec<_> = decided.open_calls.iter().map(|call| call.decision.clone().unwrap()).collect();
    assert_eq!(decisions, [json!("approve"), json!({ "deny": "no" })]);

    for discard in [JournalRecord::Reset(Reset {}), JournalRecord::Replaced(Replaced::new(Vec::new()))] {
        let mut records = records[..5].to_vec();
        records.push(discard);
        let discarded = folded(records);
        assert_eq!((discarded.suspended.len(), discarded.open_calls.len(), discarded.messages.len()), (0, 0, 0));
    }
}

#[test]
fn changes_between_runs_change_the_transcript() {
    let list = |texts: &[&str]| texts.iter().map(|text| Arc::new(Message::user(*text, 0))).collect::<Vec<_>>();
    let queued = JournalRecord::Queued(Queued::new(Queue::Steering, 1, Message::user("q", 0)));
    let rebuilt = folded([said("a"), JournalRecord::Appended(Appended::new(list(&["b", "c"])))]);
    assert_eq!(texts(&rebuilt.messages), ["a", "b", "c"]);
    let rebuilt = folded([said("a"), queued.clone(), JournalRecord::Replaced(Replaced::new(list(&["z"])))]);
    assert_eq!((texts(&rebuilt.messages), rebuilt.steering.len()), (vec!["z".to_owned()], 1));
    let rebuilt = folded([said("a"), queued, JournalRecord::Reset(Reset {})]);
    assert_eq!((rebuilt.messages.len(), rebuilt.steering.len(), rebuilt.last_queued), (0, 0, 1));
}

#[test]
fn title_and_metadata_change_each_by_itself() {
    let info = |info: Info| JournalRecord::Info(info);
    let given = [
        info(Info::default().title("A").metadata(object(json!({ "user": 1 })))),
        info(Info::default().title("B")),
        info(Info::default().metadata(object(json!({ "user": 2 })))),
    ];
    let rebuilt = folded(given.clone());
    assert_eq!(rebuilt.info, Info::default().title("B").metadata(object(json!({ "user": 2 }))));
    let emptied = given.into_iter().chain([info(Info::default().title("").metadata(Map::new()))]);
    assert_eq!(folded(emptied).info, Info::default());
}
