//! The caching fields of a request. Markers stand where the prefix that the next request repeats ends; a provider that finds
//! prefixes itself gets the conversation's name.

use serde::Serialize;

use crate::protocol::format::Target;
use crate::protocol::json::{self, Object};
use crate::quirks::Quirks;
use crate::request::{CacheRetention, ModelOptions};

/// Anthropic's `cache_control`: <https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching>.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Marker {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

/// The field of a block that has a marker.
pub(super) const FIELD: &str = "cache_control";

/// The request's marker; none where markers are not understood or not wanted.
pub(super) fn marker(options: &ModelOptions, target: Target<'_>) -> Option<Marker> {
    let ttl = match options.cache_retention {
        _ if !target.quirks.cache_markers => return None,
        CacheRetention::None => return None,
        CacheRetention::Long if target.quirks.long_cache => Some("1h"),
        CacheRetention::Short | CacheRetention::Long => None,
    };
    Some(Marker { kind: "ephemeral", ttl })
}

/// Bedrock's `cachePoint`, a block of its own behind what is cached:
/// <https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html>.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct CachePoint {
    #[serde(rename = "cachePoint")]
    point: Marker,
}

/// The request's cache point; none where these are not understood or not wanted.
pub(super) fn point(options: &ModelOptions, target: Target<'_>) -> Option<CachePoint> {
    marker(options, target).map(|marker| CachePoint { point: Marker { kind: "default", ..marker } })
}

/// Appends JSON with the cache point behind each of the blocks that end at these places, in rising order.
pub(super) fn write_points(out: &mut Vec<u8>, json: &[u8], ends: impl IntoIterator<Item = usize>, point: Option<CachePoint>) {
    let mut done = 0;
    if let Some(point) = point {
        for end in ends {
            out.extend_from_slice(json.get(done..end).unwrap_or_default());
            json::item(out, point);
            done = end;
        }
    }
    out.extend_from_slice(json.get(done..).unwrap_or_default());
}

/// Appends JSON with the marker on each of the blocks that end at these places, in rising order.
pub(super) fn write_marked(out: &mut Vec<u8>, json: &[u8], ends: impl IntoIterator<Item = usize>, marker: Option<Marker>) {
    let mut done = 0;
    if let Some(marker) = marker {
        for brace in ends.into_iter().map(|end| end.saturating_sub(1)) {
            out.extend_from_slice(json.get(done..brace).unwrap_or_default());
            out.extend_from_slice(b",\"");
            out.extend_from_slice(FIELD.as_bytes());
            out.extend_from_slice(b"\":");
            json::write(out, marker);
            done = brace;
        }
    }
    out.extend_from_slice(json.get(done..).unwrap_or_default());
}

/// OpenAI's fields: <https://platform.openai.com/docs/guides/prompt-caching>. Other servers refuse fields they do not know.
pub(super) fn write_key(body: &mut Object<'_>, options: &ModelOptions, quirks: &Quirks) {
    if options.cache_retention == CacheRetention::None || !quirks.cache_key {
        return;
    }
    if let Some(id) = &options.session_id {
        // As many characters as the API takes.
        body.field("prompt_cache_key", id.chars().take(64).collect::<String>());
    }
    if options.cache_retention == CacheRetention::Long && quirks.long_cache {
        body.field("prompt_cache_retention", "24h");
    }
}
