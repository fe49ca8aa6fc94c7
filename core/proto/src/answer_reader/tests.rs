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
