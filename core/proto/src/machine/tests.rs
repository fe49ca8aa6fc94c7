//! The rules of the loop, each in a few lines, without a runtime.

mod drive;
mod hook_failures;
mod limits;
mod repairs;
mod saved;
mod turns;
mod updates;
