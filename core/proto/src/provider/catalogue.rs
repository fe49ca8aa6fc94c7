//! Models that are known: their limits, what they read, whether they think, and what they cost. `catalogue.jsonl` is the data,
//! with its date and source in the first line; a user's [`ModelSpec`] wins over it. Not needed for anything: a model that is not
//! there works, with an unknown price. Left out without the feature `catalogue`.

use std::cmp::Ordering;
use std::iter;

use super::compact::{compact, expand};
use crate::model_spec::ModelSpec;

/// The lines, compact, in the order of their bytes.
#[cfg(any(feature = "catalogue", test))]
const DATA: &str = include_str!(concat!(env!("OUT_DIR"), "/catalogue"));
#[cfg(not(any(feature = "catalogue", test)))]
const DATA: &str = "";

/// All models of the catalogue, by provider and id; none when it was left out of the build (feature `catalogue`). Each can be
/// used as it is, or changed: at another `base_url` its prices hold only if they are given along.
///
/// ```
/// # use agent_loop_proto::provider as agent_loop;
/// let cheap = agent_loop::models().into_iter().filter(|model| model.cost.as_ref().is_some_and(|cost| cost.output < 1.0));
/// for model in cheap {
///     println!("{} reads {:?} tokens", model.name(), model.context_window);
/// }
/// ```
pub fn models() -> Vec<ModelSpec> {
    let mut models: Vec<_> = DATA.lines().filter_map(read).collect();
    models.sort_unstable_by(|a, b| (&a.provider, &a.id).cmp(&(&b.provider, &b.id)));
    models
}

/// The entry of a provider's model. A version that is not listed is taken for the model it is a version of.
pub fn find(provider: &str, id: &str) -> Option<ModelSpec> {
    let versions = || iter::successors(Some(id), |id| without_version(id));
    let of = |provider: &str| versions().find_map(|id| line(provider, id));
    let found = match provider {
        // Claude costs the same there as at Anthropic.
        "google-vertex" if id.starts_with("claude") => of("anthropic"),
        // An ARN ends with the id; and a region before the id is that of who answers.
        "amazon-bedrock" => {
            let id = id.rsplit('/').next().unwrap_or(id);
            let without_region = || id.split_once('.').filter(|(_, id)| id.contains('.')).map(|(_, id)| id);
            line(provider, id).or_else(|| line(provider, without_region()?))
        }
        _ => of(provider),
    };
    read(found?)
}

/// The id without what says which version or alias it is: `@20250929`, `-20250929`, `-2024-08-06`, `-latest`.
fn without_version(id: &str) -> Option<&str> {
    if let Some((id, _)) = id.split_once('@') {
        return Some(id);
    }
    if let Some(id) = id.strip_suffix("-latest") {
        return Some(id);
    }
    let without = |date: &str| {
        let (stem, end) = id.split_at_checked(id.len().checked_sub(date.len())?)?;
        let like = |(c, like): (u8, u8)| if like == b'0' { c.is_ascii_digit() } else { c == like };
        (!stem.is_empty() && end.bytes().zip(date.bytes()).all(like)).then_some(stem)
    };
    without("-00000000").or_else(|| without("-0000-00-00"))
}

/// A model's line. Only this one is read then: the whole would cost more than all else that a program does as it starts.
fn line(provider: &str, id: &str) -> Option<&'static str> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let start = compact(&format!("{{\"provider\":{},\"id\":{},\"label\":\"", quoted(provider), quoted(id)));
    let (mut low, mut high) = (0, DATA.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let begin = low + memchr::memrchr(b'\n', DATA.as_bytes().get(low..middle)?).map_or(0, |at| at + 1);
        let line = DATA.get(begin..)?.lines().next()?;
        match line.bytes().take(start.len()).cmp(start.bytes()) {
            Ordering::Equal => return Some(line),
            Ordering::Less => low = begin + line.len() + 1,
            Ordering::Greater => high = begin,
        }
    }
    None
}

fn read(line: &str) -> Option<ModelSpec> {
    serde_json::from_str(&expand(line)).ok()
}
