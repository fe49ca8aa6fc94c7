//! The names of files.

/// The name of a session's files, without their ends: its id, with all that some file system treats in its own way as `%` and two
/// digits.
pub(super) fn file_name(id: &str) -> String {
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

/// The id of which this is the file name.
pub(super) fn id_of_file(name: &str) -> Option<String> {
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

#[cfg(test)]
mod tests;
