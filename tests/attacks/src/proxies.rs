//! Hostile proxies: for plain requests, tunnels and SOCKS. The proxy's password is the secret.

use serde_json::json;

use crate::check::SECRET;
use crate::clients;
use crate::http1;
use crate::random::Random;
use crate::recordings;
use crate::server::{Server, Step};

/// How many proxies a case has, at the same time.
const AT_ONCE: usize = 12;

/// The answer to `CONNECT`, and what comes through the tunnel.
fn tunnel(random: &mut Random) -> (&'static str, Vec<Step>) {
    let open = b"HTTP/1.1 200 Go ahead\r\n\r\n".to_vec();
    let garbage: Vec<u8> = (0..random.below(300)).map(|_| random.below(256) as u8).collect();
    let read = Step::ReadRequest;
    match random.below(10) {
        0 => ("closed", vec![read]),
        1 => ("reset", vec![read, Step::Reset]),
        2 => ("silent", vec![read, Step::Stall]),
        3 => {
            let status = random.pick(&[101, 204, 302, 400, 401, 403, 407, 407, 500, 502, 503, 504, 999]);
            let said = format!(
                "HTTP/1.1 {status} {SECRET}\r\nproxy-authenticate: Basic realm=\"{SECRET}\"\r\ncontent-length: 5\r\n\r\n{}",
                &SECRET[..5]
            );
            ("a refusal", vec![read, Step::Send(said.into_bytes())])
        }
        4 => ("open and closed", vec![read, Step::Send(open)]),
        5 => ("open and reset", vec![read, Step::Send(open), Step::Reset]),
        6 => ("open and silent", vec![read, Step::Send(open), Step::Stall]),
        7 => ("no TLS in the tunnel", vec![read, Step::Send([open, garbage].concat()), Step::Stall]),
        8 => (
            "endless headers",
            vec![read, Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec()), Step::Repeat(b"x-a: b\r\n".to_vec(), 1 << 16)],
        ),
        _ => ("byte by byte", vec![read, Step::Slowly(open), Step::Reset]),
    }
}

/// The answers of a SOCKS proxy.
fn socks(random: &mut Random) -> (&'static str, Vec<Step>) {
    let code = random.below(12) as u8;
    let reply = |code: u8| vec![5, code, 0, 1, 0, 0, 0, 0, 0, 0];
    let cut = random.place(10);
    let hello = || vec![Step::Read(3), Step::Send(vec![5, 0])];
    match random.below(8) {
        0 => ("another version", vec![Step::Read(2), Step::Send(vec![4, 90, 0, 0])]),
        1 => ("no method", vec![Step::Read(2), Step::Send(vec![5, 0xff])]),
        2 => ("a password is refused", vec![Step::Read(2), Step::Send(vec![5, 2, 1, 1])]),
        3 => ("HTTP", vec![Step::Read(2), Step::Send(b"HTTP/1.1 400 Bad\r\n\r\n".to_vec())]),
        4 => ("a code", [hello(), vec![Step::Send(reply(code)), Step::Stall]].concat()),
        5 => ("cut", [hello(), vec![Step::Send(reply(0)[..cut].to_vec())]].concat()),
        6 => ("silent", [hello(), vec![Step::Stall]].concat()),
        _ => ("an endless name", [hello(), vec![Step::Send(vec![5, 0, 0, 3, 255]), Step::Repeat(vec![b'a'], 1 << 16)]].concat()),
    }
}

/// Some proxies, each with an attack of its own on each connection.
pub(crate) fn play(random: &mut Random) -> Result<u64, String> {
    let mut agents = Vec::new();
    for _ in 0..AT_ONCE {
        let (protocol, bytes) = recordings::any(random);
        let kind = random.below(3);
        let mut attack = || match kind {
            0 => http1::attack(bytes, random),
            1 => tunnel(random),
            _ => socks(random),
        };
        let ((name, steps), (again, more)) = (attack(), attack());
        let server = Server::start(None, vec![steps, more]);
        let scheme = if kind == 2 { "socks5h" } else { "http" };
        let user = if kind == 2 && random.one_in(2) { String::new() } else { format!("user:{SECRET}@") };
        let proxy = format!("{scheme}://{user}{}", server.address());
        let target = if kind == 0 { "http://model.test/v1" } else { "https://model.test/v1" };
        let options = json!({ "network": { "proxy": proxy, "no_proxy": [] } });
        agents.push((
            format!("{name}, then {again}, {protocol}, {scheme}"),
            clients::agent(protocol, target, options),
            Some(server),
        ));
    }
    clients::play(agents)
}
