//! The servers of an agent, and those of a runtime that agents share.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::task::JoinSet;

use super::connection::Connection;
use super::description::Description;
use super::names::free;
use super::offer::{Action, OfferedTool};
use super::reach::Reach;
use super::server::McpServer;
use super::tool::{McpTool, McpToolInfo};
use crate::error::{Error, ErrorKind};
use crate::tool::{Approval, ToolSet, ToolSpec};

/// The servers of an agent, in the order in which their tools get their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct McpServers(Vec<McpServer>);

impl From<Vec<McpServer>> for McpServers {
    fn from(servers: Vec<McpServer>) -> McpServers {
        McpServers(servers)
    }
}

/// The servers of a runtime that are described as `shared`, as long as an agent has them.
#[derive(Default)]
pub(crate) struct SharedServers(Mutex<HashMap<Description, Weak<Connection>>>);

impl SharedServers {
    /// The server that agents of the runtime have by this description, or else this one.
    fn known(&self, server: &McpServer) -> McpServer {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, server| server.strong_count() > 0);
        let connection = server.connection();
        let entry = known.entry(connection.description().clone()).or_insert_with(|| Arc::downgrade(connection));
        entry.upgrade().map_or_else(|| server.clone(), McpServer::from_connection)
    }
}

impl std::fmt::Debug for SharedServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedServers").finish_non_exhaustive()
    }
}

impl McpServers {
    /// The same, with the runtime's in place of those that are shared; `None`: all stay.
    pub(crate) fn shared_in(&self, runtime: &SharedServers) -> Option<McpServers> {
        if !self.0.iter().any(|server| server.connection().description().shared) {
            return None;
        }
        let known = self.0.iter().map(|server| match server.connection().description().shared {
            true => runtime.known(server),
            false => server.clone(),
        });
        Some(McpServers(known.collect())).filter(|known| known.0 != self.0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn list(&self) -> &[McpServer] {
        &self.0
    }

    /// Changes when what they offer does.
    pub(crate) fn version(&self) -> u64 {
        self.0.iter().map(|server| server.connection().version()).fold(0, u64::wrapping_add)
    }

    /// The agent's own tools, and those of the servers. One whose name is taken, by the agent or a server before, gets the name
    /// of its server before its own.
    pub(crate) fn with_tools_of(&self, own: &ToolSet) -> ToolSet {
        let mut all = own.clone();
        self.each_tool(own, |connection, tool, spec| {
            let (action, connection) = (tool.action.clone(), Arc::clone(connection));
            // Its name is free.
            let _ = all.add(Arc::new(McpTool { spec, action, connection }));
        });
        all
    }

    /// The tools of the servers, as the agent has them that has these of its own.
    pub(crate) fn tools(&self, own: &ToolSet) -> Vec<McpToolInfo> {
        let mut all = Vec::new();
        self.each_tool(own, |connection, tool, spec| {
            all.push(McpToolInfo {
                name: spec.name().to_owned(),
                server: connection.description().shown(),
                server_tool: if let Action::Call(name) = &tool.action { Some(name.clone()) } else { None },
                description: spec.description().to_owned(),
                input_schema: spec.parameters().clone(),
                annotations: tool.annotations.clone(),
                needs_approval: spec.needs_approval() == Approval::Needed,
            });
        });
        all
    }

    fn each_tool(&self, own: &ToolSet, mut function: impl FnMut(&Arc<Connection>, &OfferedTool, ToolSpec)) {
        let mut taken: BTreeSet<String> = own.iter().map(|tool| tool.spec().name().to_owned()).collect();
        for server in &self.0 {
            let offered = server.connection().offered();
            for tool in &offered.tools {
                let name = free(tool.spec.name(), &offered.server, &mut taken);
                let Ok(spec) = tool.spec.clone().with_name(&name) else { continue };
                function(server.connection(), tool, spec);
            }
        }
    }

    /// Connects to all, concurrently. Changes of what they offer are counted in `revision`. `unreachable` gets the errors of
    /// those that are optional.
    ///
    /// # Errors
    /// That of the first server, in their order, that cannot be reached and is not optional.
    pub(crate) async fn connect(
        &self,
        reach: &Reach,
        revision: &Arc<AtomicU64>,
        mut unreachable: impl FnMut(Error),
    ) -> Result<(), Error> {
        let mut tasks = JoinSet::new();
        for (at, server) in self.0.iter().enumerate() {
            let (connection, reach) = (Arc::clone(server.connection()), reach.clone());
            connection.watch(revision);
            tasks.spawn(async move { (at, connection.connect(reach).await) });
        }
        let mut failed: Vec<(usize, Error)> = Vec::new();
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok((at, Err(error))) => failed.push((at, error)),
                Ok((_, Ok(()))) => {}
                Err(error) => return Err(Error::new(ErrorKind::Connection, format!("an MCP server: {error}"))),
            }
        }
        failed.sort_by_key(|(at, _)| *at);
        for (at, error) in failed {
            match self.0.get(at).is_some_and(|server| server.connection().description().optional) {
                true => unreachable(error),
                false => return Err(error),
            }
        }
        Ok(())
    }

    /// Closes the connections to all.
    pub(crate) async fn close(&self) {
        let mut tasks = JoinSet::new();
        for server in &self.0 {
            let connection = Arc::clone(server.connection());
            tasks.spawn(async move { connection.close().await });
        }
        while tasks.join_next().await.is_some() {}
    }
}
