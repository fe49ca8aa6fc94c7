use serde_json::Value;

use super::*;

/// The chunks of an answer's body; each must be one whole event.
fn events(format: Format, name: &str, results: usize) -> Vec<String> {
    let answer = render(format, name.parse().unwrap(), results);
    let bytes = [&answer.first[..], &answer.rest[..]].concat();
    let text = std::str::from_utf8(&bytes).unwrap();
    let (head, mut body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"));
    let mut events = Vec::new();
    loop {
        let (size, rest) = body.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        let (event, rest) = rest.split_at(size);
        body = rest.strip_prefix("\r\n").unwrap();
        if size == 0 {
            assert_eq!(body, "");
            return events;
        }
        assert!(event.ends_with("\n\n") && !event.trim_end().contains("\n\n"), "{event:?}");
        events.push(event.to_owned());
    }
}

fn data(event: &str) -> Value {
    let line = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    serde_json::from_str(line).unwrap()
}

/// Non-empty text deltas and argument deltas of an answer.
fn deltas(format: Format, name: &str, results: usize) -> (Vec<String>, Vec<String>) {
    let (mut text, mut arguments) = (Vec::new(), Vec::new());
    for event in events(format, name, results).iter().filter(|event| !event.contains("[DONE]")) {
        let event = data(event);
        let (t, a) = match format {
            Format::Anthropic => (&event["delta"]["text"], &event["delta"]["partial_json"]),
            Format::Chat => {
                let delta = &event["choices"][0]["delta"];
                (&delta["content"], &delta["tool_calls"][0]["function"]["arguments"])
            }
            Format::Responses => match event["type"].as_str() {
                Some("response.output_text.delta") => (&event["delta"], &Value::Null),
                Some("response.function_call_arguments.delta") => (&Value::Null, &event["delta"]),
                _ => (&Value::Null, &Value::Null),
            },
            Format::Gemini => {
                let part = &event["candidates"][0]["content"]["parts"][0];
                (&part["text"], &part["functionCall"])
            }
        };
        text.extend(t.as_str().filter(|t| !t.is_empty()).map(str::to_owned));
        match a {
            Value::String(piece) if !piece.is_empty() => arguments.push(piece.clone()),
            // Gemini: a chunk by path is the text itself, a complete call has an object.
            Value::Object(call) => arguments.push(match (call.get("partialArgs"), call.get("args")) {
                (Some(pieces), _) => pieces[0]["stringValue"].as_str().unwrap().to_owned(),
                (None, Some(whole)) => whole.to_string(),
                (None, None) => String::new(),
            }),
            _ => {}
        }
    }
    (text, arguments)
}

#[test]
fn a_text_has_as_many_deltas_as_asked() {
    for format in Format::ALL {
        let (text, arguments) = deltas(format, "text-100", 0);
        assert_eq!((text.len(), arguments.len()), (100, 0));
    }
}

#[test]
fn a_tool_call_has_as_many_pieces_as_asked_and_they_are_json() {
    for format in Format::ALL {
        for n in [2, 100] {
            let (text, arguments) = deltas(format, &format!("tool-{n}"), 0);
            assert_eq!((text.len(), arguments.len()), (0, n));
            if format == Format::Gemini {
                assert_eq!(arguments.concat().is_empty(), n == 2, "the text, in the pieces between name and end");
                continue;
            }
            let arguments: Value = serde_json::from_str(&arguments.concat()).unwrap();
            assert!(arguments["text"].is_string());
        }
        let (text, arguments) = deltas(format, "tool-100", 1);
        assert_eq!((text.concat().as_str(), arguments.len()), ("That is what came back.", 0));
    }
}

#[test]
fn a_path_tells_the_format_and_of_gemini_the_model() {
    for format in Format::ALL {
        let in_path = (format == Format::Gemini).then_some("text-9");
        assert_eq!(Format::of_path(&format.path("text-9")), Some((format, in_path)));
        assert_eq!(format.name().parse(), Ok(format));
    }
    assert_eq!(Format::of_path("/v1/completions"), None);
}

#[test]
fn calc_calculates_and_answers() {
    for format in Format::ALL {
        let (text, arguments) = deltas(format, "calc-1000", 0);
        assert_eq!(text.concat(), "Let me work it out.");
        assert_eq!(arguments.concat(), CALCULATOR_ARGUMENTS.concat());
        assert_eq!(deltas(format, "calc", 1).0.concat(), CALC_ANSWER);
    }
}

#[test]
fn turns_call_until_there_are_enough_results() {
    for format in Format::ALL {
        for results in 0..2 {
            assert_eq!(deltas(format, "turns-3", results).1.concat(), CALCULATOR_ARGUMENTS.concat());
        }
        assert_eq!(deltas(format, "turns-3", 2).0.concat(), CALC_ANSWER);
    }
}

#[test]
fn args_are_deltas_of_twenty_bytes() {
    let (_, arguments) = deltas(Format::Anthropic, "args-100", 0);
    assert!(arguments.len() == 100 && arguments[1..99].iter().all(|piece| piece.len() == 20));
}

#[test]
fn names_are_read_back_and_wrong_ones_refused() {
    for name in ["text-0", "text-20000", "paced-9", "tool-2", "args-2", "calc", "calc-1000", "turns-200", "turns-6-1000"] {
        assert_eq!(name.parse::<Script>().unwrap().to_string(), name);
    }
    for name in ["text", "tool-1", "calc-0", "text-x", "text-1-1", "turns-0", "haiku"] {
        let error = name.parse::<Script>().unwrap_err();
        assert!(error.starts_with(&format!("no model \"{name}\"")), "{error}");
    }
}
