//! The tools of the measured Rust programs.

use agent_loop::{Error, FnTool, Tool};
use serde_json::{Value, json};

/// Computes `{operation, a, b}`.
///
/// # Errors
/// None that these parameters have.
pub fn calculator() -> Result<impl Tool, Error> {
    let parameters = json!({
        "type": "object",
        "properties": { "operation": { "type": "string" }, "a": { "type": "number" }, "b": { "type": "number" } },
        "required": ["operation", "a", "b"],
    });
    FnTool::new("calculator", "Perform basic arithmetic operations.", parameters, |arguments: Value, _call| async move {
        let (a, b) = (arguments["a"].as_i64().ok_or("a is no number")?, arguments["b"].as_i64().ok_or("b is no number")?);
        match arguments["operation"].as_str() {
            Some("multiply") => Ok(json!({ "result": a * b })),
            _ => Err("only multiply"),
        }
    })
}

/// Answers with the length of `{text}`.
///
/// # Errors
/// None that these parameters have.
pub fn echo() -> Result<impl Tool, Error> {
    let parameters = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    FnTool::new("echo", "Says how long a text is.", parameters, |arguments: Value, _call| async move {
        Ok::<_, &str>(json!(format!("{} bytes", arguments["text"].as_str().unwrap_or_default().len())))
    })
}
