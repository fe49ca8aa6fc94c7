//! The typed final answer of a run, where the option `output` asks for one: how the model is asked for it, what counts as it, and
//! what becomes of a wrong one.

use std::sync::Arc;

use serde_json::Value;

use super::config::Config;
use super::questions::NoAnswer;
use super::run_state::RunState;
use super::turn::{Remaining, TurnAnswer};
use crate::error::{Error, ErrorKind};
use crate::hook::{HookAnswer, HookKind, OutputCheck, Question};
use crate::output::{OutputFormat, OutputMode, OutputSpec, PartialOutput};
use crate::request::{ToolChoice, ToolDescription};
use crate::usage::{Outcome, StopReason};

/// The result of a call that has given the answer.
pub(super) const TAKEN: &str = "the answer was taken";

/// What a call gives beside one whose answer was taken.
pub(super) const TAKEN_BEFORE: &str = "another answer was taken";

/// How a model is asked for the answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Asked<'a> {
    /// The text of its answer is JSON.
    Text(&'a OutputSpec),
    /// It calls one more tool.
    Tool(&'a OutputSpec),
}

impl<'a> Asked<'a> {
    /// How the model of this configuration is asked, if it is.
    pub(super) fn of(config: &'a Config) -> Option<Asked<'a>> {
        let spec = config.settings.output.as_ref()?;
        let by_text = match spec.mode() {
            OutputMode::Tool => false,
            OutputMode::Native => true,
            OutputMode::Auto if spec.is_or_text() => false,
            OutputMode::Auto => {
                let encoder = config.model.as_ref().ok().and_then(|model| model.encoder.as_ref());
                let has_tools = !config.tools.descriptions().is_empty();
                encoder.is_some_and(|encoder| encoder.takes_schema(&spec.format().schema, has_tools))
            }
        };
        Some(if by_text { Asked::Text(spec) } else { Asked::Tool(spec) })
    }

    /// The type, if the call of a tool of this name gives the answer.
    pub(super) fn by_call(config: &'a Config, name: &str) -> Option<&'a OutputSpec> {
        // The name first: whether a model can be held to a schema is more work.
        let spec = config.settings.output.as_ref().filter(|spec| spec.name() == name)?;
        matches!(Asked::of(config), Some(Asked::Tool(_))).then_some(spec)
    }

    /// The format of the text, if that is the answer.
    pub(super) fn format(self) -> Option<Arc<OutputFormat>> {
        match self {
            Asked::Text(spec) => Some(Arc::clone(spec.format())),
            Asked::Tool(_) => None,
        }
    }

    pub(super) fn partial_output(self) -> PartialOutput {
        match self {
            Asked::Text(spec) => PartialOutput::new(spec, false),
            Asked::Tool(spec) => PartialOutput::new(spec, true),
        }
    }

    /// The tools of a request, with the final one.
    pub(super) fn tools(self, tools: &Arc<Vec<ToolDescription>>) -> Arc<Vec<ToolDescription>> {
        let Asked::Tool(spec) = self else { return Arc::clone(tools) };
        let what = "Gives the final answer. Call it once, when you have the answer.";
        let more = Some(spec.format().description.as_str()).filter(|text| !text.is_empty());
        let description = more.map_or_else(|| what.to_owned(), |more| format!("{what} {more}"));
        let name = spec.name().to_owned();
        let parameters = Arc::clone(&spec.format().schema);
        let last = ToolDescription { name, description, parameters };
        Arc::new(tools.iter().cloned().chain([last]).collect())
    }

    /// What a request asks of the model, where the option `tool_choice` comes to this.
    pub(super) fn choice(self, choice: Option<ToolChoice>, config: &Config) -> Option<ToolChoice> {
        let Asked::Tool(spec) = self else { return choice };
        let is_given = config.settings.model.tool_choice.as_ref();
        match (choice, is_given) {
            // Of all tools, only the final one.
            (Some(ToolChoice::None), _) => Some(ToolChoice::Tool(spec.name().to_owned())),
            // It is free by its own wish.
            (choice, Some(ToolChoice::Auto)) => choice,
            (None | Some(ToolChoice::Auto), _) if !spec.is_or_text() => Some(ToolChoice::Required),
            (choice, _) => choice,
        }
    }
}

/// Refuses to start a run whose final tool has the name of another one.
///
/// # Errors
/// `invalid_argument`.
pub(super) fn check_output(config: &Config) -> Result<(), Error> {
    match Asked::of(config) {
        Some(Asked::Tool(spec)) if config.tools.get(spec.name()).is_some() => {
            let text = format!("output: there is a tool named {:?}; give the output another name, or the tool", spec.name());
            Err(Error::invalid_argument(text))
        }
        _ => Ok(()),
    }
}

impl RunState {
    /// An answer is wrong. False when the model may not correct it any more: the run fails.
    pub(super) fn count_wrong_answer(&mut self, why: &str) -> bool {
        let most = self.settings().output_retries;
        self.answer.wrong = self.answer.wrong.saturating_add(1);
        let may_retry = self.answer.wrong <= most;
        if !may_retry {
            let times = match most {
                0 => "and output_retries is 0".to_owned(),
                1 => "also after a correction (output_retries is 1)".to_owned(),
                _ => format!("also after {most} corrections (output_retries)"),
            };
            let text = format!("the model's final answer is not what output asks for, {times}: {why}");
            self.turn.fail(Error::new(ErrorKind::Protocol, text));
        }
        may_retry
    }

    /// Asks the application about an answer that fits the schema: `None` until it has said it; then what is wrong.
    pub(super) fn ask_about_answer(&mut self, value: &Value) -> Option<Result<(), String>> {
        if !self.hooks().has(HookKind::CheckOutput) {
            return Some(Ok(()));
        }
        let question = || Question::CheckOutput(OutputCheck { output: value.clone() });
        Some(match self.ask(question)? {
            Ok(HookAnswer::CheckOutput(Some(why))) => Err(why),
            Ok(_) | Err(NoAnswer::Aborted) => Ok(()),
            Err(failed) => {
                self.hook_failed(HookKind::CheckOutput, failed);
                Ok(())
            }
        })
    }

    /// An answer is right.
    pub(super) fn take_answer_of_run(&mut self, value: Value) {
        self.answer.taken = Some(value);
        self.answer.wrong = 0;
        self.turn.set_answer(TurnAnswer::Taken);
    }

    /// Checks the text of a turn that has ended without calls: it is the answer, or the next turn begins with a correction.
    /// `None` until the application has said what it thinks of it.
    pub(super) fn check_text(&mut self) -> Option<()> {
        let checked = match self.answer_of_text() {
            None => return Some(()),
            Some(Err(why)) => Err(why),
            Some(Ok(value)) => self.ask_about_answer(&value)?.map(|()| value),
        };
        match checked {
            Ok(value) => self.take_answer_of_run(value),
            Err(why) if self.count_wrong_answer(&why) => {
                self.answer.correction = Some(why);
                self.turn.set_answer(TurnAnswer::Wrong);
            }
            Err(_) => {}
        }
        Some(())
    }

    /// The value of the turn's text, or what is wrong with it. `None`: it need not be the answer.
    fn answer_of_text(&self) -> Option<Result<Value, String>> {
        let config = self.config();
        let asked = Asked::of(config)?;
        let (Asked::Text(spec) | Asked::Tool(spec)) = asked;
        if self.turn.has_answer() || self.turn.remaining() != Remaining::Nothing(Outcome::Completed) {
            return None;
        }
        let message = self.turn.message()?.as_assistant()?;
        let text = message.text();
        if spec.is_or_text() {
            return Some(Ok(text.into()));
        }
        let correction = |why: String| match (asked, message.stop_reason) {
            (_, Some(StopReason::Length)) => "the answer was cut off by the output limit; give a shorter one".to_owned(),
            (Asked::Tool(_), _) => format!("this is not the final answer yet; give it with a call of {}", spec.name()),
            (Asked::Text(_), _) => format!("{why}\nAnswer again, with JSON alone that fits the schema."),
        };
        Some(spec.of_text(&text, config.settings.validation).map_err(correction))
    }
}
