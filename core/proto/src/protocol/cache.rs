//! The caching fields of a request. Markers stand where the prefix that the next request repeats ends; a provider that finds
//! prefixes itself gets the conversation's name.

use serde_json::{Map, Value, json};

use crate::protocol::format::Target;
use crate::request::{CacheRetention, ModelOptions};

/// Anthropic's `cache_control`: <https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching>; none where markers are
/// not understood or not wanted.
pub(super) fn marker(options: &ModelOptions, target: Target<'_>) -> Option<Value> {
    match options.cache_retention {
        _ if !target.quirks.cache_markers => None,
        CacheRetention::None => None,
        CacheRetention::Long if target.quirks.long_cache => Some(json!({ "type": "ephemeral", "ttl": "1h" })),
        CacheRetention::Short | CacheRetention::Long => Some(json!({ "type": "ephemeral" })),
    }
}

/// Puts a marker on a block.
pub(super) fn mark(block: &mut Value, marker: &Value) {
    if let Some(block) = block.as_object_mut() {
        block.insert("cache_control".into(), marker.clone());
    }
}

/// OpenAI's fields: <https://platform.openai.com/docs/guides/prompt-caching>. Other servers refuse fields they do not know.
pub(super) fn write_key(body: &mut Map<String, Value>, options: &ModelOptions, target: Target<'_>) {
    if options.cache_retention == CacheRetention::None || !target.quirks.cache_key {
        return;
    }
    if let Some(id) = &options.session_id {
        // As many characters as the API takes.
        body.insert("prompt_cache_key".into(), id.chars().take(64).collect::<String>().into());
    }
    if options.cache_retention == CacheRetention::Long && target.quirks.long_cache {
        body.insert("prompt_cache_retention".into(), "24h".into());
    }
}
