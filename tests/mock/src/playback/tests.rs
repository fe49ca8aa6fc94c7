use super::*;
use crate::{Failure, Format, Frame, Speech};
use serde_json::json;

fn asked() -> Asked {
    Asked::plain(Format::Chat)
}

fn cut(text: &str, chunk: Chunk) -> Vec<String> {
    pieces(Bytes::from(text.to_owned()), &lengths(text.as_bytes(), chunk))
        .iter()
        .map(|piece| String::from_utf8_lossy(piece).into_owned())
        .collect()
}

#[test]
fn frames_end_at_their_empty_line() {
    let both = ["event: a\ndata: 1\n\n", "data: 2\n\n"];
    assert_eq!(cut(&both.concat(), Chunk::Frame), both);
    let crlf = ["data: 1\r\n\r\n", ": a comment\r\n\r\n"];
    assert_eq!(cut(&crlf.concat(), Chunk::Frame), crlf);
    assert_eq!(cut("data: 1\n\ndata: unfinished", Chunk::Frame), ["data: 1\n\n", "data: unfinished"]);
    assert_eq!(cut("\n\ndata: 1\n\n\n", Chunk::Frame), ["\n\ndata: 1\n\n", "\n"]);
    assert!(cut("", Chunk::Frame).is_empty());
}

#[test]
fn bytes_are_cut_anywhere() {
    assert_eq!(cut("abcdefg", Chunk::Bytes(3)), ["abc", "def", "g"]);
    assert_eq!(cut("abc", Chunk::Bytes(3)), ["abc"]);
    assert_eq!(cut("abc", Chunk::Whole), ["abc"]);
}

#[test]
fn frames_are_written_as_on_the_wire() {
    let frames =
        vec![Frame::event("message_stop", json!({"type": "message_stop"})), Frame::data("two\nlines"), Frame::data("[DONE]")];
    let Rendered { body, headers, .. } = render(&Answer::frames(frames), &asked()).unwrap();
    assert_eq!(
        String::from_utf8(body).unwrap(),
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\ndata: two\ndata: lines\n\ndata: [DONE]\n\n"
    );
    assert_eq!(headers, [("content-type", "text/event-stream")]);
}

#[test]
fn a_mistake_is_named_with_its_remedy() {
    for (answer, message) in [
        (Answer::text("x").status(99), "status 99 is not the status of an answer; use 200 to 599"),
        (Answer::text("x").status(600), "status 600 is not the status of an answer; use 200 to 599"),
        (Answer::text("x").times(0), "times 0: it would never be given; leave the answer out"),
        (Answer::text("x").chunk(Chunk::Bytes(0)), "chunk 0 would never send anything; use at least 1"),
        (Answer::text("four").cut_after(5), "cut_after 5: the body has only 4 bytes; use at most that"),
        (Answer::text("four").garble_after(5), "garble_after 5: the body has only 4 bytes; use at most that"),
        (
            Answer::text("x").failure(Failure::Server),
            "failure is the error of error_after, which is not set; for a refusal set the body to {\"error\": …}",
        ),
        (Answer::text("x").error_after(0), "error_after counts the events of a message; this body is none"),
        (Answer::error(Failure::Server).error_after(0), "error_after counts the events of a message; this body is none"),
        (
            Answer::message(Speech::text("x")).error_after(9),
            "error_after 9: the message has only 5 frames in the format chat; use at most that",
        ),
        (Answer::text("x").header("a b", "c"), "header \"a b\" is not a header name"),
        (Answer::text("x").header("a", "b\nc"), "header \"a\": \"b\\nc\" cannot be sent; use visible ASCII"),
        (
            Answer::text("x").header("Content-Length", "9"),
            "header \"Content-Length\" follows from the body; use chunk, cut_after or stall",
        ),
    ] {
        assert_eq!(Prepared::new(&answer, &asked()).unwrap_err(), message);
    }
    let missing = Prepared::new(&Answer::file("no/such.sse"), &asked()).unwrap_err();
    assert!(missing.starts_with("body file no/such.sse: "), "{missing}");
    assert!(missing.ends_with("its path is relative to the script's folder"), "{missing}");
}

#[test]
fn garbage_keeps_the_frames_and_is_neither_json_nor_text() {
    let body = "data: {\"a\":1}\n\nevent: b\ndata: {\"b\":2}\n\n";
    for from in 0..body.len() {
        let mut bytes = body.as_bytes().to_vec();
        garble(&mut bytes, from);
        assert_eq!(&bytes[..from], &body.as_bytes()[..from]);
        assert_eq!(lengths(&bytes, Chunk::Frame), lengths(body.as_bytes(), Chunk::Frame), "from {from}");
        let changed = bytes != body.as_bytes();
        assert_eq!(changed, !body[from..].trim().is_empty(), "from {from}");
    }
    let mut bytes = body.as_bytes().to_vec();
    garble(&mut bytes, 0);
    assert_eq!(&bytes[..8], b"data: \xff{");
    assert!(String::from_utf8(bytes).is_err());
}

#[test]
fn compressed_frames_can_be_read_as_they_come() {
    let body = "data: one\n\ndata: two\n\n";
    let (bytes, lengths) = encoded(body.into(), Chunk::Frame, Some(Encoding::Gzip));
    assert_eq!((lengths.len(), lengths.iter().sum()), (2, bytes.len()));
    let mut read = String::new();
    let mut first = flate2::read::GzDecoder::new(&bytes[..lengths[0]]);
    assert!(std::io::Read::read_to_string(&mut first, &mut read).is_err(), "it goes on");
    assert_eq!(read, "data: one\n\n");
    let mut all = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut all).unwrap();
    assert_eq!(all, body);
}
