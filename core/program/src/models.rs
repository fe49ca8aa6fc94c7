//! Which model answers, and the list of known ones.

use std::io::Write;

use agent_loop::sign_in::KeyStore;
use agent_loop::{Agent, Error, ModelSpec, models};
use clap::ArgMatches;
use serde_json::{Map, Value, json};

use crate::arguments::text;
use crate::auth::variable_of;
use crate::exit;
use crate::failure::Failure;

/// The environment variables of keys, with the model that is taken where nothing names one: a recent one of middle price. In this
/// order.
const DEFAULTS: &[(&str, &str)] = &[
    ("ANTHROPIC_API_KEY", "anthropic/claude-sonnet-5"),
    ("OPENAI_API_KEY", "openai/gpt-6-sol"),
    ("GEMINI_API_KEY", "google/gemini-3.8-flash"),
    ("XAI_API_KEY", "xai/grok-4.7"),
    ("MISTRAL_API_KEY", "mistral/mistral-large-latest"),
    ("DEEPSEEK_API_KEY", "deepseek/deepseek-v4-pro"),
    ("OPENROUTER_API_KEY", "openrouter/anthropic/claude-sonnet-5"),
];

/// The value of the option `api_key` for what is stored.
pub(crate) const STORED: &str = "keyring";

/// The model of a server that was given without one.
const OF_SERVER: &str = "local/default";

const NONE: &str = "\
no model is configured
  with a key:     agent auth login anthropic (or another provider), or export ANTHROPIC_API_KEY=…
  with a server:  --base-url http://127.0.0.1:8080, or AGENT_BASE_URL
  another model:  --model provider/id, or AGENT_MODEL; the command models lists the known ones
  without either: --demo plays a conversation of a built-in model";

/// Sets `model` and `base_url` of the options, as the command line or the environment has them. A spec without a model has that
/// of the first key in the environment, or else that of the first sign-in.
///
/// # Errors
/// There is nothing to go by: what to do.
pub(crate) fn choose(options: &mut Map<String, Value>, has_model: bool, matches: &ArgMatches) -> Result<(), Failure> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let url = text(matches, "base-url").map(str::to_owned);
    if let Some(url) = url.or_else(|| variable("AGENT_BASE_URL").filter(|_| !options.contains_key("base_url"))) {
        options.insert("base_url".to_owned(), url.into());
    }
    let named = text(matches, "model").map(str::to_owned);
    if let Some(model) = named.or_else(|| variable("AGENT_MODEL").filter(|_| !has_model)) {
        options.insert("model".to_owned(), model.into());
    }
    if !has_model && !options.contains_key("model") {
        let of_key = || DEFAULTS.iter().find(|(key, _)| variable(key).is_some()).map(|(_, model)| *model);
        let model = if options.contains_key("base_url") { Some(OF_SERVER) } else { of_key().or_else(of_stored) };
        options.insert("model".to_owned(), model.ok_or_else(|| Failure::error(NONE))?.into());
    }
    use_stored(options);
    Ok(())
}

/// The names of known models that can be taken in place of this one: those of its provider, and of those whose key is in the
/// environment or stored.
pub(crate) fn offered(current: &str) -> Vec<String> {
    let has_key = |(key, _): &&(&str, &str)| std::env::var(key).is_ok_and(|value| !value.is_empty());
    let in_environment = DEFAULTS.iter().filter(has_key).map(|(_, model)| *model).chain([current]);
    let mut providers: Vec<String> = in_environment.filter_map(provider_of).map(str::to_owned).collect();
    providers.extend(stored());
    models().into_iter().filter(|model| providers.contains(&model.provider)).map(|model| model.name()).collect()
}

/// The model of the first provider for which something is stored.
fn of_stored() -> Option<&'static str> {
    let stored = stored();
    DEFAULTS.iter().map(|(_, model)| *model).find(|model| stored.iter().any(|name| Some(&**name) == provider_of(model)))
}

/// The providers for which something is stored. A store that cannot be read has nothing: `auth status` says why.
fn stored() -> Vec<String> {
    KeyStore::from_environment().and_then(|store| store.providers()).unwrap_or_default()
}

/// That of a model as options have it: its name, or all of it, also in a text.
fn provider_in(model: &Value) -> Option<String> {
    let read = match model {
        Value::String(text) => ModelSpec::parse(text).map(|spec| spec.provider),
        spec => return Some(spec.get("provider")?.as_str()?.to_owned()),
    };
    read.ok()
}

fn provider_of(model: &str) -> Option<&str> {
    model.split_once('/').map(|(provider, _)| provider)
}

/// What is for one provider alone.
const OF_PROVIDER: [&str; 2] = ["api_key", "headers"];

/// These options with another model. A key and headers that they have for another provider are left out, unless all models are at
/// one address; what is stored for the new one is used.
pub(crate) fn with_model(options: &Map<String, Value>, model: Value) -> Map<String, Value> {
    let mut other = options.clone();
    let is_elsewhere = options.get("base_url").is_none_or(Value::is_null);
    if is_elsewhere && options.get("model").and_then(provider_in) != provider_in(&model) {
        OF_PROVIDER.iter().for_each(|name| drop(other.remove(*name)));
    }
    other.insert("model".to_owned(), model);
    use_stored(&mut other);
    other
}

/// Gives an agent another model, with what these options have for it. `before` are those of the model that it has.
///
/// # Errors
/// `invalid_argument`: the model cannot be used; nothing changes then.
pub(crate) fn change(agent: &Agent, before: &Map<String, Value>, now: &Map<String, Value>) -> Result<(), Error> {
    let mut options = Map::from_iter([("model".to_owned(), now.get("model").cloned().unwrap_or_default())]);
    for name in OF_PROVIDER.into_iter().filter(|name| before.get(*name) != now.get(*name)) {
        options.insert(name.to_owned(), now.get(name).cloned().unwrap_or_default());
    }
    agent.set_json(&Value::Object(options))
}

/// Has the model authenticate with what is stored for its provider, where the options and the environment have no key.
pub(crate) fn use_stored(options: &mut Map<String, Value>) {
    let provider = options.get("model").and_then(provider_in);
    let Some(provider) = provider.filter(|provider| variable_of(provider).is_none()) else { return };
    let has_key = options.get("api_key").is_some_and(|key| !key.is_null());
    if !has_key && stored().contains(&provider) {
        options.insert("api_key".to_owned(), STORED.into());
    }
}

/// Lists the models whose names have this text.
pub(crate) fn list(matches: &ArgMatches, as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let filter = text(matches, "filter").unwrap_or_default().to_lowercase();
    let found = models().into_iter().filter(|model| format!("{}/{}", model.provider, model.id).to_lowercase().contains(&filter));
    let mut count = 0;
    for model in found {
        count += 1;
        if as_json {
            writeln!(out, "{}", json!(model))?;
            continue;
        }
        let name = format!("{}/{}", model.provider, model.id);
        let tokens = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), short);
        let price = model.cost.as_ref().map(|cost| format!("${} in, ${} out", cost.input, cost.output)).unwrap_or_default();
        writeln!(out, "{name:<60} {:>6} {:>6}  {price}", tokens(model.context_window), tokens(model.max_output_tokens))?;
    }
    if count == 0 {
        return Err(Failure::error(format!("no known model has {filter:?} in its name")));
    }
    if !as_json {
        writeln!(out, "{count} models: name, tokens it reads, tokens it writes, dollars per million tokens")?;
    }
    Ok(exit::COMPLETED)
}

/// A number of tokens in few characters.
fn short(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_known_models() {
        let known: Vec<String> = models().iter().map(|model| format!("{}/{}", model.provider, model.id)).collect();
        for (_, model) in DEFAULTS {
            assert!(known.iter().any(|name| name == model), "{model}");
        }
    }

    #[test]
    fn tokens_are_short() {
        assert_eq!([short(512), short(200_000), short(1_048_576)], ["512", "200k", "1.0M"]);
    }
}
