//! Ids and names of tool calls as servers take them.

use std::collections::{HashMap, HashSet};

use crate::hash::fnv1a;
use crate::quirks::CallIds;

/// The ids given so far. An id depends only on itself and on what stands before it.
#[derive(Debug, Clone)]
pub(super) struct Ids {
    form: CallIds,
    /// Each with the number of the next try for another call of the same id: so many calls of one id cost so many steps.
    given: HashMap<String, u64>,
    /// Where ids have to be unique in their message only: those of the messages before, which no id that is made may have.
    before: HashSet<String>,
    /// How many ids were tried.
    #[cfg(test)]
    tries: usize,
}

impl Ids {
    pub(super) fn new(form: CallIds) -> Ids {
        Ids {
            form,
            given: HashMap::new(),
            before: HashSet::new(),
            #[cfg(test)]
            tries: 0,
        }
    }

    /// A new message begins. Where servers take any id, it has to be unique in its message only.
    pub(super) fn next_message(&mut self) {
        if matches!(self.form, CallIds::Any | CallIds::Omitted) {
            self.before.extend(self.given.drain().map(|(id, _)| id));
        }
    }

    /// The id under which a call goes to the model; `place` makes one where there was none.
    pub(super) fn give(&mut self, id: &str, place: (usize, usize)) -> String {
        let made = id.is_empty().then(|| format!("call_{}_{}", place.0, place.1));
        let id = made.as_deref().unwrap_or(id);
        let first = self.fitted(id, 0);
        let mut number = self.given.get(&first).copied().unwrap_or(1);
        let mut fitted = first.clone();
        while self.given.contains_key(&fitted) || (made.is_some() && self.before.contains(&fitted)) {
            fitted = self.fitted(id, number);
            number += 1;
            #[cfg(test)]
            (self.tries += 1);
        }
        self.given.entry(first).and_modify(|next| *next = number);
        self.given.insert(fitted.clone(), 1);
        fitted
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
            CallIds::Mistral => nine(fnv1a(numbered().as_bytes())),
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
    format!("{head}_{:016x}", fnv1a(id.as_bytes()))
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
    fn found_a13_a_repeated_id_costs_one_step() {
        let apart = |n: u32| char::from_u32(0x4e00 + n).unwrap().to_string();
        let all: [(&str, Vec<String>); 3] = [
            ("equal", vec!["a".to_owned(); 8_000]),
            ("equal once they have their form", (0..8_000).map(apart).collect()),
            ("as made of each other", (0..8_000).map(|n| if n % 2 == 0 { "a".to_owned() } else { format!("a_{n}") }).collect()),
        ];
        for (what, calls) in all {
            for form in [CallIds::Any, CallIds::Anthropic, CallIds::Openai, CallIds::Responses, CallIds::Mistral] {
                let mut ids = Ids::new(form);
                let given: HashSet<String> = calls.iter().enumerate().map(|(at, id)| ids.give(id, (0, at))).collect();
                assert_eq!(given.len(), 8_000, "{what}, {form:?}");
                assert!(ids.tries <= 8_000, "{what}, {form:?}: {}", ids.tries);
            }
        }
    }

    #[test]
    fn found_a13_a_made_id_is_no_other_call_s() {
        for form in [CallIds::Any, CallIds::Anthropic] {
            let mut ids = Ids::new(form);
            assert_eq!(ids.give("call_1_0", (0, 0)), "call_1_0");
            ids.next_message();
            assert_eq!(ids.give("", (1, 0)), "call_1_0_2", "{form:?}: a message before has call_1_0");
            assert_eq!(ids.give("call_1_0_2", (1, 1)), "call_1_0_2_2", "{form:?}");
            assert_eq!(ids.give("", (1, 2)), "call_1_2", "{form:?}");
        }
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
