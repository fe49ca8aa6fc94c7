//! What the option `tool_choice` asks of a turn: a demand for a call holds until the run has made it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::config::Config;
use crate::error::Error;
use crate::message::ToolCall;
use crate::request::{IgnoredOption, ToolChoice};

/// Which tools a run has called: what `tool_choice` may no longer demand. Else the model could never answer.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ToolDemand {
    /// The names as the model gave them: a call of an unknown tool counts, one that fails too.
    called: BTreeSet<Arc<str>>,
}

impl ToolDemand {
    /// Calls of these tools begin.
    pub(super) fn calls_begin<'a>(&mut self, calls: impl Iterator<Item = &'a ToolCall>) {
        for call in calls {
            if !self.called.contains(&*call.name) {
                self.called.insert(call.name.as_str().into());
            }
        }
    }

    /// What a model call of this turn asks for; and what the model does not get of it, as no tool has that name.
    pub(super) fn choice(&self, config: &Config) -> (Option<ToolChoice>, Option<IgnoredOption>) {
        let choice = config.settings.model.tool_choice.as_ref();
        match choice {
            Some(ToolChoice::Required) if !self.called.is_empty() => (Some(ToolChoice::Auto), None),
            Some(ToolChoice::Tool(name)) if self.called.contains(&**name) => (Some(ToolChoice::Auto), None),
            Some(ToolChoice::Tool(name)) => match unknown(name, config) {
                None => (choice.cloned(), None),
                Some(why) => {
                    let why = format!("{why}; it decides itself");
                    (Some(ToolChoice::Auto), Some(IgnoredOption { option: "tool_choice", why }))
                }
            },
            Some(ToolChoice::Auto | ToolChoice::None | ToolChoice::Required) | None => (choice.cloned(), None),
        }
    }
}

/// Refuses to start a run that has to call a tool which does not exist.
///
/// # Errors
/// `invalid_argument`: names the tools that there are.
pub(super) fn check_tool_choice(config: &Config) -> Result<(), Error> {
    match &config.settings.model.tool_choice {
        Some(ToolChoice::Tool(name)) => match unknown(name, config) {
            Some(why) => Err(Error::invalid_argument(format!("tool_choice: {why}"))),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Why a tool cannot be demanded: there is none of that name.
fn unknown(name: &str, config: &Config) -> Option<String> {
    let tools = &config.tools;
    tools.get(name).is_none().then(|| format!("there is no tool named {name:?}; the tools are: {}", tools.names()))
}
