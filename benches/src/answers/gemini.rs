//! The Gemini format, as `streamGenerateContent` writes it: whole responses without an end marker, the usage so far in each. A
//! short call is complete, as from the Gemini API; the arguments of [`ECHO`] are streamed in chunks by path, as Vertex does on
//! request.

use serde_json::{Value, json};

use super::{ECHO, Part, quoted};

pub(super) fn events(model: &str, parts: &[Part]) -> Vec<String> {
    let mut out = Events { model, events: Vec::new() };
    for part in parts {
        match part {
            Part::Text(pieces) => pieces.iter().for_each(|piece| out.push(&format!(r#"{{"text": {}}}"#, quoted(piece)), "")),
            Part::Call { name, arguments, .. } if *name == ECHO => pieces(&mut out, arguments),
            Part::Call { name, arguments, .. } => {
                let args: Value = serde_json::from_str(&arguments.concat()).unwrap_or_default();
                let call = json!({ "functionCall": { "name": name, "args": args } });
                out.push(&call.to_string(), "");
            }
        }
    }
    out.push(r#"{"text": ""}"#, r#""finishReason": "STOP","#);
    out.events
}

/// One frame per chunk: the name for the opening brace, an empty call for the closing one.
fn pieces(out: &mut Events<'_>, arguments: &[String]) {
    out.push(r#"{"functionCall": {"name": "echo","willContinue": true}}"#, "");
    for piece in arguments.get(1..arguments.len() - 1).unwrap_or_default() {
        // The chunks are those of a JSON string's text; a path's value is a string itself.
        let text: String = serde_json::from_str(&format!("\"{piece}\"")).unwrap_or_default();
        let value = format!(r#"{{"jsonPath": "$.text","stringValue": {},"willContinue": true}}"#, quoted(&text));
        out.push(&format!(r#"{{"functionCall": {{"partialArgs": [{value}],"willContinue": true}}}}"#), "");
    }
    out.push(r#"{"functionCall": {}}"#, "");
}

struct Events<'a> {
    model: &'a str,
    events: Vec<String>,
}

impl Events<'_> {
    fn push(&mut self, part: &str, finish: &str) {
        let written = self.events.len() + 1;
        self.events.push(format!(
            "data: {{\"candidates\": [{{\"content\": {{\"parts\": [{part}],\"role\": \"model\"}},{finish}\"index\": 0}}],\
             \"usageMetadata\": {{\"promptTokenCount\": 599,\"candidatesTokenCount\": {written},\"totalTokenCount\": {},\
             \"promptTokensDetails\": [{{\"modality\": \"TEXT\",\"tokenCount\": 599}}]}},\"modelVersion\": {},\
             \"responseId\": \"NgCzaZz6I6nUz7IPhsKmmQw\"}}\n\n",
            599 + written,
            quoted(self.model),
        ));
    }
}
