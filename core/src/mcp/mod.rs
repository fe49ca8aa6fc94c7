//! Tools, resources and prompts of servers that speak the [Model Context Protocol](https://modelcontextprotocol.io), as tools of
//! an agent.
//!
//! ```no_run
//! use agent_loop::Agent;
//! use agent_loop::mcp::McpServer;
//!
//! # async fn example() -> Result<(), agent_loop::Error> {
//! let files = McpServer::command("npx").args(["-y", "@modelcontextprotocol/server-filesystem", "/data"]);
//! let tickets = McpServer::url("https://tickets.example/mcp").header("authorization", "Bearer …").include(["search", "read"]);
//! let agent = Agent::builder("anthropic/claude-sonnet-4-5").mcp([files, tickets]).build()?;
//! println!("{}", agent.prompt("Which tickets are about /data/report.csv?").await?.text);
//! # Ok(()) }
//! ```
//!
//! A server is connected to before the first turn of the first run, and stays so until the agent is dropped, or closed with
//! [`Agent::close_mcp`](crate::Agent::close_mcp). A clone of an [`McpServer`] is the same connection: give it to several agents.
//!
//! The other side, an agent that is a server to others, is [`Agent::serve_mcp`](crate::Agent::serve_mcp).
//!
//! - `description`: what a server is described by; `server`: a server, for a host; `options`: the same in JSON; `servers`: those
//!   of an agent
//! - `asked`: what servers ask for during a call, and the hooks that answer
//! - `connection`: connecting, and again when a server has died; `start`: its process or its address; `stderr`: what a process
//!   wrote last; `wire`: what passes; `failures`: why it cannot be reached
//! - `offer`: what a server offers, under which conditions; `names`: how its tools are called; `tool`: a tool; `content`: results
//! - `oauth`: access to servers that want a sign-in; `sign_in_hook`: the hook that shows the user where; `hook_call`: how
//!   hooks are called for servers; `reach`: what a connection needs of the agent that makes it; `fields`: reading JSON
//! - `serving`: how an agent is served

mod asked;
mod connection;
mod content;
mod description;
mod failures;
mod hook_call;
mod names;
mod oauth;
mod offer;
mod options;
mod reach;
mod server;
mod servers;
mod serving;
mod sign_in_hook;
mod start;
mod stderr;
#[cfg(test)]
mod tests;
mod tool;
mod wire;

pub use description::{McpApproval, McpOffer};
pub use oauth::McpOAuth;
pub(crate) use reach::Reach;
pub use server::McpServer;
pub(crate) use servers::{McpServers, SharedServers};
pub use serving::McpServing;
pub(crate) use sign_in_hook::SignInHook;
pub use tool::McpToolInfo;
