//! Random choices from a seed: the same seed makes the same choices on every machine (SplitMix64).

use serde_json::{Map, Value, json};

/// A source of choices.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The source of one case of a family: it does not depend on the cases before it.
    pub(crate) fn of_case(seed: u64, family: &str, case: u64) -> Random {
        let mut random = Random(seed);
        for part in family.bytes().map(u64::from).chain([case]) {
            random.0 ^= part;
            random.next();
        }
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is above 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A place in a list of this length.
    pub(crate) fn place(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("a place")
    }

    /// Once in so many times.
    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.place(from.len())]
    }

    /// A text that somebody might not have thought of.
    pub(crate) fn text(&mut self) -> String {
        const TEXTS: &[&str] = &[
            "",
            " ",
            "odd",
            "text",
            "null",
            "0",
            "-1",
            "\u{0}",
            "\u{feff}",
            "a\nb\r\nc",
            "\"},{\"",
            "\\ud800",
            "☃ 🦀 e\u{301}",
            "../../etc",
            "a?b#c",
            "data: x\n\n",
            "call_1",
            "user",
            "assistant",
            "tool_result",
            "1e400",
            "18446744073709551616",
            "[DONE]",
        ];
        match self.below(20) {
            0 => "x".repeat(1 << self.below(17)),
            1 => "☃".repeat(1 << self.below(12)),
            _ => (*self.pick(TEXTS)).to_owned(),
        }
    }

    /// Any JSON value; lists and objects up to this depth.
    pub(crate) fn json(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 7 } else { 10 }) {
            0 => Value::Null,
            1 => json!(self.one_in(2)),
            2 => json!(*self.pick(&[0, 1, -1, 7, 64, 65, 1000, i64::MAX, i64::MIN])),
            3 => json!(*self.pick(&[0.5, -0.0, 1e300, 1e-300, 4_294_967_296.5])),
            4 => json!(*self.pick(&[u64::MAX, u64::MAX - 1, 1 << 63, 1 << 32, u64::from(u32::MAX), u64::from(u32::MAX) - 1])),
            5 | 6 => json!(self.text()),
            7 => (0..self.below(4)).map(|_| self.json(depth - 1)).collect(),
            8 => Value::Object((0..self.below(4)).map(|_| (self.text(), self.json(depth - 1))).collect::<Map<_, _>>()),
            _ => nested(self.below(140)),
        }
    }
}

/// Lists and objects in each other.
pub(crate) fn nested(depth: u64) -> Value {
    (0..depth).fold(json!(1), |inner, at| if at % 2 == 0 { json!([inner]) } else { json!({ "a": inner }) })
}
