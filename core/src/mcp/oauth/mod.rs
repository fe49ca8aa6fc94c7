//! Access to servers that want a sign-in, as the authorization part of MCP has it: OAuth 2.1 by rmcp, with the agent's network,
//! a store for tokens, and a hook that shows the user where to sign in.

mod access;
mod http;
mod options;
mod tokens;

pub(super) use access::Access;
pub use options::McpOAuth;
