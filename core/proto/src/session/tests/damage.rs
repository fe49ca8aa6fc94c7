//! Truncated and changed journals: a clear answer each, and never a record that was not written.

use super::*;

/// A journal as text, and its records.
fn journal() -> (Vec<u8>, Vec<Entry>) {
    let mut text = Vec::new();
    let mut entries = Vec::new();
    let mut records = all_kinds();
    records.extend((0..10).map(|n| JournalRecord::message(answer(&format!("Answer {n}: ä€😀"), &["c"]))));
    for (seq, record) in (1..).zip(records) {
        text.extend_from_slice(encode(seq, seq * 10, &record).unwrap().as_bytes());
        text.push(b'\n');
        entries.push(Entry { seq, at: seq * 10, record });
    }
    (text, entries)
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

#[test]
fn a_whole_journal_is_read() {
    let (text, entries) = journal();
    assert_eq!(read_text(&text), Salvaged { entries, torn: 0, damage: None });
    assert_eq!(read_text(b""), Salvaged { entries: Vec::new(), torn: 0, damage: None });
}

#[test]
fn a_truncated_journal_is_its_beginning_with_a_torn_end() {
    let (text, entries) = journal();
    let mut numbers = Numbers(1);
    let mut torn = 0;
    for _ in 0..1_000 {
        let length = numbers.below(text.len() + 1);
        let cut = &text[..length];
        let read = read_text(cut);
        assert_eq!(read.damage, None, "{length}");
        assert_eq!(read.entries, entries[..read.entries.len()]);
        let whole = cut.iter().filter(|byte| **byte == b'\n').count();
        // A record that lacks only its line end is whole.
        assert!(read.entries.len() == whole || (read.entries.len() == whole + 1 && read.torn == 0), "{length}");
        let last_line = cut.rsplit(|byte| *byte == b'\n').next().unwrap_or_default().len();
        assert!(read.torn == last_line || read.torn == 0 && read.entries.len() == whole + 1, "{length}");
        torn += usize::from(read.torn > 0);
    }
    assert!(torn > 900, "{torn} of 1000 cuts were inside of a record");
}

#[test]
fn a_flipped_bit_never_goes_unnoticed() {
    let (text, entries) = journal();
    let mut numbers = Numbers(2);
    let (mut damaged, mut torn) = (0, 0);
    for _ in 0..1_000 {
        let (at, bit) = (numbers.below(text.len()), numbers.below(8));
        let mut changed = text.clone();
        changed[at] ^= 1 << bit;
        let line = text[..at].iter().filter(|byte| **byte == b'\n').count();
        let read = read_text(&changed);
        // What stands before is readable; what was changed is not.
        assert_eq!(read.entries, entries[..line], "bit {bit} of byte {at}");
        match read.damage {
            Some((place, Unreadable::Damaged(_))) => {
                assert_eq!(place, line + 1);
                damaged += 1;
            }
            Some((_, newer)) => panic!("{newer:?}"),
            // The last line's end was changed.
            None => {
                assert_eq!(
                    (read.torn, at),
                    (text.len() - text[..at].iter().rposition(|b| *b == b'\n').unwrap() - 1, text.len() - 1)
                );
                torn += 1;
            }
        }
    }
    assert!(damaged > 990 && damaged + torn == 1_000);
}

#[test]
fn damage_and_a_torn_end_are_two_things() {
    let (text, entries) = journal();
    let last = text[..text.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    // Cut off within the last line, or with zeros behind it, as file systems leave it: torn.
    for tail in [&text[last..text.len() - 5], &[&text[last..text.len() - 5], &[0; 100]].concat(), &[0; 9][..]] {
        let read = read_text(&[&text[..last], tail].concat());
        assert_eq!((read.entries.len(), read.torn, read.damage), (entries.len() - 1, tail.len(), None));
    }
    // The same in the middle, or in a line that has its end: damage.
    let mut short = text.clone();
    short.remove(last - 30);
    let mut of_last = text.clone();
    of_last.remove(last + 30);
    for (changed, line) in [(short, entries.len() - 1), (of_last, entries.len())] {
        let read = read_text(&changed);
        assert_eq!((read.entries.len(), read.torn), (line - 1, 0));
        assert_eq!(read.damage, Some((line, Unreadable::Damaged("its checksum does not match".to_owned()))));
    }
}

#[test]
fn a_missing_repeated_or_foreign_record_is_damage() {
    let (text, _) = journal();
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let damage = |order: &[usize]| {
        let text: Vec<u8> = order.iter().flat_map(|at| lines[*at]).copied().collect();
        match read_text(&text).damage {
            Some((line, Unreadable::Damaged(what))) => format!("{line}: {what}"),
            other => format!("{other:?}"),
        }
    };
    assert_eq!(damage(&[0, 1, 3]), "3: record 3 should stand here, and record 4 does");
    assert_eq!(damage(&[0, 1, 1]), "3: record 3 should stand here, and record 2 does");
    assert_eq!(damage(&[1]), "1: record 1 should stand here, and record 2 does");
    let reset = encode(1, 5, &JournalRecord::Reset(Reset {})).unwrap() + "\n";
    assert_eq!(
        read_text(reset.as_bytes()).damage,
        Some((1, Unreadable::Damaged("the first record is not that of a session".to_owned())))
    );
}
