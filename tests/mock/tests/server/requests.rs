//! The log of requests, in process and over HTTP.

use agent_mock::{Answer, Mock, Script, When};
use serde_json::{Value, json};

use crate::client::{connect, get, receive, request, send};

#[test]
fn every_request_is_written_down() {
    let mock = Mock::start(Script::new().answer(Answer::text("ok")));
    let mut stream = connect(&mock.url());
    let headers = "Authorization: Bearer key\r\nx-many: a\r\nX-Many: b\r\nconnection: close\r\n";
    send(&mut stream, "POST", "/v1/messages?beta=true", headers, r#"{"model":"tiny","b":1,"a":2}"#);
    receive(&mut stream);
    request(&mock.url(), "PUT", "/other", "not JSON");

    let requests = mock.requests();
    assert_eq!(requests.len(), 2);
    let first = &requests[0];
    assert_eq!((first.method.as_str(), first.path.as_str()), ("POST", "/v1/messages?beta=true"));
    assert_eq!(first.headers["authorization"], "Bearer key");
    assert_eq!(first.headers["x-many"], "a, b");
    assert_eq!(first.body.to_string(), r#"{"model":"tiny","b":1,"a":2}"#, "in the order sent");
    assert_eq!(first.answer, Some(0));
    assert_eq!((requests[1].method.as_str(), &requests[1].body), ("PUT", &json!("not JSON")));
    assert_eq!(requests[1].answer, None, "nothing was left for it");
}

#[test]
fn the_log_is_served_and_forgotten_over_http() {
    let mock = Mock::start(Script::new().answer(Answer::text("ok").when(When::new())));
    get(&mock.url(), "/one");
    let log = get(&mock.url(), "/__requests");
    assert!(log.has_header("content-type: application/json"), "{}", log.head);
    assert_eq!(log.json()[0]["path"], "/one");
    assert_eq!(log.json()[0]["headers"]["host"], "mock");
    assert_eq!(log.json()[0]["body"], Value::Null);
    assert_eq!(log.json()[0]["answer"], 0);
    assert_eq!(log.json().as_array().map(Vec::len), Some(1), "reading the log is not logged");

    assert_eq!(request(&mock.url(), "DELETE", "/__requests", "").json(), json!([]));
    assert!(mock.requests().is_empty());
    assert_eq!(request(&mock.url(), "POST", "/__requests", "").status, 405);

    get(&mock.url(), "/two");
    mock.forget_requests();
    assert_eq!(get(&mock.url(), "/__requests").json(), json!([]));
}
