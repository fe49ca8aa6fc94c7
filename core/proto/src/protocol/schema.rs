//! A tool's parameters as servers take them.

use serde_json::{Value, json};

/// The schema with what servers miss in an object's schema: its `type` (Anthropic), `properties` (OpenAI, LM Studio). What is
/// there stays where it is.
pub(super) fn object(parameters: &Value) -> Value {
    let mut schema = json!({ "type": "object" });
    if let (Some(schema), Some(given)) = (schema.as_object_mut(), parameters.as_object()) {
        schema.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
        schema.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}
