//! How a request asks Claude for thinking, of Anthropic or of Bedrock:
//! <https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking>, and of newer models
//! <https://docs.anthropic.com/en/docs/build-with-claude/adaptive-thinking>.

use serde::Serialize;

use crate::protocol::format::Target;
use crate::protocol::ignored::Ignored;
use crate::protocol::json::Object;
use crate::protocol::token_budget::TokenBudget;
use crate::protocol::turns::{Blocks, Turns};
use crate::quirks::ThinkingStyle;
use crate::request::{Request, ThinkingLevel};

/// Sent when neither the caller nor the model says how much may be written: the API demands a number.
const DEFAULT_MAX_TOKENS: u64 = 8192;

/// The default output limit, even for models that could write more.
const MOST_BY_DEFAULT: u64 = 32_000;

/// The smallest budget that is taken, in tokens.
const LEAST_BUDGET: u64 = 1024;

/// How much thinking is asked for, and the tokens that thinking and answer may have together.
pub(super) struct Thinking {
    level: ThinkingLevel,
    style: ThinkingStyle,
    /// Whether thinking is turned off for a server that thinks by default.
    off: bool,
    /// The word for the level, of a model that chooses the amount.
    effort: &'static str,
    budget: u64,
    pub(super) max_tokens: u64,
}

impl Thinking {
    pub(super) fn of(request: &Request, target: Target<'_>) -> Thinking {
        Thinking::at(request.thinking_level, request, target)
    }

    /// How the model is asked to think. What was begun without thinking, by another model or while it was off, is finished
    /// without.
    pub(super) fn beside<F: Blocks>(turns: &Turns<F>, request: &Request, target: Target<'_>, ignored: &mut Ignored) -> Thinking {
        let mut thinking = Thinking::of(request, target);
        if request.thinking_level != ThinkingLevel::Off && !thinking.is_on() {
            ignored.thinking_level(target.quirks.thinking);
        }
        if thinking.must_have_begun() && turns.go_on_without_thinking() {
            thinking = Thinking::none(request, target);
        }
        if request.options.max_tokens.is_some_and(|given| given != thinking.max_tokens) {
            ignored.max_tokens_beside_thinking(thinking.max_tokens);
        }
        thinking
    }

    /// None, whatever is asked for.
    fn none(request: &Request, target: Target<'_>) -> Thinking {
        Thinking::at(ThinkingLevel::Off, request, target)
    }

    fn at(level: ThinkingLevel, request: &Request, target: Target<'_>) -> Thinking {
        let most = target.spec.max_output_tokens;
        let by_default = most.unwrap_or(DEFAULT_MAX_TOKENS).min(MOST_BY_DEFAULT);
        let asked = request.options.max_tokens.unwrap_or(by_default);
        let style = target.quirks.thinking;
        let (mut level, mut budget, mut max_tokens) = (level, 0, asked);
        if level != ThinkingLevel::Off && style == ThinkingStyle::Budget {
            let room = TokenBudget::of(request.options.thinking_budgets.tokens(level).max(LEAST_BUDGET), asked, most);
            if room.budget < LEAST_BUDGET {
                level = ThinkingLevel::Off;
            } else {
                (budget, max_tokens) = (room.budget, room.limit);
            }
        }
        if !matches!(style, ThinkingStyle::Budget | ThinkingStyle::Adaptive) {
            level = ThinkingLevel::Off;
        }
        // Models that do not know `xhigh` have `max` above `high`.
        let effort = match target.quirks.efforts.word(level) {
            Some("high") if level == ThinkingLevel::Xhigh => "max",
            Some("minimal") | None => "low",
            Some(word) => word,
        };
        Thinking { level, style, off: target.quirks.thinking_off, effort, budget, max_tokens }
    }

    pub(super) fn is_on(&self) -> bool {
        self.level != ThinkingLevel::Off
    }

    /// Whether the thinking with which a tool loop began must be there while it goes on.
    pub(super) fn must_have_begun(&self) -> bool {
        self.is_on() && self.style == ThinkingStyle::Budget
    }

    /// The flag with which older models think between calls too; newer ones do by themselves, and some servers refuse it.
    pub(super) fn beta(&self, request: &Request, target: Target<'_>) -> Option<&'static str> {
        let wanted = self.is_on() && self.style == ThinkingStyle::Budget && !request.tools.is_empty();
        (wanted && target.quirks.interleaved).then_some("interleaved-thinking-2025-05-14")
    }

    /// The effort, where the model takes one: it stands beside the format of the answer.
    pub(super) fn effort(&self) -> Option<&'static str> {
        (self.is_on() && self.style == ThinkingStyle::Adaptive).then_some(self.effort)
    }

    pub(super) fn write(&self, body: &mut Object<'_>) {
        if !self.is_on() {
            // Not otherwise: some models refuse the word.
            if self.off {
                body.field("thinking", Asked::Disabled);
            }
            return;
        }
        if self.style == ThinkingStyle::Budget {
            body.field("thinking", Asked::Enabled { budget_tokens: self.budget });
            return;
        }
        // The newest models show their thinking only on demand.
        body.field("thinking", Asked::Adaptive { display: "summarized" });
    }
}

/// The field `thinking`.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Asked {
    Disabled,
    Enabled { budget_tokens: u64 },
    Adaptive { display: &'static str },
}
