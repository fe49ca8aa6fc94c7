//! Keys: missing, wrong, in the wrong place.

use std::collections::BTreeMap;

use agent_mock::{Flavour, Format, Strict};
use serde_json::{Value, json};

fn body(format: Format) -> Value {
    match format {
        Format::Anthropic => json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}),
        Format::Chat => json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}),
        Format::Responses => json!({"model": "m", "input": "Hi"}),
        Format::Gemini => json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}),
        Format::Converse => json!({"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}),
    }
}

fn refused(strict: &Strict, format: Format, path: &str, headers: &[(&str, &str)]) -> Option<(u16, String)> {
    let headers: BTreeMap<String, String> = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    strict.check(format, path, Some(&headers), &body(format)).err().map(|refusal| (refusal.status, refusal.body.to_string()))
}

#[test]
fn each_service_reads_its_own_header() {
    let version = ("anthropic-version", "2023-06-01");
    let vertex = "/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent?alt=sse";
    let gemini = "/v1beta/models/m:streamGenerateContent?alt=sse";
    let converse = "/model/anthropic.claude-sonnet-4-5/converse-stream";
    let azure = "/openai/deployments/d/chat/completions?api-version=1";
    for (format, path, headers, expected) in [
        (Format::Anthropic, "/v1/messages", vec![("x-api-key", "right"), version], None),
        (Format::Anthropic, "/v1/messages", vec![("authorization", "Bearer right"), version], None),
        (Format::Anthropic, "/v1/messages", vec![version], Some((401, "authentication_error"))),
        (Format::Anthropic, "/v1/messages", vec![("x-api-key", "sk-other"), version], Some((401, "invalid x-api-key"))),
        (Format::Anthropic, "/v1/messages", vec![("x-api-key", "right")], Some((400, "anthropic-version: header is required"))),
        (Format::Chat, "/v1/chat/completions", vec![("authorization", "Bearer right")], None),
        (Format::Chat, "/v1/chat/completions", vec![("authorization", "right")], Some((401, "You didn't provide an API key"))),
        (Format::Chat, "/v1/chat/completions", vec![("authorization", "Bearer sk-other")], Some((401, "invalid_api_key"))),
        (Format::Chat, "/v1/chat/completions", vec![("api-key", "right")], Some((401, "You didn't provide an API key"))),
        (Format::Responses, "/v1/responses", vec![("authorization", "Bearer right")], None),
        (Format::Responses, "/v1/responses", vec![], Some((401, "You didn't provide an API key"))),
        (Format::Chat, azure, vec![("api-key", "right")], None),
        (Format::Chat, azure, vec![("authorization", "Bearer right")], None),
        (Format::Chat, azure, vec![], Some((401, "Access denied due to invalid subscription key"))),
        (Format::Chat, "/openai/deployments/d/chat/completions", vec![("api-key", "right")], Some((404, "Resource not found"))),
        (Format::Responses, "/openai/v1/responses", vec![("api-key", "right")], None),
        (Format::Gemini, gemini, vec![("x-goog-api-key", "right")], None),
        (Format::Gemini, "/v1beta/models/m:streamGenerateContent?key=right&alt=sse", vec![], None),
        (Format::Gemini, gemini, vec![("x-goog-api-key", "sk-other")], Some((400, "API_KEY_INVALID"))),
        (Format::Gemini, gemini, vec![("authorization", "Bearer right")], Some((403, "PERMISSION_DENIED"))),
        (Format::Gemini, vertex, vec![("authorization", "Bearer right")], None),
        (Format::Gemini, vertex, vec![("x-goog-api-key", "right")], Some((401, "UNAUTHENTICATED"))),
        (Format::Converse, converse, vec![("authorization", "Bearer right")], None),
        (Format::Converse, converse, vec![("authorization", "Bearer sk-other")], Some((403, "security token included"))),
        (Format::Converse, converse, vec![("x-api-key", "right")], Some((403, "Missing Authentication Token"))),
    ] {
        let got = refused(&Strict::new().key("right"), format, path, &headers);
        match (&got, expected) {
            (None, None) => {}
            (Some((status, body)), Some((code, piece))) if *status == code && body.contains(piece) => {
                assert!(!body.contains("sk-other"), "the key is not printed: {body}");
            }
            _ => panic!("{path} {headers:?}: {got:?}, not {expected:?}"),
        }
    }
}

#[test]
fn any_key_will_do_if_none_is_the_right_one() {
    let path = "/v1/chat/completions";
    assert_eq!(refused(&Strict::new(), Format::Chat, path, &[("authorization", "Bearer any")]), None);
    assert!(refused(&Strict::new(), Format::Chat, path, &[]).is_some());
    let compatible = Strict::new().flavour(Flavour::Compatible);
    assert_eq!(refused(&compatible, Format::Chat, path, &[]), None, "many servers at home have no keys");
    assert!(refused(&compatible.key("right"), Format::Chat, path, &[]).is_some());
}
