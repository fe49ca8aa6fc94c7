//! What an editor may change of a session: the model, and how much it thinks.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
};
use agent_loop::models;
use serde_json::{Value, json};

use super::errors;
use super::session::{LEVEL, MODEL, Session};
use crate::arguments::THINKING;
use crate::models::offered;

/// The options with their values.
pub(super) fn options(session: &Session) -> Vec<SessionConfigOption> {
    let model = session.agent.model();
    // A server that was named has models that we do not know.
    let mut names = if session.agent.base_url().is_some() { Vec::new() } else { offered(&model) };
    if !names.contains(&model) {
        names.insert(0, model.clone());
    }
    let level = session.agent.thinking_level().as_str();
    let choice = |name: String| SessionConfigSelectOption::new(name.clone(), name);
    let names: Vec<_> = names.into_iter().map(choice).collect();
    let levels: Vec<_> = THINKING.iter().map(|level| choice((*level).to_owned())).collect();
    vec![
        SessionConfigOption::select(MODEL, "Model", model, names).category(SessionConfigOptionCategory::Model),
        SessionConfigOption::select(LEVEL, "Thinking", level, levels)
            .description("How much the model thinks".to_owned())
            .category(SessionConfigOptionCategory::ThoughtLevel),
    ]
}

/// Changes one, from the next turn on.
pub(super) async fn set(
    session: &Session,
    request: SetSessionConfigOptionRequest,
) -> Result<SetSessionConfigOptionResponse, Error> {
    let option = match &*request.config_id.0 {
        MODEL => MODEL,
        LEVEL => LEVEL,
        other => return Err(errors::wrong(format!("there is no option {other:?}; those of a session are {MODEL} and {LEVEL}"))),
    };
    let value = request.value.as_value_id().map(|value| value.0.to_string());
    let value = value.ok_or_else(|| errors::wrong(format!("{option}: expected one of its values")))?;
    let agent = &session.agent;
    let changed = match option {
        // The same one may have settings of its own.
        MODEL if value == agent.model() => return Ok(SetSessionConfigOptionResponse::new(options(session))),
        MODEL => {
            let with = |model: &str| crate::models::with_model(&session.settings.options, model.into());
            crate::models::change(agent, &with(&agent.model()), &with(&value))
        }
        _ => agent.set_json(&json!({ option: value })),
    };
    changed.map_err(|error| errors::of(&error))?;
    session.keep(option, value.into()).await?;
    Ok(SetSessionConfigOptionResponse::new(options(session)))
}

/// How many tokens the model reads, if that is known.
pub(super) fn context_window(session: &Session) -> Option<u64> {
    let name = session.agent.model();
    let set = session.settings.options.get("model").and_then(|model| model.get("context_window")).and_then(Value::as_u64);
    set.or_else(|| models().into_iter().find(|model| model.name() == name)?.context_window)
}
