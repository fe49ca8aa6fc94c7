//! What a command has written: its beginning and its end are kept, as bytes, and given as text.

use std::collections::VecDeque;

/// How many bytes are kept of the beginning, and of the end.
const HEAD_BYTES: usize = 1 << 20;
const TAIL_BYTES: usize = 1 << 20;

/// How many bytes a result has of the beginning, and of the end.
pub(super) const SHOWN_HEAD: usize = 10_000;
pub(super) const SHOWN_TAIL: usize = 20_000;

/// The output of a command. Places in it are counted in bytes.
#[derive(Default)]
pub(crate) struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

/// A piece of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    /// Where it begins, and where the next one does.
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Kept {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL_BYTES));
    }

    /// All of it as it was written, if that was kept.
    pub(crate) fn whole(self) -> Option<Vec<u8>> {
        let is_whole = self.total == (self.head.len() + self.tail.len()) as u64;
        is_whole.then(|| self.head.into_iter().chain(self.tail).collect())
    }

    /// How many bytes there were.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Where the kept end begins.
    fn tail_from(&self) -> u64 {
        self.total - self.tail.len() as u64
    }

    /// At most so many bytes from a place on; from the next one that is kept, where that one is not.
    pub(crate) fn piece(&self, from: u64, most: usize) -> Piece {
        let from = if from >= self.head.len() as u64 { from.max(self.tail_from()) } else { from };
        let skipped = usize::try_from(from).unwrap_or(usize::MAX);
        let bytes: Vec<u8> = if skipped < self.head.len() {
            let more = if self.head.len() as u64 == self.tail_from() { Some(&self.tail) } else { None };
            self.head.iter().chain(more.into_iter().flatten()).skip(skipped).take(most).copied().collect()
        } else {
            let skipped = usize::try_from(from - self.tail_from()).unwrap_or(usize::MAX);
            self.tail.iter().skip(skipped).take(most).copied().collect()
        };
        let is_last = from + bytes.len() as u64 >= self.total;
        // Whole characters, where it is text.
        let before = if from == 0 { 0 } else { bytes.iter().take(3).take_while(|byte| is_inside(**byte)).count() };
        let end = if is_last { bytes.len() } else { bytes.len() - cut_off(&bytes) };
        let text = bytes.get(before..end).map(readable).unwrap_or_default();
        Piece { text, from: from + before as u64, to: from + end.max(before) as u64 }
    }

    /// The last bytes.
    pub(crate) fn last(&self, most: usize) -> Piece {
        self.piece(self.total.saturating_sub(most as u64), most)
    }
}

/// Whether a byte of UTF-8 is none that a character begins with.
fn is_inside(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// How many bytes of the end belong to a character that goes on behind it.
fn cut_off(bytes: &[u8]) -> usize {
    let inside = bytes.iter().rev().take(3).take_while(|byte| is_inside(**byte)).count();
    let length = match bytes.iter().rev().nth(inside) {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => return 0,
    };
    if inside + 1 < length { inside + 1 } else { 0 }
}

/// Bytes as text: what is none, and what would control a terminal, becomes U+FFFD.
fn readable(bytes: &[u8]) -> String {
    let control = |c: char| if c.is_control() && !matches!(c, '\n' | '\r' | '\t') { char::REPLACEMENT_CHARACTER } else { c };
    String::from_utf8_lossy(bytes).chars().map(control).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(bytes: &[u8]) -> Kept {
        let mut kept = Kept::default();
        bytes.chunks(7000).for_each(|piece| kept.push(piece));
        kept
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|at| b'a' + (at / 1000 % 26) as u8).collect();
        let kept = kept(&bytes);
        assert_eq!((kept.total(), kept.head.len(), kept.tail.len()), (3_000_000, HEAD_BYTES, TAIL_BYTES));
        let at = |from: u64, most| kept.piece(from, most);
        assert_eq!(at(0, 5).text.as_bytes(), &bytes[..5]);
        assert_eq!(at(HEAD_BYTES as u64 - 2, 5).to, HEAD_BYTES as u64, "up to what is not kept");
        let end = 3_000_000 - TAIL_BYTES as u64;
        assert_eq!((at(HEAD_BYTES as u64, 5).from, at(1_500_000, 5).from), (end, end), "the next that is kept");
        assert_eq!(at(2_999_990, 100).text.as_bytes(), &bytes[2_999_990..]);
        assert_eq!(at(9_000_000, 100), Piece { text: String::new(), from: 9_000_000, to: 9_000_000 });
    }

    #[test]
    fn pieces_put_together_are_the_whole() {
        let text = "aé€😀".repeat(120_000);
        let kept = kept(text.as_bytes());
        assert!(kept.total() as usize > HEAD_BYTES && kept.total() as usize == kept.head.len() + kept.tail.len());
        for most in [4096, 4097, 4098, 4099] {
            let (mut all, mut at) = (String::new(), 0);
            while at < kept.total() {
                let piece = kept.piece(at, most);
                assert!(piece.from == at && piece.to > at);
                all.push_str(&piece.text);
                at = piece.to;
            }
            assert_eq!(all, text);
        }
        assert_eq!(kept.piece(2, 9).text, "€😀a", "from the next whole character on");
    }

    #[test]
    fn bytes_that_are_no_text_can_be_read() {
        let kept = kept(b"a\0\x1b[1mb\xff\xfe\n\xf0\x9f");
        assert_eq!(kept.piece(0, 100).text, "a\u{fffd}\u{fffd}[1mb\u{fffd}\u{fffd}\n\u{fffd}");
        let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let (kept, mut at, mut pieces) = (self::kept(&bytes), 0, 0);
        while at < kept.total() {
            (at, pieces) = (kept.piece(at, 1000).to, pieces + 1);
        }
        assert!(pieces < 110, "each is about as long as asked");
    }
}
