//! What a library says of itself in its first bytes, on systems with ELF: the loader crashes the process over a file that is cut
//! off, and does not say so where a library is for another processor.

use std::path::Path;

use agent_loop::Error;

/// # Errors
/// `invalid_argument`: it is no library, is for another processor, or is cut off. What cannot be read is left to the loader.
#[cfg(all(unix, not(target_vendor = "apple")))]
pub(super) fn check(path: &Path) -> Result<(), Error> {
    let Ok(file) = std::fs::File::open(path) else { return Ok(()) };
    let length = file.metadata().map_or(u64::MAX, |found| found.len());
    let mut head = Vec::new();
    if std::io::Read::read_to_end(&mut std::io::Read::take(&file, 1 << 16), &mut head).is_err() {
        return Ok(());
    }
    check_head(&head, length, std::env::consts::ARCH)
}

#[cfg(not(all(unix, not(target_vendor = "apple"))))]
pub(super) fn check(_path: &Path) -> Result<(), Error> {
    Ok(())
}

/// The number of a processor in a file's head, by the name that Rust has for it.
#[cfg(any(test, all(unix, not(target_vendor = "apple"))))]
const PROCESSORS: &[(&str, u16)] = &[
    ("x86", 3),
    ("arm", 40),
    ("x86_64", 62),
    ("aarch64", 183),
    ("riscv64", 243),
    ("s390x", 22),
    ("powerpc64", 21),
    ("loongarch64", 258),
];

#[cfg(any(test, all(unix, not(target_vendor = "apple"))))]
fn check_head(head: &[u8], length: u64, here: &str) -> Result<(), Error> {
    let wrong = |text: String| Err(Error::invalid_argument(text));
    if !head.starts_with(b"\x7fELF") {
        return wrong("it is no shared library".to_owned());
    }
    let cut = || wrong(format!("the file is cut off: {length} bytes are less than a library's"));
    let Some(object) = Object::of(head) else { return cut() };
    let own = PROCESSORS.iter().find(|(name, _)| *name == here);
    if let Some((name, _)) = own.filter(|(_, number)| *number != object.processor) {
        let other = PROCESSORS.iter().find(|(_, number)| *number == object.processor);
        let other = other.map_or_else(|| format!("processor {}", object.processor), |(name, _)| (*name).to_owned());
        return wrong(format!("it was built for {other}, and this process runs on {name}; build it for that"));
    }
    match object.end() {
        Some(end) if end <= length => Ok(()),
        Some(end) => wrong(format!("the file is cut off: it has {length} bytes of at least {end}; copy or build it again")),
        None => cut(),
    }
}

/// The head of an ELF file, as far as it is needed here.
#[cfg(any(test, all(unix, not(target_vendor = "apple"))))]
struct Object<'a> {
    head: &'a [u8],
    is_wide: bool,
    is_big: bool,
    processor: u16,
}

#[cfg(any(test, all(unix, not(target_vendor = "apple"))))]
impl Object<'_> {
    fn of(head: &[u8]) -> Option<Object<'_>> {
        let mut object = Object { head, is_wide: *head.get(4)? == 2, is_big: *head.get(5)? == 2, processor: 0 };
        object.processor = u16::try_from(object.number(18, 2)?).ok()?;
        Some(object)
    }

    fn number(&self, at: usize, bytes: usize) -> Option<u64> {
        let found = self.head.get(at..at.checked_add(bytes)?)?;
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(if self.is_big { found.iter().fold(0, add) } else { found.iter().rev().fold(0, add) })
    }

    /// Where the last of what the loader maps ends in the file. The fields are those of the ELF specification: `e_phoff`,
    /// `e_phentsize` and `e_phnum`, and of each `PT_LOAD` `p_offset` and `p_filesz`.
    fn end(&self) -> Option<u64> {
        let (word, table, sizes, offset, size) = if self.is_wide { (8, 32, 54, 8, 32) } else { (4, 28, 42, 4, 16) };
        let start = usize::try_from(self.number(table, word)?).ok()?;
        let each = usize::try_from(self.number(sizes, 2)?).ok()?;
        let count = usize::try_from(self.number(sizes + 2, 2)?).ok()?;
        let mut end = 0;
        for i in 0..count {
            let at = start.checked_add(each.checked_mul(i)?)?;
            if self.number(at, 4)? == 1 {
                let (offset, size) = (self.number(at + offset, word)?, self.number(at + size, word)?);
                end = end.max(offset.checked_add(size)?);
            }
        }
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A head of one segment that ends at byte 4096.
    fn head(processor: u8) -> Vec<u8> {
        let mut head = vec![0; 120];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (head[18], head[32], head[54], head[56]) = (processor, 64, 56, 1);
        // p_type, p_offset and p_filesz.
        (head[64], head[64 + 9], head[64 + 33]) = (1, 8, 8);
        head
    }

    #[test]
    fn what_cannot_be_loaded_is_named() {
        let checked = |head: &[u8], length| check_head(head, length, "x86_64").map_err(|error| error.message().to_owned());
        assert_eq!(checked(&head(62), 4096), Ok(()));
        assert!(checked(&head(62), 4095).unwrap_err().contains("it has 4095 bytes of at least 4096"));
        assert!(checked(&head(183), 4096).unwrap_err().contains("built for aarch64, and this process runs on x86_64"));
        assert!(checked(&head(9), 4096).unwrap_err().contains("built for processor 9"));
        assert!(checked(&head(62)[..70], 70).unwrap_err().contains("cut off"));
        assert!(checked(b"\x7fELF\x02", 5).unwrap_err().contains("cut off"));
        assert_eq!(checked(b"#!/bin/sh", 9).unwrap_err(), "it is no shared library");
        assert_eq!(checked(b"", 0).unwrap_err(), "it is no shared library");
    }
}
