//! Hostile servers over HTTP/2: frames that flood, lie, come out of order or not at all.

use serde_json::json;

use crate::clients;
use crate::random::Random;
use crate::recordings;
use crate::server::{HTTP_2, Server, Step};

/// How many servers a case has, at the same time.
const AT_ONCE: usize = 12;

// The types of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// A frame with the length of its payload.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    long_frame(kind, flags, stream, payload.len(), payload)
}

/// A frame that says to have this length.
fn long_frame(kind: u8, flags: u8, stream: u32, length: usize, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(length).expect("a length").to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// A header without compression: a literal that is not indexed.
pub(crate) fn header(name: &str, value: &str) -> Vec<u8> {
    let text =
        |text: &str| [&[u8::try_from(text.len().min(126)).expect("short")], &text.as_bytes()[..text.len().min(126)]].concat();
    [vec![0], text(name), text(value)].concat()
}

/// The head of a stream of events: status 200 is in the static table.
fn head() -> Vec<u8> {
    [vec![0x88], header("content-type", "text/event-stream")].concat()
}

fn setting(id: u16, value: u32) -> Vec<u8> {
    [&id.to_be_bytes()[..], &value.to_be_bytes()].concat()
}

/// The body in frames of random lengths; the last one ends the stream.
fn data(body: &[u8], random: &mut Random) -> Vec<u8> {
    let (mut left, mut out) = (body, Vec::new());
    while !left.is_empty() {
        let (part, rest) = left.split_at(left.len().min(1 + random.place(2000)));
        left = rest;
        out.extend(frame(DATA, if left.is_empty() { END_STREAM } else { 0 }, 1, part));
    }
    out
}

/// What a connection gets after the settings and the request.
fn attack(body: &[u8], random: &mut Random) -> (&'static str, Vec<Step>) {
    let answer = || frame(HEADERS, END_HEADERS, 1, &head());
    let whole = [answer(), data(body, random)].concat();
    let cut = whole[..random.place(whole.len() + 1)].to_vec();
    let code = u32::try_from(random.below(20)).expect("small").to_be_bytes();
    let many = 1 << (6 + random.below(9));
    let send = |bytes: Vec<u8>| vec![Step::Send(bytes)];
    let flood = |bytes: Vec<u8>| vec![Step::Repeat(bytes, many), Step::Stall];
    let stream = u32::try_from(random.below(4)).expect("small");
    match random.below(28) {
        0 => ("whole", send(whole)),
        1 => ("reset at a byte", vec![Step::Send(cut), Step::Reset]),
        2 => ("closed at a byte", send(cut)),
        3 => ("silent at a byte", vec![Step::Send(cut), Step::Stall]),
        4 => ("byte by byte", vec![Step::Slowly(whole)]),
        5 => ("RST_STREAM", send([cut, frame(RST_STREAM, 0, 1, &code)].concat())),
        6 => ("RST_STREAM at once", vec![Step::Send(frame(RST_STREAM, 0, 1, &code)), Step::Stall]),
        7 => ("RST_STREAM flood", flood(frame(RST_STREAM, 0, stream, &code))),
        8 => ("GOAWAY", vec![Step::Send(frame(GOAWAY, 0, 0, &[&stream.to_be_bytes()[..], &code].concat())), Step::Stall]),
        9 => (
            "GOAWAY in the answer",
            send([answer(), frame(GOAWAY, 0, 0, &[&[0; 4][..], &code, b"why"].concat()), whole].concat()),
        ),
        10 => ("GOAWAY flood", flood(frame(GOAWAY, 0, 0, &[&[0x7f, 0xff, 0xff, 0xff][..], &code].concat()))),
        11 => ("WINDOW_UPDATE flood", flood(frame(WINDOW_UPDATE, 0, stream, &1_u32.to_be_bytes()))),
        12 => ("a window too large", flood(frame(WINDOW_UPDATE, 0, stream & 1, &0x7fff_ffff_u32.to_be_bytes()))),
        13 => ("PING flood", flood(frame(PING, 0, 0, &[7; 8]))),
        14 => ("SETTINGS flood", flood(frame(SETTINGS, 0, 0, &setting(4, 65_535)))),
        15 => ("empty DATA flood", [send(answer()), flood(frame(DATA, 0, 1, b""))].concat()),
        16 => (
            "CONTINUATION flood",
            [send(frame(HEADERS, 0, 1, &head())), flood(frame(CONTINUATION, 0, 1, &header("x", "y")))].concat(),
        ),
        17 => ("PRIORITY flood", flood(frame(PRIORITY, 0, 3, &[0, 0, 0, 1, 9]))),
        18 => (
            "a frame too long",
            vec![Step::Send(long_frame(DATA, 0, 1, 0x00ff_ffff, b"data: ")), Step::Repeat(b"a".to_vec(), many << 6)],
        ),
        19 => (
            "broken HPACK",
            send(frame(HEADERS, END_HEADERS, 1, &(0..random.below(90)).map(|_| random.below(256) as u8).collect::<Vec<_>>())),
        ),
        20 => {
            let early = frame(HEADERS, END_HEADERS, 1, &[vec![0x08, 3], b"103".to_vec()].concat());
            ("1xx flood", [vec![Step::Repeat(early, many)], send(whole)].concat())
        }
        21 => ("heads again and again", [send(answer()), flood(answer())].concat()),
        22 => (
            "DATA before its head",
            send([frame(DATA, 0, stream, body.get(..body.len().min(1000)).unwrap_or_default()), whole].concat()),
        ),
        23 => ("a push", send([frame(PUSH_PROMISE, END_HEADERS, 1, &[&[0, 0, 0, 2][..], &head()].concat()), whole].concat())),
        24 => ("unknown frames", [vec![Step::Repeat(frame(0xbe, 0xff, stream, b"?"), many)], send(whole)].concat()),
        25 => ("padding beyond the end", send([answer(), frame(DATA, PADDED, 1, &[255, 1, 2])].concat())),
        26 => (
            "more than the window",
            [send(answer()), vec![Step::Repeat(frame(DATA, 0, 1, &b": ping\n\n".repeat(1000)), many)]].concat(),
        ),
        _ => {
            let value = *random.pick(&[0, 1, 0x7fff_ffff, u32::MAX]);
            let id = u16::try_from(1 + random.below(8)).expect("small");
            ("odd SETTINGS", vec![Step::Send([frame(SETTINGS, 0, 0, &setting(id, value)), whole].concat()), Step::Stall])
        }
    }
}

/// What a server begins a connection with.
pub(crate) fn greeting() -> Vec<Step> {
    vec![Step::Send(frame(SETTINGS, 0, 0, b"")), Step::Read(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len())]
}

/// The answer to the first request.
pub(crate) fn answer(head: &[u8], body: &[u8]) -> Vec<u8> {
    let data = body.chunks(16 << 10).flat_map(|part| frame(DATA, 0, 1, part));
    let mut bytes = [frame(SETTINGS, 1, 0, b""), frame(HEADERS, END_HEADERS, 1, head)].concat();
    bytes.extend(data);
    bytes.extend(frame(DATA, END_STREAM, 1, b""));
    bytes
}

/// A connection: the settings, the request, and an attack.
fn connection(body: &[u8], random: &mut Random) -> (&'static str, Vec<Step>) {
    let (name, attack) = attack(body, random);
    let mut steps = greeting();
    // Some do not wait for the request.
    if !random.one_in(8) {
        steps.push(Step::ReadFrames);
    }
    steps.push(Step::Send(frame(SETTINGS, 1, 0, b"")));
    steps.extend(attack);
    (name, steps)
}

/// Some servers, each with an attack of its own on each connection.
pub(crate) fn play(random: &mut Random) -> Result<u64, String> {
    let mut agents = Vec::new();
    for _ in 0..AT_ONCE {
        let (protocol, bytes) = recordings::any(random);
        let (name, steps) = connection(bytes, random);
        let (again, more) = connection(bytes, random);
        let server = Server::start(Some(&HTTP_2), vec![steps, more]);
        let port = server.address().port();
        let options = json!({
            "network": { "proxy": null, "no_proxy": ["*"], "ca_file": HTTP_2.ca_file,
                "resolve": { "localhost": format!("127.0.0.1:{port}") } },
        });
        let agent = clients::agent(protocol, &format!("https://localhost:{port}"), options);
        agents.push((format!("{name}, then {again}, {protocol}"), agent, Some(server)));
    }
    clients::play(agents)
}
