use eventsource_stream::Eventsource;
use futures_util::{FutureExt, StreamExt};
use proptest::prelude::*;

use super::*;

fn frames(pieces: &[&[u8]]) -> Vec<(String, String)> {
    let mut splitter = Splitter::default();
    let mut found = Vec::new();
    for piece in pieces {
        splitter
            .feed(piece, |f| {
                found.push((f.event.into_owned(), f.data.into_owned()));
                Ok(true)
            })
            .unwrap();
    }
    splitter
        .finish(|f| {
            found.push((f.event.into_owned(), f.data.into_owned()));
            Ok(true)
        })
        .unwrap();
    found
}

fn data(pieces: &[&[u8]]) -> Vec<String> {
    frames(pieces).into_iter().map(|(_, data)| data).collect()
}

/// What `eventsource-stream` makes of the same bytes.
fn oracle(bytes: &[u8]) -> Vec<(String, String)> {
    let stream = futures_util::stream::iter([Ok::<_, std::convert::Infallible>(bytes.to_vec())]).eventsource();
    let events = stream.map(|event| event.unwrap()).collect::<Vec<_>>().now_or_never().unwrap();
    // It calls a frame without an event field "message"; we leave that empty.
    events.into_iter().map(|e| (if e.event == "message" { String::new() } else { e.event }, e.data)).collect()
}

#[test]
fn every_line_end_and_every_cut() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = format!("event: a{end}data: one{end}{end}: comment{end}data:two{end}data: lines{end}{end}data{end}{end}");
        let expected =
            vec![("a".to_owned(), "one".to_owned()), (String::new(), "two\nlines".to_owned()), (String::new(), String::new())];
        for cut in 0..=stream.len() {
            let (a, b) = stream.as_bytes().split_at(cut);
            assert_eq!(frames(&[a, b]), expected, "{end:?} cut at {cut}");
        }
        let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(frames(&bytes), expected, "{end:?} byte by byte");
    }
}

#[test]
fn a_byte_order_mark_is_skipped_however_it_is_cut() {
    let stream = b"\xEF\xBB\xBFdata: x\n\n";
    for cut in 0..=stream.len() {
        let (a, b) = stream.split_at(cut);
        assert_eq!(data(&[a, b]), ["x"], "cut at {cut}");
    }
}

#[test]
fn characters_cut_between_chunks_stay_whole() {
    let stream = "data: 🙂é\n\n".as_bytes();
    for cut in 0..=stream.len() {
        let (a, b) = stream.split_at(cut);
        assert_eq!(data(&[a, b]), ["🙂é"], "cut at {cut}");
    }
}

#[test]
fn the_last_frame_needs_no_blank_line() {
    assert_eq!(data(&[b"data: a\n\ndata: b"]), ["a", "b"]);
    assert_eq!(data(&[b"data: a\n\nevent: only\n"]), ["a"]);
}

#[test]
fn the_reader_can_stop() {
    let mut splitter = Splitter::default();
    let mut seen = 0;
    let more = splitter
        .feed(b"data: 1\n\ndata: 2\n\n", |_| {
            seen += 1;
            Ok(false)
        })
        .unwrap();
    assert!(!more);
    assert_eq!(seen, 1);
}

#[test]
fn a_frame_that_never_ends_is_an_error_not_a_full_memory() {
    let mut splitter = Splitter::default();
    let chunk = vec![b'x'; 1 << 20];
    let mut result = splitter.feed(b"data: ", |_| Ok(true));
    for _ in 0..17 {
        if result.is_ok() {
            result = splitter.feed(&chunk, |_| Ok(true));
        }
    }
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert_eq!(error.message(), "a frame of the model's stream is larger than 16 MiB");
}

proptest! {
    /// The same frames as the oracle's, for any stream and any cut. (`id` and `retry` aside, and with a blank line at the
    /// end: there the two differ on purpose.)
    #[test]
    fn same_frames_as_eventsource_stream(
        lines in proptest::collection::vec("(data|event|: c|other|data:|event:)?(:|: |)[a-z é🙂{}:\"]{0,12}", 0..24),
        ends in proptest::collection::vec(0..4_usize, 24),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut stream = String::new();
        for (line, end) in lines.iter().zip(ends) {
            stream.push_str(line);
            stream.push_str(["\n", "\r\n", "\n\n", "\r\n\r\n"][end]);
        }
        stream.push_str("\n\n");
        // What begins as JSON is an answer that was not streamed.
        prop_assume!(!stream.starts_with('{'));
        let bytes = stream.as_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in at {
            pieces.push(&bytes[from..cut]);
            from = cut;
        }
        pieces.push(&bytes[from..]);
        prop_assert_eq!(frames(&pieces), oracle(bytes));
    }
}

#[test]
fn lines_that_are_no_fields_are_kept_apart() {
    let stream = b"id: 7\nretry: 1\n: comment\ndata: a\n\n<html>\n<p>no\n\ndata: b\n\n{\"error\":\n\"broke\"}";
    for cut in 0..stream.len() {
        let mut splitter = Splitter::default();
        let mut found = Vec::new();
        let mut give = |frame: Frame<'_>| {
            found.push(frame.data.into_owned());
            Ok(true)
        };
        splitter.feed(&stream[..cut], &mut give).unwrap();
        splitter.feed(&stream[cut..], &mut give).unwrap();
        splitter.finish(&mut give).unwrap();
        assert_eq!(found, ["a", "b"]);
        assert_eq!(String::from_utf8_lossy(splitter.stray()), "<html>\n<p>no\n{\"error\":\n\"broke\"}\n", "cut at {cut}");
    }
}

#[test]
fn bytes_that_are_no_characters_are_replaced_and_reported() {
    let mut found = Vec::new();
    let give = |frame: Frame<'_>| {
        found.push((frame.data.into_owned(), frame.invalid_utf8));
        Ok(true)
    };
    Splitter::default().feed(b"data: whole\n\ndata: a\xffb\n\ndata: x\ndata: \xf0\x9f\n\n", give).unwrap();
    let expected = [("whole", false), ("a\u{fffd}b", true), ("x\n\u{fffd}", true)];
    assert_eq!(found, expected.map(|(text, invalid_utf8)| (text.to_owned(), invalid_utf8)));
}

#[test]
fn found_a5_a_frame_of_many_short_lines_is_read_once() {
    // Before, each chunk had all lines split again: half a minute for this.
    let stream = [&b"event: many\n".repeat(2)[..], &b"data: x\nid: 7\n".repeat(700_000), b"\n"].concat();
    let mut splitter = Splitter::default();
    let mut found = Vec::new();
    for chunk in stream.chunks(1000) {
        splitter
            .feed(chunk, |frame| {
                found.push((frame.event.into_owned(), frame.data.len()));
                Ok(true)
            })
            .unwrap();
        // What the lines before said is kept without the lines.
        assert!(splitter.rest.len() < 1000);
    }
    assert_eq!(found, [("many".to_owned(), 700_000 * 2 - 1)]);
}

#[test]
fn a_frame_of_many_lines_has_the_same_bound() {
    let mut splitter = Splitter::default();
    let chunk = b"data: x\n".repeat(1 << 17);
    let mut feed = || splitter.feed(&chunk, |_| Ok(true));
    for _ in 0..16 {
        assert!(feed().unwrap());
    }
    assert_eq!(feed().unwrap_err().kind(), ErrorKind::Limit);
}
