//! What authenticates a request over HTTP, and that no server's echo of it goes any further.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use agent_loop::hook::ApiKey;
use agent_loop::{Error, ErrorKind};
use agent_mock::{Answer, Frame, Mock, Script, Speech};
use serde_json::json;

use super::*;

/// A model in each wire format, with the header of its keys.
const FORMATS: &[(&str, &str)] = &[
    ("openai_chat", "authorization"),
    ("openai_responses", "authorization"),
    ("anthropic", "x-api-key"),
    ("gemini", "x-goog-api-key"),
    ("bedrock_converse", "authorization"),
    ("relay", "authorization"),
];

/// A server that refuses each request and echoes what authenticates it, in its headers and its body.
fn echo(secret: &str) -> Mock {
    let body = json!({ "error": { "message": format!("not you: {secret}"), "type": secret }, "request_id": secret });
    let answer = Answer::json(body).status(401).header("x-request-id", format!("id {secret}"));
    Mock::start(Script::new().answer(answer.times(99)))
}

fn agent(mock: &Mock, protocol: &str) -> Agent {
    let spec = json!({ "provider": "company", "id": "m", "protocol": protocol, "base_url": mock.url() });
    Agent::builder(ModelSpec::from_json(spec).unwrap()).api_key("sk-configured").max_retries(0).build().unwrap()
}

/// The headers of the request that an agent makes with this answer of the hook, and its error.
async fn asked(mock: &Mock, protocol: &str, answer: Option<ApiKey>) -> (BTreeMap<String, String>, Error) {
    let agent = agent(mock, protocol);
    agent.set_hook(Hook::get_api_key(move |_, _| {
        let answer = answer.clone();
        async { Ok::<_, &str>(answer) }
    }));
    let error = agent.prompt("go").await.unwrap_err();
    (mock.requests().pop().unwrap().headers.into_iter().collect(), error)
}

#[tokio::test]
async fn found_e9_an_empty_key_of_the_hook_is_no_answer() {
    let mock = echo("x");
    for (protocol, header) in FORMATS {
        let empty =
            [None, Some("".into()), Some(" \r\n\t".into()), Some(ApiKey::Bearer("".into())), Some(ApiKey::Headers([].into()))];
        for answer in empty {
            let (headers, _) = asked(&mock, protocol, answer.clone()).await;
            assert!(headers[*header].ends_with("sk-configured"), "{protocol} {answer:?}: {headers:?}");
        }
    }
}

#[tokio::test]
async fn found_w13_a_token_or_headers_of_the_hook() {
    let mock = echo("sk-of-the-hook");
    for (protocol, header) in FORMATS {
        let (headers, error) = asked(&mock, protocol, Some("sk-of-the-hook\n".into())).await;
        assert!(headers[*header].ends_with("sk-of-the-hook"), "{protocol}: {headers:?}");
        assert!(!format!("{error:?} {}", serde_json::to_string(&error).unwrap()).contains("sk-of-the-hook"), "{error:?}");

        let (headers, error) = asked(&mock, protocol, Some(ApiKey::Bearer(" sk-of-the-hook\n".into()))).await;
        assert_eq!(headers["authorization"], "Bearer sk-of-the-hook", "{protocol}");
        assert!(["x-api-key", "x-goog-api-key", "api-key"].iter().all(|key| !headers.contains_key(*key)), "{headers:?}");
        assert!(!format!("{error:?} {}", serde_json::to_string(&error).unwrap()).contains("sk-of-the-hook"), "{error:?}");

        // Also in a header whose name does not tell.
        let own =
            BTreeMap::from([("x-company".to_owned(), "sk-of-the-hook".to_owned()), ("User-Agent".to_owned(), "me".to_owned())]);
        let (headers, error) = asked(&mock, protocol, Some(ApiKey::Headers(own))).await;
        assert_eq!((headers["x-company"].as_str(), headers["user-agent"].as_str()), ("sk-of-the-hook", "me"));
        let keys = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];
        assert!(keys.iter().all(|key| !headers.contains_key(*key)), "{headers:?}");
        assert!(!format!("{error:?} {}", serde_json::to_string(&error).unwrap()).contains("sk-of-the-hook"), "{error:?}");
    }
}

#[tokio::test]
async fn found_w13_what_the_hook_answers_wins_over_configured_headers() {
    let mock = echo("x");
    for answer in [ApiKey::Bearer("t".into()), ApiKey::Headers([("Authorization".to_owned(), "Bearer t".to_owned())].into())] {
        let agent =
            Agent::builder("anthropic/m").base_url(&mock.url()).header("authorization", "Bearer configured").max_retries(0);
        let agent = agent.get_api_key(move |_, _| {
            let answer = answer.clone();
            async { Ok::<_, &str>(Some(answer)) }
        });
        agent.build().unwrap().prompt("go").await.unwrap_err();
        assert_eq!(mock.requests().pop().unwrap().headers["authorization"], "Bearer t");
    }
}

#[tokio::test]
async fn headers_of_a_run_are_sent_beside_those_of_the_agent() {
    let mock = echo("x");
    let agent = Agent::builder("anthropic/m").base_url(&mock.url()).max_retries(0);
    let agent = agent.header("x-team", "blue").header("x-kept", "1").build().unwrap();
    agent.prompt("go").header("X-Team", "red").header("x-trace", "7").await.unwrap_err();
    let sent = mock.requests().pop().unwrap().headers;
    assert_eq!([&sent["x-team"], &sent["x-kept"], &sent["x-trace"]], ["red", "1", "7"]);

    agent.prompt("go").await.unwrap_err();
    let sent = mock.requests().pop().unwrap().headers;
    assert_eq!((sent["x-team"].as_str(), sent.contains_key("x-trace")), ("blue", false), "it was of that run");

    let error = agent.prompt("go").header("a b", "c").await.unwrap_err();
    assert_eq!((error.kind(), mock.requests().len()), (ErrorKind::InvalidArgument, 2), "{error}");
    assert!(error.message().starts_with("header \"a b\": the name has characters"), "{error}");
}

#[tokio::test]
async fn found_w13_what_cannot_be_sent_is_named_and_not_printed() {
    let mock = echo("x");
    for (answer, said) in [
        (ApiKey::from("sk-one\nsk-two"), "the API key for company, from api_key or get_api_key, has a line break"),
        (ApiKey::Bearer("sk-one\nsk-two".into()), "the API key for company, from api_key or get_api_key, has a line break"),
        (ApiKey::Headers([("x-a".to_owned(), "sk-one\nsk-two".to_owned())].into()), "header \"x-a\": the value has characters"),
        (ApiKey::Headers([("x a".to_owned(), "sk-one".to_owned())].into()), "header \"x a\": the name has characters"),
    ] {
        let agent = agent(&mock, "anthropic");
        agent.set_hook(Hook::get_api_key(move |_, _| {
            let answer = answer.clone();
            async { Ok::<_, &str>(Some(answer)) }
        }));
        let error = agent.prompt("go").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(said) && !error.message().contains("sk-"), "{error}");
    }
    assert!(mock.requests().is_empty());
}

/// All that comes of a run, as text: its events, its result, and what hooks got.
async fn told(mock: &Mock, key: &str) -> String {
    let seen = Arc::new(Mutex::new(String::new()));
    let agent = Agent::builder("openai/m").base_url(&mock.url()).api_key(key).max_retries(0).raw_events(true);
    let of_head = Arc::clone(&seen);
    let agent = agent.on_response(move |head, _| {
        of_head.lock().unwrap().push_str(&format!("{head:?} {}", serde_json::to_string(&head).unwrap()));
        async { Ok::<_, String>(()) }
    });
    let of_error = Arc::clone(&seen);
    let agent = agent.on_error(move |failure, _| {
        of_error.lock().unwrap().push_str(&format!("{failure:?} {}", serde_json::to_string(&failure).unwrap()));
        async { Ok::<_, String>(()) }
    });
    let agent = agent.build().unwrap();
    let of_event = Arc::clone(&seen);
    let _listener = agent.subscribe(move |event| of_event.lock().unwrap().push_str(&serde_json::to_string(event).unwrap()));
    if let Err(error) = agent.prompt("go").await {
        seen.lock().unwrap().push_str(&format!("{error:?} {error} {:?}", error.request_id()));
    }
    seen.lock().unwrap().clone()
}

#[tokio::test]
async fn found_a17_no_server_s_echo_of_a_key_goes_further() {
    let secret = "sk-very-secret-1234";
    let echo = json!({ "error": { "message": secret, "type": secret, "code": secret }, "request_id": secret });
    let data = |value: Value| format!("data: {value}\n\n");
    let chunk = |finish: &str| {
        json!({ "id": secret, "model": secret, "system_fingerprint": secret,
            "choices": [{ "index": 0, "delta": { "content": "Hello." }, "finish_reason": finish }] })
    };
    let stream = |text: String| Answer::text(text).header("content-type", "text/event-stream");
    let answers = [
        Answer::json(echo.clone()).status(400),
        Answer::json(echo.clone()).status(429).header("retry-after", secret),
        Answer::json(json!({ "request_id": secret })).status(500),
        Answer::text("").status(302).header("location", format!("https://elsewhere/{secret}?key={secret}")),
        Answer::text(format!("<html><title>{secret}</title></html>")).status(502),
        // In answers that are good so far.
        stream(data(chunk("stop")) + "data: [DONE]\n\n"),
        stream(data(chunk(secret)) + "data: [DONE]\n\n"),
        stream(data(json!({ "id": secret, "error": { "message": secret, "code": secret } }))),
        stream(data(chunk("stop")) + &format!(": {secret}\n\n{secret}")),
        stream(format!("data: {secret}\n\n")),
        Answer::text(format!("no stream: {secret}")),
        Answer::json(echo),
    ];
    for (at, answer) in answers.into_iter().enumerate() {
        let answer = answer.header("x-request-id", secret).header("request-id", format!("r-{secret}")).header("x-echo", secret);
        let mock = Mock::start(Script::new().answer(answer));
        let told = told(&mock, secret).await;
        assert!(told.contains("[key]"), "{at}: {told}");
        assert!(!told.contains(secret), "{at}: {told}");
    }
}

#[tokio::test]
async fn no_key_is_in_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    for (protocol, _) in FORMATS {
        let file = folder.path().join(protocol);
        let record = agent_loop::Record::to(&*file).frames(true);
        // The server repeats the key in its answer, between the pieces of a message, and when it refuses a request.
        let secret = "sk-configured";
        let echoed =
            json!({ "error": { "message": format!("not you: {secret}"), "type": secret }, "id": secret, "note": secret });
        let frames = [Frame::data(echoed.clone()), Frame::event("error", echoed.clone())];
        let script = Script::new()
            .answer(Answer::json(echoed).status(400).header("x-request-id", secret))
            .answer(Answer::frames(frames).header("x-request-id", secret).times(9));
        let mock = Mock::start(script);
        let url = mock.url().replace("http://", &format!("http://user:{secret}@"));
        let spec = json!({
            "provider": "company", "id": "m", "protocol": protocol, "base_url": format!("{url}?key={secret}"),
            "headers": { "x-team-key": secret },
        });
        let builder = Agent::builder(ModelSpec::from_json(spec).unwrap()).api_key(secret).header("authorization", secret);
        let agent = builder.max_retries(0).record(record).raw_events(true).build().unwrap();
        agent.set_hook(Hook::on_response(|_, _| async { Ok::<_, String>(()) }));
        for _ in 0..2 {
            agent.prompt("go").await.unwrap_err();
        }
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(secret), "{protocol}: {text}");
        assert_eq!(text.matches("agent_loop_recording").count(), 2);
    }
}

#[tokio::test]
async fn a_recording_has_frames_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.jsonl");
    let answer = || Answer::message(Speech::text("It rains.").piece(3));
    for (protocol, _) in FORMATS.iter().filter(|(protocol, _)| *protocol != "relay") {
        let mock = Mock::start(Script::new().answer(answer()).answer(answer()));
        let (mut events, mut counts) = (Vec::new(), Vec::new());
        for frames in [false, true] {
            let _ = std::fs::remove_file(&file);
            let agent = agent(&mock, protocol);
            agent.set_record(agent_loop::Record::to(&*file).frames(frames));
            let (seen, result) = play(&agent).await;
            assert_eq!(result.text, "It rains.", "{protocol}");
            let played = all(agent_loop::replay(&*file).stream().unwrap()).await.0;
            assert_eq!(
                played.iter().map(Event::to_json).collect::<Vec<_>>(),
                seen.iter().map(Event::to_json).collect::<Vec<_>>()
            );
            counts.push(std::fs::read_to_string(&file).unwrap().matches("{\"frame\":").count());
            events.push(only(&seen, &["raw", "text_end", "agent_end"]));
        }
        // They are no events.
        assert_eq!(events[0], events[1], "{protocol}");
        assert!(counts[0] == 0 && counts[1] > 2, "{protocol}: {counts:?}");

        // Without the server and its key.
        drop(mock);
        let agent = Agent::builder(
            ModelSpec::from_json(json!({ "provider": "company", "id": "m", "protocol": protocol,
            "base_url": "http://127.0.0.1:9" }))
            .unwrap(),
        );
        assert_eq!(agent.replay(&*file).build().unwrap().prompt("go").await.unwrap().text, "It rains.", "{protocol}");
    }
}
