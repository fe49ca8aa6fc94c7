//! Keys and tokens that a user has stored: a [`KeyStore`] keeps them, a [`SignIn`] gets them from a provider that lets programs
//! ask for them, and an agent whose `api_key` is `"keyring"` uses them. The program `agent` has the same as `agent auth`.
//!
//! ```no_run
//! use agent_loop::Agent;
//! use agent_loop::sign_in::{Credential, KeyStore};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
//! // Once, as `agent auth login anthropic` does:
//! let store = KeyStore::from_environment()?;
//! store.write("anthropic", &Credential::key("sk-ant-…"))?;
//!
//! // From then on, in this program and in others of the user:
//! let agent = Agent::builder("anthropic/claude-sonnet-4-5").api_key("keyring").build()?;
//! println!("{}", agent.prompt("Hello.").await?.text);
//! # Ok(()) }
//! ```
//!
//! - `endpoints`: where a provider is signed in to; `flow`: how; `providers`: which there are

mod endpoints;
mod flow;
mod providers;
#[cfg(test)]
mod tests;

pub use endpoints::Endpoints;
pub use flow::{DeviceCode, SignIn};
pub use providers::ProviderKeys;

pub use crate::credentials::{Credential, KeyStore, Keyring, Place, Stored, Tokens};
pub use crate::data_folder::data_folder;
