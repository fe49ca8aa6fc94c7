//! Access tokens that are fetched where no key is given: Google's.

use agent_loop::host::Spelling;
use agent_loop::{ErrorKind, Network};
use agent_mock::{Answer, Frame, Mock, Script, Speech};

use super::network::ask_in_a_child;
use super::*;

fn answer(text: &str) -> Answer {
    Answer::frames([Frame::data(
        json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": text }] }, "finishReason": "STOP" }] }),
    )])
}

fn grant(token: &str) -> Answer {
    Answer::json(json!({ "access_token": token, "expires_in": 3599, "token_type": "Bearer" }))
}

/// What Vertex says to a token that was taken back.
fn refusal() -> Answer {
    let said = "Request had invalid authentication credentials.";
    Answer::json(json!({ "error": { "code": 401, "message": said, "status": "UNAUTHENTICATED" } })).status(401)
}

#[tokio::test]
#[ignore = "part of a_token_that_the_server_refuses_is_fetched_anew_once_and_a_given_key_is_not"]
async fn what_a_child_with_credentials_asks() {
    let spec = json!({
        "provider": "google-vertex", "id": "tiny", "project": "p", "location": "l",
        "base_url": std::env::var("AGENT_LOOP_ASK").unwrap(),
    });
    let agent = Agent::builder(ModelSpec::from_json(spec).unwrap())
        .network(Network::from_json(json!({ "proxy": false })).unwrap())
        .build()
        .unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().text, "one");

    let (events, result) = all(agent.stream("go").unwrap()).await;
    assert_eq!(result.text, "two");
    let kinds: Vec<&str> = events.iter().map(Event::kind).collect();
    assert!(!kinds.iter().any(|kind| ["error", "retry", "diagnostic"].contains(kind)), "{kinds:?}");

    let refused = async || {
        let error = agent.prompt("go").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Authentication);
        let (server, said) = error.message().split_once(" answered 401: ").unwrap();
        assert!(server.starts_with("google-vertex at 127.0.0.1:"), "{error}");
        assert_eq!(said, "Request had invalid authentication credentials.");
    };
    refused().await;
    refused().await;
    agent.set_api_key(Some("ya29.given"));
    refused().await;
    agent.set_api_key(None);
    let headers = json!({ "headers": { "Authorization": "Bearer ya29.own" } });
    agent.set_options(headers.as_object().unwrap(), Spelling::Snake, &[]).unwrap();
    refused().await;
}

#[tokio::test]
async fn any_text_as_a_key_is_a_token_for_a_mock_of_vertex() {
    let answer = || Answer::message(Speech::text("Hello."));
    let mock = Mock::start(Script::new().strict().answer(answer()).answer(answer()));
    for id in ["gemini-3.5-flash", "claude-opus-4-6"] {
        let spec = json!({ "provider": "google-vertex", "id": id, "project": "any", "location": "any", "base_url": mock.url() });
        let agent = Agent::builder(ModelSpec::from_json(spec).unwrap()).api_key("any").build().unwrap();
        assert_eq!(agent.prompt("go").await.unwrap().text, "Hello.", "{id}");
        let request = mock.requests().pop().unwrap();
        assert_eq!(request.headers["authorization"], "Bearer any");
        assert!(request.path.starts_with("/v1/projects/any/locations/any/publishers/"), "{}", request.path);
    }
}

#[tokio::test]
async fn a_token_that_the_server_refuses_is_fetched_anew_once_and_a_given_key_is_not() {
    let mock = Mock::start(
        Script::new()
            .answer(grant("ya29.1"))
            .answer(answer("one"))
            // The kept one was taken back.
            .answer(refusal())
            .answer(grant("ya29.2"))
            .answer(answer("two"))
            // Another one does not help.
            .answer(refusal())
            .answer(grant("ya29.3"))
            .answer(refusal())
            // There is no other.
            .answer(refusal())
            .answer(grant("ya29.3"))
            .answer(refusal())
            .answer(refusal()),
    );
    let file = std::env::temp_dir().join(format!("agent-loop-tokens-{}.json", std::process::id()));
    let user = json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "sesame", "refresh_token": "refresh",
        "token_uri": format!("{}/token", mock.url()),
    });
    std::fs::write(&file, user.to_string()).unwrap();
    let variables = [("GOOGLE_APPLICATION_CREDENTIALS", file.to_str().unwrap())];
    ask_in_a_child("tokens::what_a_child_with_credentials_asks", &mock.url(), &variables).await;
    std::fs::remove_file(&file).unwrap();

    let asked = mock.requests();
    let asked: Vec<&str> =
        asked.iter().map(|request| request.headers.get("authorization").unwrap_or(&request.path).as_str()).collect();
    let expected = [
        &["/token", "Bearer ya29.1"][..],
        &["Bearer ya29.1", "/token", "Bearer ya29.2"],
        &["Bearer ya29.2", "/token", "Bearer ya29.3"],
        &["Bearer ya29.3", "/token"],
        &["Bearer ya29.given", "Bearer ya29.own"],
    ];
    assert_eq!(asked, expected.concat());
}
