//! One run: its handle for the host, its driver, its queue of events. What a run does is decided by
//! [`Loop`](agent_loop_proto::machine::Loop).

pub(crate) mod driver;
mod emit;
mod handle;
mod hook_call;
mod model_call;
mod payload_headers;
pub(crate) mod queue;
pub(crate) mod shared;

pub use handle::Run;
pub use shared::AbortHandle;
