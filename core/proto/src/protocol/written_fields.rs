//! The fields of a body that an encoder has written, for what is added to it behind all encoders.

/// The fields of an object that an encoder has written: without white space, and without escapes in names.
pub(super) fn fields(body: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut all = Vec::new();
    let mut rest = body.get(1..).unwrap_or_default();
    while let Some(from_name) = rest.strip_prefix(b"\"") {
        let (name, value) = from_name.split_at(end_of_string(from_name));
        let value = value.get(2..).unwrap_or_default();
        let (json, behind) = value.split_at(end_of_value(value));
        all.push((name, json));
        rest = behind.get(1..).unwrap_or_default();
    }
    all
}

/// Where the value ends that this begins with: before a comma or a closing bracket that is not in it.
fn end_of_value(json: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => at += 1 + end_of_string(json.get(at + 1..).unwrap_or_default()),
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' if depth == 0 => break,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    at
}

/// Where the closing quote of the text stands that this begins in.
fn end_of_string(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        at += found;
        if text.get(at) == Some(&b'"') {
            return at;
        }
        at += 2;
    }
    text.len()
}
