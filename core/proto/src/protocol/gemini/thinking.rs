//! How a request asks for thinking: <https://ai.google.dev/gemini-api/docs/thinking>.

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::protocol::format::Target;
use crate::protocol::token_budget::TokenBudget;
use crate::quirks::ThinkingStyle;
use crate::request::{Request, ThinkingLevel};

/// How thinking is asked for, and the tokens that thinking and answer may have together.
#[derive(PartialEq)]
pub(super) struct Thinking {
    /// None where nothing is said of it.
    pub(super) config: Option<Config>,
    pub(super) max_tokens: Option<u64>,
}

/// The field `thinkingConfig`. Thoughts may not be asked for beside a budget of none.
#[derive(PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Config {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u64>,
}

impl Thinking {
    pub(super) fn of(level: ThinkingLevel, request: &Request, target: Target<'_>) -> Thinking {
        let max_tokens = request.options.max_tokens;
        match target.quirks.thinking {
            ThinkingStyle::None => Thinking { config: None, max_tokens },
            ThinkingStyle::Level => {
                let config = Config {
                    include_thoughts: level != ThinkingLevel::Off,
                    thinking_level: Some(level_word(level, target.spec.known_id())),
                    thinking_budget: None,
                };
                Thinking { config: Some(config), max_tokens }
            }
            _ => Thinking::within_a_budget(level, request, target),
        }
    }

    /// Where there is no room for the model's least, it is asked as when thinking is off.
    fn within_a_budget(level: ThinkingLevel, request: &Request, target: Target<'_>) -> Thinking {
        let (off, range) = budgets(target.spec.known_id());
        let (asked, most) = (request.options.max_tokens, target.spec.max_output_tokens);
        let room = |budget| TokenBudget::of(budget, asked.or(most).unwrap_or(u64::MAX), most);
        let on = (level != ThinkingLevel::Off).then(|| {
            let tokens = request.options.thinking_budgets.tokens(level);
            room(tokens.clamp(*range.start(), *range.end()))
        });
        let on = on.filter(|room| range.contains(&room.budget));
        let include_thoughts = on.is_some();
        let room = on.or_else(|| off.map(|budget| TokenBudget { budget, ..room(budget) }));
        Thinking {
            config: room.map(|room| Config { include_thoughts, thinking_level: None, thinking_budget: Some(room.budget) }),
            max_tokens: asked.map(|asked| room.map_or(asked, |room| room.limit)),
        }
    }
}

/// The budget that stands for off, and those for thinking: <https://ai.google.dev/gemini-api/docs/thinking#set-budget>. These
/// models think unless a request turns it off, and 2.5 Pro cannot be kept from it: off is its least. Of a model that is not
/// known, off is not said.
fn budgets(model: &str) -> (Option<u64>, RangeInclusive<u64>) {
    if model.contains("2.5-pro") {
        (Some(128), 128..=32_768)
    } else if model.contains("2.5-flash-lite") {
        (Some(0), 512..=24_576)
    } else if model.contains("2.5-flash") {
        (Some(0), 1..=24_576)
    } else {
        (None, 1..=u64::MAX)
    }
}

/// The level as the model takes it: <https://ai.google.dev/gemini-api/docs/thinking#thinking-levels>. Off is the lowest there is:
/// these models always think.
fn level_word(level: ThinkingLevel, model: &str) -> &'static str {
    let pro = model.contains("pro");
    match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal if !pro => "MINIMAL",
        ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "LOW",
        // The first Pro has nothing between low and high.
        ThinkingLevel::Medium if model.contains("gemini-3-pro") => "HIGH",
        ThinkingLevel::Medium => "MEDIUM",
        ThinkingLevel::High | ThinkingLevel::Xhigh => "HIGH",
    }
}
