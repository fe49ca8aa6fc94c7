//! The general readers are the oracle: `serde_json` for a value, and each wire format's own for its frames. A name with an escape
//! in it keeps a frame from being read the quick way.

use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use super::*;
use crate::protocol::tests::fixture::Fixture;

fn passed(text: &str) -> Option<()> {
    Scan::whole(text, |scan, _| scan.skip())
}

#[test]
fn what_is_passed_over_is_json() {
    for json in [
        "{}",
        " { } ",
        r#"{"a": [], "b": [1, -0.5e+10, 0, 12E3, true, false, null, "é \" \\ \u00e9 \n", {"c": {"d": []}}]}"#,
        "{\"a\"\t:\r\n\"longer than eight bytes, and some\"}",
    ] {
        assert_eq!(passed(json), Some(()), "{json}");
    }
    for other in [
        "",
        "[]",
        "{",
        "{}x",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        r#"{"a":[1,]}"#,
        r#"{"a":[1 2]}"#,
        r#"{"a":01}"#,
        r#"{"a":1.}"#,
        r#"{"a":.5}"#,
        r#"{"a":1e}"#,
        r#"{"a":-}"#,
        r#"{"a":+1}"#,
        r#"{"a":nul}"#,
        r#"{"a":"\x"}"#,
        "{\"a\":\"line\nbreak\"}",
        "{\"a\":\"12345678\u{1}\"}",
        r#"{"a":"open}"#,
        r#"{"a":"open\"}"#,
    ] {
        assert_eq!(passed(other), None, "{other}");
    }
}

#[test]
fn deep_values_and_odd_names_are_left_to_others() {
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(passed(&nested(15)), Some(()));
    assert_eq!(passed(&nested(16)), None);
    assert_eq!(passed(r#"{"\u0061":1}"#), None);
}

#[test]
fn values_are_those_of_their_text() {
    let mut seen = Vec::new();
    let text = r#"{"s": "a\nb", "z": null, "n": 18446744073709551615, "t": true, "f": false}"#;
    let read = Scan::whole(text, |scan, name| {
        seen.push(match name {
            "s" => scan.string_or_null()?.map(Cow::into_owned).into(),
            "z" => scan.string_or_null()?.map(Cow::into_owned).into(),
            "n" => scan.natural()?.into(),
            _ => Value::from(scan.boolean()?),
        });
        Some(())
    });
    assert_eq!(read, Some(()));
    assert_eq!(Value::from(seen), serde_json::json!(["a\nb", null, u64::MAX, true, false]));
    for other in ["-1", "1.5", "1e2", "18446744073709551616", "\"1\""] {
        assert_eq!(Scan::whole(&format!("{{\"n\":{other}}}"), |scan, _| scan.natural().map(drop)), None, "{other}");
    }
}

/// A field, perhaps, with one of these values.
fn field(name: &'static str, values: &'static [&'static str]) -> BoxedStrategy<Option<String>> {
    nested(name, select(values).prop_map(str::to_owned).boxed())
}

fn nested(name: &'static str, value: BoxedStrategy<String>) -> BoxedStrategy<Option<String>> {
    option::weighted(0.7, value).prop_map(move |value| value.map(|value| format!("\"{name}\": {value}"))).boxed()
}

/// An object of some of these fields, in any order.
fn object(fields: Vec<BoxedStrategy<Option<String>>>) -> BoxedStrategy<String> {
    let fields = fields.prop_map(|fields| fields.into_iter().flatten().collect::<Vec<_>>()).prop_shuffle();
    fields.prop_map(|fields| format!("{{{}}}", fields.join(","))).boxed()
}

fn list(element: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let elements = prop_oneof![8 => 1..2_usize, 1 => Just(0), 1 => Just(2)];
    elements
        .prop_flat_map(move |count| proptest::collection::vec(element.clone(), count))
        .prop_map(|elements| format!("[{}]", elements.join(",")))
        .boxed()
}

const TEXTS: &[&str] = &["\"a\"", "\"more of it\"", "\"\\n\\u00e9\\\"\"", "\"\"", "null", "7"];

fn anthropic() -> BoxedStrategy<String> {
    let delta = object(vec![
        field("type", &["\"text_delta\"", "\"thinking_delta\"", "\"input_json_delta\"", "\"signature_delta\"", "\"new_delta\""]),
        field("text", TEXTS),
        field("thinking", TEXTS),
        field("partial_json", TEXTS),
        field("signature", &["\"s\""]),
    ]);
    object(vec![
        field(
            "type",
            &[
                "\"content_block_delta\"",
                "\"content_block_delta\"",
                "\"content_block_delta\"",
                "\"content_block_stop\"",
                "\"message_stop\"",
                "\"ping\"",
            ],
        ),
        field("index", &["0", "1", "null", "-1"]),
        nested("delta", delta),
        field("beside", &["[1, {}]"]),
    ])
}

fn chat() -> BoxedStrategy<String> {
    let function = object(vec![field("name", &["\"f\"", "null", "\"\""]), field("arguments", TEXTS)]);
    let call = object(vec![
        field("index", &["0", "1", "null"]),
        field("id", &["\"a\"", "\"b\"", "null", "\"\""]),
        field("type", &["\"function\""]),
        nested("function", function),
        prop_oneof![3 => Just(None), 1 => field("extra_content", &["null", "{\"google\": {}}"])].boxed(),
    ]);
    let delta = object(vec![
        field("role", &["\"assistant\""]),
        field("content", TEXTS),
        field("reasoning_content", TEXTS),
        field("reasoning", TEXTS),
        prop_oneof![3 => Just(None), 1 => field("reasoning_text", TEXTS)].boxed(),
        prop_oneof![
            3 => Just(None),
            1 => field("reasoning_details", &["null", "[]", "[{\"type\": \"reasoning.text\", \"text\": \"a\"}]"]),
        ]
        .boxed(),
        field("refusal", &["null", "null", "\"no\""]),
        prop_oneof![
            3 => Just(None),
            1 => field("images", &["null", "[]", "[{\"type\": \"image_url\", \"image_url\": {}}]"]),
            1 => field("annotations", &["null", "[]", "[{\"type\": \"url_citation\"}]", "{}"]),
        ]
        .boxed(),
        prop_oneof![Just(None), nested("tool_calls", list(call)), field("tool_calls", &["null"])].boxed(),
    ]);
    let choice = object(vec![
        field("index", &["0", "0", "0", "1"]),
        nested("delta", delta),
        field("finish_reason", &["null", "null", "null", "\"stop\""]),
        field("logprobs", &["null", "{\"content\": [{\"token\": \"a\"}]}"]),
        prop_oneof![3 => Just(None), 1 => field("usage", &["null", "{\"prompt_tokens\": 9}"])].boxed(),
        prop_oneof![3 => Just(None), 1 => field("error", &["null", "{\"message\": \"no\"}"])].boxed(),
    ]);
    object(vec![
        field("id", &["\"r\"", "\"s\"", "null", "\"\"", "5"]),
        field("model", &["\"m\"", "\"other\"", "null", "\"\"", "5"]),
        field("object", &["\"chat.completion.chunk\"", "\"chat.completion.chunk\"", "\"chat.completion.chunk\"", "\"error\""]),
        nested("choices", list(choice)),
        field("usage", &["null", "null", "{\"prompt_tokens\": 3, \"completion_tokens\": 2}"]),
        field("error", &["null"]),
        field("x_groq", &["null", "{\"usage\": {\"prompt_tokens\": 3}}"]),
        prop_oneof![3 => Just(None), 1 => field("citations", &["null", "[]", "[\"a\"]", "[\"b\"]", "5"])].boxed(),
        prop_oneof![7 => Just(None), 1 => field("search_results", &["null", "[{}]"])].boxed(),
    ])
}

fn responses() -> BoxedStrategy<String> {
    object(vec![
        field(
            "type",
            &[
                "\"response.output_text.delta\"",
                "\"response.refusal.delta\"",
                "\"response.reasoning_summary_text.delta\"",
                "\"response.reasoning_text.delta\"",
                "\"response.function_call_arguments.delta\"",
                "\"response.new.delta\"",
                "\"response.output_text.done\"",
                "\"error\"",
            ],
        ),
        field("sequence_number", &["12"]),
        field("item_id", &["\"a\"", "\"b\""]),
        field("output_index", &["0", "1", "-1", "null"]),
        field("summary_index", &["0", "1", "null"]),
        field("delta", TEXTS),
        field("message", &["\"no\""]),
    ])
}

fn gemini() -> BoxedStrategy<String> {
    let piece =
        object(vec![field("jsonPath", &["\"$.a\""]), field("stringValue", TEXTS), field("willContinue", &["true", "false"])]);
    let call = object(vec![
        field("name", &["\"f\""]),
        field("args", &["{\"x\": 1}"]),
        nested("partialArgs", list(piece)),
        field("willContinue", &["true", "false"]),
    ]);
    let part = object(vec![
        prop_oneof![3 => field("text", TEXTS), 1 => nested("functionCall", call)].boxed(),
        prop_oneof![Just(None), field("thought", &["true", "false"])].boxed(),
        prop_oneof![3 => Just(None), 1 => field("thoughtSignature", &["\"c2ln\"", "null"])].boxed(),
    ]);
    let content = object(vec![nested("parts", list(part)), field("role", &["\"model\""])]);
    let candidate = object(vec![
        field("index", &["0", "0", "0", "1"]),
        nested("content", content),
        field("finishReason", &["null", "null", "null", "\"STOP\""]),
        field("safetyRatings", &["[{\"probability\": \"LOW\"}]"]),
        prop_oneof![3 => Just(None), 1 => field("citationMetadata", &["{\"citations\": [1]}", "null"])].boxed(),
    ]);
    object(vec![
        nested("candidates", list(candidate)),
        field(
            "usageMetadata",
            &["{\"promptTokenCount\": 3, \"candidatesTokenCount\": 2}", "{\"thoughtsTokenCount\": 7, \"x\": []}", "null"],
        ),
        field("promptFeedback", &["null", "{}"]),
        field("responseId", &["\"r\"", "\"s\"", "null"]),
        field("modelVersion", &["\"m\""]),
        prop_oneof![7 => Just(None), 1 => field("error", &["null", "{\"code\": 500}"])].boxed(),
    ])
}

fn streams() -> impl Strategy<Value = (&'static str, Vec<String>)> {
    let stream = |protocol, frame| (Just(protocol), proptest::collection::vec(frame, 1..6));
    prop_oneof![
        stream("anthropic", anthropic()),
        stream("openai_chat", chat()),
        stream("openai_responses", responses()),
        stream("gemini", gemini()),
    ]
}

#[test]
fn an_empty_piece_of_a_block_without_a_start_says_the_same_read_quickly_and_in_general() {
    let kinds = [("text_delta", "text"), ("thinking_delta", "thinking"), ("input_json_delta", "partial_json")];
    for (kind, field) in kinds {
        let frame = format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"{kind}","{field}":""}}}}"#);
        let read = |frame: String| Fixture::of_protocol("anthropic").decode(&[Value::String(frame)]).0;
        assert_eq!(read(frame.clone()), read(in_general(&frame)), "{kind}");
    }
}

proptest! {
    #[test]
    fn a_frame_says_the_same_read_quickly_and_in_general((protocol, frames) in streams()) {
        let fixture = Fixture::of_protocol(protocol);
        let quick: Vec<Value> = frames.iter().cloned().map(Value::String).collect();
        let general: Vec<Value> = frames.iter().map(|frame| Value::String(in_general(frame))).collect();
        let ((deltas, end), (expected, expected_end)) = (fixture.decode(&quick), fixture.decode(&general));
        prop_assert_eq!(deltas, expected);
        prop_assert_eq!(end.map_err(|error| error.kind()), expected_end.map_err(|error| error.kind()));
    }

    /// Any text that is passed over is JSON, whatever byte of it is another.
    #[test]
    fn what_is_taken_for_json_is_json((_, frames) in streams(), at in any::<prop::sample::Index>(), byte in 0..128_u8) {
        for frame in frames {
            let mut bytes = frame.into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(text) = String::from_utf8(bytes) {
                let read = serde_json::from_str::<serde_json::Map<String, Value>>(&text);
                prop_assert!(passed(&text).is_none() || read.is_ok(), "{}", text);
            }
        }
    }
}

/// The same object with a name in it that is not read quickly.
pub(in super::super) fn in_general(frame: &str) -> String {
    let (before, after) = frame.split_once('{').unwrap_or(("", frame));
    let comma = if after.trim_start().starts_with('}') { "" } else { "," };
    format!("{before}{{\"\\u0064ata\": 0{comma}{after}")
}
