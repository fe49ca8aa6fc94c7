//! Ids and names of tool calls as servers take them.

use std::collections::HashSet;

use crate::quirks::CallIds;

/// The ids given so far. An id depends only on itself and on what stands before it.
#[derive(Debug, Clone)]
pub(super) struct Ids {
    form: CallIds,
    given: HashSet<String>,
}

impl Ids {
    pub(super) fn new(form: CallIds) -> Ids {
        Ids { form, given: HashSet::new() }
    }

    /// A new message begins. Where servers take any id, it has to be unique in its message only.
    pub(super) fn next_message(&mut self) {
        if matches!(self.form, CallIds::Any | CallIds::Omitted) {
            self.given.clear();
        }
    }

    /// The id under which a call goes to the model; `place` makes one where there was none.
    pub(super) fn give(&mut self, id: &str, place: (usize, usize)) -> String {
        let made = format!("call_{}_{}", place.0, place.1);
        let id = if id.is_empty() { made.as_str() } else { id };
        let mut try_number = 0;
        loop {
            let fitted = self.fitted(id, try_number);
            if self.given.insert(fitted.clone()) {
                return fitted;
            }
            try_number += 1;
        }
    }

    /// The id in the server's form; with a number, another one for the same.
    fn fitted(&self, id: &str, try_number: u64) -> String {
        let numbered = || if try_number == 0 { id.to_owned() } else { format!("{id}_{}", try_number + 1) };
        match self.form {
            CallIds::Any | CallIds::Omitted => numbered(),
            CallIds::Openai => within(&numbered(), 40, |_| true),
            CallIds::Responses => within(&numbered(), 64, |_| true),
            CallIds::Anthropic => within(&numbered(), 64, is_plain),
            CallIds::Mistral if try_number == 0 && id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()) => {
                id.to_owned()
            }
            CallIds::Mistral => nine(hash(numbered().as_bytes())),
        }
    }
}

/// The id with characters that are taken, and at most so many of them: one that is cut ends in its hash.
fn within(id: &str, most: usize, taken: impl Fn(char) -> bool) -> String {
    let clean: String = id.chars().map(|c| if taken(c) { c } else { '_' }).collect();
    if clean.chars().count() <= most {
        return clean;
    }
    let head: String = clean.chars().take(most.saturating_sub(17)).collect();
    format!("{head}_{:016x}", hash(id.as_bytes()))
}

/// A tool's name as every format takes it. Models call names that were never offered, and a server that made one up refuses the
/// next request for it.
pub(super) fn name(name: &str) -> String {
    if name.is_empty() { "unnamed".to_owned() } else { within(name, 64, is_plain) }
}

/// What is taken everywhere.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Nine letters or digits.
fn nine(mut number: u64) -> String {
    let digit = |n: u64| char::from_digit(u32::try_from(n % 36).unwrap_or_default(), 36).unwrap_or('0');
    let digits = std::iter::repeat_with(|| {
        let c = digit(number);
        number /= 36;
        c
    });
    digits.take(9).collect()
}

/// FNV-1a: the same in every version of this library, as caches depend on it.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(form: CallIds, ids: &[&str]) -> Vec<String> {
        let mut all = Ids::new(form);
        ids.iter().enumerate().map(|(at, id)| all.give(id, (7, at))).collect()
    }

    #[test]
    fn ids_take_the_form_that_is_asked_for_and_stay_when_they_have_it() {
        assert_eq!(
            given(CallIds::Anthropic, &["toolu_1", "a b|c", "", "toolu_1"]),
            ["toolu_1", "a_b_c", "call_7_2", "toolu_1_2"]
        );
        assert_eq!(given(CallIds::Any, &["functions.f:0", "functions.f:0"]), ["functions.f:0", "functions.f:0_2"]);
        let long = "x".repeat(450);
        for (form, most) in [(CallIds::Anthropic, 64), (CallIds::Openai, 40), (CallIds::Responses, 64)] {
            let ids = given(form, &[&long, &format!("{long}y"), &long]);
            assert!(ids.iter().all(|id| id.len() == most), "{ids:?}");
            assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 3, "{ids:?}");
        }
        let ids = given(CallIds::Mistral, &["abcDEF123", "call_1", "call_1", "null", ""]);
        assert_eq!(ids[0], "abcDEF123");
        assert!(ids.iter().all(|id| id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric())), "{ids:?}");
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 5, "{ids:?}");
    }

    #[test]
    fn a_name_is_of_letters_that_are_taken_everywhere() {
        assert_eq!(["read-file_2", "functions.read", "a b", ""].map(name), ["read-file_2", "functions_read", "a_b", "unnamed"]);
        assert_eq!(name(&"x".repeat(65)).len(), 64);
    }

    #[test]
    fn an_id_depends_only_on_what_stands_before_it() {
        let short = given(CallIds::Mistral, &["a", "b"]);
        assert_eq!(given(CallIds::Mistral, &["a", "b", "c"])[..2], short[..]);
    }
}
