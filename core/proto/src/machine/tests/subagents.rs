//! Other agents in a run: events and budgets of subagents, their depth, and handoffs.

use std::sync::Arc;

use serde_json::json;

use super::drive::{Drive, call, config, model, says};
use crate::budget::{BudgetLeft, Used};
use crate::event::{Event, EventData};
use crate::json_reader::from_value;
use crate::machine::{Action, Config, Input, Loop, Start};
use crate::message::Message;
use crate::settings::Settings;
use crate::usage::{Outcome, Usage};

/// The first call of the run.
const CALL: u32 = 0;

/// A run whose tool works and does not answer by itself.
fn working(change: impl FnOnce(&mut Settings)) -> Drive {
    let mut drive = Drive::new(config(&[], change), &[call("a"), says("Done.")]);
    drive.answers_tools = false;
    drive.rest();
    drive
}

fn of_subagent(seq: u64, data: EventData) -> Input {
    Input::SubagentEvent { call: CALL, event: Arc::new(Event::new("sub".into(), seq, 1, data, None)) }
}

/// The events that the loop emits until it waits.
fn emitted(run: &mut Loop) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(action) = run.poll(0) {
        if let Action::Emit(event) = action {
            events.push(event);
        }
    }
    events
}

/// What was used, as another run says it.
fn used(tokens: u64, tool_calls: u64) -> Used {
    from_value(&json!({ "usage": Usage::new(tokens, 0), "tool_calls": tool_calls })).unwrap()
}

#[test]
fn events_of_a_subagent_come_in_order_before_the_end_of_its_call_and_none_is_replaced() {
    let mut drive = working(|_| {});
    (0..100).for_each(|seq| drive.run.handle(of_subagent(seq, EventData::TurnStart)));
    drive.run.handle(Input::ToolDone { call: CALL, result: Ok("x".into()) });
    drive.run.handle(of_subagent(100, EventData::TurnStart));
    let events = emitted(&mut drive.run);
    let seqs: Vec<u64> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::SubagentEvent { event, .. } => Some(event.seq),
            _ => None,
        })
        .collect();
    assert_eq!(seqs, (0..100).collect::<Vec<_>>());
    assert_eq!(events[100].kind(), "tool_execution_end");
    assert!(!events.iter().any(|event| event.kind() == "diagnostic"), "one that is late is no update");
}

#[test]
fn an_event_of_a_subagents_subagent_has_a_longer_path() {
    let mut drive = working(|_| {});
    let inner = Arc::new(Event::new("deep".into(), 0, 0, EventData::AgentStart, None));
    let (tool_call_id, tool_name, path) = ("b".into(), "deep".into(), vec!["b".to_owned(), "c".to_owned()]);
    drive.run.handle(of_subagent(0, EventData::SubagentEvent { tool_call_id, tool_name, path, event: inner }));
    let events = emitted(&mut drive.run);
    let EventData::SubagentEvent { tool_call_id, path, event, .. } = &events[0].data else { panic!("{events:?}") };
    assert_eq!((&**tool_call_id, &path[..], event.kind()), ("a", &["a", "b", "c"].map(str::to_owned)[..], "agent_start"));
}

#[test]
fn after_an_abort_no_event_of_a_subagent_is_emitted_and_what_it_uses_still_counts() {
    let mut drive = working(|_| {});
    drive.run.handle(of_subagent(0, EventData::TurnStart));
    drive.run.handle(Input::Abort);
    drive.run.handle(of_subagent(1, EventData::TurnEnd { message: None, tool_results: Vec::new() }));
    drive.run.handle(Input::SubagentUsed(used(7, 0)));
    drive.run.handle(Input::ToolDone { call: CALL, result: Ok("x".into()) });
    drive.seen.clear();
    let (result, seen) = drive.end();
    assert!(!seen.contains(&"subagent_event".to_owned()), "{seen:?}");
    assert_eq!((result.outcome, result.usage.total), (Outcome::Aborted, 7));
}

#[test]
fn what_subagents_use_is_of_the_budget_of_the_run() {
    for (limit, of_run) in [(5, Outcome::Budget), (6, Outcome::Completed)] {
        let mut drive = working(|settings| settings.budget.max_total_tokens = Some(limit));
        drive.run.handle(Input::SubagentUsed(used(2, 0)));
        drive.run.handle(Input::SubagentUsed(used(3, 0)));
        drive.run.handle(Input::ToolDone { call: CALL, result: Ok("x".into()) });
        assert_eq!(drive.end().0.outcome, of_run, "{limit}");
    }
}

#[test]
fn a_subagent_makes_no_model_call_when_nothing_is_left_around_it() {
    let around = working(|settings| settings.budget.max_total_tokens = Some(0));
    let mut inner = Drive::new(config(&[], |_| {}), &[says("never")]);
    let left = around.run.budget_left(0);
    assert!(left.differs(&BudgetLeft::default()) && !left.differs(&left));
    inner.run.handle(Input::BudgetLeft(left));
    let (result, seen) = inner.end();
    assert_eq!(result.outcome, Outcome::Budget);
    assert!(!seen.contains(&"model".to_owned()), "{seen:?}");
}

#[test]
fn a_subagent_calls_no_more_tools_than_are_left_around_it() {
    let mut around = working(|settings| settings.budget.max_tool_calls = Some(2));
    let mut inner = Drive::new(config(&[], |_| {}), &[call("a"), call("b"), says("Done.")]);
    inner.run.handle(Input::BudgetLeft(around.run.budget_left(0)));
    let (result, seen) = inner.end();
    assert_eq!(seen.iter().filter(|step| step.starts_with("tool ")).collect::<Vec<_>>(), ["tool a"]);
    assert!(result.messages[4].text().contains("max_tool_calls"), "{}", result.messages[4].text());
    around.run.handle(Input::SubagentUsed(used(0, 2)));
    assert!(around.run.budget_left(0).differs(&BudgetLeft::default()));
}

#[test]
fn what_a_run_has_used_is_reported_once() {
    let mut drive = working(|_| {});
    let reported = drive.run.take_used().expect("a call");
    assert_eq!(json!(reported)["tool_calls"], 1);
    drive.run.handle(Input::SubagentUsed(used(1, 1)));
    assert_eq!(drive.run.take_used(), None, "the subagent reports its own");
}

#[test]
fn no_subagent_may_be_deeper_than_the_runs_around_it_allow() {
    let depth = |most, left| {
        let start = Start { subagent_depth: left, ..Start::new("run", 0, vec![Message::user("go", 0)]) };
        Drive::start(config(&[], |settings| settings.max_subagent_depth = most), start, &[]).run.subagent_depth().ok()
    };
    assert_eq!([depth(4, None), depth(1, None), depth(0, None)], [Some(3), Some(0), None]);
    assert_eq!([depth(4, Some(2)), depth(1, Some(2)), depth(4, Some(0))], [Some(1), Some(0), None]);
}

/// Another agent's configuration.
fn other() -> Arc<Config> {
    let mut other = config(&[], |settings| {
        (settings.max_turns, settings.system_prompt) = (1, "Other.".to_owned());
        settings.budget.max_tool_calls = Some(0);
    });
    (other.model, other.model_name) = (Ok(model("other")), "script/other".to_owned());
    Arc::new(other)
}

#[test]
fn after_a_handoff_the_run_keeps_its_limits_and_is_the_other_agents_else() {
    let mut drive = Drive::new(config(&[], |settings| settings.max_turns = 3), &[call("a"), call("b"), says("Done.")]);
    drive.answers_tools = false;
    drive.rest();
    drive.run.handle(Input::HandOff { tool_call_id: "a".into(), tool_name: "a".into(), config: other() });
    let mut run = Loop::load(&drive.run.save().unwrap()).unwrap();
    let [event] = &emitted(&mut run)[..] else { panic!("one event") };
    assert!(event.to_json().contains(r#""code":"handoff""#), "{}", event.to_json());
    drive.run = run;
    drive.run.handle(Input::ToolDone { call: CALL, result: Ok("x".into()) });
    drive.answers_tools = true;
    // A later change of the other agent is taken in, too.
    drive.run.handle(Input::Configure(other()));
    let (result, _) = drive.end();
    let models: Vec<&str> = result.messages.iter().filter_map(|message| message.as_assistant()).map(|m| &*m.model).collect();
    assert_eq!((result.outcome, models), (Outcome::Completed, vec!["own", "other", "other"]));
}
