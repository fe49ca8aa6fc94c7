//! How large data is, for limits.

use std::io;

use serde::Serialize;
use serde_json::Value;

use crate::message::{ContentBlock, Message};
use crate::tool::ToolOutput;

/// What a JSON value occupies beside its texts, about.
const PER_VALUE: usize = 32;
/// What a field of an object occupies beside its name and value, about.
const PER_FIELD: usize = 64;

/// The bytes of a value as JSON.
pub(crate) fn of_json(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Nothing here fails: what is kept can be written.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// The bytes of a tool's result: its texts, files in base64, and its details as JSON.
pub(crate) fn of_result(output: &ToolOutput) -> usize {
    let details = if output.details.is_null() { 0 } else { of_json(&output.details) };
    output.content.iter().map(of_block).sum::<usize>() + details
}

fn of_block(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text { text, .. } => text.len(),
        ContentBlock::Image(media) | ContentBlock::Document(media) | ContentBlock::Audio(media) => media.size(),
        other => of_json(other),
    }
}

/// The bytes of a message as JSON.
pub(crate) fn of_message(message: &Message) -> usize {
    of_json(message)
}

/// The memory of a JSON value, about.
pub(crate) fn in_memory(value: &Value) -> usize {
    PER_VALUE
        + match value {
            Value::String(text) => text.len(),
            Value::Array(values) => values.iter().map(in_memory).sum(),
            Value::Object(fields) => fields.iter().map(|(name, value)| PER_FIELD + name.len() + in_memory(value)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_counted_as_it_is_written() {
        let value = json!({ "a": [1, "zwei", null], "b": { "c": true } });
        assert_eq!(of_json(&value), value.to_string().len());
        assert!(in_memory(&value) > 2 * value.to_string().len());
    }
}
