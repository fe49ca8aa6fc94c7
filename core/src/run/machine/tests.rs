//! The rules of the loop, one line each.

use super::*;
use Fact::{Answered, ToolsAnswered, TurnBegun, TurnEnded};
use Outcome::{Aborted, Completed, MaxTurns, Stopped};
use Step::{BeginTurn, CallModel, CallTools, EndTurn, Finish};

const GO_ON: Fact = TurnEnded { aborted: false, max_turns: 10 };
const RAN: Fact = ToolsAnswered { terminate: false };

fn answer(stop_reason: StopReason, calls: usize) -> Fact {
    Answered { stop_reason, calls }
}

/// What a run does, given what happens to it.
fn course(limit: u32, facts: &[Fact]) -> Vec<Step> {
    let mut machine = Machine::new();
    let mut steps = vec![machine.next()];
    for fact in facts {
        machine.tell(match *fact {
            TurnEnded { aborted, .. } => TurnEnded { aborted, max_turns: limit },
            fact => fact,
        });
        steps.push(machine.next());
    }
    steps
}

/// The step after a first answer like this.
fn after(stop_reason: StopReason, calls: usize) -> Step {
    course(10, &[TurnBegun, answer(stop_reason, calls)])[2]
}

/// The end of a run whose first answer was like this.
fn end(stop_reason: StopReason) -> Step {
    course(10, &[TurnBegun, answer(stop_reason, 0), GO_ON])[3]
}

#[test]
fn a_plain_answer_is_one_turn() {
    assert_eq!(course(10, &[TurnBegun, answer(StopReason::Stop, 0), GO_ON]), [BeginTurn, CallModel, EndTurn, Finish(Completed)]);
}

#[test]
fn calls_are_answered_in_another_turn() {
    let facts = [TurnBegun, answer(StopReason::ToolUse, 1), RAN, GO_ON, TurnBegun, answer(StopReason::Stop, 0), GO_ON];
    let run = CallTools { execute: true };
    let expected = [BeginTurn, CallModel, run, EndTurn, BeginTurn, CallModel, EndTurn, Finish(Completed)];
    assert_eq!(course(10, &facts), expected);
}

#[test]
fn calls_count_whatever_the_stop_reason_says() {
    assert_eq!(after(StopReason::Stop, 2), CallTools { execute: true });
    assert_eq!(after(StopReason::ToolUse, 0), EndTurn);
}

#[test]
fn nothing_of_a_cut_message_is_executed() {
    assert_eq!(after(StopReason::Length, 2), CallTools { execute: false });
    assert_eq!(after(StopReason::Length, 0), EndTurn);
}

#[test]
fn how_an_answer_ends_a_run() {
    assert_eq!(end(StopReason::Stop), Finish(Completed));
    assert_eq!(end(StopReason::Length), Finish(Completed));
    assert_eq!(end(StopReason::Refusal), Finish(Completed));
    assert_eq!(end(StopReason::Error), Finish(Outcome::Error));
    assert_eq!(end(StopReason::Aborted), Finish(Aborted));
}

#[test]
fn calls_of_a_refusal_are_not_run() {
    assert_eq!(after(StopReason::Refusal, 1), EndTurn);
}

#[test]
fn all_tools_asking_for_the_end_stop_the_run() {
    let facts = [TurnBegun, answer(StopReason::ToolUse, 1), ToolsAnswered { terminate: true }, GO_ON];
    assert_eq!(course(10, &facts).last(), Some(&Finish(Stopped)));
}

#[test]
fn abort_comes_before_every_other_outcome() {
    let aborted = TurnEnded { aborted: true, max_turns: 0 };
    for facts in [
        vec![TurnBegun, answer(StopReason::Stop, 0), aborted],
        vec![TurnBegun, answer(StopReason::Error, 0), aborted],
        vec![TurnBegun, answer(StopReason::ToolUse, 1), ToolsAnswered { terminate: true }, aborted],
    ] {
        assert_eq!(course(1, &facts).last(), Some(&Finish(Aborted)), "{facts:?}");
    }
}

#[test]
fn the_last_allowed_turn_ends_the_run_only_when_work_is_left() {
    let with_work = [TurnBegun, answer(StopReason::ToolUse, 1), RAN, GO_ON];
    assert_eq!(course(1, &with_work).last(), Some(&Finish(MaxTurns)));
    assert_eq!(course(2, &with_work).last(), Some(&BeginTurn));
    assert_eq!(course(0, &with_work).last(), Some(&BeginTurn), "0 is no limit");
    let without = [TurnBegun, answer(StopReason::Stop, 0), GO_ON];
    assert_eq!(course(1, &without).last(), Some(&Finish(Completed)));
}
