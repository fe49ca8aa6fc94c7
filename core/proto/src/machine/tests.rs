//! The rules of the loop, each in a few lines, without a runtime.

mod budgets;
mod drive;
mod hook_failures;
mod journal;
mod left_calls;
mod limits;
mod one_call;
mod output;
mod repairs;
mod saved;
mod subagents;
mod suspension;
mod turns;
mod updates;
