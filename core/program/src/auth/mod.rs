//! `auth`: keys and sign-ins, stored in the system's keyring or in files.
//!
//! - `login`: stores a key that is typed, or signs in with OAuth; `secret`: reads a key without showing it
//! - `status`: where the key of each provider is from
//! - this file: the command line of all three, and `logout`

mod login;
mod secret;
mod status;

use std::io::Write;

use agent_loop::sign_in::{KeyStore, ProviderKeys};
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};

use crate::arguments::text;
use crate::exit;
use crate::failure::Failure;
use crate::settings::Settings;

pub(crate) use status::variable_of;

/// The command line of `auth`.
pub(crate) fn command() -> Command {
    let provider = || Arg::new("provider").value_name("PROVIDER").help("Whose key or sign-in, such as anthropic");
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help).display_order(5)
    };
    let url = |name, help| option(name, "URL", help).value_hint(ValueHint::Url);
    let flag =
        |name: &'static str, help: &'static str| Arg::new(name).long(name).help(help).action(ArgAction::SetTrue).display_order(1);
    Command::new("auth").about("Stores keys, and signs in to providers").subcommand_required(true).subcommands([
        Command::new("login")
            .about("Stores a key, which is typed or comes from standard input, or signs in with the browser")
            .arg(provider().required(true))
            // Refused, without being shown as clap would show it.
            .arg(Arg::new("key").hide(true).num_args(0..).allow_hyphen_values(true))
            .arg(flag("key-stdin", "Reads a key from standard input, where the provider has a sign-in, too"))
            .arg(flag("device", "Signs in with a code that is typed in on another device").conflicts_with("key-stdin"))
            .arg(option("client-id", "ID", "The program's id at the authorization server; else AGENT_CLIENT_ID"))
            .arg(url("authorize-url", "Where the browser signs in, in place of the provider's address"))
            .arg(url("token-url", "Where tokens are had and refreshed"))
            .arg(url("device-url", "Where a code for another device is had"))
            .arg(url("redirect-url", "Where the browser is sent back to, on this machine; a free port unless given"))
            .arg(option("scope", "SCOPE", "What is asked for; may be given several times").action(ArgAction::Append)),
        Command::new("status").about("Says where the key of each provider is from, never the key").arg(provider()),
        Command::new("logout").about("Removes what is stored for a provider").arg(provider().required(true)),
    ])
}

/// The command, with what follows it.
pub(crate) fn run(settings: &Settings, matches: &ArgMatches, out: &mut dyn Write) -> Result<u8, Failure> {
    let store = KeyStore::from_environment()?;
    match matches.subcommand() {
        Some(("login", matches)) => login::run(&store, settings, matches),
        Some(("logout", matches)) => logout(&store, text(matches, "provider").unwrap_or_default()),
        Some((_, matches)) => status::run(&store, settings.as_json, text(matches, "provider"), out),
        None => Err(Failure::usage("auth: there is no such command")),
    }
}

fn logout(store: &KeyStore, provider: &str) -> Result<u8, Failure> {
    check(store, provider)?;
    match store.remove(provider)? {
        true => say!("what was stored for {provider} is removed; at {provider} itself it may still be good"),
        false => say!("nothing is stored for {provider}"),
    }
    if let Some(variable) = variable_of(provider) {
        say!("the environment variable {variable} still has a key");
    }
    Ok(exit::COMPLETED)
}

/// Whether there is such a provider, or something stored for one of this name.
///
/// # Errors
/// The nearest right name.
fn check(store: &KeyStore, provider: &str) -> Result<(), Failure> {
    if store.providers()?.iter().any(|name| name == provider) {
        return Ok(());
    }
    ProviderKeys::of(provider)?;
    Ok(())
}
