//! Pictures in a request: base64 that decodes, of a media type that the service reads.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// Something that decodes to at least one byte.
pub(super) fn is_base64(text: &str) -> bool {
    GeneralPurpose::new(&alphabet::STANDARD, GeneralPurposeConfig::new()).decode(text).is_ok_and(|bytes| !bytes.is_empty())
}

/// Bytes as protobuf's JSON takes them: either alphabet, with padding or without.
pub(super) fn is_google_bytes(text: &str) -> bool {
    [alphabet::STANDARD, alphabet::URL_SAFE].iter().any(|alphabet| GeneralPurpose::new(alphabet, LENIENT).decode(text).is_ok())
}

pub(super) const MEDIA_TYPES: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];

/// An address OpenAI can fetch, or a picture in a `data:` address.
pub(super) fn is_image_url(url: &str) -> bool {
    if url.starts_with("https://") || url.starts_with("http://") {
        return true;
    }
    url.strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
        .is_some_and(|(media_type, data)| MEDIA_TYPES.contains(&media_type) && is_base64(data))
}
