use super::*;
use crate::error::ErrorKind;
use crate::usage::{Cost, Prices};

fn of(input: u64, output: u64, dollars: Option<f64>) -> Usage {
    let cost = dollars.map(|total| Cost { total, ..Cost::default() });
    Usage { cost, ..Usage::new(input, output) }
}

fn spent(parts: &[Usage], tool_calls: u64) -> Spent {
    let mut spent = Spent { tool_calls, ..Spent::default() };
    parts.iter().for_each(|part| spent.count_usage(part, true));
    spent
}

/// The option that is used up.
fn used_up(spent: &Spent, budget: Budget, ran_ms: u64) -> Option<&'static str> {
    let used_up = spent.used_up(&budget, ran_ms)?;
    ["max_cost", "max_total_tokens", "max_output_tokens_total", "max_tool_calls", "max_run_ms"]
        .into_iter()
        .find(|option| *option == used_up.option)
}

#[test]
fn without_limits_nothing_is_used_up() {
    let most = spent(&[of(u64::MAX, u64::MAX, None)], u64::MAX);
    assert_eq!(used_up(&most, Budget::default(), u64::MAX), None);
    assert!(Budget::default().is_unlimited());
}

#[test]
fn each_limit_is_used_up_when_nothing_is_left_of_it() {
    let used = spent(&[of(60, 30, Some(0.25)), of(5, 5, Some(0.25))], 3);
    let limit = |set: fn(&mut Budget)| {
        let mut budget = Budget::default();
        set(&mut budget);
        used_up(&used, budget, 1000)
    };
    assert_eq!(limit(|budget| budget.max_cost = Some(0.51)), None);
    assert_eq!(limit(|budget| budget.max_cost = Some(0.5)), Some("max_cost"));
    assert_eq!(limit(|budget| budget.max_total_tokens = Some(101)), None);
    assert_eq!(limit(|budget| budget.max_total_tokens = Some(100)), Some("max_total_tokens"));
    assert_eq!(limit(|budget| budget.max_output_tokens_total = Some(36)), None);
    assert_eq!(limit(|budget| budget.max_output_tokens_total = Some(35)), Some("max_output_tokens_total"));
    assert_eq!(limit(|budget| budget.max_run_ms = Some(1001)), None);
    assert_eq!(limit(|budget| budget.max_run_ms = Some(1000)), Some("max_run_ms"));
    // The model is to read the result of the last call that was allowed.
    assert_eq!(limit(|budget| budget.max_tool_calls = Some(3)), None);
    assert_eq!(limit(|budget| budget.max_tool_calls = Some(2)), Some("max_tool_calls"));
}

#[test]
fn a_limit_of_nothing_is_used_up_at_the_start_but_for_tool_calls() {
    let limit = |budget| used_up(&Spent::default(), budget, 0);
    for dollars in [0.0, -0.5, f64::NAN] {
        assert_eq!(limit(Budget { max_cost: Some(dollars), ..Budget::default() }), Some("max_cost"), "{dollars}");
    }
    assert_eq!(limit(Budget { max_total_tokens: Some(0), ..Budget::default() }), Some("max_total_tokens"));
    assert_eq!(limit(Budget { max_run_ms: Some(0), ..Budget::default() }), Some("max_run_ms"));
    assert_eq!(limit(Budget { max_tool_calls: Some(0), ..Budget::default() }), None);
}

#[test]
fn a_cost_that_is_not_known_cannot_be_kept() {
    let budget = Budget { max_cost: Some(5.0), ..Budget::default() };
    let mut used = spent(&[of(1, 1, Some(0.1))], 0);
    // An attempt of which nothing came cost nothing.
    used.count_usage(&Usage::default(), false);
    assert_eq!(used_up(&used, budget, 0), None);
    used.count_usage(&Usage::default(), true);
    let why = used.used_up(&budget, 0).unwrap();
    assert_eq!(why.to_json(), json!({ "option": "max_cost", "limit": 5, "used": null }));
    assert_eq!(why.to_string(), "the cost of a model call is not known, so that max_cost (5) cannot be kept");
}

#[test]
fn calls_over_the_limit_may_not_run() {
    let budget = Budget { max_tool_calls: Some(2), ..Budget::default() };
    let mut used = Spent::default();
    assert_eq!([(); 4].map(|()| used.count_tool_call(&budget).is_ok()), [true, true, false, false]);
    assert_eq!(used.used_up(&budget, 0).unwrap().to_string(), "max_tool_calls is at 4 of 2");
    assert!(used.count_tool_call(&Budget::default()).is_ok());
}

#[test]
fn a_limit_of_costs_needs_prices() {
    let priced = ModelEntry { prices: Some(Prices::default()), ..ModelEntry::new(0, "a", "p", "free") };
    let unpriced = ModelEntry::new(0, "a", "p", "b");
    let budget = Budget { max_cost: Some(5.0), ..Budget::default() };
    assert!(Budget::default().check_prices([&unpriced]).is_ok());
    assert!(budget.check_prices([&priced]).is_ok());
    let error = budget.check_prices([&priced, &unpriced]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let text = "max_cost: the prices of a/b are not known, as it is in no list, or its base_url is not its provider's own; give \
                the model its \"cost\", or leave max_cost out";
    assert_eq!(error.message(), text);
}
