//! What a user has stored for providers, and what models get of it. Public as a part of `sign_in`, which gets what is stored.
//!
//! - `credential`: what is stored; `store`: where it is, in the system's `keyring` (or with `no_answer`) or in a `file`
//! - `access`: what models get of it, refreshed in time; `oauth`: the requests for that, and for signing in

mod access;
mod credential;
mod file;
#[cfg(feature = "keyring")]
mod keyring;
#[cfg(not(feature = "keyring"))]
#[path = "no_keyring.rs"]
mod keyring;
mod no_answer;
pub(crate) mod oauth;
mod store;

pub(crate) use access::{Access, Found};
pub use credential::{Credential, Tokens};
pub use store::{KeyStore, Keyring, Place, Stored};

/// The value of the option `api_key` for what was stored. No provider has such a key.
pub(crate) const STORED: &str = "keyring";
