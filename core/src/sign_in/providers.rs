//! Which providers there are to sign in to, and where their keys are from.

use agent_loop_proto::provider::known::{self, Provider};

use crate::did_you_mean::{Spelling, unknown_name};
use crate::error::Error;

/// What is known of a provider's keys.
///
/// ```
/// use agent_loop::sign_in::ProviderKeys;
///
/// let anthropic = ProviderKeys::of("anthropic")?;
/// assert_eq!(anthropic.variables, ["ANTHROPIC_API_KEY"]);
/// assert!(ProviderKeys::of("antropic").unwrap_err().message().contains("did you mean \"anthropic\"?"));
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ProviderKeys {
    /// The provider.
    pub name: &'static str,
    /// The environment variables that may have a key; the first that is set counts.
    pub variables: &'static [&'static str],
    /// The page where users make a key; empty if none is known.
    pub page: &'static str,
}

impl ProviderKeys {
    /// Those of a provider.
    ///
    /// # Errors
    /// `invalid_argument`: it is not known; names the nearest one.
    pub fn of(provider: &str) -> Result<ProviderKeys, Error> {
        let names = ProviderKeys::all().map(|known| known.name);
        known::provider(provider).map(of_row).ok_or_else(|| unknown_name("provider", provider, names, Spelling::Snake))
    }

    /// Those of all known providers.
    pub fn all() -> impl Iterator<Item = ProviderKeys> + Clone {
        known::PROVIDERS.iter().map(of_row)
    }
}

fn of_row(row: &'static Provider) -> ProviderKeys {
    ProviderKeys { name: row.name, variables: row.key_variables, page: row.key_page }
}
