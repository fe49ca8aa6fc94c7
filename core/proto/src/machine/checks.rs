//! Whether a run may have a configuration: one that it begins with, or that of an agent that is to go on with it.

use super::config::Config;
use super::final_answer::check_output;
use super::run_loop::Loop;
use super::summaries::check_summarizer;
use super::tool_demand::check_tool_choice;
use crate::error::Error;

/// Refuses a configuration with which a run would fail later. `is_one_call`: the run is one model call.
///
/// # Errors
/// `invalid_argument`: `tool_choice` names a tool that does not exist; the final tool has the name of another one; the model for
/// summaries cannot be used; there is a `max_cost`, and a model has no prices.
pub(crate) fn check_config(config: &Config, is_one_call: bool) -> Result<(), Error> {
    check_tool_choice(config)?;
    if is_one_call {
        return Ok(());
    }
    check_output(config)?;
    check_summarizer(config)?;
    let summarizer = config.summarizer.iter().flat_map(|(_, model)| model);
    let models = config.model.iter().chain(config.fallbacks.iter().flat_map(|(_, model)| model)).chain(summarizer);
    config.settings.budget.check_prices(models)
}

impl Loop {
    /// Whether another agent may go on with the run: this is its configuration.
    ///
    /// # Errors
    /// `invalid_argument`, as for a run that begins with it and with what the run keeps: its budget, its typed answer.
    pub fn check_hand_off(&self, config: &Config) -> Result<(), Error> {
        check_config(&self.run.setup.after_hand_off(config), false)
    }
}
