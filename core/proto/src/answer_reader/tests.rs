use super::*;
use crate::protocol::tests::fixture::Fixture;
use crate::sse::Splitter;
use crate::usage::StopReason;

/// The formats whose frames are recognised, each with an answer of thinking, text and a call, streamed and whole.
const ANSWERS: &[(&str, &str, &str, &str)] = &[
    (
        "anthropic",
        "Anthropic Messages",
        include_str!("../protocol/tests/streams/anthropic.sse"),
        include_str!("../protocol/tests/streams/anthropic.json"),
    ),
    (
        "openai_chat",
        "Chat Completions",
        include_str!("../protocol/tests/streams/openai_chat.sse"),
        include_str!("../protocol/tests/streams/openai_chat.json"),
    ),
    (
        "openai_responses",
        "OpenAI Responses",
        include_str!("../protocol/tests/streams/openai_responses.sse"),
        include_str!("../protocol/tests/streams/openai_responses.json"),
    ),
    (
        "gemini",
        "Gemini",
        include_str!("../protocol/tests/streams/gemini.sse"),
        include_str!("../protocol/tests/streams/gemini.json"),
    ),
];

/// Reads a body as a driver does.
fn read(protocol: &str, body: &str) -> (Vec<Delta>, Result<(), Error>) {
    let mut reader = AnswerReader::new(Fixture::of_protocol(protocol).decoder(), "p", false);
    let (mut splitter, mut out) = (Splitter::default(), Vec::new());
    let mut end = Ok(true);
    for chunk in body.as_bytes().chunks(100) {
        if let Ok(true) = end {
            end = splitter.feed(chunk, |frame| reader.frame(&frame, &mut out));
        }
    }
    if let Ok(true) = end {
        end = splitter.finish(|frame| reader.frame(&frame, &mut out));
    }
    let end = end.and_then(|more| if more { reader.end(&mut out) } else { Ok(()) });
    (out, end)
}

/// What an answer says: its blocks' starts and texts, the tokens, the id and the end.
fn said(deltas: &[Delta]) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    let mut last = None;
    for delta in deltas {
        match delta {
            Delta::Append { key, text } if last == Some(*key) => said.last_mut().unwrap().push_str(text),
            Delta::Append { text, .. } => said.push(text.clone()),
            Delta::Start { block, .. } => said.push(format!("{block:?}")),
            Delta::Signature { signature, .. } => said.push(format!("signed {}", signature.contains("c2ln"))),
            Delta::Stop { reason, raw } => said.push(format!("{reason:?} {raw:?}")),
            Delta::ResponseId(id) => said.push(id.clone()),
            _ => {}
        }
        last = match delta {
            Delta::Append { key, .. } => Some(*key),
            Delta::Usage(_) => last,
            _ => None,
        };
    }
    let used =
        deltas.iter().rev().find_map(|delta| if let Delta::Usage(usage) = delta { Some(format!("{usage:?}")) } else { None });
    said.extend(used);
    said.sort();
    said
}

fn code(delta: &Delta) -> Option<&str> {
    if let Delta::Diagnostic { code, .. } = delta { Some(code) } else { None }
}

/// Holds everything back.
struct Silent;

impl Decoder for Silent {
    fn frame(&mut self, _: &Frame<'_>, _: &mut Vec<Delta>) -> Result<bool, Error> {
        Ok(true)
    }

    fn end(&mut self, _: &mut Vec<Delta>) -> Result<(), Error> {
        Ok(())
    }
}

#[test]
fn a_stream_without_content_has_an_end() {
    let data = "x".repeat(16 << 20);
    let frame = Frame { data: data.as_str().into(), ..Frame::default() };
    let mut reader = AnswerReader::new(Box::new(Silent), "p", false);
    for _ in 0..4 {
        reader.frame(&frame, &mut Vec::new()).unwrap();
    }
    let error = reader.frame(&frame, &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert_eq!(error.message(), "p streamed over 64 MiB without content; the answer was cut off");
}

#[test]
fn found_w7_a_stream_in_another_format_is_named() {
    for (own, _, _, _) in ANSWERS {
        for (protocol, label, stream, whole) in ANSWERS.iter().filter(|(other, ..)| other != own) {
            let (deltas, end) = read(own, stream);
            let error = end.unwrap_err();
            let text = format!(
                "p sent frames, but none of them is in the format {own}; it looks like {label}: set the model's protocol to \
                 {protocol:?}"
            );
            assert_eq!((error.kind(), error.message(), error.is_retryable()), (ErrorKind::Protocol, text.as_str(), false));
            assert!(!deltas.iter().any(|delta| matches!(delta, Delta::Start { .. } | Delta::Stop { .. })), "{deltas:?}");
            let error = read(own, whole).1.unwrap_err();
            let text = format!(
                "p answered with JSON instead of an event stream, and it is no answer in the format {own}; it looks like \
                 {label}: set the model's protocol to {protocol:?}"
            );
            assert_eq!((error.kind(), error.message(), error.is_retryable()), (ErrorKind::Protocol, text.as_str(), false));
        }
    }
    let completions = "data: {\"object\":\"text_completion\",\"choices\":[{\"index\":0,\"text\":\"x\"}]}\n\ndata: [DONE]\n\n";
    let error = read("openai_chat", completions).1.unwrap_err();
    assert!(error.message().ends_with("it looks like the older Completions API: is base_url right?"), "{error}");
}

#[test]
fn found_w7_frames_like_nothing_known_are_quoted() {
    for (protocol, ..) in ANSWERS {
        for end in ["", "data: [DONE]\n\n"] {
            let stream = format!(
                "data: {{\"type\":\"ping\"}}\n\ndata: {{\"response\":\"He\",\"done\":false}}\n\ndata: {{\"x\":1}}\n\n{end}"
            );
            let error = read(protocol, &stream).1.unwrap_err();
            let text = format!(
                "p sent frames, but none of them is in the format {protocol}; is base_url right, and the model's protocol? It \
                 begins: {{\"response\":\"He\",\"done\":false}}"
            );
            assert_eq!((error.kind(), error.message(), error.is_retryable()), (ErrorKind::Protocol, text.as_str(), false));
        }
        let error = read(protocol, "{\"model\":\"m\",\"message\":{\"content\":\"x\"},\"done\":true}").1.unwrap_err();
        let text = "and the model's protocol? It begins: {\"model\":\"m\",\"message\":{\"content\":\"x\"},\"done\":true}";
        assert!(error.message().ends_with(text), "{error}");
        // Strange frames do no harm to a stream that has the format's, nor does silence before it is cut.
        let (_, _, stream, _) = ANSWERS.iter().find(|(name, ..)| name == protocol).unwrap();
        let (deltas, end) = read(protocol, &format!("data: {{\"x\":1}}\n\n{stream}"));
        assert_eq!((end, said(&deltas)), (Ok(()), said(&read(protocol, stream).0)));
        assert_eq!(read(protocol, "data: {\"type\":\"ping\"}\n\n").1.unwrap_err().kind(), ErrorKind::StreamTruncated);
        assert_eq!(read(protocol, "").1.unwrap_err().kind(), ErrorKind::StreamTruncated);
    }
}

#[test]
fn found_w8_an_unstreamed_answer_is_read() {
    for (protocol, _, stream, whole) in ANSWERS {
        let (streamed, end) = read(protocol, stream);
        assert_eq!(end, Ok(()));
        let expected = said(&streamed);
        assert!(
            matches!(
                streamed.iter().find(|delta| matches!(delta, Delta::Stop { .. })),
                Some(Delta::Stop { reason: StopReason::ToolUse, .. })
            ),
            "{expected:?}"
        );
        let compact: Value = serde_json::from_str(whole).unwrap();
        // As a body, with signs of life before it, in one frame, and in a list.
        for body in [(*whole).to_owned(), format!("\r\n\n {compact}"), format!("data: {compact}\n\n")] {
            let (deltas, end) = read(protocol, &body);
            assert_eq!((end, said(&deltas)), (Ok(()), expected.clone()), "{body}");
            let reported = deltas.iter().filter_map(code).collect::<Vec<_>>();
            let is_gemini_frame = *protocol == "gemini" && body.starts_with("data");
            assert_eq!(reported, if is_gemini_frame { vec![] } else { vec!["unstreamed"] }, "{body}");
        }
    }
    // Gemini's stream without `alt=sse`.
    let (_, _, stream, _) = ANSWERS[3];
    let chunks: Vec<&str> = stream.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let (deltas, end) = read("gemini", &format!("[{}\n]", chunks.join(",\r\n")));
    assert_eq!((end, said(&deltas)), (Ok(()), said(&read("gemini", stream).0)));
}

#[test]
fn found_w8_an_unstreamed_answer_that_is_not_whole_is_none() {
    for (protocol, _, _, whole) in ANSWERS {
        let error = read(protocol, &whole[..whole.len() / 2]).1.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StreamTruncated, "{protocol}");
        for body in ["{\"error\":{\"message\":\"slow down\",\"code\":429}}", "{\"message\":\"slow down\",\"code\":429}"] {
            let error = read(protocol, body).1.unwrap_err();
            assert_eq!(error.to_string(), "rate_limited: p sent an error in its stream: slow down", "{protocol}");
            assert!(error.is_retryable());
        }
    }
    let queued = "{\"object\":\"response\",\"id\":\"r\",\"status\":\"queued\",\"output\":[]}";
    assert_eq!(read("openai_responses", queued).1.unwrap_err().kind(), ErrorKind::Protocol);
}

/// llama.cpp, and GPUStack with it, sends a field `error`; others an event of that name, or the error's fields in a frame.
#[test]
fn found_w4_an_error_in_the_stream_is_read_in_every_form() {
    let flat = "{\"code\":503,\"message\":\"Loading model\",\"type\":\"unavailable_error\"}";
    for (protocol, _, stream, _) in ANSWERS {
        for error in [
            format!("error: {flat}"),
            format!("error:{flat}"),
            format!("error: {{\"error\":{flat}}}"),
            format!("event: error\ndata: {flat}"),
            format!("event: error\ndata: {{\"error\":{flat}}}"),
            format!("data: {flat}"),
            format!("data: {{\"error\":{flat}}}"),
            format!("data: {{\"type\":\"error\",\"error\":{flat}}}"),
            format!("data: {{\"object\":\"error\",{}", &flat[1..]),
        ] {
            let half: String = stream.split_inclusive("\n\n").take(4).collect();
            for before in ["", "data: {\"type\":\"ping\"}\n\n", &half] {
                for after in ["\n\n", "", "\n\ndata: [DONE]\n\n"] {
                    let end = read(protocol, &format!("{before}{error}{after}")).1.unwrap_err();
                    assert_eq!(end.to_string(), "overloaded: p sent an error in its stream: Loading model", "{protocol} {error}");
                    assert!(end.is_retryable());
                }
            }
        }
        for (error, said) in [
            ("error: upstream went away", "upstream went away"),
            ("event: error\ndata: upstream went away", "upstream went away"),
            ("event: error\ndata: {\"why\": \"broke\"}", "{\"why\":\"broke\"}"),
        ] {
            let end = read(protocol, &format!("{error}\n\n")).1.unwrap_err();
            assert_eq!(end.to_string(), format!("server: p sent an error in its stream: {said}"), "{protocol}");
        }
        // What comes with each frame and says nothing.
        let quiet = stream.replace("data: {\"", "error: \ndata: {\"error\":{},\"");
        assert_eq!(read(protocol, &quiet).1, Ok(()), "{protocol}");
    }
}

/// The closing mark as servers write it, alone or with more behind it. Where a format has none it says nothing.
#[test]
fn found_w1_the_closing_mark_in_each_form_and_format() {
    for (protocol, _, stream, _) in ANSWERS {
        let whole = said(&read(protocol, stream).0);
        let (before, is_chat) = (stream.replace("data: [DONE]\n\n", ""), *protocol == "openai_chat");
        for mark in ["[DONE]", " [DONE] ", "[done]", "\"[DONE]\""] {
            for behind in ["", "data: [DONE]\n\n", ": bye\n\n", "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n"] {
                let (deltas, end) = read(protocol, &format!("{before}data:{mark}\n\n{behind}"));
                let more = behind.contains("choices") && *protocol == "gemini";
                assert_eq!((end, said(&deltas)), (Ok(()), whole.clone()), "{protocol} {mark} {behind} {more}");
            }
            // In the middle it is the end of a Chat stream, and nothing elsewhere.
            let frames: Vec<&str> = before.split_inclusive("\n\n").collect();
            let cut = frames[..6].concat() + &format!("data: {mark}\n\n");
            let (deltas, end) = read(protocol, &cut);
            let stop =
                deltas.iter().find_map(|delta| if let Delta::Stop { reason, raw } = delta { Some((*reason, raw)) } else { None });
            if is_chat {
                // Half of a call's arguments: the call is kept as it came and no whole one, and no tool runs with it.
                assert_eq!((end, stop), (Ok(()), Some((StopReason::Stop, &None))));
                assert!(said(&deltas).contains(&"{\"city\":".to_owned()), "{deltas:?}");
            } else if *protocol != "gemini" {
                assert_eq!((end.unwrap_err().kind(), stop), (ErrorKind::StreamTruncated, None), "{protocol}");
                let (deltas, end) = read(protocol, &(cut + &frames[6..].concat()));
                assert_eq!((end, said(&deltas)), (Ok(()), whole.clone()), "{protocol}");
            }
        }
    }
}

/// The last frame's reason in the words of other vendors and in other cases. Cut answers and refusals never count as whole.
#[test]
fn found_w6_reasons_of_other_vendors_in_each_format() {
    let cases = [
        (
            StopReason::Length,
            &["length", "LENGTH", "max_tokens", "MAX_TOKENS", "max-tokens", "model_length", "max_output_tokens"][..],
        ),
        (StopReason::Refusal, &["content_filter", "Content_Filter", "refusal", "SAFETY", "sensitive", "PROHIBITED_CONTENT"][..]),
        (StopReason::ToolUse, &["tool_calls", "tool_use", "TOOL_USE", "function_call", "TOOL_CALL"][..]),
        (StopReason::ToolUse, &["", "null", "new_word", "7"][..]),
    ];
    for (protocol, _, stream, _) in ANSWERS {
        for (reason, raw) in cases.iter().flat_map(|(reason, words)| words.iter().map(move |word| (reason, word))) {
            let stream = match *protocol {
                "anthropic" => stream.replace("\"stop_reason\":\"tool_use\"", &format!("\"stop_reason\":\"{raw}\"")),
                "openai_chat" => stream.replace("\"finish_reason\":\"tool_calls\"", &format!("\"finish_reason\":\"{raw}\"")),
                "gemini" if raw.is_empty() => continue,
                "gemini" => stream.replace("\"STOP\"", &format!("\"{raw}\"")),
                _ => {
                    let (before, end) = stream.rsplit_once("\"incomplete_details\":null").unwrap();
                    format!("{before}\"incomplete_details\":{{\"reason\":\"{raw}\"}}{end}")
                }
            };
            let (deltas, end) = read(protocol, &stream);
            let stop = deltas.iter().find_map(|delta| if let Delta::Stop { reason, .. } = delta { Some(*reason) } else { None });
            assert_eq!((end, stop), (Ok(()), Some(*reason)), "{protocol} {raw:?}");
        }
    }
    // A failure is one in any case.
    for word in ["malformed_function_call", "Malformed_Response"] {
        let (_, _, stream, _) = ANSWERS[3];
        let end = read("gemini", &stream.replace("STOP", word)).1.unwrap_err();
        assert_eq!((end.kind(), end.is_retryable()), (ErrorKind::Protocol, true), "{word}");
    }
    for word in ["ERROR", "network-error", "Insufficient_System_Resource"] {
        let (_, _, stream, _) = ANSWERS[1];
        assert!(read("openai_chat", &stream.replace("tool_calls\"}", &format!("{word}\"}}"))).1.is_err(), "{word}");
    }
}

/// A stream of another format that is cut, that has signs of life or strange frames before it, or lines of JSON without fields.
#[test]
fn found_w7_half_a_stream_of_another_format_is_named() {
    for (own, ..) in ANSWERS {
        for (protocol, label, stream, _) in ANSWERS.iter().filter(|(other, ..)| other != own) {
            let frames: Vec<&str> = stream.split_inclusive("\n\n").collect();
            for (before, count) in
                [("", 1), ("", 2), ("", 4), (": hi\n\n", 3), ("data: {\"type\":\"ping\"}\n\n", 3), ("data: {\"x\":1}\n\n", 3)]
            {
                let end = read(own, &(before.to_owned() + &frames[..count].concat())).1.unwrap_err();
                let text = format!("it looks like {label}: set the model's protocol to {protocol:?}");
                assert!(end.message().contains(&text), "{own} {protocol} {count}: {end}");
                assert_eq!((end.kind(), end.is_retryable()), (ErrorKind::Protocol, false));
            }
        }
    }
}

/// Whole answers as servers write them: with a mark before them, over many lines, in frames of many lines, without a type.
#[test]
fn found_w8_an_unstreamed_answer_in_each_writing() {
    // A call's arguments keep their white space.
    let said = |deltas: &[Delta]| said(deltas).into_iter().map(|text| text.replace([' ', '\n'], "")).collect::<Vec<_>>();
    for (protocol, _, stream, whole) in ANSWERS {
        let expected = said(&read(protocol, stream).0);
        let value: Value = serde_json::from_str(whole).unwrap();
        let pretty = format!("{value:#}");
        let mut untyped = value.clone();
        ["type", "object"].iter().for_each(|name| drop(untyped.as_object_mut().unwrap().shift_remove(*name)));
        let mut with_null = value.clone();
        with_null["error"] = Value::Null;
        let in_lines: String = pretty.lines().map(|line| format!("data: {line}\n")).collect();
        for body in [
            format!("\u{feff}{value}"),
            format!("\u{feff}{pretty}\r\n"),
            pretty.replace('\n', "\r\n"),
            format!("  {value}\n\n"),
            format!("[{value}]"),
            untyped.to_string(),
            with_null.to_string(),
            in_lines + "\n",
            format!("event: message\ndata: {value}\n\n"),
            format!("data: {value}\n\ndata: [DONE]\n\n"),
        ] {
            let (deltas, end) = read(protocol, &body);
            assert_eq!((end, said(&deltas)), (Ok(()), expected.clone()), "{protocol} {body}");
        }
    }
}

/// An error's fields without any word that says so, wherever it comes; and what has such fields and is none.
#[test]
fn found_w4_an_error_of_few_words_is_one_in_each_place() {
    let errors = [
        r#"{"error":"went away"}"#,
        r#"{"error":["went away"]}"#,
        r#"{"error":{"detail":"went away"}}"#,
        r#"{"error":{"error":{"message":"went away"}}}"#,
        r#"{"error":true,"message":"went away"}"#,
        r#"{"errors":[{"message":"went away"}]}"#,
        r#"{"detail":"went away"}"#,
        r#"{"detail":[{"msg":"went away"}]}"#,
        r#"{"message":"went away"}"#,
        r#"{"Message":"went away"}"#,
        r#"{"error_code":17,"error_msg":"went away"}"#,
        r#"{"code":"InternalError","message":"went away","request_id":"r"}"#,
        r#"{"code":20015,"message":"went away","data":null}"#,
        r#"{"status":"error","message":"went away"}"#,
        r#"{"success":false,"message":"went away"}"#,
        r#"{"object":"error","message":"went away","type":null,"param":null,"code":null}"#,
        r#"[{"error":{"message":"went away"}}]"#,
    ];
    for (protocol, _, stream, _) in ANSWERS {
        let frames: Vec<&str> = stream.split_inclusive("\n\n").collect();
        // Before the closing frame.
        let last = frames.len() - 2;
        for error in errors {
            for place in [0, 1, frames.len() / 2, last] {
                for form in
                    [format!("data: {error}\n\n"), format!("error: {error}\n\n"), format!("event: error\ndata: {error}\n\n")]
                {
                    let stream = frames[..place].concat() + &form + &frames[place..].concat();
                    let end = read(protocol, &stream).1.expect_err(&form);
                    assert_eq!(
                        end.to_string(),
                        "server: p sent an error in its stream: went away",
                        "{protocol} {form} at {place}"
                    );
                }
            }
        }
        for fine in [
            r#"{"message":""}"#,
            r#"{"code":0,"message":"success"}"#,
            r#"{"code":200,"msg":"ok","data":null}"#,
            r#"{"status":"processing","message":"in the queue"}"#,
            r#"{"success":true,"message":"began"}"#,
            r#"{"type":"status","message":"began"}"#,
            r#"{"message":"began","progress":0.5}"#,
            r#"{"error":null}"#,
            r#"{"error":{}}"#,
            r#"{"error":""}"#,
        ] {
            for place in [0, 1, frames.len() / 2, last] {
                let with = frames[..place].concat() + &format!("data: {fine}\n\n") + &frames[place..].concat();
                let (deltas, end) = read(protocol, &with);
                assert_eq!((end, said(&deltas)), (Ok(()), said(&read(protocol, stream).0)), "{protocol} {fine} at {place}");
            }
        }
    }
}
