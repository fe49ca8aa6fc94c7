//! The flag `--verbose`: requests and the heads of responses, on standard error.

use agent_loop::Agent;
use agent_loop::hook::Hook;
use agent_loop::sign_in::{Credential, KeyStore, Keyring};
use serde_json::{Map, Value};

/// Shows what is sent and what comes back. Hooks of the agent's own for that stay, and nothing is shown.
pub(crate) fn show_requests(agent: &Agent, options: &Map<String, Value>) {
    let secrets = secrets(options);
    let request = Hook::on_payload(move |payload, _| {
        let body = without(&Value::Object(payload.payload).to_string(), &secrets);
        say!("> {}/{}: {body}", payload.provider, payload.model);
        async { Ok::<_, String>(None) }
    });
    let response = Hook::on_response(|head, _| {
        say!("< {}: HTTP {} {}", head.provider, head.status, Value::Object(head.headers));
        async { Ok::<_, String>(()) }
    });
    for hook in [request, response] {
        if !agent.has_hook(hook.kind()) {
            agent.set_hook(hook);
        }
    }
}

/// The shortest text that is taken for a key.
const SHORTEST: usize = 8;

/// Keys that a prompt or a tool's result may have by mistake: those that the agent is given, those of the environment, and those
/// that are stored in files, which a command may have read.
fn secrets(options: &Map<String, Value>) -> Vec<String> {
    let given = options.get("api_key").and_then(Value::as_str).map(str::to_owned);
    let stored = keys_in_files();
    let is_secret = |name: &str| ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.to_uppercase().contains(word));
    let of_environment = std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        is_secret(&name).then_some(value)
    });
    given.into_iter().chain(of_environment).chain(stored).filter(|secret| secret.len() >= SHORTEST).collect()
}

/// The keyring is not asked: no command reads it by mistake, and it may ask the user.
fn keys_in_files() -> Vec<String> {
    let Ok(store) = KeyStore::from_environment() else { return Vec::new() };
    let store = store.with_keyring(Keyring::File);
    let providers = store.providers().unwrap_or_default();
    let stored = providers.iter().filter_map(|provider| Some(store.read(provider).ok()??.credential));
    let secrets = stored.flat_map(|credential| match credential {
        Credential::Key(key) => vec![key],
        Credential::Tokens(tokens) => [Some(tokens.access_token), tokens.refresh_token].into_iter().flatten().collect(),
        _ => Vec::new(),
    });
    secrets.collect()
}

fn without(text: &str, secrets: &[String]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "[redacted]"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_taken_out() {
        let options = Map::from_iter([("api_key".to_owned(), json!("sk-12345678"))]);
        assert_eq!(without("my key is sk-12345678.", &secrets(&options)), "my key is [redacted].");
    }
}
