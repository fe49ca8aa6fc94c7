//! Servers and proxies that send their clients elsewhere: in each way that HTTP has, over HTTP/1.1 and HTTP/2, plain and with
//! TLS, in refusals and in answers. Nothing reaches the second host, no key and no connection.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use serde_json::{Value, json};

use crate::check::SECRET;
use crate::clients;
use crate::http2;
use crate::random::Random;
use crate::recordings;
use crate::server::{HTTP_1, HTTP_2, Server, Step};

/// How many servers a case has, at the same time.
const AT_ONCE: usize = 12;

/// The second host: whoever connects to it was sent there.
struct Elsewhere {
    listener: TcpListener,
    address: SocketAddr,
}

impl Elsewhere {
    fn new() -> std::io::Result<Elsewhere> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Elsewhere { listener, address })
    }

    /// What came, if anything did.
    fn came(&self) -> Result<(), String> {
        let mut stream = match self.listener.accept() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.to_string()),
            Ok((stream, _)) => stream,
        };
        let mut bytes = vec![0; 4096];
        let read = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_read_timeout(Some(Duration::from_secs(1))))
            .and_then(|()| stream.read(&mut bytes));
        let text = String::from_utf8_lossy(&bytes[..read.unwrap_or(0)]).into_owned();
        Err(format!("the second host was asked, {} the key: {text}", if text.contains(SECRET) { "with" } else { "without" }))
    }
}

/// The headers that name the second host.
fn headers(at: SocketAddr, random: &mut Random) -> Vec<(&'static str, String)> {
    let port = at.port();
    let url = match random.below(9) {
        0 => format!("http://{at}/v1/chat/completions"),
        1 => format!("https://{at}/"),
        2 => format!("//{at}/v2"),
        3 => format!("http://other.test:{port}/"),
        4 => format!("https://other.test:{port}/v1?key={SECRET}"),
        5 => format!("http://{SECRET}@{at}/"),
        6 => format!("http://localhost.:{port}/"),
        7 => format!("\\\\{at}\\"),
        _ => format!("HTTP://127.1:{port}/#{SECRET}"),
    };
    let all = [
        ("location", url.clone()),
        ("content-location", url.clone()),
        ("refresh", format!("0; url={url}")),
        ("link", format!("<{url}>; rel=preconnect, <{url}>; rel=canonical")),
        ("alt-svc", format!("h2=\"{at}\"; ma=86400, http/1.1=\"other.test:{port}\"")),
        ("x-accel-redirect", url),
        ("www-authenticate", format!("Bearer realm=\"http://{at}/token\", Negotiate")),
    ];
    let mut headers: Vec<_> = all[1..].iter().filter(|_| random.one_in(3)).cloned().collect();
    headers.insert(0, all[0].clone());
    headers
}

fn status(random: &mut Random) -> u16 {
    *random.pick(&[300, 301, 301, 302, 303, 305, 306, 307, 307, 308, 308, 200, 201, 202, 304, 401, 407, 421, 429, 503])
}

/// A connection over HTTP/1.1 that answers each request so.
fn plain(status: u16, headers: &[(&str, String)], body: &[u8]) -> Vec<Step> {
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let is_answer = status == 200;
    let body = if is_answer { body } else { b"{}" };
    let kind = if is_answer { "text/event-stream" } else { "application/json" };
    let head = format!(
        "HTTP/1.1 {status} Go\r\n{lines}retry-after: 0\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let answer = [head.as_bytes(), body].concat();
    vec![Step::ReadRequest, Step::Send(answer.clone()), Step::ReadRequest, Step::Send(answer)]
}

/// The same over HTTP/2.
fn in_frames(status: u16, headers: &[(&str, String)], body: &[u8]) -> Vec<Step> {
    let mut head = http2::header(":status", &status.to_string());
    headers.iter().for_each(|(name, value)| head.extend(http2::header(name, value)));
    head.extend(http2::header("content-type", if status == 200 { "text/event-stream" } else { "application/json" }));
    let body = if status == 200 { body } else { b"{}" };
    let mut steps = http2::greeting();
    steps.push(Step::ReadFrames);
    steps.push(Step::Send(http2::answer(&head, body)));
    steps.push(Step::Stall);
    steps
}

/// Some servers, each with a second host of its own.
pub(crate) fn play(random: &mut Random) -> Result<u64, String> {
    let (mut agents, mut second) = (Vec::new(), Vec::new());
    for _ in 0..AT_ONCE {
        let (protocol, body) = recordings::any(random);
        let elsewhere = Elsewhere::new().map_err(|error| error.to_string())?;
        let (status, headers) = (status(random), headers(elsewhere.address, random));
        let how = random.below(5);
        let (tls, steps) = match how {
            0 => (Some(&*HTTP_1), plain(status, &headers, body)),
            1 => (Some(&*HTTP_2), in_frames(status, &headers, body)),
            _ => (None, plain(status, &headers, body)),
        };
        let server = Server::start(tls, vec![steps]);
        let address = server.address();
        let resolve = json!({ "localhost": address.to_string(), "other.test": elsewhere.address.to_string() });
        let mut network = json!({ "proxy": null, "no_proxy": ["*"], "resolve": resolve });
        if let Some(tls) = tls {
            network["ca_file"] = json!(tls.ca_file);
        }
        let base_url = match how {
            0 | 1 => format!("https://localhost:{}", address.port()),
            // It is asked for the model's host, plainly or for a tunnel.
            2 | 3 => {
                network["proxy"] = json!(format!("http://user:{SECRET}@{address}"));
                network["no_proxy"] = json!([]);
                format!("{}://model.test/v1", if how == 2 { "http" } else { "https" })
            }
            _ => format!("http://localhost:{}", address.port()),
        };
        let name = format!("{status} with {headers:?}, {protocol}, {base_url}");
        let options: Value = json!({ "network": network });
        second.push((name.clone(), elsewhere));
        agents.push((name, clients::agent(protocol, &base_url, options), Some(server)));
    }
    let tried = clients::play(agents)?;
    second.iter().try_for_each(|(name, elsewhere)| elsewhere.came().map_err(|why| format!("{name}: {why}")))?;
    Ok(tried)
}
