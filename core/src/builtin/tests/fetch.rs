//! `fetch_url`: what it gives, and which addresses it does not ask.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::{model, results};
use crate::builtin::BuiltinTools;
use crate::network::{Network, Proxy};
use crate::{Agent, Message, Outcome};

/// A server that answers each path with bytes, and counts the requests.
fn server(answers: Vec<(&'static str, Vec<u8>)>) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (port, count) = (listener.local_addr().expect("a port").port(), Arc::<AtomicUsize>::default());
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::Relaxed);
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                request.push(byte[0]);
            }
            let request = String::from_utf8_lossy(&request);
            let path = request.split(' ').nth(1).unwrap_or_default();
            let answer = answers.iter().find(|(known, _)| *known == path);
            let none = b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 4\r\n\r\nnone".to_vec();
            let _ = stream.write_all(answer.map_or(&none, |(_, answer)| answer));
        }
    });
    (port, count)
}

fn answer(kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn redirect(to: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").into_bytes()
}

fn tools(options: Value) -> BuiltinTools {
    let mut all = json!({ "tools": ["fetch_url"] });
    all.as_object_mut().expect("an object").extend(options.as_object().expect("an object").clone());
    BuiltinTools::from_json(&all).expect("tools")
}

async fn fetch(tools: &BuiltinTools, arguments: Value) -> (String, bool) {
    results(tools.clone(), &[("fetch_url", arguments)]).await.remove(0)
}

#[tokio::test]
async fn texts_pages_and_failures_are_given() {
    let long = "é".repeat(40_000);
    let (port, _) = server(vec![
        ("/text", answer("text/plain; charset=utf-8", "grüße".as_bytes())),
        ("/latin", answer("text/plain; charset=ISO-8859-1", b"gr\xfc\xdfe")),
        ("/page", answer("text/html", b"<h1>Hi</h1><a href=/text>t</a>")),
        ("/json", answer("application/problem+json", b"{\"a\":1}")),
        ("/pdf", answer("application/pdf", b"%PDF")),
        ("/long", answer("text/plain", long.as_bytes())),
        ("/to", redirect("/to2")),
        ("/to2", redirect("page")),
        ("/loop", redirect("/loop")),
        ("/file", redirect("file:///etc/passwd")),
        ("/big", answer("text/plain", &vec![b'x'; 6 << 20])),
    ]);
    let tools = tools(json!({ "private_addresses": true }));
    let get = async |path: &str| fetch(&tools, json!({ "url": format!("http://127.0.0.1:{port}{path}") })).await;
    let at = |path: &str| format!("http://127.0.0.1:{port}{path}");
    assert_eq!(get("/text").await, (format!("{} (text/plain)\n\ngrüße", at("/text")), false));
    assert_eq!(get("/latin").await.0, format!("{} (text/plain)\n\ngrüße", at("/latin")));
    let page = format!("{} (text/html)\n\n# Hi\n\n[t]({})", at("/page"), at("/text"));
    assert_eq!(get("/page").await.0, page);
    assert_eq!(get("/to").await.0, page, "after two redirects");
    assert_eq!(get("/json").await.0, format!("{} (application/problem+json)\n\n{{\"a\":1}}", at("/json")));
    let pdf = format!("what is at {} is application/pdf, and neither text nor an image that models take", at("/pdf"));
    assert_eq!(get("/pdf").await, (pdf, true));
    assert_eq!(get("/none").await, (format!("{} answered with status 404:\nnone", at("/none")), true));
    assert_eq!(get("/loop").await, (format!("more than 5 redirects, the last one to {}", at("/loop")), true));
    assert_eq!(get("/file").await, ("url: only http and https are fetched, not file".to_owned(), true));
    let first = get("/long").await.0;
    assert!(first.contains(", bytes 0 to 30000 of 80000; read on with offset: 30000\n\né"), "{}", &first[..100]);
    let rest = fetch(&tools, json!({ "url": at("/long"), "offset": 79_997, "max_bytes": 100 })).await.0;
    assert!(rest.ends_with(", bytes 79998 to 80000 of 80000\n\né"), "{rest}");
    let behind = fetch(&tools, json!({ "url": at("/long"), "offset": 80_000 })).await;
    assert_eq!(behind, ("offset: the text has 80000 bytes".to_owned(), true));
    assert!(get("/big").await.0.contains("of 5242880; read on with offset: 30000; the rest behind the first 5242880 bytes"));
}

#[tokio::test]
async fn a_proxy_may_be_in_a_private_network() {
    let (port, count) = server(vec![("http://example.com/x", answer("text/plain", b"public"))]);
    let ask = async |url: &str| {
        let network = Network { proxy: Proxy::Address(format!("http://localhost:{port}")), ..Network::default() };
        let calls = [("fetch_url", json!({ "url": url }))];
        let agent = Agent::builder(model(&calls).as_str()).builtin_tools(tools(json!({}))).network(network);
        let agent = agent.build().expect("an agent");
        super::play(&agent).await;
        super::results_of(&agent).remove(0)
    };
    assert_eq!(ask("http://example.com/x").await, ("http://example.com/x (text/plain)\n\npublic".to_owned(), false));
    let (text, is_error) = ask(&format!("http://localhost:{port}/x")).await;
    assert!(is_error && text.starts_with("localhost is an address of this machine"), "{text}");
    assert_eq!(count.load(Ordering::Relaxed), 1, "the proxy was asked for itself");
}

#[tokio::test]
async fn an_image_is_an_image() {
    let (port, _) = server(vec![("/cat", answer("image/png", b"\x89PNG\0"))]);
    let calls = [("fetch_url", json!({ "url": format!("http://127.0.0.1:{port}/cat") }))];
    let agent = Agent::builder(model(&calls).as_str()).builtin_tools(tools(json!({ "private_addresses": true })));
    let agent = agent.build().expect("an agent");
    let result = agent.prompt("Go.").await.expect("a run");
    assert_eq!((result.outcome, result.pending.len()), (Outcome::Suspended, 1), "it waits for approval");
    let approve = (result.pending[0].tool_call_id.to_string(), crate::suspension::Decision::Approve);
    agent.resume().decisions([approve]).await.expect("a run");
    let messages = agent.messages();
    let result = messages.iter().find(|message| matches!(&***message, Message::ToolResult(_))).expect("a result");
    let result = serde_json::to_value(&**result).expect("JSON");
    assert_eq!(result["content"], json!([{ "type": "image", "data": "iVBORwA=", "mime_type": "image/png" }]));
    assert_eq!(result["details"]["bytes"], 5);
}

#[tokio::test]
async fn private_addresses_are_not_asked() {
    let (port, count) = server(vec![("/x", answer("text/plain", b"secret"))]);
    let private = tools(json!({}));
    for url in [
        format!("http://127.0.0.1:{port}/x"),
        format!("http://2130706433:{port}/x"),
        format!("http://0x7f.1:{port}/x"),
        format!("http://127.1:{port}/x"),
        format!("http://0:{port}/x"),
        format!("http://[::1]:{port}/x"),
        format!("http://[::ffff:127.0.0.1]:{port}/x"),
        format!("http://localhost:{port}/x"),
        format!("http://LOCALHOST.:{port}/x"),
        format!("http://a.localhost:{port}/x"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://metadata.google.internal/".to_owned(),
        "http://10.0.0.1/".to_owned(),
        "http://[fd00:ec2::254]/".to_owned(),
    ] {
        let (text, is_error) = fetch(&private, json!({ "url": url })).await;
        assert!(is_error && text.contains("of this machine or of a private network"), "{url}\n{text}");
        assert!(text.contains("private_addresses of the option builtin_tools"), "{text}");
    }
    for (url, why) in [
        ("ftp://example.com/", "url: only http and https are fetched, not ftp"),
        ("http://user:pass@example.com/", "url: give an address without a user and a password"),
        ("example.com", "url: \"example.com\" is no address: relative URL without a base"),
    ] {
        assert_eq!(fetch(&private, json!({ "url": url })).await, (why.to_owned(), true));
    }
    assert_eq!(count.load(Ordering::Relaxed), 0, "the server was asked");
}

#[tokio::test]
async fn a_name_or_a_redirect_that_leads_to_a_private_address_is_not_followed() {
    let (port, count) = server(vec![("/x", redirect("http://127.0.0.1:1/"))]);
    // The option `network` has the name of a public host lead to this machine: once by the option, once as the system resolves.
    let ask = async |resolve: &[(&str, &str)], url: String| {
        let mut network = Network { proxy: Proxy::Direct, ..Network::default() };
        for (name, address) in resolve {
            network.resolve.insert((*name).to_owned(), address.parse().expect("an address"));
        }
        let calls = [("fetch_url", json!({ "url": url }))];
        let agent = Agent::builder(model(&calls).as_str()).builtin_tools(tools(json!({}))).network(network);
        let agent = agent.build().expect("an agent");
        let pending = agent.prompt("Go.").await.expect("a run").pending;
        let approve = (pending[0].tool_call_id.to_string(), crate::suspension::Decision::Approve);
        agent.resume().decisions([approve]).await.expect("a run");
        let messages = agent.messages();
        messages.iter().find(|message| matches!(&***message, Message::ToolResult(_))).expect("a result").text()
    };
    let text = ask(&[("example.com", "127.0.0.1:0")], format!("http://example.com:{port}/x")).await;
    assert!(text.starts_with("example.com is an address of this machine or of a private network (127.0.0.1)"), "{text}");
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let host = host.trim();
    if host.is_empty() || std::net::ToSocketAddrs::to_socket_addrs(&(host, 80)).is_err() {
        println!("skipped in part: the name of this machine does not lead to it");
    } else {
        let text = ask(&[], format!("http://{host}:{port}/x")).await;
        assert!(text.contains("of this machine or of a private network ("), "{text}");
    }
    assert_eq!(count.load(Ordering::Relaxed), 0, "the server was asked");
    // What answers at one host may lead to another: that is another call, which the gate decides about.
    let tools = tools(json!({ "private_addresses": true }));
    let (text, is_error) = fetch(&tools, json!({ "url": format!("http://127.0.0.1:{port}/x") })).await;
    assert!(is_error && text.contains("/x leads to another host: http://127.0.0.1:1/"), "{text}");
}
