//! How a body arrives: in chunks, late, cut, never ending.

use std::time::Duration;

use agent_mock::{Answer, Chunk, Frame, Mock, Script};
use serde_json::json;

use crate::client::{Ended, connect, get, receive, send};

fn play(answer: Answer) -> Mock {
    Mock::start(Script::new().answer(answer))
}

fn three_frames() -> Answer {
    Answer::frames([Frame::event("a", json!({"n": 1})), Frame::data("two"), Frame::data("[DONE]")])
}

#[test]
fn a_whole_body_has_a_length() {
    let mock = play(three_frames());
    let reply = get(&mock.url(), "/");
    assert_eq!((reply.status, reply.ended), (200, Ended::Complete));
    assert!(reply.has_header("content-length: 49"), "{}", reply.head);
    assert!(reply.has_header("content-type: text/event-stream"), "{}", reply.head);
    assert_eq!(reply.body(), "event: a\ndata: {\"n\":1}\n\ndata: two\n\ndata: [DONE]\n\n".to_owned());
}

#[test]
fn one_http_chunk_per_frame() {
    let mock = play(three_frames().chunk(Chunk::Frame));
    let reply = get(&mock.url(), "/");
    assert_eq!(reply.chunks, ["event: a\ndata: {\"n\":1}\n\n", "data: two\n\n", "data: [DONE]\n\n"]);
    assert_eq!(reply.ended, Ended::Complete);
    assert!(reply.has_header("transfer-encoding: chunked"), "{}", reply.head);
}

#[test]
fn chunks_of_so_many_bytes() {
    let mock = play(Answer::text("abcdefg").chunk(Chunk::Bytes(3)));
    let reply = get(&mock.url(), "/");
    assert_eq!(reply.chunks, ["abc", "def", "g"]);
    assert_eq!(reply.ended, Ended::Complete);
}

/// At every byte: hyper must neither lose what was given before the cut nor end the body properly after it.
#[test]
fn a_cut_comes_after_exactly_so_many_bytes() {
    let whole = "data: one\n\ndata: two\n\n";
    for chunk in [Chunk::Frame, Chunk::Bytes(4), Chunk::Whole] {
        for cut in 0..=whole.len() {
            let mock = play(Answer::text(whole).chunk(chunk).cut_after(cut));
            let reply = get(&mock.url(), "/");
            assert_eq!(reply.status, 200, "{chunk:?}, cut after {cut}");
            assert_eq!(reply.ended, Ended::Cut, "{chunk:?}, cut after {cut}");
            assert_eq!(reply.body(), whole[..cut], "{chunk:?}, cut after {cut}");
        }
    }
}

/// More than the connection's buffers hold, so that the cut has to wait for a slow reader.
#[test]
fn a_cut_far_into_a_large_body_loses_nothing() {
    let mock = play(Answer::text("z".repeat(20_000_000)).chunk(Chunk::Bytes(50_000)).cut_after(15_000_001));
    let mut stream = connect(&mock.url());
    send(&mut stream, "GET", "/", "", "");
    std::thread::sleep(Duration::from_millis(100));
    let mut bytes = Vec::new();
    let _ = std::io::Read::read_to_end(&mut stream, &mut bytes);
    assert_eq!(bytes.iter().filter(|byte| **byte == b'z').count(), 15_000_001);
    assert!(!bytes.ends_with(b"0\r\n\r\n"));
}

#[test]
fn a_stalled_answer_holds_the_connection() {
    let mock = play(three_frames().chunk(Chunk::Frame).stall());
    let reply = get(&mock.url(), "/");
    assert_eq!(reply.chunks.len(), 3);
    assert_eq!(reply.ended, Ended::Held);

    let mock = play(three_frames().chunk(Chunk::Frame).cut_after(25).stall());
    let reply = get(&mock.url(), "/");
    assert_eq!(reply.chunks, ["event: a\ndata: {\"n\":1}\n\n", "d"], "cut and held");
    assert_eq!(reply.ended, Ended::Held);
}

#[test]
fn delays_before_the_head_and_between_chunks() {
    let mock = play(three_frames().delay_ms(120));
    assert!(get(&mock.url(), "/").waited >= Duration::from_millis(120));

    let mock = play(three_frames().chunk(Chunk::Frame).frame_delay_ms(100));
    let begin = std::time::Instant::now();
    let reply = get(&mock.url(), "/");
    assert!(begin.elapsed() >= Duration::from_millis(200), "two gaps between three frames");
    assert_eq!(reply.chunks.len(), 3);

    let mock = play(three_frames().chunk(Chunk::Frame).frame_delay_ms(3_600_000));
    let reply = get(&mock.url(), "/");
    assert_eq!((reply.chunks.len(), reply.ended), (1, Ended::Held), "the first frame does not wait");
}

#[test]
fn a_connection_is_used_again() {
    let mock = Mock::start(Script::new().answer(Answer::text("one")).answer(Answer::text("two").chunk(Chunk::Bytes(1))));
    let mut stream = connect(&mock.url());
    for expected in ["one", "two"] {
        send(&mut stream, "GET", "/", "", "");
        let reply = receive(&mut stream);
        assert_eq!((reply.body().as_str(), reply.ended), (expected, Ended::Complete));
    }
}

#[test]
fn dropping_the_mock_drops_its_connections_and_frees_its_port() {
    let mock = play(three_frames().stall());
    let url = mock.url();
    let mut stream = connect(&url);
    send(&mut stream, "GET", "/", "", "");
    assert_eq!(receive(&mut stream).ended, Ended::Held);
    drop(mock);
    assert_eq!(receive(&mut stream).ended, Ended::Cut);
    let address = url.strip_prefix("http://").unwrap();
    assert!(std::net::TcpStream::connect(address).is_err(), "the port is closed");
}
