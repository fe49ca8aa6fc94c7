use proptest::prelude::*;

use super::*;

/// A message with these headers, all texts.
pub(crate) fn message(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    for (name, value) in headers {
        encoded.push(u8::try_from(name.len()).unwrap());
        encoded.extend_from_slice(name.as_bytes());
        encoded.push(7);
        encoded.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
        encoded.extend_from_slice(value.as_bytes());
    }
    framed(&encoded, payload)
}

fn framed(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| u32::try_from(bytes).unwrap().to_be_bytes();
    let mut message = length(PRELUDE + headers.len() + payload.len() + CHECKSUM).to_vec();
    message.extend_from_slice(&length(headers.len()));
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message.extend_from_slice(headers);
    message.extend_from_slice(payload);
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message
}

/// An event of Bedrock.
pub(crate) fn event(name: &str, payload: &str) -> Vec<u8> {
    message(&[(":event-type", name), (":content-type", "application/json"), (":message-type", "event")], payload.as_bytes())
}

type Found = (Vec<(String, String)>, Result<bool, Error>, Splitter);

fn frames(pieces: &[&[u8]]) -> Found {
    let (mut splitter, mut found, mut end) = (Splitter::default(), Vec::new(), Ok(true));
    for piece in pieces {
        end = splitter.feed(piece, |frame| {
            found.push((frame.event.into_owned(), frame.data.into_owned()));
            Ok(true)
        });
        if end.is_err() {
            return (found, end, splitter);
        }
    }
    let ended = splitter.finish(|_| Ok(true));
    (found, end.and(ended), splitter)
}

fn stream() -> (Vec<u8>, Vec<(String, String)>) {
    let events = [("messageStart", "{}"), ("contentBlockDelta", "{\"delta\":{\"text\":\"Ål ☃\"}}"), ("metadata", "")];
    let bytes = events.iter().flat_map(|(name, payload)| event(name, payload)).collect();
    (bytes, events.map(|(name, payload)| (name.to_owned(), payload.to_owned())).to_vec())
}

#[test]
fn a_stream_is_the_same_however_it_is_cut() {
    let (bytes, expected) = stream();
    for cut in 0..=bytes.len() {
        let (a, b) = bytes.split_at(cut);
        assert_eq!(frames(&[a, b]).0, expected, "cut at {cut}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(frames(&single).0, expected, "byte by byte");
}

#[test]
fn a_frame_in_one_chunk_is_not_copied() {
    let (bytes, _) = stream();
    let mut splitter = Splitter::default();
    let end = splitter.feed(&bytes, |frame| {
        assert!(matches!((&frame.event, &frame.data), (Cow::Borrowed(_), Cow::Borrowed(_))));
        Ok(frame.event != "contentBlockDelta")
    });
    assert_eq!(end, Ok(false), "whoever reads says when it is enough");
}

/// `all_headers` of the published vectors (<https://github.com/awslabs/aws-c-event-stream/tree/main/tests>), and what others may
/// send.
#[test]
fn headers_of_all_types_are_passed() {
    let values: [(u8, &[u8]); 10] = [
        (0, &[]),
        (1, &[]),
        (2, &[207]),
        (3, &[0, 42]),
        (4, &[0, 0, 160, 12]),
        (5, &[0, 0, 0, 0, 2, 171, 226, 17]),
        (6, &[0, 3, 1, 2, 3]),
        (7, &[0, 4, b't', b'e', b'x', b't']),
        (8, &[0, 0, 0, 0, 0, 132, 95, 237]),
        (9, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]),
    ];
    let mut headers = Vec::new();
    for (kind, value) in values {
        headers.extend_from_slice(b"\x01h");
        headers.push(kind);
        headers.extend_from_slice(value);
    }
    headers.extend_from_slice(b"\x0b:event-type\x07\x00\x01e");
    assert_eq!(frames(&[&framed(&headers, b"{}")]).0, [("e".to_owned(), "{}".to_owned())]);
    for cut in 1..headers.len() {
        // Cut between two headers it is whole, and without its event.
        let (found, end, _) = frames(&[&framed(&headers[..cut], b"{}")]);
        assert_eq!(found.len(), usize::from(end.is_ok()), "headers cut at {cut}");
    }
    let unknown = frames(&[&framed(b"\x01h\x0a", b"")]).1.unwrap_err();
    let text = "the model's event stream is damaged: a header has a value of the unknown type 10";
    assert_eq!((unknown.kind(), unknown.message()), (ErrorKind::Protocol, text));
}

/// `empty_message` and `payload_no_headers` of the published vectors.
#[test]
fn published_messages_are_read() {
    let empty = [0, 0, 0, 16, 0, 0, 0, 0, 5, 194, 72, 235, 125, 152, 200, 255];
    assert_eq!(frames(&[&empty]).0, [(String::new(), String::new())]);
    let payload =
        [0, 0, 0, 29, 0, 0, 0, 0, 253, 82, 140, 90, 123, 39, 102, 111, 111, 39, 58, 39, 98, 97, 114, 39, 125, 195, 101, 57, 54];
    assert_eq!(frames(&[&payload]).0, [(String::new(), "{'foo':'bar'}".to_owned())]);
}

#[test]
fn exceptions_and_errors_are_frames_of_that_name() {
    let exception = message(
        &[(":exception-type", "throttlingException"), (":content-type", "application/json"), (":message-type", "exception")],
        b"{\"message\":\"Too many tokens\",\"originalStatusCode\":429}",
    );
    let error = message(&[(":message-type", "error"), (":error-code", "InternalFailure"), (":error-message", "It broke.")], b"");
    let plain = message(&[(":message-type", "exception"), (":exception-type", "odd")], b"not JSON");
    let (found, end, _) = frames(&[&exception, &error, &plain]);
    assert_eq!(end, Ok(true));
    let data: Vec<&str> = found.iter().inspect(|(event, _)| assert_eq!(event, "error")).map(|(_, data)| data.as_str()).collect();
    assert_eq!(
        data,
        [
            "{\"error\":{\"message\":\"Too many tokens\",\"originalStatusCode\":429,\"type\":\"throttlingException\"}}",
            "{\"error\":{\"message\":\"It broke.\",\"type\":\"InternalFailure\"}}",
            "{\"error\":{\"message\":\"not JSON\",\"type\":\"odd\"}}",
        ]
    );
}

#[test]
fn each_damaged_byte_is_found() {
    let good = event("a", "{\"x\":1}");
    let behind = good.len();
    for at in 0..good.len() {
        let mut bytes = [good.clone(), good.clone(), good.clone()].concat();
        bytes[behind + at] ^= 0x10;
        let (found, end, _) = frames(&[&bytes]);
        let error = end.unwrap_err();
        assert_eq!((found.len(), error.kind()), (1, ErrorKind::Protocol), "byte {at}");
        assert!(error.message().starts_with("the model's event stream is damaged: the checksum of a "), "{error}");
    }
}

#[test]
fn lengths_have_bounds() {
    let prelude = |whole: u32, headers: u32| {
        let mut bytes = [whole.to_be_bytes(), headers.to_be_bytes()].concat();
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_be_bytes());
        frames(&[&bytes]).1.map_err(|error| (error.kind(), error.message().to_owned()))
    };
    let damaged = |what: &str| Err((ErrorKind::Protocol, format!("the model's event stream is damaged: {what}")));
    assert_eq!(prelude(16, 0), Ok(true), "the rest is to come");
    assert_eq!(prelude(15, 0), damaged("a message of 15 bytes has 0 bytes of headers"));
    assert_eq!(prelude(20, 5), damaged("a message of 20 bytes has 5 bytes of headers"));
    assert_eq!(prelude(1 << 20, 131_073), damaged("a message of 1048576 bytes has 131073 bytes of headers"));
    let limit = "a frame of the model's stream is larger than 16 MiB".to_owned();
    assert_eq!(prelude((16 << 20) + 1, 0), Err((ErrorKind::Limit, limit)));
    assert_eq!(prelude(16 << 20, 0), Ok(true));
}

#[test]
fn what_is_no_event_stream_is_kept_for_the_error() {
    for page in ["<html>a long page</html>", "{}", "data: {}\n\n", "x"] {
        let bytes: Vec<&[u8]> = page.as_bytes().chunks(3).collect();
        let (found, end, splitter) = frames(&bytes);
        assert_eq!((found.len(), end), (0, Ok(true)), "{page}");
        assert_eq!(splitter.stray(), page.as_bytes(), "{page}");
    }
    let (_, _, splitter) = frames(&[&vec![b'x'; MAX_STRAY_BYTES + 5]]);
    assert_eq!(splitter.stray().len(), MAX_STRAY_BYTES);
    let (bytes, expected) = stream();
    let (found, end, splitter) = frames(&[&bytes[..bytes.len() - 1]]);
    assert_eq!((found.len(), end, splitter.stray().len()), (expected.len() - 1, Ok(true), 0), "a cut stream has no stray bytes");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), is_prefixed: bool, cut in 0usize..300) {
        let mut all = if is_prefixed { stream().0 } else { Vec::new() };
        all.extend_from_slice(&bytes);
        let (a, b) = all.split_at(cut.min(all.len()));
        let (found, end, _) = frames(&[a, b]);
        let (again, whole, _) = frames(&[&all]);
        prop_assert_eq!((found, end.is_ok()), (again, whole.is_ok()));
    }
}
