//! An agent as a server of the Model Context Protocol, over this process's standard input and output: the other side of
//! [`mcp`](crate::mcp), whose servers are those that an agent uses.
//!
//! - `server`: what requests do; `run`: what a call runs, and its progress; `message`: what passes; `stdio`: the two streams

mod message;
mod run;
mod server;
mod stdio;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::agent::Agent;
use crate::error::{Error, ErrorKind};
use crate::mcp::McpServing;
use server::Server;

impl Agent {
    /// Serves this agent as a server of the Model Context Protocol over the process's standard input and output, until the input
    /// ends: to the client the agent is a tool, whose call is a run. Standard output is the protocol's alone meanwhile: print to
    /// standard error. Dropping what this gives ends it, too; its runs are aborted.
    ///
    /// ```no_run
    /// use agent_loop::Agent;
    /// use agent_loop::mcp::McpServing;
    ///
    /// # async fn example() -> Result<(), agent_loop::Error> {
    /// let agent = Agent::builder("anthropic/claude-sonnet-4-5").system_prompt("You know the weather.").build()?;
    /// agent.serve_mcp(McpServing::new().name("weather_desk").description("Answers questions about the weather.")).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// `invalid_argument` for a name that no provider takes, or that one of its tools has; `invalid_state` without a runtime, and
    /// where the input is already read by another call of this; `io` where the system gives no thread; `aborted` when the runtime
    /// was shut down.
    #[cfg_attr(docsrs, doc(cfg(feature = "mcp")))]
    pub async fn serve_mcp(&self, serving: McpServing) -> Result<(), Error> {
        let runtime = self.runtime_here()?;
        runtime.check()?;
        let server = Server::new(self, serving)?;
        let closing = runtime.token();
        // Also when whoever waits has gone.
        let _end = closing.clone().drop_guard();
        let (lines, output) = (stdio::lines()?, stdio::Output::new()?);
        let (done, ended) = tokio::sync::oneshot::channel();
        let (server, until) = (Arc::new(server), closing.clone());
        runtime.spawn(async move {
            server.serve(lines, output.sender(), until).await;
            output.close().await;
            // Whoever asked may have gone.
            let _ = done.send(());
        });
        let has_ended = ended.await.is_ok();
        match has_ended && runtime.check().is_ok() {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Aborted, "the runtime was shut down")),
        }
    }
}
