//! Options that do not reach a model, because it or its wire format does not take them, or not as they were given.
//!
//! An encoder records them where it leaves one out or writes another value. Only options that must take effect are recorded: not
//! `session_id` and `thinking_budgets`, which are for those servers that can use them.

#[cfg(test)]
mod tests;

use crate::quirks::{Quirks, ThinkingStyle};
use crate::request::{IgnoredOption, ModelOptions, ToolChoice};

/// What an encoder recorded.
#[derive(Debug, Default)]
pub(super) struct Ignored(Vec<IgnoredOption>);

/// The order in which options are reported.
const ORDER: [&str; 11] = [
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "stop_sequences",
    "tool_choice",
    "cache_retention",
    "thinking_level",
];

/// Why a tool is not forced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotForced {
    /// There are none.
    NoTools,
    /// Not while the model thinks.
    WhileThinking,
    /// The model cannot be made to call one.
    Never,
}

impl Ignored {
    /// All of them, in order.
    pub(super) fn list(self) -> Vec<IgnoredOption> {
        let Ignored(mut all) = self;
        // There are few; a sort would be 10 kB of code.
        let mut sorted = Vec::with_capacity(all.len());
        for option in ORDER {
            sorted.extend(all.extract_if(.., |ignored| ignored.option == option));
        }
        sorted.append(&mut all);
        sorted
    }

    fn add(&mut self, option: &'static str, why: impl Into<String>) {
        self.0.push(IgnoredOption { option, why: why.into() });
    }

    /// The limit was raised, as thinking counts as written.
    pub(super) fn max_tokens_beside_thinking(&mut self, sent: u64) {
        let why = format!(
            "it may write {sent} tokens, so that there is room for an answer beside the thinking, which counts as written; give \
             as many, or lower thinking_level or its thinking_budgets"
        );
        self.add("max_tokens", why);
    }

    /// The limit was raised to the smallest one that is taken.
    pub(super) fn max_tokens_too_few(&mut self, sent: u64) {
        self.add("max_tokens", format!("it may write {sent} tokens, the fewest it accepts; give as many"));
    }

    /// `while_thinking`: it is taken otherwise.
    pub(super) fn sampling(&mut self, option: &'static str, while_thinking: bool) {
        let why = if while_thinking {
            "it takes none while it thinks; leave it out, or set thinking_level to \"off\""
        } else {
            "it takes none; leave it out"
        };
        self.add(option, why);
    }

    /// `is_taken`: by this model, but not now; `too_little`: for a model that thinks, else it is the temperature beside it.
    pub(super) fn top_p(&mut self, is_taken: bool, too_little: bool) {
        if !is_taken {
            return self.sampling("top_p", false);
        }
        let why = if too_little {
            "it takes only 0.95 to 1 while it thinks; give as much, leave it out, or set thinking_level to \"off\""
        } else {
            "it takes none beside a temperature; leave one of them out"
        };
        self.add("top_p", why);
    }

    /// The stop sequences that are sent; those that are not are recorded.
    pub(super) fn stop_sequences<'a>(&mut self, options: &'a ModelOptions, quirks: &Quirks) -> &'a [String] {
        if !options.stop_sequences.is_empty() && !quirks.stop_sequences {
            self.sampling("stop_sequences", false);
            return &[];
        }
        &options.stop_sequences
    }

    /// The most thinking has the most tokens, too.
    pub(super) fn max_tokens_beside_the_most_thinking(&mut self) {
        self.add("max_tokens", "it takes none with as much thinking; leave it out, or lower thinking_level");
    }

    /// Chat Completions has no such field, but many servers take it.
    pub(super) fn top_k_unknown(&mut self) {
        self.add("top_k", "as far as is known its server takes none; leave it out, or set the model's quirk top_k");
    }

    /// The wire format has no field for it.
    pub(super) fn no_field(&mut self, option: &'static str, protocol: &str) {
        let why = format!(
            "the wire format {protocol} has no field for it; leave it out, or choose another format with the model's protocol"
        );
        self.add(option, why);
    }

    /// Recorded only where the choice forces a tool.
    pub(super) fn tool_choice(&mut self, choice: Option<&ToolChoice>, why: NotForced) {
        if !matches!(choice, Some(ToolChoice::Required | ToolChoice::Tool(_))) {
            return;
        }
        let why = match why {
            NotForced::NoTools => "there are no tools; leave it out",
            NotForced::WhileThinking => {
                "no tool can be forced while it thinks, so it decides itself; leave it out, or set thinking_level to \"off\""
            }
            NotForced::Never => "no tool can be forced, so it decides itself; leave it out",
        };
        self.add("tool_choice", why);
    }

    /// Calls cannot be forbidden: there must be tools, as the messages have calls.
    pub(super) fn no_choice_of_none(&mut self) {
        self.add("tool_choice", "it may call tools all the same, as the conversation has calls; calls are refused");
    }

    /// The server was not asked to keep its cache for longer.
    pub(super) fn cache_retention(&mut self) {
        self.add("cache_retention", "it cannot be asked to keep for longer what it has read; leave it \"short\"");
    }

    /// The request is the same as without thinking.
    pub(super) fn thinking_level(&mut self, style: ThinkingStyle) {
        let why = if style == ThinkingStyle::Budget {
            "the tokens it may write leave no room for thinking; raise the model's max_output_tokens, or leave it \"off\""
        } else {
            "as far as is known it does not think, or not on demand; leave it \"off\", or say in the model's thinking how to ask"
        };
        self.add("thinking_level", why);
    }
}
