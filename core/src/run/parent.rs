//! What the run of a subagent has to do with the run whose tool call it works for: its events go there, and both have a budget in
//! common.

use std::sync::Arc;

use agent_loop_proto::machine::{BudgetLeft, Input};
use tokio::sync::SemaphorePermit;

use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::event::Event;
use crate::host::work::Delegated;
use crate::tool::ToolContext;
use crate::tool::run_of_call::RunOfCall;
use crate::tool::subagent_events::SubagentEvents;
use crate::trace::sink::Sink;

/// The tool call that a subagent works for.
#[derive(Debug)]
pub(crate) struct Parent {
    context: ToolContext,
    events: SubagentEvents,
    /// How many levels of subagents may be below the subagent.
    pub(crate) depth: u32,
}

impl Parent {
    /// # Errors
    /// `invalid_state`: the call is none of a run, or its run may have no subagent.
    pub(crate) fn new(context: ToolContext, events: SubagentEvents) -> Result<Parent, Error> {
        let Some(run) = context.run_waiting() else {
            let text = "the call that the agent is to work for is of no run, or has its answer already; run the agent by itself";
            return Err(Error::new(ErrorKind::InvalidState, text));
        };
        let depth = run.machine().subagent_depth().map_err(|why| Error::new(ErrorKind::InvalidState, why))?;
        Ok(Parent { context, events, depth })
    }

    /// The run of the call, while that is there.
    pub(crate) fn run(&self) -> Option<Arc<dyn RunOfCall>> {
        self.context.run()
    }

    /// Where the spans of the call's run go, the number of the call's span, and its tool.
    pub(crate) fn trace(&self) -> Option<(Sink, u64, &str)> {
        let sink = self.context.run()?.trace()?;
        Some((sink, self.context.span(), self.context.name()))
    }

    /// That of the call.
    pub(crate) fn idempotency_key(&self) -> &str {
        self.context.idempotency_key()
    }

    /// The clock of the subagent's run: virtual time is the same for both.
    pub(crate) fn clock(&self, own: Clock) -> Clock {
        let clock = self.context.work().clock();
        if clock.is_simulated() && own.is_simulated() { clock.clone() } else { own }
    }

    /// The call waits for the subagent, which holds up virtual time itself from here on.
    pub(crate) fn delegate(&self, clock: &Clock) -> Option<Delegated> {
        let work = self.context.work();
        work.clock().is_same_virtual(clock).then(|| work.delegate())
    }

    /// Whether events go to the parent one by one.
    pub(crate) fn wants_deltas(&self) -> bool {
        self.events == SubagentEvents::All
    }

    /// Hands an event to the run of the call, if it is one of those that come there and the run still waits for the call: no
    /// event comes after that. `room`: see [`Parent::room`].
    pub(crate) fn forward(&self, event: &Event, room: SemaphorePermit<'_>) {
        if let Some(parent) = self.context.run_waiting() {
            room.forget();
            parent.report(Input::SubagentEvent { call: self.context.number(), event: Arc::new(event.clone()) });
        }
    }

    /// Ready when the run of the call takes an event; `None` where this one does not come there.
    pub(crate) async fn room(&self, event: &Event) -> Option<SemaphorePermit<'_>> {
        if !self.events.has(event) {
            return None;
        }
        tokio::select! {
            biased;
            () = self.context.over_token().wait() => None,
            permit = self.context.room().acquire() => permit.ok(),
        }
    }

    /// Says to the runs around this one what it has used, and to this one what they leave to it.
    pub(crate) fn share_budget(&self, run: &dyn RunOfCall, before: &mut BudgetLeft) {
        let now_ms = self.context.work().clock().now_ms();
        let used = run.machine().take_used();
        let mut left = BudgetLeft::default();
        let mut around = self.context.run();
        while let Some(outer) = around {
            let mut machine = outer.machine();
            if let Some(used) = &used {
                machine.handle(Input::SubagentUsed(used.clone()));
            }
            left = left.and(machine.budget_left(now_ms));
            drop(machine);
            around = outer.around();
        }
        if left.differs(before) {
            run.machine().handle(Input::BudgetLeft(left.clone()));
            *before = left;
        }
    }
}
