//! Base64 of files: written with the usual alphabet and padding, read with either alphabet, with padding or without.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const CONFIG: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent).with_decode_allow_trailing_bits(true);
const USUAL: GeneralPurpose = GeneralPurpose::new(&STANDARD, CONFIG);
const OF_URLS: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, CONFIG);

/// Bytes as base64, padded.
pub(crate) fn encode(bytes: &[u8]) -> String {
    USUAL.encode(bytes)
}

/// The bytes of base64; `None` for another text.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    USUAL.decode(text).or_else(|_| OF_URLS.decode(text)).ok()
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
