//! The bridge between a run and the callbacks of its host, the same for every language.
//!
//! A run calls its host with a [`HostCall`]: a kind, an input and a context, to be answered exactly once, now or later, from any
//! thread. A host with an event loop passes calls on through a [`JobQueue`], which wakes the loop once per batch and fails what
//! is unanswered when the loop ends. What remains in a language is the conversion of inputs and answers.
//!
//! Inside this crate, tools and models depend on [`answer`] and [`work`] alone; [`call`] is above them.

pub(crate) mod answer;
mod call;
mod function;
mod queue;
#[cfg(test)]
mod tests;
pub(crate) mod work;

pub use answer::HostAnswer;
pub use call::{HostCall, HostKind};
pub use function::{HostFunction, HostTool};
pub use queue::{JobQueue, Wakeup};
