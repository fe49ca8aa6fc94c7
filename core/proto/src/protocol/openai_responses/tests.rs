mod decode;
mod encode;
mod recorded;

use serde_json::json;

use crate::protocol::by_name;
use crate::protocol::tests::fixture::Fixture;
use crate::request::Request;

/// A model of OpenAI's that thinks.
fn fixture() -> Fixture {
    Fixture::new(json!({ "provider": "openai", "id": "gpt-5", "protocol": "openai_responses" }))
}

#[test]
fn a_key_is_a_bearer_token() {
    let protocol = by_name("openai_responses").unwrap();
    assert_eq!(protocol.key_header("k"), ("authorization", "Bearer k".to_owned()));
    assert_eq!(protocol.path("m"), "/v1/responses");
    assert_eq!(fixture().headers(&Request::default()), []);
}
