//! The rules of the loop, one line each.

use super::*;
use Fact::{Answered, Asked, Broken, Looked, NothingToBegin, Polled, Prepared, ToolsAnswered, TurnBegun, TurnEnded};
use Outcome::{Aborted, Completed, MaxTurns, Stopped};
use Step::{
    AskStop, BeginTurn, CallModel, CallTools, EndTurn, Finish, LookAtQueues, PollFirst, PollFollowUp, PollSteering,
    PrepareNextTurn,
};

const ENDED: Fact = TurnEnded { max_turns: 10 };
const RAN: Fact = ToolsAnswered { terminate: false, steered: false };
const TERMINATED: Fact = ToolsAnswered { terminate: true, steered: false };
const STEERED: Fact = ToolsAnswered { terminate: false, steered: true };
const GO_ON: Fact = Asked { stop: false };
const FOUND: Fact = Polled { found: true };
const NONE: Fact = Polled { found: false };
const SAID: Fact = Answered { stop_reason: StopReason::Stop, calls: 0 };
const CALLED: Fact = Answered { stop_reason: StopReason::ToolUse, calls: 1 };
const RUN: Step = CallTools { execute: true };

/// What a run does, given what happens to it.
fn course(facts: &[Fact]) -> Vec<Step> {
    let mut machine = Machine::new(true);
    let mut steps = vec![machine.next()];
    for fact in facts {
        machine.tell(*fact);
        steps.push(machine.next());
    }
    steps
}

/// The step that the facts of a first turn, told after the first poll, lead to.
fn after(facts: &[Fact]) -> Step {
    *course(&[&[TurnBegun, NONE], facts].concat()).last().unwrap()
}

#[test]
fn a_plain_answer_is_one_turn() {
    let facts = [TurnBegun, NONE, SAID, ENDED, Prepared, GO_ON, NONE, NONE];
    let steps =
        [BeginTurn, PollFirst, CallModel, EndTurn, PrepareNextTurn, AskStop, PollSteering, PollFollowUp, Finish(Completed)];
    assert_eq!(course(&facts), steps);
}

#[test]
fn calls_are_answered_in_another_turn_without_another_first_poll() {
    let facts = [TurnBegun, NONE, CALLED, RAN, ENDED, Prepared, GO_ON, NONE, TurnBegun, SAID];
    let steps =
        [BeginTurn, PollFirst, CallModel, RUN, EndTurn, PrepareNextTurn, AskStop, PollSteering, BeginTurn, CallModel, EndTurn];
    assert_eq!(course(&facts), steps);
}

#[test]
fn a_run_of_queued_messages_does_not_poll_first() {
    let mut machine = Machine::new(false);
    machine.tell(TurnBegun);
    assert_eq!(machine.next(), CallModel);
}

/// The rules: what happens in a first turn, and what comes next.
#[test]
fn rules() {
    let answered = |stop_reason, calls| Answered { stop_reason, calls };
    let last = TurnEnded { max_turns: 1 };
    let unlimited = TurnEnded { max_turns: 0 };
    let cut = CallTools { execute: false };
    let waiting = |waiting| Looked { waiting };
    let table: &[(&str, &[Fact], Step)] = &[
        // Calls count whatever the stop reason says; nothing of a cut message runs.
        ("calls under tool_use run", &[answered(StopReason::ToolUse, 2)], RUN),
        ("calls under stop run", &[answered(StopReason::Stop, 2)], RUN),
        ("tool_use without calls is an end", &[answered(StopReason::ToolUse, 0)], EndTurn),
        ("calls of a cut message do not run", &[answered(StopReason::Length, 2)], cut),
        ("a cut text is an end", &[answered(StopReason::Length, 0)], EndTurn),
        ("calls of a refusal are not run", &[answered(StopReason::Refusal, 1)], EndTurn),
        // How an answer ends a run: after an error, an abort or a refusal nobody is asked.
        ("an error ends the run", &[answered(StopReason::Error, 0), ENDED], Finish(Outcome::Error)),
        ("an abort ends the run", &[answered(StopReason::Aborted, 0), ENDED], Finish(Aborted)),
        ("a refusal ends the run", &[answered(StopReason::Refusal, 0), ENDED], Finish(Completed)),
        ("an answer asks the hooks", &[SAID, ENDED], PrepareNextTurn),
        // After a turn: prepare, ask, steering, follow-up.
        ("then whether to stop", &[SAID, ENDED, Prepared], AskStop),
        ("a hook stops the run, queues untouched", &[SAID, ENDED, Prepared, Asked { stop: true }], Finish(Stopped)),
        ("a hook stops a run with work left", &[CALLED, RAN, ENDED, Prepared, Asked { stop: true }], Finish(Stopped)),
        ("then steering", &[SAID, ENDED, Prepared, GO_ON], PollSteering),
        ("steering is another turn", &[SAID, ENDED, Prepared, GO_ON, FOUND], BeginTurn),
        ("tool results are another turn", &[CALLED, RAN, ENDED, Prepared, GO_ON, NONE], BeginTurn),
        ("steering found among the calls is not polled again", &[CALLED, STEERED, ENDED, Prepared, GO_ON], BeginTurn),
        ("without steering, follow-up", &[SAID, ENDED, Prepared, GO_ON, NONE], PollFollowUp),
        ("follow-up is another turn", &[SAID, ENDED, Prepared, GO_ON, NONE, FOUND], BeginTurn),
        ("without follow-up, the end", &[SAID, ENDED, Prepared, GO_ON, NONE, NONE], Finish(Completed)),
        // Input that was taken back before its turn began.
        ("steering taken back: follow-up", &[SAID, ENDED, Prepared, GO_ON, FOUND, NothingToBegin], PollFollowUp),
        ("follow-up taken back: the end", &[SAID, ENDED, Prepared, GO_ON, NONE, FOUND, NothingToBegin], Finish(Completed)),
        // All tools ask for the end.
        ("terminating tools look at the queues", &[CALLED, TERMINATED, ENDED, Prepared, GO_ON], PollSteering),
        ("terminating tools stop the run", &[CALLED, TERMINATED, ENDED, Prepared, GO_ON, NONE, NONE], Finish(Stopped)),
        ("but not before steering", &[CALLED, TERMINATED, ENDED, Prepared, GO_ON, FOUND], BeginTurn),
        ("nor before follow-up", &[CALLED, TERMINATED, ENDED, Prepared, GO_ON, NONE, FOUND], BeginTurn),
        // The last turn allowed.
        ("the last turn prepares no other", &[CALLED, RAN, last], AskStop),
        ("the last turn may be stopped", &[CALLED, RAN, last, Asked { stop: true }], Finish(Stopped)),
        ("the last turn takes up no queue", &[SAID, last, GO_ON], LookAtQueues),
        ("work is left: max_turns", &[CALLED, RAN, last, GO_ON, waiting(false)], Finish(MaxTurns)),
        ("messages wait: max_turns", &[SAID, last, GO_ON, waiting(true)], Finish(MaxTurns)),
        ("nothing is left: completed", &[SAID, last, GO_ON, waiting(false)], Finish(Completed)),
        ("all tools terminated: stopped", &[CALLED, TERMINATED, last, GO_ON, waiting(false)], Finish(Stopped)),
        ("terminated, but messages wait: max_turns", &[CALLED, TERMINATED, last, GO_ON, waiting(true)], Finish(MaxTurns)),
        ("an error on the last turn is an error", &[answered(StopReason::Error, 0), last], Finish(Outcome::Error)),
        ("0 is no limit", &[CALLED, RAN, unlimited], PrepareNextTurn),
        // Abort and failures after the message.
        ("an abort comes before an answer's outcome", &[SAID, Broken(Aborted)], Finish(Aborted)),
        ("an abort comes before an error", &[answered(StopReason::Error, 0), Broken(Aborted)], Finish(Aborted)),
        ("an abort comes before a stop", &[SAID, ENDED, Prepared, Broken(Aborted)], Finish(Aborted)),
        ("a failed poll among calls ends the run after the turn", &[CALLED, RAN, Broken(Outcome::Error)], Finish(Outcome::Error)),
        ("a failed hook ends the run", &[SAID, ENDED, Broken(Outcome::Error)], Finish(Outcome::Error)),
        ("a failed poll ends the run", &[CALLED, RAN, ENDED, Prepared, GO_ON, Broken(Outcome::Error)], Finish(Outcome::Error)),
    ];
    for (rule, facts, step) in table {
        assert_eq!(after(facts), *step, "{rule}");
    }
}
