use super::*;
use crate::Frame;
use serde_json::json;

fn cut(text: &str, chunk: Chunk) -> Vec<String> {
    split(Bytes::from(text.to_owned()), chunk).iter().map(|piece| String::from_utf8_lossy(piece).into_owned()).collect()
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
    let (body, content_type) = render(&Body::Frames(frames)).unwrap();
    assert_eq!(body, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\ndata: two\ndata: lines\n\ndata: [DONE]\n\n");
    assert_eq!(content_type, "text/event-stream");
}

#[test]
fn a_mistake_is_named_with_its_remedy() {
    for (answer, message) in [
        (Answer::text("x").status(99), "status 99 is not the status of an answer; use 200 to 599"),
        (Answer::text("x").status(600), "status 600 is not the status of an answer; use 200 to 599"),
        (Answer::text("x").times(0), "times 0: it would never be given; leave the answer out"),
        (Answer::text("x").chunk(Chunk::Bytes(0)), "chunk 0 would never send anything; use at least 1"),
        (Answer::text("four").cut_after(5), "cut_after 5: the body has only 4 bytes; use at most that"),
        (Answer::text("x").header("a b", "c"), "header \"a b\" is not a header name"),
        (Answer::text("x").header("a", "b\nc"), "header \"a\": \"b\\nc\" cannot be sent; use visible ASCII"),
        (
            Answer::text("x").header("Content-Length", "9"),
            "header \"Content-Length\" follows from the body; use chunk, cut_after or stall",
        ),
    ] {
        assert_eq!(Prepared::new(&answer).unwrap_err(), message);
    }
    let missing = Prepared::new(&Answer::file("no/such.sse")).unwrap_err();
    assert!(missing.starts_with("body file no/such.sse: "), "{missing}");
    assert!(missing.ends_with("its path is relative to the script's folder"), "{missing}");
}
