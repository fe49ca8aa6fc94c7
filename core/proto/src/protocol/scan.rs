//! The few fields of a frame that comes thousands of times, read in one pass over its bytes.
//!
//! Most frames of a stream are alike: an object with two or three fields that count, among many that do not. A general reader
//! pays for each of those; here they are passed over. What is passed over is checked, too, so that nothing is taken for JSON that
//! is not; only a number too large for a reader, or a field that comes twice, is no fault here. Whatever is not as expected
//! (another kind of value, an escape in a name, deep nesting) is `None`: then the general reader decides, and says what is wrong.
//!
//! Its small steps are always inlined: where this crate is compiled for size, the compiler would not.

use std::borrow::Cow;

use serde::de::IgnoredAny;

/// Deeper values than in any frame that comes often.
const MAX_DEPTH: u32 = 16;

/// A place in a JSON text. Each reading function stands before a value (white space may precede it) and ends behind it.
pub(super) struct Scan<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl<'a> Scan<'a> {
    /// Reads a whole text as one object.
    pub(super) fn whole(text: &'a str, take: impl FnMut(&mut Scan<'a>, &'a str) -> Option<()>) -> Option<()> {
        let mut scan = Scan { text, at: 0, depth: 0 };
        scan.object(take)?;
        scan.peek().is_none().then_some(())
    }

    /// The next byte that is not white space.
    #[inline(always)]
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.as_bytes().get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                byte => return byte.copied(),
            }
        }
    }

    #[inline(always)]
    fn eat(&mut self, byte: u8) -> Option<()> {
        if self.peek() != Some(byte) {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// An object: `take` reads or skips the value of each field.
    pub(super) fn object(&mut self, mut take: impl FnMut(&mut Scan<'a>, &'a str) -> Option<()>) -> Option<()> {
        self.nested(b'{', b'}', |scan| {
            let (start, false) = scan.quoted()? else { return None };
            let name = scan.text.get(start + 1..scan.at - 1)?;
            scan.eat(b':')?;
            take(scan, name)
        })
    }

    /// A list: `take` reads or skips each element.
    pub(super) fn list(&mut self, take: impl FnMut(&mut Scan<'a>) -> Option<()>) -> Option<()> {
        self.nested(b'[', b']', take)
    }

    #[inline(always)]
    fn nested(&mut self, open: u8, close: u8, mut take: impl FnMut(&mut Scan<'a>) -> Option<()>) -> Option<()> {
        self.eat(open)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        if self.peek() == Some(close) {
            self.at += 1;
        } else {
            loop {
                take(self)?;
                let next = self.peek()?;
                self.at += 1;
                if next == close {
                    break;
                }
                if next != b',' {
                    return None;
                }
            }
        }
        self.depth -= 1;
        Some(())
    }

    /// A string.
    pub(super) fn string(&mut self) -> Option<Cow<'a, str>> {
        let (start, escaped) = self.quoted()?;
        if escaped {
            return serde_json::from_str(self.text.get(start..self.at)?).ok().map(Cow::Owned);
        }
        self.text.get(start + 1..self.at - 1).map(Cow::Borrowed)
    }

    /// Passes a string; says where its quote stands, and whether there are escapes in it.
    #[inline]
    fn quoted(&mut self) -> Option<(usize, bool)> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut escaped = false;
        let mut at = start + 1;
        loop {
            at = behind_plain(bytes, at);
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => at += 2,
                _ => return None,
            }
            escaped = true;
        }
        self.at = at + 1;
        Some((start, escaped))
    }

    /// A string, or null.
    pub(super) fn string_or_null(&mut self) -> Option<Option<Cow<'a, str>>> {
        if self.is_null() { self.null().map(|()| None) } else { self.string().map(Some) }
    }

    /// Null, or an empty list.
    pub(super) fn nothing(&mut self) -> Option<()> {
        if self.is_null() { self.null() } else { self.list(|_| None) }
    }

    /// Whether what stands here can only be null.
    pub(super) fn is_null(&mut self) -> bool {
        self.peek() == Some(b'n')
    }

    /// A natural number.
    pub(super) fn natural(&mut self) -> Option<u64> {
        self.peek();
        let start = self.at;
        self.number()?;
        self.text.get(start..self.at)?.parse().ok()
    }

    /// True or false.
    pub(super) fn boolean(&mut self) -> Option<bool> {
        let is_true = self.peek() == Some(b't');
        self.word(if is_true { "true" } else { "false" }).map(|()| is_true)
    }

    pub(super) fn null(&mut self) -> Option<()> {
        self.peek();
        self.word("null")
    }

    #[inline(always)]
    fn word(&mut self, word: &str) -> Option<()> {
        self.text.as_bytes().get(self.at..)?.starts_with(word.as_bytes()).then_some(())?;
        self.at += word.len();
        Some(())
    }

    /// Any value.
    pub(super) fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => match self.quoted()? {
                (_, false) => Some(()),
                // Whether its escapes are right.
                (start, true) => serde_json::from_str::<IgnoredAny>(self.text.get(start..self.at)?).ok().map(drop),
            },
            b'{' => self.object(|scan, _| scan.skip()),
            b'[' => self.list(Scan::skip),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number(),
        }
    }

    fn number(&mut self) -> Option<()> {
        self.one(b'-');
        // No other digit follows a zero.
        if !self.one(b'0') {
            self.digits()?;
        }
        if self.one(b'.') {
            self.digits()?;
        }
        if self.one(b'e') || self.one(b'E') {
            let _ = self.one(b'+') || self.one(b'-');
            self.digits()?;
        }
        Some(())
    }

    #[inline(always)]
    fn one(&mut self, byte: u8) -> bool {
        let there = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(there);
        there
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.text.as_bytes().get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}

/// Where a string's plain text from this place on ends: at the string's end, at an escape, or at what no string may hold.
#[inline(always)]
fn behind_plain(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*eight);
        let (quote, escape) = (word ^ (ONES * u64::from(b'"')), word ^ (ONES * u64::from(b'\\')));
        // The high bit of each byte that is zero, or below a space; of the bytes behind the first such, perhaps others as well.
        let hit = (quote.wrapping_sub(ONES) & !quote)
            | (escape.wrapping_sub(ONES) & !escape)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        if hit & HIGH != 0 {
            return at + ((hit & HIGH).trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)) {
        at += 1;
    }
    at
}

#[cfg(test)]
pub(super) mod tests;
