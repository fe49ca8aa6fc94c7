//! The names of files.
//!
//! A session's files have its id as their name, where that is one of lower-case letters, digits, `_`, `-` and `.`. All that some
//! file system treats in its own way is `%` and two hexadecimal digits. An id with upper-case letters, or one whose name would be
//! too long, ends with `~` and a hash of the id: two names differ also where a file system takes `A` and `a` for the same. A name
//! that was cut does not have the whole id; the first record does.
//!
//! Earlier versions cut no name and had no hashes. Their files keep their names.

use ring::digest::{SHA256, digest};

/// The longest name, in bytes. With its end it fits into the 143 bytes of encrypted folders; most file systems take 255.
const LONGEST_NAME: usize = 120;
/// Before a hash, which is 16 hexadecimal digits.
const BEFORE_HASH: char = '~';
const HASH_DIGITS: usize = 16;

/// What Windows takes for a device, whatever follows behind a dot.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
/// The same with a digit behind it.
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// The name of a session's files, without their ends.
pub(super) fn file_name(id: &str) -> String {
    let mut name = escaped(id);
    if is_device(&name) {
        let first: String = name.drain(..1).map(|first| format!("%{:02x}", u32::from(first))).collect();
        name.insert_str(0, &first);
    }
    if name.len() <= LONGEST_NAME && !name.contains(|c: char| c.is_ascii_uppercase()) {
        return name;
    }
    cut(&mut name);
    format!("{name}{BEFORE_HASH}{}", hash(id))
}

/// The name that an earlier version has given to a session's files, if it is another one.
pub(super) fn earlier_name(id: &str) -> Option<String> {
    Some(escaped(id)).filter(|name| *name != file_name(id))
}

/// The id of which this is the file name, if it is all there.
pub(super) fn id_of_file(name: &str) -> Option<String> {
    let id = unescaped(name.split_once(BEFORE_HASH).map_or(name, |(id, _)| id))?;
    (file_name(&id) == name || escaped(&id) == name).then_some(id)
}

/// An id with all that some file system treats in its own way as `%` and two digits.
fn escaped(id: &str) -> String {
    let mut name = String::with_capacity(id.len());
    for (at, byte) in id.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => name.push(char::from(byte)),
            b'.' if at > 0 => name.push('.'),
            other => name.push_str(&format!("%{other:02x}")),
        }
    }
    name
}

fn unescaped(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = match first {
            b'%' => {
                let (digits, after) = after.split_at_checked(2)?;
                bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                after
            }
            other => {
                bytes.push(*other);
                after
            }
        };
    }
    String::from_utf8(bytes).ok()
}

fn is_device(name: &str) -> bool {
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem).to_ascii_lowercase();
    let numbered = stem.strip_suffix(|last: char| last.is_ascii_digit());
    DEVICES.contains(&&*stem) || numbered.is_some_and(|stem| NUMBERED_DEVICES.contains(&stem))
}

/// Leaves room for the hash, and no half of a `%` with its digits.
fn cut(name: &mut String) {
    let most = LONGEST_NAME - HASH_DIGITS - BEFORE_HASH.len_utf8();
    if name.len() > most {
        name.truncate(most);
        if let Some(escape) = name.rfind('%').filter(|at| at + 3 > most) {
            name.truncate(escape);
        }
    }
}

/// The beginning of the SHA-256 of the id: who may choose ids finds none that has the name of a given one.
fn hash(id: &str) -> String {
    let digest = digest(&SHA256, id.as_bytes());
    digest.as_ref().iter().take(HASH_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
