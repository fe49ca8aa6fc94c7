//! What a run executes the actions of its loop with.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::hook::Hooks;
use crate::tool::ToolSet;
use crate::tool::middleware::Middleware;
use crate::transport::network::Network;

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
    pub(crate) headers: Map<String, Value>,
    pub(crate) network: Arc<Network>,
    pub(crate) connect_timeout_ms: u64,
}
