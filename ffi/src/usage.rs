//! Token counts and their cost, as numbers.

use agent_loop::Usage;

use crate::guard;

/// Input tokens that were not cached.
pub const AGENT_USAGE_INPUT: i32 = 1;
/// Output tokens, including reasoning.
pub const AGENT_USAGE_OUTPUT: i32 = 2;
/// Input tokens read from the provider's cache.
pub const AGENT_USAGE_CACHE_READ: i32 = 3;
/// Input tokens written to the provider's cache.
pub const AGENT_USAGE_CACHE_WRITE: i32 = 4;
/// The part of the output that was reasoning.
pub const AGENT_USAGE_REASONING: i32 = 5;
/// The sum of input, output, cache read and cache write.
pub const AGENT_USAGE_TOTAL: i32 = 6;

/// A count of tokens.
pub(crate) fn count(usage: &Usage, which: i32) -> Option<u64> {
    let Usage { input, output, cache_read, cache_write, reasoning, total, cost: _ } = usage;
    Some(match which {
        AGENT_USAGE_INPUT => *input,
        AGENT_USAGE_OUTPUT => *output,
        AGENT_USAGE_CACHE_READ => *cache_read,
        AGENT_USAGE_CACHE_WRITE => *cache_write,
        AGENT_USAGE_REASONING => *reasoning,
        AGENT_USAGE_TOTAL => *total,
        _ => return None,
    })
}

/// What these tokens cost, in US dollars, if it is known.
pub(crate) fn cost(usage: &Usage, which: i32) -> Option<f64> {
    let cost = usage.cost.as_ref()?;
    Some(match which {
        AGENT_USAGE_INPUT => cost.input,
        AGENT_USAGE_OUTPUT => cost.output,
        AGENT_USAGE_CACHE_READ => cost.cache_read,
        AGENT_USAGE_CACHE_WRITE => cost.cache_write,
        AGENT_USAGE_TOTAL => cost.total,
        _ => return None,
    })
}

/// Writes a cost, 0 if it is not known, and returns whether it is.
///
/// # Safety
/// `dollars` is null or may be written.
pub(crate) unsafe fn write_cost(dollars: *mut f64, find: impl FnOnce() -> Option<f64>) -> bool {
    let found = guard::read(None, || Some(find()));
    if !dollars.is_null() {
        // SAFETY: not null, so it may be written.
        unsafe { *dollars = found.unwrap_or_default() };
    }
    found.is_some()
}
