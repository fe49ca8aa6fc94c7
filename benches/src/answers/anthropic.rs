//! The Messages format, as api.anthropic.com writes it: `event:` lines, a ping after the first block's start, an empty
//! first chunk of a call's arguments.

use super::{Part, quoted};

pub(super) fn events(model: &str, parts: &[Part]) -> Vec<String> {
    let mut out = Events(Vec::new());
    out.push(
        "message_start",
        format!(
            concat!(
                r#"{{"type":"message_start","message":{{"id":"msg_01RQXWh4UaLp6wsR9R8i8RZ3","type":"message","#,
                r#""role":"assistant","model":{},"content":[],"stop_reason":null,"stop_sequence":null,"#,
                r#""usage":{{"input_tokens":599,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"#,
                r#""output_tokens":2,"service_tier":"standard"}}}}}}"#,
            ),
            quoted(model)
        ),
    );
    let mut pieces_sent = 0;
    for (index, part) in parts.iter().enumerate() {
        let (block, kind, field, pieces) = match part {
            Part::Text(pieces) => (r#"{"type":"text","text":""}"#.to_owned(), "text_delta", "text", pieces),
            Part::Call { name, number, arguments } => (
                format!(
                    r#"{{"type":"tool_use","id":"toolu_01A09q90qw90lq917835lq{number}","name":{},"input":{{}}}}"#,
                    quoted(name)
                ),
                "input_json_delta",
                "partial_json",
                arguments,
            ),
        };
        out.push("content_block_start", format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#));
        if index == 0 {
            out.push("ping", r#"{"type": "ping"}"#.to_owned());
        }
        let empty_first = matches!(part, Part::Call { .. }).then_some("");
        for piece in empty_first.into_iter().chain(pieces.iter().map(String::as_str)) {
            out.push(
                "content_block_delta",
                format!(
                    r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{field}":{}}}}}"#,
                    quoted(piece)
                ),
            );
        }
        pieces_sent += pieces.len();
        out.push("content_block_stop", format!(r#"{{"type":"content_block_stop","index":{index}}}"#));
    }
    let reason = if matches!(parts.last(), Some(Part::Call { .. })) { "tool_use" } else { "end_turn" };
    out.push(
        "message_delta",
        format!(
            concat!(
                r#"{{"type":"message_delta","delta":{{"stop_reason":"{}","stop_sequence":null}},"#,
                r#""usage":{{"output_tokens":{}}}}}"#,
            ),
            reason, pieces_sent
        ),
    );
    out.push("message_stop", r#"{"type":"message_stop"}"#.to_owned());
    out.0
}

struct Events(Vec<String>);

impl Events {
    fn push(&mut self, name: &str, json: String) {
        self.0.push(format!("event: {name}\ndata: {json}\n\n"));
    }
}
