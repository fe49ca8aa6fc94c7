//! With what servers are reached: what a connection needs of the agent that makes it.

use std::sync::Arc;

use agent_loop_proto::machine::HookSet;

use super::sign_in_hook::SignInHook;
use crate::log::Log;
use crate::model::http::Connections;
use crate::transport::network::Network;

/// With what requests go out.
#[derive(Clone)]
pub(crate) struct Reach {
    pub(crate) connections: Arc<Connections>,
    pub(crate) network: Arc<Network>,
    pub(crate) connect_timeout_ms: u64,
    /// The hooks of the agent that connects: they decide which capabilities are announced.
    pub(crate) hooks: HookSet,
    /// The hook `on_mcp_sign_in`.
    pub(crate) sign_in: Option<SignInHook>,
    pub(crate) log: Log,
}
