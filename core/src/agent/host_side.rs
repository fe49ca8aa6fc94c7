//! What a run executes the actions of its loop with.

use std::sync::Arc;

use crate::connection::Connection;
use crate::hook::Hooks;
use crate::tool::ToolSet;
use crate::tool::middleware::Middleware;

/// The host's side of an agent's configuration: what a run executes its loop's actions with.
pub(crate) struct HostSide {
    /// Counts the agent's changes.
    pub(crate) revision: u64,
    pub(crate) tools: ToolSet,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) middleware: Arc<Vec<Middleware>>,
    pub(crate) api_key: Option<String>,
    /// The provider that the key was given for.
    pub(crate) keys_for: String,
    pub(crate) connection: Connection,
    pub(crate) connect_timeout_ms: u64,
}
