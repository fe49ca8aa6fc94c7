//! The agent's MCP servers.

use std::future::Future;
use std::sync::Arc;

use super::builder::AgentBuilder;
use super::handle::Agent;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::mcp::{McpServer, McpServers, McpToolInfo, Reach, SignInHook};

impl AgentBuilder {
    /// Servers of the [Model Context Protocol](crate::mcp), whose tools are the agent's. Default: none.
    #[cfg_attr(docsrs, doc(cfg(feature = "mcp")))]
    pub fn mcp(mut self, servers: impl IntoIterator<Item = McpServer>) -> AgentBuilder {
        self.connection.mcp = Arc::new(servers.into_iter().collect::<Vec<_>>().into());
        self
    }
}

impl Agent {
    /// Its MCP servers.
    #[cfg_attr(docsrs, doc(cfg(feature = "mcp")))]
    pub fn mcp(&self) -> Vec<McpServer> {
        self.servers().list().to_vec()
    }

    /// Replaces its MCP servers. The next run connects to them; a run that is active keeps those it has.
    #[cfg_attr(docsrs, doc(cfg(feature = "mcp")))]
    pub fn set_mcp(&self, servers: impl IntoIterator<Item = McpServer>) {
        let servers: McpServers = servers.into_iter().collect::<Vec<_>>().into();
        let before = {
            let mut state = self.change();
            state.specs = None;
            std::mem::replace(&mut state.models.connection.mcp, Arc::new(servers))
        };
        // Not under the lock: it closes connections.
        drop(before);
    }

    /// Connects to its MCP servers now, and not when the first run begins: their tools are then known before, for `tool_choice`
    /// for example.
    ///
    /// # Errors
    /// That of a server that cannot be reached and is not optional; `invalid_state` without a runtime.
    #[cfg_attr(docsrs, doc(cfg(feature = "mcp")))]
    pub async fn connect_mcp(&self) -> Result<(), Error> {
        let (reach, revision) = {
            let mut state = self.state();
            let runtime = state.runtime_here()?;
            let reach = Reach {
                connections: Arc::clone(runtime.connections()),
                network: Arc::clone(&state.models.connection.network),
                connect_timeout_ms: state.settings.limits.connect_timeout_ms,
                hooks: state.all_hooks().kinds(),
                sign_in: SignInHook::of(&state.all_hooks(), &Clock::real(), None),
                log: runtime.log().clone(),
            };
            (reach, Arc::clone(self.shared_revision()))
        };
        self.with_servers(|servers| async move { servers.connect(&reach, &revision, drop).await }).await
    }

    /// The tools that its MCP servers give it, in the order in which the model has them. Connects to the servers if need be; an
    /// optional one that cannot be reached gives none.
    ///
    /// ```no_run
    /// # async fn example(agent: agent_loop::Agent) -> Result<(), agent_loop::Error> {
    /// for tool in agent.mcp_tools().await? {
    ///     println!("{} of {}: {}", tool.name, tool.server, tool.description);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Agent::connect_mcp`].
    #[cfg_attr(docsrs, doc(cfg(feature = "mcp")))]
    pub async fn mcp_tools(&self) -> Result<Vec<McpToolInfo>, Error> {
        self.connect_mcp().await?;
        let (servers, own) = {
            let state = self.state();
            (Arc::clone(&state.models.connection.mcp), state.tools_here())
        };
        Ok(servers.tools(&own))
    }

    /// Closes the connections to its MCP servers, and waits for the processes to end. The next run connects again. When the last
    /// agent goes that has a server, its connection is closed without waiting.
    ///
    /// # Errors
    /// `invalid_state` without a runtime.
    #[cfg_attr(docsrs, doc(cfg(feature = "mcp")))]
    pub async fn close_mcp(&self) -> Result<(), Error> {
        let close = |servers: Arc<McpServers>| async move {
            servers.close().await;
            Ok(())
        };
        self.with_servers(close).await
    }

    /// Does something with the servers where runs live, as the connections do.
    async fn with_servers<F>(&self, work: impl FnOnce(Arc<McpServers>) -> F) -> Result<(), Error>
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let (runtime, work) = {
            let mut state = self.state();
            (state.runtime_here()?, work(Arc::clone(&state.models.connection.mcp)))
        };
        runtime.check()?;
        let (done, result) = tokio::sync::oneshot::channel();
        runtime.spawn(async move {
            // Whoever asked may have gone.
            let _ = done.send(work.await);
        });
        result.await.unwrap_or_else(|_| Err(Error::new(ErrorKind::Aborted, "the runtime was shut down")))
    }

    fn servers(&self) -> Arc<McpServers> {
        Arc::clone(&self.state().models.connection.mcp)
    }
}
