//! Hostile servers over HTTP/1.1, plain and with TLS: connections that end at any byte, heads and bodies that lie or do not end,
//! answers before the request was read, redirects, compression, floods.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::check::SECRET;
use crate::clients;
use crate::random::Random;
use crate::recordings;
use crate::server::{HTTP_1, OTHER, Server, Step};

/// How many servers a case has, at the same time.
const AT_ONCE: usize = 16;

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// A body in chunks of random lengths.
fn chunked(body: &[u8], random: &mut Random) -> Vec<u8> {
    let (mut left, mut out) = (body, Vec::new());
    while !left.is_empty() {
        let (chunk, rest) = left.split_at(left.len().min(1 + random.place(900)));
        left = rest;
        out.extend(format!("{:x}{}\r\n", chunk.len(), if random.one_in(9) { ";ext=1" } else { "" }).bytes());
        out.extend(chunk);
        out.extend(b"\r\n");
    }
    out.extend(b"0\r\n\r\n");
    out
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// What a connection gets, by a name for failures.
pub(crate) fn attack(body: &[u8], random: &mut Random) -> (&'static str, Vec<Step>) {
    let read = Step::ReadRequest;
    let head = |more: &str| bytes(&format!("{STREAM}{more}\r\n"));
    let close = || head("connection: close\r\n");
    let whole = [head("transfer-encoding: chunked\r\n"), chunked(body, random)].concat();
    let cut = whole[..random.place(whole.len() + 1)].to_vec();
    let line = bytes("x-a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n");
    let many = 1 << (8 + random.below(10));
    match random.below(34) {
        0 | 1 => ("reset at a byte", vec![read, Step::Send(cut), Step::Reset]),
        2 | 3 => ("closed at a byte", vec![read, Step::Send(cut)]),
        4 => ("silent at a byte", vec![read, Step::Send(cut), Step::Stall]),
        5 => ("byte by byte", vec![read, Step::Slowly(whole)]),
        6 => ("half closed", vec![read, Step::Send(cut), Step::HalfClose]),
        7 => {
            let length =
                random.pick(&["0", "1", "99999999", "-1", "18446744073709551616", "x", "5, 5", "5\r\ncontent-length: 6"]);
            ("content-length", vec![read, Step::Send([head(&format!("content-length: {length}\r\n")), body.to_vec()].concat())])
        }
        8 => {
            let size = random.pick(&["ffffffffffffffff", "fffffffffffffffff", "-1", "g", "", "0x5", "7fffffffffffffff", "5 5"]);
            (
                "chunk length",
                vec![read, Step::Send(head("transfer-encoding: chunked\r\n")), Step::Send(bytes(&format!("{size}\r\nabc")))],
            )
        }
        9 => ("endless headers", vec![read, Step::Send(bytes("HTTP/1.1 200 OK\r\n")), Step::Repeat(line, many)]),
        10 => {
            ("one endless header", vec![read, Step::Send(bytes("HTTP/1.1 200 OK\r\nx: ")), Step::Repeat(bytes("a"), many << 4)])
        }
        11 => ("endless status line", vec![read, Step::Send(bytes("HTTP/1.1 200 ")), Step::Repeat(bytes("a"), many << 4)]),
        12 => (
            "1xx flood",
            vec![read, Step::Repeat(bytes("HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n"), many), Step::Send(whole)],
        ),
        13 => ("100 flood", vec![read, Step::Repeat(bytes("HTTP/1.1 100 Continue\r\n\r\n"), many), Step::Stall]),
        14 => ("switching protocols", vec![read, Step::Send(bytes("HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n")), Step::Stall]),
        15 => ("an endless line", vec![read, Step::Send(close()), Step::Repeat(bytes("data: a"), many << 5)]),
        16 => ("endless comments", vec![read, Step::Send(close()), Step::Repeat(bytes(": ping\n\n"), many << 4), Step::Stall]),
        17 => ("endless short lines", vec![read, Step::Send(close()), Step::Repeat(bytes("data: a\n"), many << 4)]),
        18 => ("endless frames", vec![read, Step::Send(close()), Step::Repeat(bytes("data: {}\n\n"), many << 3), Step::Stall]),
        19 => ("a stream again and again", vec![read, Step::Send(close()), Step::Repeat(body.to_vec(), many >> 6), Step::Stall]),
        20 => {
            let zeros = gzip(&vec![b'\n'; 1 << (16 + random.below(9))]);
            ("a bomb", vec![read, Step::Send([head("content-encoding: gzip\r\nconnection: close\r\n"), zeros].concat())])
        }
        21 => {
            let mut packed = gzip(body);
            let at = random.place(packed.len());
            packed[at] ^= 1 << random.below(8);
            ("broken gzip", vec![read, Step::Send([head("content-encoding: gzip\r\nconnection: close\r\n"), packed].concat())])
        }
        22 => {
            let coding = random.pick(&["br", "zstd", "gzip, gzip", "deflate", "GZIP", "", "☃", "identity"]);
            (
                "a coding",
                vec![
                    read,
                    Step::Send([head(&format!("content-encoding: {coding}\r\nconnection: close\r\n")), body.to_vec()].concat()),
                ],
            )
        }
        23 => {
            let status = random.pick(&[301, 302, 303, 307, 308, 300, 304]);
            let to = random.pick(&["/", "http://127.0.0.1:9/", "http://other.test/", "//other.test/x", "", "data:,x", "\u{7f}"]);
            (
                "a redirect",
                vec![read, Step::Send(bytes(&format!("HTTP/1.1 {status} Go\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")))],
            )
        }
        24 => {
            let status = random
                .pick(&[400, 401, 402, 403, 404, 407, 408, 409, 413, 422, 429, 451, 500, 502, 503, 504, 524, 529, 599, 999]);
            let echo = json!({ "error": { "message": format!("bad key {SECRET}"), "type": SECRET, "code": random.json(2) } });
            let after = random.pick(&["0", "-1", "1e9", "x", "99999999999999999999", "Wed, 21 Oct 2099 07:28:00 GMT"]);
            let head = format!(
                "HTTP/1.1 {status} {SECRET}\r\nretry-after: {after}\r\nx-request-id: {SECRET}\r\nconnection: close\r\n\r\n"
            );
            ("a refusal that echoes", vec![read, Step::Send(bytes(&(head + &echo.to_string())))])
        }
        25 => {
            let head = "HTTP/1.1 500 Down\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n";
            ("an endless refusal", vec![read, Step::Send(bytes(head)), Step::Repeat(bytes("<p>down "), many << 4), Step::Stall])
        }
        26 => ("an answer before the request", vec![Step::Send(whole)]),
        27 => ("reset before the request", vec![Step::Reset]),
        28 => ("reset in the request", vec![Step::Read(random.place(200)), Step::Reset]),
        29 => ("the request is not read", vec![Step::Stall]),
        30 => {
            let garbage = (0..random.below(500)).map(|_| random.below(256) as u8).collect();
            ("garbage", vec![read, Step::Send(garbage)])
        }
        31 => {
            let head = random.pick(&[
                "HTTP/1.0 200 OK\r\n\r\n",
                "HTTP/2.0 200 OK\r\n\r\n",
                "HTTP/1.1 200\r\n\r\n",
                "200 OK\r\n\r\n",
                "\r\n\r\n",
                "HTTP/1.1 200 OK\n\n",
                "HTTP/1.1 204 None\r\n\r\n",
                "HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
                "HTTP/1.1 200 OK\r\na b: c\r\n\r\n",
            ]);
            ("a head", vec![read, Step::Send([bytes(head), body.to_vec()].concat())])
        }
        32 => ("two answers", vec![read, Step::Send(whole.clone()), Step::Send(whole)]),
        _ => {
            let trailer = [head("transfer-encoding: chunked\r\ntrailer: x\r\n"), b"5\r\ndata:\r\n0\r\n".to_vec()].concat();
            ("endless trailers", vec![read, Step::Send(trailer), Step::Repeat(line, many)])
        }
    }
}

/// Some servers, each with an attack of its own on each connection.
pub(crate) fn play(random: &mut Random) -> Result<u64, String> {
    let mut agents = Vec::new();
    for _ in 0..AT_ONCE {
        let (protocol, bytes) = recordings::any(random);
        let body = if random.one_in(2) { bytes.to_vec() } else { recordings::mutated(bytes, random) };
        let (name, steps) = attack(&body, random);
        let (again, more) = attack(&body, random);
        let tls = match random.below(8) {
            0 => Some(&*HTTP_1),
            1 => Some(&*OTHER),
            _ => None,
        };
        let server = Server::start(tls, vec![steps, more]);
        let port = server.address().port();
        // Some speak plain HTTP where TLS is expected, and the other way round.
        let scheme = if tls.is_some() != random.one_in(20) { "https" } else { "http" };
        let ca_file = tls.map(|tls| json!(tls.ca_file)).unwrap_or_default();
        let options = json!({
            "network": { "proxy": null, "no_proxy": ["*"], "ca_file": ca_file,
                "resolve": { "localhost": format!("127.0.0.1:{port}") } },
            "raw_events": random.one_in(4),
        });
        let agent = clients::agent(protocol, &format!("{scheme}://localhost:{port}"), options);
        agents.push((format!("{name}, then {again}, {protocol}, {scheme}"), agent, Some(server)));
    }
    clients::play(agents)
}
