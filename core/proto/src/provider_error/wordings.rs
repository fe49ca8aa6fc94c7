//! What servers write in their errors, as data: one table for each kind of error, a file each.
//!
//! ```text
//! "pattern" {
//!     "vendor or server", "where it was seen", "what it wrote";
//! }
//! ```
//!
//! A pattern is a part of a message in lower case; `#` stands for a number, `@` for one word, `*` for up to [`BETWEEN`] bytes of
//! any text. A word is a part of an error's type, code, status or reason; its rows have the whole word and the message that came
//! with it. Rows are examples: tests read each of them in every wire format, streamed and not. Only the patterns are in the
//! library.

pub(super) mod limited;
pub(super) mod missing;
pub(super) mod overflow;
pub(super) mod overloaded;
pub(super) mod quota;

/// The most bytes that a `*` stands for.
const BETWEEN: usize = 200;

/// One error as it was seen.
#[cfg(test)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) pattern: &'static str,
    pub(super) vendor: &'static str,
    /// The vendor's page, the code that sends it, a public report, or another program's tests of the same; `not recorded` for
    /// what is older than this table.
    pub(super) source: &'static str,
    /// Its type or code; empty where the message alone says it.
    pub(super) code: &'static str,
    pub(super) message: &'static str,
}

/// `PATTERNS`, which messages contain.
macro_rules! wordings {
    ($($pattern:literal { $($vendor:literal, $source:literal, $message:literal;)+ })+) => {
        pub(crate) const PATTERNS: &[&str] = &[$($pattern,)+];

        #[cfg(test)]
        pub(crate) const SEEN: &[$crate::provider_error::wordings::Seen] = &[$($(
            $crate::provider_error::wordings::Seen {
                pattern: $pattern, vendor: $vendor, source: $source, code: "", message: $message,
            },
        )+)+];
    };
}

/// `WORDS`, which types and codes contain.
macro_rules! words {
    ($($word:literal { $($vendor:literal, $source:literal, $code:literal, $message:literal;)+ })+) => {
        pub(crate) const WORDS: &[&str] = &[$($word,)+];

        #[cfg(test)]
        pub(crate) const SEEN_WORDS: &[$crate::provider_error::wordings::Seen] = &[$($(
            $crate::provider_error::wordings::Seen {
                pattern: $word, vendor: $vendor, source: $source, code: $code, message: $message,
            },
        )+)+];
    };
}

use {wordings, words};

/// Whether one of the patterns is in the text, which is in lower case.
pub(super) fn matches(text: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| contains(text, pattern))
}

fn contains(text: &str, pattern: &str) -> bool {
    let (head, rest) = pattern.split_at(pattern.find(['#', '@', '*']).unwrap_or(pattern.len()));
    text.match_indices(head).any(|(at, _)| text.get(at + head.len()..).is_some_and(|text| begins(text, rest)))
}

/// Whether the text begins with what the pattern describes.
fn begins(mut text: &str, pattern: &str) -> bool {
    let mut rest = pattern.chars();
    while let Some(next) = rest.next() {
        let after = match next {
            '*' => {
                let rest = rest.as_str();
                let places = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= BETWEEN);
                return places.filter_map(|at| text.get(at..)).any(|text| begins(text, rest));
            }
            '#' => {
                let number = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '.' | '_'));
                Some(number).filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))
            }
            '@' => {
                let word = text.trim_start_matches(|c: char| !c.is_whitespace());
                Some(word).filter(|rest| rest.len() < text.len())
            }
            exactly => text.strip_prefix(exactly),
        };
        match after {
            Some(after) => text = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_gaps() {
        let texts = ["is 7 but", "is 1,048,576 but", "is 12_000 but", "there is 3.5 but"];
        assert!(texts.iter().all(|text| contains(text, "is # but")));
        assert!(["is but", "is x but", "is , but"].iter().all(|text| !contains(text, "is # but")));
        assert!(contains("a is not it, but is 5", "is #"), "the second place, too");
        assert!(contains("input \u{fc}ber alles exceeds it", "input*exceeds"));
        assert!(contains("inputexceeds", "input*exceeds"));
        assert!(!contains(&format!("input{} exceeds", "x".repeat(BETWEEN)), "input*exceeds"), "too far away");
        assert!(contains("your weekly usage limit", "your @ usage") && contains("my 5-hour limit", "my @ limit"));
        assert!(!contains("your  usage limit", "your @ usage") && !contains("your rate limit, see usage", "your @ usage"));
        assert!(contains("at the end: 12", "end: #") && contains("all", "all") && !contains("", "all"));
    }
}
