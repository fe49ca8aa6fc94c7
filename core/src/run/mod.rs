//! One run. What it does is decided by [`Loop`](agent_loop_proto::machine::Loop); here its actions are executed.
//!
//! - `handle`: the host's handle; `shared`: what handle, agent and driver share; `queue`: the events on their way to the reader
//! - `driver`: executes actions and reports what comes of them; `emit`: an event to the agent, its listeners and the queue;
//!   `listeners`: calls them, and leaves one behind that does not return; `ending`: the end of a run
//! - `parent`: the run of the tool call that a subagent works for; `servers`: connects to the MCP servers
//! - `recording`: writes to the journal of the session; `replay`: plays a recorded run
//! - `model_call`: a call that is streamed; `hook_call`: a hook that is asked; `payload_headers`: the headers in its payload

pub(crate) mod driver;
mod emit;
mod ending;
mod handle;
mod hook_call;
mod listeners;
mod model_call;
pub(crate) mod parent;
mod payload_headers;
pub(crate) mod queue;
mod recording;
mod replay;
#[cfg(feature = "mcp")]
mod servers;
pub(crate) mod shared;

pub use handle::Run;
pub use shared::AbortHandle;
