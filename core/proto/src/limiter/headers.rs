//! What a service says of its own limits, in the headers of its answers.

use crate::retry_after::{number, of_headers, reset_in_ms, whole};

/// What a key may still use, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// So much of it.
    pub remaining: u64,
    /// In how many milliseconds it is all there again.
    pub reset_ms: u64,
}

/// What an answer says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServiceLimits {
    /// The requests that are left.
    pub requests: Option<Left>,
    /// The tokens that are left: of several kinds the one with the least.
    pub tokens: Option<Left>,
    /// For how many milliseconds no further request is wanted.
    pub pause_ms: Option<u64>,
}

impl ServiceLimits {
    /// Reads the headers of an answer with this status. The names are those of Anthropic
    /// (<https://docs.anthropic.com/en/api/rate-limits#response-headers>) and OpenAI
    /// (<https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers>), which many others have as well.
    pub fn read(header: &dyn Fn(&str) -> Option<String>, status: u16, now_ms: u64) -> ServiceLimits {
        let left = |name: &str| {
            let of = |remaining: String, reset: String| {
                let remaining = whole(number(&header(&remaining)?)?)?;
                Some(Left { remaining, reset_ms: reset_in_ms(&header(&reset)?, now_ms)? })
            };
            let anthropic = of(format!("anthropic-ratelimit-{name}-remaining"), format!("anthropic-ratelimit-{name}-reset"));
            anthropic.or_else(|| of(format!("x-ratelimit-remaining-{name}"), format!("x-ratelimit-reset-{name}")))
        };
        let tokens = ["tokens", "input-tokens", "output-tokens"].iter().filter_map(|name| left(name));
        ServiceLimits {
            requests: left("requests"),
            tokens: tokens.min_by_key(|left| left.remaining),
            pause_ms: if matches!(status, 429 | 503 | 529) { of_headers(header, status, now_ms) } else { None },
        }
    }
}
