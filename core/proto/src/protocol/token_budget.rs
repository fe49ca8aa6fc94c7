//! Room for an answer beside a budget of thinking. Servers count both as written, so a limit that the budget fills would leave
//! no answer.

/// What is left for the answer at least, in tokens.
const ANSWER_TOKENS: u64 = 1024;

/// What goes out, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenBudget {
    /// For thinking.
    pub(super) budget: u64,
    /// For thinking and answer together.
    pub(super) limit: u64,
}

impl TokenBudget {
    /// For a budget and a limit as they were asked for: the limit is raised to hold both, but not above `most`, what the model
    /// can write; then the budget gives way.
    pub(super) fn of(budget: u64, limit: u64, most: Option<u64>) -> TokenBudget {
        if budget == 0 {
            return TokenBudget { budget, limit };
        }
        let wanted = budget.saturating_add(ANSWER_TOKENS).min(most.unwrap_or(u64::MAX));
        let limit = limit.max(wanted);
        TokenBudget { budget: budget.min(limit.saturating_sub(ANSWER_TOKENS)), limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_raised_to_hold_the_budget_and_an_answer_and_where_the_model_ends_the_budget_gives_way() {
        for (budget, limit, most, expected) in [
            (16_384, 100, None, (16_384, 17_408)),
            (16_384, 17_408, None, (16_384, 17_408)),
            (16_384, 17_409, None, (16_384, 17_409)),
            (16_384, 20_000, Some(64_000), (16_384, 20_000)),
            (16_384, 100, Some(8192), (7168, 8192)),
            // Who knows that it can write more than is known is taken at their word.
            (16_384, 10_000, Some(8192), (8976, 10_000)),
            (16_384, 100, Some(1000), (0, 1000)),
            (u64::MAX, 100, None, (u64::MAX - 1024, u64::MAX)),
            (0, 100, Some(8192), (0, 100)),
        ] {
            let room = TokenBudget::of(budget, limit, most);
            assert_eq!((room.budget, room.limit), expected, "{budget} within {limit} of {most:?}");
        }
    }
}
