//! Amazon Bedrock: its event stream, and requests that are signed, on a server that computes the signatures anew.

use agent_loop::host::{ExchangeOptions, HostLoop, Spelling};
use agent_loop::{CancelToken, Outcome, Runtime};
use agent_mock::{Answer, Failure, Mock, Script, Speech, Strict};
use serde_json::{Value, json};

use super::*;

const KEY: &str = "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const ID: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

fn agent(mock: &Mock, key: &str) -> Agent {
    agent_of(mock, ID, key)
}

fn agent_of(mock: &Mock, id: &str, key: &str) -> Agent {
    let spec = json!({ "provider": "amazon-bedrock", "id": id, "base_url": mock.url(), "location": "eu-west-1" });
    let agent = Agent::builder(ModelSpec::from_json(spec).unwrap()).api_key(key).max_retries(0);
    agent.tool(tool("weather", |_, _| async { Ok(json!("snow")) })).build().unwrap()
}

/// A server that takes requests with this key alone, and answers all of them.
fn server(key: &str) -> Mock {
    let strict = Strict::new().key(key);
    Mock::start(Script::new().answer(Answer::message(Speech::text("Snow.")).strict(strict).times(99)))
}

#[tokio::test]
async fn a_loop_with_thinking_and_tools() {
    let first = Speech::signed("Let me look.", "c2lnbmF0dXJl").and_redacted_thinking("aGlkZGVu").and_call("weather", json!({}));
    let script = Script::new().strict().answer(Answer::message(first)).answer(Answer::message(Speech::text("Snow.")));
    let mock = Mock::start(script);
    let agent = agent(&mock, "ABSK-key");
    agent.set_thinking_level(agent_loop::ThinkingLevel::Low);
    let result = agent.prompt("Rain?").await.unwrap();
    assert_eq!((result.outcome, result.text.as_str()), (Outcome::Completed, "Snow."));
    assert!(result.usage.input > 0 && result.usage.cost.is_some());
    let requests = mock.requests();
    let [asked, answered] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!(asked.path, "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream");
    assert_eq!(asked.headers["authorization"], "Bearer ABSK-key");
    assert_eq!(asked.body["additionalModelRequestFields"]["thinking"]["type"], "enabled");
    let said = &answered.body["messages"][1]["content"];
    let thinking = json!({ "reasoningText": { "text": "Let me look.", "signature": "c2lnbmF0dXJl" } });
    assert_eq!(said[0], json!({ "reasoningContent": thinking }));
    assert_eq!(said[1], json!({ "reasoningContent": { "redactedContent": "aGlkZGVu" } }));
    assert_eq!(answered.body["messages"][2]["content"][0]["toolResult"]["content"], json!([{ "text": "snow" }]));
}

#[tokio::test]
async fn requests_are_signed_with_an_access_key() {
    let arn = "arn:aws:bedrock:eu-west-1:1234:inference-profile/eu.anthropic.claude-opus-4-8";
    for (key, id) in [(KEY.to_owned(), ID), (KEY.to_owned(), arn), (format!("{KEY}:IQoJb3JpZ2luX2Vj+/=="), ID)] {
        let mock = server(&key);
        let result = agent_of(&mock, id, &key).prompt("Wie heißt ☃?").await.unwrap();
        assert_eq!(result.text, "Snow.", "{id}");
        let headers = mock.requests().pop().unwrap().headers;
        let authorization = &headers["authorization"];
        assert!(authorization.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"), "{authorization}");
        assert!(authorization.contains("/eu-west-1/bedrock/aws4_request"), "{authorization}");
        assert_eq!(headers.contains_key("x-amz-security-token"), key != KEY);
    }
}

#[tokio::test]
async fn the_hook_may_give_the_access_key_and_a_wrong_one_is_refused() {
    let mock = server(KEY);
    let wrong = agent(&mock, &KEY.replace("EXAMPLEKEY", "EXAMPLEBAD"));
    let error = wrong.prompt("go").await.unwrap_err();
    assert_eq!((error.kind(), error.http_status()), (agent_loop::ErrorKind::Authentication, Some(403)));
    assert!(error.message().contains("The request signature we calculated does not match"), "{error}");
    wrong.set_hook(Hook::get_api_key(|_, _| async { Ok::<_, &str>(Some(KEY.into())) }));
    assert_eq!(wrong.prompt("go").await.unwrap().text, "Snow.");
}

#[tokio::test]
async fn no_secret_of_an_access_key_is_reported() {
    let secret = KEY.split_once(':').unwrap().1;
    let body = json!({ "message": format!("not you: {secret} token-of-a-session") });
    let mock = Mock::start(Script::new().answer(Answer::json(body).status(403).header("x-amzn-requestid", secret)));
    let error = agent(&mock, &format!("{KEY}:token-of-a-session")).prompt("go").await.unwrap_err();
    let shown = format!("{error:?} {}", serde_json::to_string(&error).unwrap());
    assert!(error.message().ends_with("not you: [key] [key]"), "{error}");
    assert!(!shown.contains(secret) && !shown.contains("token-of-a-session"), "{shown}");
}

#[tokio::test]
async fn refusals_before_the_stream_have_their_type_in_a_header() {
    let said = |failure: Failure| async move {
        let mock = Mock::start(Script::new().answer(Answer::error(failure).header("x-amzn-requestid", "r-1")));
        let error = agent(&mock, "ABSK-key").prompt("go").await.unwrap_err();
        assert_eq!(error.request_id(), Some("r-1"));
        (error.kind(), error.is_retryable())
    };
    // Throttling is worded as a conversation that is too long.
    assert_eq!(said(Failure::RateLimited).await, (agent_loop::ErrorKind::RateLimited, true));
    assert_eq!(said(Failure::ContextOverflow).await, (agent_loop::ErrorKind::ContextOverflow, false));
    assert_eq!(said(Failure::Quota).await, (agent_loop::ErrorKind::Quota, false));
    assert_eq!(said(Failure::Overloaded).await, (agent_loop::ErrorKind::Overloaded, true));
    assert_eq!(said(Failure::InvalidRequest).await, (agent_loop::ErrorKind::InvalidRequest, false));
    assert_eq!(said(Failure::NotFound).await, (agent_loop::ErrorKind::NotFound, false));
}

#[tokio::test]
async fn answers_in_another_framing_say_so() {
    let error = |answer: Answer| async {
        let mock = Mock::start(Script::new().answer(answer));
        agent(&mock, "ABSK-key").prompt("go").await.unwrap_err().message().to_owned()
    };
    let events = Answer::text("data: {\"type\":\"message_start\"}\n\n").header("content-type", "text/event-stream");
    let text = error(events).await;
    assert!(text.contains("answered with text/event-stream instead of an event stream (is base_url right?): data: {"), "{text}");
    let whole: Value = json!({ "output": { "message": { "role": "assistant", "content": [] } } });
    let text = error(Answer::json(whole)).await;
    assert!(text.contains("answered with application/json instead of an event stream"), "{text}");
}

#[tokio::test]
async fn an_exchange_of_a_stepped_loop_is_signed() {
    let model = |mock: &Mock| json!({ "provider": "amazon-bedrock", "id": ID, "base_url": mock.url(), "location": "eu-west-1" });
    for (key, status) in [(KEY.to_owned(), 200), (KEY.replace("EXAMPLEKEY", "EXAMPLEBAD"), 403)] {
        let mock = server(KEY);
        let options = json!({ "model": model(&mock), "prompt": "go" });
        let mut run = HostLoop::new(options.as_object().cloned().unwrap(), Spelling::Snake).unwrap();
        let call = loop {
            let action = serde_json::to_value(run.poll(0).unwrap()).unwrap();
            if action["type"] == "call_model" {
                assert_eq!((&action["auth"]["header"], &action["auth"]["prefix"]), (&json!("authorization"), &json!("Bearer ")));
                break u32::try_from(action["call"].as_u64().unwrap()).unwrap();
            }
        };
        let options = json!({ "api_key": key });
        let options = ExchangeOptions::read(options.as_object().unwrap(), Spelling::Snake).unwrap();
        let exchange = run.exchange(call, &Runtime::current().unwrap(), options).unwrap();
        assert_eq!(exchange.send(CancelToken::new()).await.status, Some(status));
    }
}
