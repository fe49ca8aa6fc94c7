//! Networks as companies have them: proxies, private authorities, certificates demanded, names that DNS does not know,
//! compressed answers.

mod proxy;
mod server;

use std::path::PathBuf;
use std::process::Command;

use agent_loop::host::Spelling;
use agent_loop::{ErrorKind, Network, Runtime};
use agent_mock::{Answer, Mock, Script};

use self::proxy::Forwarder;
use self::server::{Authority, Body, Server};
use super::*;

const BODY: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"here\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn agent(url: &str, network: Value) -> Agent {
    let agent = Agent::builder("company/tiny").base_url(url).max_retries(0);
    agent.network(Network::from_json(network).unwrap()).build().unwrap()
}

async fn failure(url: &str, network: Value) -> (ErrorKind, String) {
    let error = agent(url, network).prompt("go").await.unwrap_err();
    (error.kind(), error.message().to_owned())
}

/// A folder for the files of one test.
fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[tokio::test]
async fn a_plain_request_goes_through_the_proxy_with_its_credentials() {
    let mock = Mock::start(Script::new().answer(Answer::text(BODY).header("content-type", "text/event-stream")));
    let proxy = Forwarder::start(Some("Basic dXNlcjpwQHNz")).await;
    let given = json!({ "proxy": format!("http://user:p%40ss@{}", proxy.address), "no_proxy": [] });
    let result = agent(&mock.url(), given).prompt("go").await.unwrap();
    assert_eq!(result.text, "here");
    assert_eq!(proxy.asked(), [format!("POST {}/v1/chat/completions", mock.url())]);
    assert_eq!(mock.requests().len(), 1);
}

#[tokio::test]
async fn a_secure_request_goes_through_a_tunnel_and_the_proxy_resolves_the_name() {
    let authority = Authority::new("tunnel");
    let server = Server::start(Some(authority.server("model.test")), Body::Plain(BODY)).await;
    let proxy = Forwarder::start(Some("Basic dTpw")).await;
    let given = json!({ "proxy": format!("u:p@{}", proxy.address), "ca_file": authority.file, "no_proxy": "" });
    let result = agent(&format!("https://model.test:{}", server.port), given).prompt("go").await.unwrap();
    assert_eq!(result.text, "here");
    assert_eq!(proxy.asked(), [format!("CONNECT model.test:{}", server.port)]);
}

#[tokio::test]
async fn wrong_credentials_for_the_proxy_are_reported_without_them() {
    let proxy = Forwarder::start(Some("Basic dTpw")).await;
    let runtime = Runtime::current().unwrap();
    for (url, asked) in [("http://model.test", "POST"), ("https://model.test", "CONNECT")] {
        let given = json!({ "proxy": format!("http://u:secret@{}", proxy.address), "no_proxy": [] });
        let agent = agent(url, given);
        agent.set_runtime(&runtime);
        agent.set_max_retries(3);
        let error = agent.prompt("go").await.unwrap_err();
        let text = format!(
            "cannot connect to {url}/v1/chat/completions: proxy authorization required; its proxy is http://{} (from \
             network.proxy), unless no_proxy has the host; give user:password@ in the proxy's address",
            proxy.address
        );
        assert_eq!((error.kind(), error.message()), (ErrorKind::Connection, text.as_str()));
        assert!(!error.is_retryable());
        assert!(proxy.asked().last().unwrap().starts_with(asked));
    }
    assert_eq!(proxy.asked().len(), 2, "it is not tried again");
    let debug = format!("{runtime:?}");
    assert!(debug.contains(&proxy.address.to_string()) && !debug.contains("secret"), "{debug}");
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named() {
    let (_taken, closed) = super::closed_port();
    let (kind, message) =
        failure("https://model.test", json!({ "proxy": format!("http://u:secret@{closed}"), "no_proxy": "" })).await;
    assert_eq!(kind, ErrorKind::Connection);
    assert!(message.contains(&format!("its proxy is http://{closed} (from network.proxy)")), "{message}");
    assert!(!message.contains("secret"), "{message}");
}

#[tokio::test]
async fn a_host_of_no_proxy_is_asked_directly() {
    let server = Server::start(None, Body::Plain(BODY)).await;
    let proxy = Forwarder::start(None).await;
    for no_proxy in [json!("model.test"), json!([".test"]), json!("*"), json!("other, 127.0.0.0/8")] {
        let given = json!({
            "proxy": format!("http://{}", proxy.address), "no_proxy": no_proxy,
            "resolve": { "model.test": "127.0.0.1" },
        });
        let host = if no_proxy.to_string().contains("127") { "127.0.0.1" } else { "model.test" };
        let result = agent(&format!("http://{host}:{}", server.port), given).prompt("go").await.unwrap();
        assert_eq!(result.text, "here");
    }
    assert_eq!(proxy.asked(), [""; 0]);
}

#[tokio::test]
async fn a_socks_proxy_is_asked_for_the_name() {
    let server = Server::start(None, Body::Plain(BODY)).await;
    let proxy = Forwarder::start(None).await;
    let given = json!({ "proxy": format!("socks5h://{}", proxy.address), "no_proxy": [] });
    let result = agent(&format!("http://model.test:{}", server.port), given).prompt("go").await.unwrap();
    assert_eq!(result.text, "here");
    assert_eq!(proxy.asked(), [format!("SOCKS model.test:{}", server.port)]);
}

/// Runs an ignored test with an address in a separate process, since variables belong to a whole process.
pub(super) async fn ask_in_a_child(test: &str, url: &str, variables: &[(&str, &str)]) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    for kind in ["http", "https", "all", "no"] {
        child.env_remove(format!("{kind}_proxy")).env_remove(format!("{}_PROXY", kind.to_ascii_uppercase()));
    }
    child.args(["--exact", test, "--ignored"]).env("AGENT_LOOP_ASK", url).envs(variables.iter().copied());
    let output = tokio::task::spawn_blocking(move || child.output().unwrap()).await.unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
}

#[tokio::test]
#[ignore = "part of the_environment_s_proxy_is_used_unless_it_excepts_the_host"]
async fn what_a_child_asks() {
    let result = agent(&std::env::var("AGENT_LOOP_ASK").unwrap(), Value::Null).prompt("go").await.unwrap();
    assert_eq!(result.text, "here");
}

#[tokio::test]
async fn the_environment_s_proxy_is_used_unless_it_excepts_the_host() {
    let server = Server::start(None, Body::Plain(BODY)).await;
    let proxy = Forwarder::start(Some("Basic dTpw")).await;
    let (url, address) = (format!("http://127.0.0.1:{}", server.port), format!("http://u:p@{}", proxy.address));
    ask_in_a_child("network::what_a_child_asks", &url, &[("HTTP_PROXY", &address), ("NO_PROXY", "127.0.0.1")]).await;
    ask_in_a_child("network::what_a_child_asks", &url, &[("HTTPS_PROXY", &address)]).await;
    assert_eq!(proxy.asked(), [""; 0]);
    ask_in_a_child("network::what_a_child_asks", &url, &[("http_proxy", &address)]).await;
    ask_in_a_child("network::what_a_child_asks", &url, &[("ALL_PROXY", &address), ("NO_PROXY", "localhost")]).await;
    assert_eq!(proxy.asked().len(), 2);
}

#[tokio::test]
#[ignore = "part of a_system_without_authorities_gets_the_bundled_ones"]
async fn what_a_child_without_authorities_asks() {
    let (kind, message) = failure(&std::env::var("AGENT_LOOP_ASK").unwrap(), Value::Null).await;
    assert_eq!(kind, ErrorKind::Tls);
    // The connection was tried and the server not trusted; without any authorities it would not even be tried.
    assert!(message.starts_with("no secure connection to https://127.0.0.1:"), "{message}");
}

#[tokio::test]
async fn a_system_without_authorities_gets_the_bundled_ones() {
    let server = Server::start(Some(Authority::new("bare").server("model.test")), Body::Plain(BODY)).await;
    let nothing = [("SSL_CERT_FILE", "/nowhere"), ("SSL_CERT_DIR", "/nowhere")];
    ask_in_a_child("network::what_a_child_without_authorities_asks", &format!("https://127.0.0.1:{}", server.port), &nothing)
        .await;
}

#[tokio::test]
async fn an_authority_of_one_s_own_is_trusted_beside_each_of_the_roots() {
    let authority = Authority::new("roots");
    let server = Server::start(Some(authority.server("model.test")), Body::Plain(BODY)).await;
    let address = format!("127.0.0.1:{}", server.port);
    for roots in ["system", "bundled", "both"] {
        let given = json!({ "ca_file": authority.file, "roots": roots, "resolve": { "Model.test": address } });
        let result = agent("https://model.test", given).prompt("go").await.unwrap();
        assert_eq!(result.text, "here", "{roots}");
    }
    let other = Authority::new("other");
    for given in [
        json!({ "resolve": { "model.test": address } }),
        json!({ "resolve": { "model.test": address }, "roots": "bundled" }),
        json!({ "resolve": { "model.test": address }, "ca_file": other.file }),
    ] {
        let (kind, message) = failure("https://model.test", given).await;
        assert_eq!(kind, ErrorKind::Tls, "{message}");
        assert!(message.starts_with("no secure connection to https://model.test/v1/chat/completions: "), "{message}");
    }
    let elsewhere = json!({ "ca_file": authority.file, "resolve": { "other.test": address } });
    assert_eq!(failure("https://other.test", elsewhere).await.0, ErrorKind::Tls, "the certificate is for another name");
}

#[tokio::test]
async fn a_server_that_demands_a_certificate_gets_it() {
    let authority = Authority::new("client");
    let server = Server::start(Some(authority.demanding_server("model.test")), Body::Plain(BODY)).await;
    let url = format!("https://model.test:{}", server.port);
    let given = |own: Value| {
        let mut network = json!({ "ca_file": authority.file, "resolve": { "model.test": "127.0.0.1" } });
        network.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        network
    };
    let client = authority.client("client");
    for own in [
        json!({ "client_certificate": client.certificate, "client_key": client.key }),
        json!({ "client_certificate": client.both }),
    ] {
        assert_eq!(agent(&url, given(own)).prompt("go").await.unwrap().text, "here");
    }
    assert_eq!(failure(&url, given(json!({}))).await.0, ErrorKind::Tls);
    let foreign = Authority::new("foreign").client("foreign");
    let (kind, message) = failure(&url, given(json!({ "client_certificate": foreign.both }))).await;
    assert_eq!(kind, ErrorKind::Tls, "{message}");
    let (kind, message) =
        failure(&url, given(json!({ "client_certificate": client.certificate, "client_key": foreign.key }))).await;
    assert_eq!(kind, ErrorKind::Tls);
    assert!(message.starts_with("network: client_certificate ") && message.contains("cannot be used"), "{message}");
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named() {
    let folder = folder("files");
    let (missing, empty, broken) = (folder.join("missing.pem"), folder.join("empty.pem"), folder.join("broken.pem"));
    std::fs::write(&empty, "nothing").unwrap();
    std::fs::write(&broken, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    let (joined, truncated) = (folder.join("joined.pem"), folder.join("truncated.pem"));
    std::fs::write(&joined, "-----BEGIN PRIVATE KEY secret").unwrap();
    std::fs::write(&truncated, "-----BEGIN CERTIFICATE-----\nAAAA\n").unwrap();
    let client = Authority::new("files").client("files");
    for (given, kind, text) in [
        (json!({ "ca_file": missing }), ErrorKind::Io, format!("network: ca_file {missing:?}: cannot be read: ")),
        (json!({ "ca_file": empty }), ErrorKind::Tls, format!("network: ca_file {empty:?} has no certificate; ")),
        (
            json!({ "ca_file": broken }),
            ErrorKind::Tls,
            format!("network: ca_file {broken:?} has a certificate that cannot be used: "),
        ),
        (
            json!({ "ca_file": broken, "roots": "bundled" }),
            ErrorKind::Tls,
            format!("network: ca_file {broken:?} has a certificate that cannot be used: "),
        ),
        (
            json!({ "ca_file": truncated }),
            ErrorKind::Tls,
            format!("network: ca_file {truncated:?} is not a PEM file: an -----END line is missing"),
        ),
        (
            json!({ "client_certificate": client.certificate, "client_key": joined }),
            ErrorKind::Tls,
            format!("network: client_key {joined:?} is not a PEM file: a -----BEGIN line is broken"),
        ),
        (
            json!({ "client_certificate": client.certificate }),
            ErrorKind::Tls,
            format!("network: client_certificate {:?} has no private key; ", client.certificate),
        ),
        (
            json!({ "client_certificate": client.certificate, "client_key": missing }),
            ErrorKind::Io,
            format!("network: client_key {missing:?}: cannot be read: "),
        ),
    ] {
        let (found, message) = failure("https://127.0.0.1:1", given).await;
        assert!(message.starts_with(&text), "{message}");
        assert_eq!(found, kind);
    }
}

#[tokio::test]
async fn the_option_is_set_by_name_in_the_host_s_spelling() {
    let server = Server::start(None, Body::Plain(BODY)).await;
    let agent = Agent::builder("company/tiny").base_url("http://model.test").max_retries(0).build().unwrap();
    let set = |network: Value| {
        let options = json!({ "network": network });
        agent.set_options(options.as_object().unwrap(), Spelling::Camel, &[])
    };
    set(json!({ "noProxy": "*", "resolve": { "model.test": format!("127.0.0.1:{}", server.port) } })).unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().text, "here");
    let error = set(json!({ "caFiles": "x" })).unwrap_err();
    assert_eq!(error.message(), "unknown network field \"caFiles\"; did you mean \"caFile\"?");
    set(Value::Null).unwrap();
    assert_eq!(agent.prompt("go").await.unwrap_err().kind(), ErrorKind::Connection, "the default asks DNS");
}

#[tokio::test]
async fn a_compressed_stream_is_read_frame_by_frame() {
    for coding in ["gzip", "deflate"] {
        let (frames, gate) = Body::gated(coding);
        let server = Server::start(None, frames).await;
        let mut run = agent(&format!("http://127.0.0.1:{}", server.port), Value::Null).stream("go").unwrap();
        let mut deltas = Vec::new();
        while let Some(event) = run.next().await {
            if let EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) = &event.data {
                deltas.push(delta.to_string());
                // The server sends the next frame only now: one that is held back would never come out.
                gate.add_permits(1);
            }
        }
        assert_eq!(deltas, ["one", "two", "three"], "{coding}");
        assert!(server.asked()[0].contains("accept-encoding: identity\r\n"), "compression is not asked for");
    }
}

#[tokio::test]
async fn a_coding_that_is_not_known_is_an_error_that_names_it() {
    let mock = Mock::start(Script::new().answer(Answer::text("\u{1}\u{2}").header("content-encoding", "br")));
    let (kind, message) = failure(&mock.url(), Value::Null).await;
    assert_eq!(kind, ErrorKind::Protocol);
    assert!(message.starts_with("127.0.0.1 compressed its answer (\"br\")"), "{message}");
}

#[tokio::test]
async fn found_a5_an_answer_that_unpacks_to_far_more_is_cut_off() {
    let server = Server::start(None, Body::Bomb(64)).await;
    let (kind, message) = failure(&format!("http://127.0.0.1:{}", server.port), Value::Null).await;
    assert_eq!(kind, ErrorKind::Limit);
    let text = "127.0.0.1 compressed its answer more than 100 times, which it was not asked for; it was cut off";
    assert_eq!(message, text);
}

#[tokio::test]
async fn a_compressed_error_keeps_its_text() {
    let server = Server::start(None, Body::refusal("{\"error\":{\"message\":\"no such model\"}}")).await;
    let (kind, message) = failure(&format!("http://127.0.0.1:{}", server.port), Value::Null).await;
    let text = format!("company at 127.0.0.1:{} answered 404: no such model", server.port);
    assert_eq!((kind, message), (ErrorKind::NotFound, text));
}

#[tokio::test]
async fn https_to_a_server_that_speaks_http_asks_whether_it_does() {
    let mock = Mock::start(Script::new());
    let (kind, message) = failure(&mock.url().replace("http:", "https:"), json!({ "proxy": false })).await;
    assert_eq!(kind, ErrorKind::Tls);
    assert!(message.ends_with("; does the server speak plain http?"), "{message}");
}

#[tokio::test]
async fn a_secure_answer_that_is_cut_is_reported_without_a_library_s_page() {
    let authority = Authority::new("cut");
    let began = "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n";
    let server = Server::start(Some(authority.server("model.test")), Body::Cut(began)).await;
    let given = json!({ "ca_file": authority.file, "resolve": { "model.test": "127.0.0.1" }, "proxy": false });
    let (kind, message) = failure(&format!("https://model.test:{}", server.port), given).await;
    let text = "the connection to model.test broke in the middle of the answer: it was closed without the message with which TLS \
                ends (close_notify)";
    assert_eq!((kind, message.as_str()), (ErrorKind::StreamTruncated, text));
}

#[tokio::test]
async fn the_error_of_an_unknown_host_asks_about_its_name() {
    let (kind, message) = failure("http://model.invalid", json!({ "proxy": false })).await;
    assert_eq!(kind, ErrorKind::Connection);
    assert!(message.starts_with("cannot connect to http://model.invalid/v1/chat/completions: "), "{message}");
    assert!(message.ends_with("; is the host's name right, or is it only reached through a proxy (network.proxy)?"), "{message}");
}
