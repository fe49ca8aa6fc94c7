//! How much was used, and why things ended.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json_error::shown;
pub use crate::table::outcomes::{Outcome, StopReason};

/// Tokens of one message, or the sum of a run. The counts are disjoint except that `reasoning` is part of `output`;
/// `input` never includes cached tokens, whatever the vendor's convention. They saturate: what is larger than [`u64::MAX`] is
/// that, and what is negative is 0.
///
/// ```
/// # mod agent_loop { pub use agent_loop_proto::usage::*; pub mod model { pub use agent_loop_proto::usage::*; } }
/// use agent_loop::Usage;
/// use agent_loop::model::Prices;
///
/// let mut usage = Usage::new(1_000, 500);
/// usage.cost = Some(Prices::new(3.0, 15.0).cost(&usage));
/// assert_eq!(usage.total, 1_500);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Usage {
    /// Tokens read that were not in a cache.
    #[serde(deserialize_with = "saturated")]
    pub input: u64,
    /// Tokens written by the model, thinking included.
    #[serde(deserialize_with = "saturated")]
    pub output: u64,
    /// Tokens read from the provider's cache.
    #[serde(deserialize_with = "saturated")]
    pub cache_read: u64,
    /// Tokens written to the provider's cache.
    #[serde(deserialize_with = "saturated")]
    pub cache_write: u64,
    /// The part of `output` that was thinking.
    #[serde(deserialize_with = "saturated")]
    pub reasoning: u64,
    /// `input + output + cache_read + cache_write`.
    #[serde(deserialize_with = "saturated")]
    pub total: u64,
    /// The price, or `None` when no price or no count is known; of a sum, when that of a part is not known.
    pub cost: Option<Cost>,
}

impl Usage {
    /// These tokens of the prompt and the answer, and their total; no cost.
    pub fn new(input: u64, output: u64) -> Usage {
        Usage { input, output, ..Usage::default() }.totalled()
    }

    /// Sets `total` from the parts.
    #[must_use]
    pub fn totalled(mut self) -> Usage {
        let parts = [self.output, self.cache_read, self.cache_write];
        self.total = parts.into_iter().fold(self.input, u64::saturating_add);
        self
    }

    /// Whether anything of it was reported.
    pub(crate) fn is_known(&self) -> bool {
        self.total > 0 || self.cost.is_some()
    }

    /// The sum of several messages. Its cost is known only when each part's is.
    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a Usage>) -> Usage {
        let mut parts = parts.into_iter();
        let Some(first) = parts.next() else {
            return Usage::default();
        };
        parts.fold(first.clone(), |a, b| Usage {
            input: a.input.saturating_add(b.input),
            output: a.output.saturating_add(b.output),
            cache_read: a.cache_read.saturating_add(b.cache_read),
            cache_write: a.cache_write.saturating_add(b.cache_write),
            reasoning: a.reasoning.saturating_add(b.reasoning),
            total: a.total.saturating_add(b.total),
            cost: a.cost.zip(b.cost.as_ref()).map(|(a, b)| a.plus(b)),
        })
    }
}

/// A price in US dollars.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Cost {
    /// For `input`; for all tokens read where a server that reports its price does not divide it further.
    #[serde(serialize_with = "plain_number")]
    pub input: f64,
    /// For `output`.
    #[serde(serialize_with = "plain_number")]
    pub output: f64,
    /// For `cache_read`.
    #[serde(serialize_with = "plain_number")]
    pub cache_read: f64,
    /// For `cache_write`.
    #[serde(serialize_with = "plain_number")]
    pub cache_write: f64,
    /// The sum of the parts; where a server reports only the whole price, that, and the parts are 0.
    #[serde(serialize_with = "plain_number")]
    pub total: f64,
}

/// The number as JavaScript writes it (`0`, not `0.0`; `0.000005`, not `5e-6`), so that an event's JSON is the same bytes when
/// it passes through any language's own JSON. One that JSON cannot have saturates.
fn plain_number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let number = if number.is_nan() { 0.0 } else { number.clamp(f64::MIN, f64::MAX) };
    // `Display` never writes an exponent; JavaScript does below 1e-6, and with a sign from 1e21 on.
    let text = match number.abs() {
        size if size != 0.0 && size < 1e-6 => format!("{number:e}"),
        size if size >= 1e21 => format!("{number:e}").replace('e', "e+"),
        _ => number.to_string(),
    };
    RawValue::from_string(text).map_err(S::Error::custom)?.serialize(serializer)
}

impl Cost {
    fn plus(&self, other: &Cost) -> Cost {
        Cost {
            input: self.input + other.input,
            output: self.output + other.output,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
            total: self.total + other.total,
        }
    }
}

/// What a model's tokens cost, in US dollars per million tokens.
///
/// ```
/// # mod agent_loop { pub use agent_loop_proto::usage::*; pub mod model { pub use agent_loop_proto::usage::*; } }
/// use agent_loop::Usage;
/// use agent_loop::model::{PriceTier, Prices};
///
/// let mut prices = Prices::new(3.0, 15.0);
/// prices.tiers = vec![PriceTier::new(200_000, 6.0, 22.5)];
/// assert_eq!(prices.cost(&Usage::new(200_000, 0)).total, 0.6);
/// assert_eq!(prices.cost(&Usage::new(200_001, 0)).total, 1.200_006);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename = "strict", deny_unknown_fields)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Prices {
    /// Tokens read.
    pub input: f64,
    /// Tokens written.
    pub output: f64,
    /// Tokens read from the cache.
    pub cache_read: f64,
    /// Tokens written to the cache.
    pub cache_write: f64,
    /// Other prices for long prompts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<PriceTier>,
}

/// Prices that hold for a whole request, its answer included, when its prompt has more than so many tokens, cached ones included.
/// A price that is not given stays. Of several tiers that hold, the higher one counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "strict", deny_unknown_fields)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct PriceTier {
    /// The most tokens of a prompt for which they do not hold.
    pub above: u64,
    /// Tokens read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<f64>,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<f64>,
    /// Tokens read from the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Tokens written to the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl PriceTier {
    /// These prices, in US dollars per million tokens, for the prompt and the answer; what a cache does costs what it did.
    pub fn new(above: u64, input: f64, output: f64) -> PriceTier {
        PriceTier { above, input: Some(input), output: Some(output), ..PriceTier::default() }
    }
}

impl Prices {
    /// These prices, in US dollars per million tokens, for the prompt and the answer; what a cache does costs nothing.
    pub fn new(input: f64, output: f64) -> Prices {
        Prices { input, output, ..Prices::default() }
    }

    /// The price of these tokens, of one request.
    pub fn cost(&self, usage: &Usage) -> Cost {
        let prices = self.of_request(usage);
        let (input, output) = (price(usage.input, prices.input), price(usage.output, prices.output));
        let cache_read = price(usage.cache_read, prices.cache_read);
        let cache_write = price(usage.cache_write, prices.cache_write);
        Cost { input, output, cache_read, cache_write, total: input + output + cache_read + cache_write }
    }

    /// The price where so many of the tokens written to the cache stay for an hour. Anthropic takes twice the price of input for
    /// them: <https://docs.claude.com/en/docs/build-with-claude/prompt-caching#pricing>; listed is the price of the short time.
    pub(crate) fn cost_with_long_cache(&self, usage: &Usage, long: u64) -> Cost {
        let (mut cost, prices) = (self.cost(usage), self.of_request(usage));
        if prices.cache_write > 0.0 {
            let more = price(long.min(usage.cache_write), 2.0 * prices.input - prices.cache_write);
            cost.cache_write += more;
            cost.total += more;
        }
        cost
    }

    /// The prices that hold for a request of this size, without tiers.
    fn of_request(&self, usage: &Usage) -> Prices {
        let &Prices { input, output, cache_read, cache_write, .. } = self;
        let prompt = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        // Of the highest tier that says it.
        let price = |of: fn(&PriceTier) -> Option<f64>, otherwise| {
            let reached = self.tiers.iter().filter(|tier| prompt > tier.above && of(tier).is_some());
            reached.max_by_key(|tier| tier.above).and_then(of).unwrap_or(otherwise)
        };
        Prices {
            input: price(|tier| tier.input, input),
            output: price(|tier| tier.output, output),
            cache_read: price(|tier| tier.cache_read, cache_read),
            cache_write: price(|tier| tier.cache_write, cache_write),
            tiers: Vec::new(),
        }
    }
}

#[allow(clippy::cast_precision_loss)] // real token counts are far below 2^52
fn price(tokens: u64, per_million: f64) -> f64 {
    tokens as f64 * per_million / 1e6
}

/// A count in the usage that a server reports, by the names on the way to it: `output_tokens_details/thinking_tokens`. Not
/// [`Value::pointer`], which copies each name, for escapes that there are none of here.
pub(crate) fn count_at(usage: &Value, path: &str) -> Option<u64> {
    count(path.split('/').try_fold(usage, |value, name| value.get(name))?)
}

/// A count as servers write it: some send it as a float or a text. None of what is no count; a negative one says nothing.
pub(crate) fn count(value: &Value) -> Option<u64> {
    let whole = |number: f64| (number >= 0.0).then(|| saturating(number));
    match value {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok().or_else(|| whole(text.trim().parse().ok()?)),
        _ => None,
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // it saturates
fn saturating(number: f64) -> u64 {
    number as u64
}

/// A count that may be missing, for `deserialize_with`: what is none is read as if it were missing.
pub(crate) fn optional_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(count(&Value::deserialize(deserializer)?))
}

/// A count of [`Usage`]: a number, whatever its size and sign, or one as text.
fn saturated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    match count(&value) {
        Some(count) => Ok(count),
        None if value.is_number() || value.is_null() => Ok(0),
        None => Err(D::Error::custom(format!("expected a number of tokens, got {}", shown(&value)))),
    }
}

/// What a gateway says that it charges, in US dollars: OpenRouter's `cost`, Perplexity's `cost.total_cost`. Of calls with the
/// user's own key OpenRouter's is its fee, and the provider's bill comes on top. Its parts are used where they make up the whole.
/// <https://openrouter.ai/docs/use-cases/usage-accounting>.
pub(crate) fn reported_cost(usage: &Value) -> Option<Cost> {
    let (cost, details) = (usage.get("cost")?, usage.get("cost_details"));
    let detail = |name: &str| details?.get(name)?.as_f64();
    let mut total = cost.as_f64().or_else(|| cost.get("total_cost")?.as_f64())?;
    if usage.get("is_byok").and_then(Value::as_bool) == Some(true) {
        total += detail("upstream_inference_cost")?;
    }
    if total < 0.0 {
        return None;
    }
    let parts = detail("upstream_inference_prompt_cost").zip(detail("upstream_inference_completions_cost"));
    let parts = parts.filter(|(input, output)| (input + output - total).abs() <= total * 1e-6);
    let (input, output) = parts.unwrap_or_default();
    Some(Cost { input, output, total, ..Cost::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_written_as_javascript_writes_numbers() {
        let cost = Cost { input: 0.0, output: 5e-6, cache_read: 2.5e-7, cache_write: 3.0, total: 0.000_056 };
        let expected = r#"{"input":0,"output":0.000005,"cache_read":2.5e-7,"cache_write":3,"total":0.000056}"#;
        assert_eq!(serde_json::to_string(&cost).unwrap(), expected);
        let again: Cost = serde_json::from_value(serde_json::to_value(&cost).unwrap()).unwrap();
        assert_eq!(again, cost);
    }

    #[test]
    fn found_e7_a_long_prompt_has_the_prices_of_its_tier() {
        let tier = |above, input, output| PriceTier { above, input, output, ..PriceTier::default() };
        let prices = Prices {
            cache_read: 0.5,
            cache_write: 1.0,
            // In any order; the output of the lower one stays.
            tiers: vec![tier(500, Some(10.0), None), tier(100, Some(5.0), Some(8.0))],
            ..Prices::new(2.0, 4.0)
        };
        let cost = |input, cache_read, cache_write| {
            let usage = Usage { input, output: 1_000_000, cache_read, cache_write, ..Usage::default() };
            let Cost { input, output, cache_read, cache_write, .. } = prices.cost(&usage);
            [input, output, cache_read, cache_write].map(|dollars| (dollars * 1e6).round())
        };
        assert_eq!(cost(98, 1, 1), [196.0, 4e6, 1.0, 1.0], "100 tokens are not above 100");
        assert_eq!(cost(98, 2, 1), [490.0, 8e6, 1.0, 1.0], "cached tokens are of the prompt");
        assert_eq!(cost(501, 0, 0), [5010.0, 8e6, 0.0, 0.0]);
        let long = |written| {
            let usage = Usage { cache_write: written, ..Usage::default() };
            (prices.cost_with_long_cache(&usage, written).cache_write * 1e6).round()
        };
        assert_eq!((long(100), long(101)), (400.0, 1010.0), "an hour in the cache costs twice the tier's input");
    }

    #[test]
    fn found_a9_counts_saturate() {
        let read = |value: Value| serde_json::from_value::<Usage>(serde_json::json!({ "input": value }));
        for (given, counted) in [
            (serde_json::json!(u64::MAX), u64::MAX),
            (serde_json::json!(1e300), u64::MAX),
            (serde_json::json!(-5), 0),
            (serde_json::json!(-0.5), 0),
            (serde_json::json!(12.9), 12),
            (serde_json::json!("12"), 12),
            (serde_json::json!("18446744073709551616"), u64::MAX),
            (Value::Null, 0),
        ] {
            assert_eq!(read(given.clone()).unwrap().input, counted, "{given}");
        }
        assert_eq!(read("many".into()).unwrap_err().to_string(), "expected a number of tokens, got \"many\"");

        let most = Usage { input: u64::MAX, output: u64::MAX, cache_read: 1, ..Usage::default() }.totalled();
        assert_eq!(most.total, u64::MAX);
        let sum = Usage::sum([&most, &most]);
        assert_eq!((sum.input, sum.output, sum.cache_read, sum.total), (u64::MAX, u64::MAX, 2, u64::MAX));
        assert_eq!(Prices { tiers: vec![PriceTier::new(1, 2.0, 0.0)], ..Prices::default() }.cost(&sum).output, 0.0);

        let dear = Prices::new(f64::MAX, 1e30).cost(&most);
        let text = serde_json::to_string(&dear).unwrap();
        assert!(text.starts_with(r#"{"input":1.7976931348623157e+308,"output":1.8446744073709551e+43,"#), "{text}");
        assert!(serde_json::from_str::<Cost>(&text).is_ok());
    }

    #[test]
    fn a_sum_has_a_cost_only_when_each_part_has() {
        let priced = |input| Usage { input, cost: Some(Cost { input: 1.0, total: 1.0, ..Cost::default() }), ..Usage::default() };
        assert_eq!(Usage::sum([&priced(1), &priced(2)]).cost.unwrap().total, 2.0);
        assert_eq!(Usage::sum([&priced(1), &Usage::default()]).cost, None);
        assert_eq!(Usage::sum([]).cost, None);
    }
}
