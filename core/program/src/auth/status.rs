//! `auth status`: where the key of each provider is from. Never the key.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use agent_loop::sign_in::{Credential, KeyStore, Keyring, Place, ProviderKeys, Stored};
use serde_json::{Map, Value, json};

use crate::exit;
use crate::failure::Failure;

/// The environment variable that has a provider's key.
pub(crate) fn variable_of(provider: &str) -> Option<&'static str> {
    let variables = ProviderKeys::of(provider).map_or(&[][..], |keys| keys.variables);
    variables.iter().copied().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// What is known of a provider's key.
struct Line {
    provider: String,
    variable: Option<&'static str>,
    stored: Result<Option<Stored>, String>,
}

/// A line for the provider, or for each that has a key.
pub(super) fn run(store: &KeyStore, as_json: bool, provider: Option<&str>, out: &mut dyn Write) -> Result<u8, Failure> {
    let names: Vec<String> = match provider {
        Some(provider) => {
            super::check(store, provider)?;
            vec![provider.to_owned()]
        }
        None => {
            let stored = store.providers()?;
            let known = ProviderKeys::all().map(|keys| keys.name);
            let known = known.filter(|name| variable_of(name).is_some() || stored.iter().any(|stored| stored == name));
            let known: Vec<String> = known.map(str::to_owned).collect();
            let others = stored.into_iter().filter(|name| !known.contains(name));
            known.iter().cloned().chain(others).collect()
        }
    };
    let lines = names.into_iter().map(|name| Line {
        variable: variable_of(&name),
        stored: store.read(&name).map_err(|error| error.message().to_owned()),
        provider: name,
    });
    let mut has_key = false;
    for line in lines {
        let is_there = line.variable.is_some() || !matches!(line.stored, Ok(None));
        has_key |= line.variable.is_some() || matches!(line.stored, Ok(Some(_)));
        match as_json {
            true if is_there || provider.is_some() => writeln!(out, "{}", line.to_json())?,
            false if is_there || provider.is_some() => writeln!(out, "{}", line.to_text())?,
            _ => {}
        }
    }
    if !as_json {
        let files = "keys are stored in files that only you can read";
        match (store.why_no_keyring(), store.keyring()) {
            (None, _) => writeln!(out, "keys are stored in the system's keyring")?,
            (Some(_), Keyring::File) => writeln!(out, "{files}, as AGENT_KEYRING says")?,
            (Some(why), Keyring::System) => writeln!(out, "no key can be stored: there is no keyring: {why}")?,
            (Some(why), Keyring::Auto) => writeln!(out, "{files}; no keyring: {why}")?,
        }
    }
    match provider {
        Some(_) if !has_key => Ok(exit::ERROR),
        _ => Ok(exit::COMPLETED),
    }
}

impl Line {
    fn to_text(&self) -> String {
        let mut parts = Vec::new();
        if let Some(variable) = self.variable {
            parts.push(format!("key from the environment variable {variable}"));
        }
        match &self.stored {
            Ok(Some(stored)) => {
                let unused = if self.variable.is_some() { ", not used" } else { "" };
                parts.push(format!("{} in {}{unused}", kind(stored), place(stored)));
            }
            Ok(None) if parts.is_empty() => parts.push(format!("no key; agent auth login {} stores one", self.provider)),
            Ok(None) => {}
            Err(why) => parts.push(why.clone()),
        }
        format!("{:<18} {}", self.provider, parts.join("; "))
    }

    fn to_json(&self) -> Value {
        let mut line = Map::from_iter([("provider".to_owned(), json!(self.provider))]);
        let mut set = |name: &str, value: Value| line.insert(name.to_owned(), value);
        if let Some(variable) = self.variable {
            set("variable", variable.into());
        }
        match &self.stored {
            Ok(Some(stored)) => {
                match &stored.place {
                    Place::Keyring => set("stored_in", "keyring".into()),
                    Place::File(path) => set("stored_in", path.to_string_lossy().into()),
                };
                match &stored.credential {
                    Credential::Tokens(tokens) => {
                        set("kind", "oauth".into());
                        set("expires_at_ms", json!(tokens.expires_at_ms));
                        set("is_refreshed", tokens.refresh_token.is_some().into());
                        set("scopes", json!(tokens.scopes));
                    }
                    _ => drop(set("kind", "key".into())),
                }
            }
            Ok(None) => {}
            Err(why) => drop(set("error", why.clone().into())),
        }
        Value::Object(line)
    }
}

fn place(stored: &Stored) -> String {
    match &stored.place {
        Place::Keyring => "the system's keyring".to_owned(),
        Place::File(path) => path.display().to_string(),
    }
}

fn kind(stored: &Stored) -> String {
    let Credential::Tokens(tokens) = &stored.credential else { return "key".to_owned() };
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    let end = match tokens.expires_at_ms.map(|at_ms| at_ms.saturating_sub(now_ms).div_ceil(60_000)) {
        None => "no end known".to_owned(),
        Some(0) => "ended".to_owned(),
        Some(minutes) => format!("good for {minutes} min"),
    };
    let refreshed = if tokens.refresh_token.is_some() { ", refreshed when used" } else { "" };
    format!("OAuth sign-in ({end}{refreshed})")
}
