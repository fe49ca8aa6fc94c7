//! Base64 with the usual alphabet, for the data of files.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as base64, padded.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let all = chunk.iter().fold(0_u32, |all, byte| all << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = ALPHABET.get((all >> (18 - 6 * place) & 63) as usize).copied().unwrap_or(b'=');
            out.push(if place > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    out
}

/// The bytes of base64, of either alphabet, with padding or without; `None` for another text.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut all, mut bits) = (0_u32, 0);
    for byte in text.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        all = (all << 6 | u32::from(digit)) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((all >> bits & 0xff) as u8);
        }
    }
    // A single digit at the end is no byte.
    (text.len() % 4 != 1).then_some(out)
}

/// How many bytes such a text has.
pub(crate) fn length(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        // RFC 4648, 10.
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE=")]
        {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
            assert_eq!(length(text), bytes.len());
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)), Some(all.clone()));
        let other = encode(&all).replace('+', "-").replace('/', "_");
        assert_eq!(decode(other.trim_end_matches('=')), Some(all));
        for wrong in ["Z", "Zm9v!", "Zm=v", "Zm9v Zm9v", "ä"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
