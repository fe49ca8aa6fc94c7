//! Model calls: retries, time limits, hooks, custom providers.

use std::sync::Mutex;
use std::time::Duration;

use agent_loop::hook::ResponseHead;
use agent_loop::host::Spelling;
use agent_loop::model::ModelCall;
use agent_loop::{Agent, Error, ErrorKind, Outcome};
use agent_mock::{Answer, Chunk, Frame, Mock, Script};

use super::*;

fn chat(text: &str) -> Answer {
    Answer::frames([
        Frame::data(json!({ "choices": [{ "index": 0, "delta": { "content": text } }] })),
        Frame::data(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] })),
        Frame::data("[DONE]"),
    ])
}

fn agent(mock: &Mock, options: Value) -> Agent {
    let agent = Agent::builder("openai/tiny").base_url(&mock.url()).api_key("sk-secret").build().unwrap();
    agent.set_options(options.as_object().unwrap(), Spelling::Snake, &[]).unwrap();
    agent
}

#[tokio::test]
async fn each_try_of_a_call_has_the_key_that_the_hook_gave() {
    let busy = Answer::json(json!({ "error": { "message": "busy" } })).status(503).header("retry-after-ms", "1");
    let mock = Mock::start(Script::new().answer(busy.times(2)).answer(chat("done")));
    let agent = agent(&mock, json!({}));
    agent.set_hook(Hook::get_api_key(|_, _| async { Ok::<_, &str>(Some("sk-hook".into())) }));
    assert_eq!(agent.prompt("go").await.unwrap().text, "done");
    let keys: Vec<String> = mock.requests().iter().map(|request| request.headers["authorization"].clone()).collect();
    assert_eq!(keys, ["Bearer sk-hook"; 3]);
}

#[tokio::test]
async fn the_same_bytes_are_sent_again_and_the_servers_pause_is_kept() {
    let busy = || Answer::json(json!({ "error": { "message": "busy" } })).status(503).header("retry-after-ms", "20");
    let mock = Mock::start(Script::new().answer(busy().times(2)).answer(chat("done")));
    let heads: Arc<Mutex<Vec<ResponseHead>>> = Arc::default();
    let (seen, payloads) = (Arc::clone(&heads), Arc::new(Mutex::new(0)));
    let counted = Arc::clone(&payloads);
    let agent = agent(&mock, json!({}));
    agent.set_hook(Hook::on_response(move |head, _| {
        seen.lock().unwrap().push(head);
        async { Ok::<_, String>(()) }
    }));
    agent.set_hook(Hook::on_payload(move |payload, _| {
        *counted.lock().unwrap() += 1;
        let mut body = payload.payload;
        body.insert("user".into(), "me".into());
        async { Ok::<_, String>(Some(body)) }
    }));
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    assert_eq!(result.text, "done");
    let delays: Vec<u64> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::Retry { delay_ms, .. } => Some(*delay_ms),
            _ => None,
        })
        .collect();
    assert_eq!(delays, [20, 20]);
    let requests = mock.requests();
    assert_eq!(requests.len(), 3);
    let bodies: Vec<String> = requests.iter().map(|request| request.body.to_string()).collect();
    assert_eq!([&bodies[1], &bodies[2]], [&bodies[0], &bodies[0]], "the same bytes");
    assert_eq!(requests[0].body["user"], "me", "as the hook made it");
    assert_eq!(*payloads.lock().unwrap(), 1, "no hook but on_response runs again");
    let heads = heads.lock().unwrap();
    assert_eq!(heads.iter().map(|head| head.status).collect::<Vec<_>>(), [503, 503, 200]);
    assert_eq!(heads[0].headers["retry-after-ms"], "20");
    assert_eq!(heads[0].provider, "openai");
}

#[tokio::test]
async fn a_demand_above_the_cap_fails_at_once() {
    let mock = Mock::start(
        Script::new().answer(Answer::json(json!({ "error": "slow down" })).status(429).header("retry-after", "3600")),
    );
    let error = agent(&mock, json!({})).prompt("go").await.unwrap_err();
    assert_eq!((error.kind(), error.retry_after_ms()), (ErrorKind::RateLimited, Some(3_600_000)));
    assert!(error.message().contains("3600000 ms, more than max_retry_delay_ms, 60000"), "{error}");
    assert_eq!(mock.requests().len(), 1);
}

#[tokio::test]
async fn a_refusal_that_asks_to_try_again_is_not_and_a_conflict_is() {
    for (status, tries) in [(400, 1), (403, 1), (409, 2), (422, 1), (500, 2)] {
        let answer = Answer::json(json!({ "error": { "message": "Something is odd. Please try again." } })).status(status);
        let mock = Mock::start(Script::new().answer(answer.times(2)));
        let error = agent(&mock, json!({ "retry_base_ms": 1, "max_retries": 1 })).prompt("go").await.unwrap_err();
        assert_eq!((error.http_status(), error.is_retryable()), (Some(status), tries > 1));
        assert_eq!(mock.requests().len(), tries, "{status}");
    }
}

#[tokio::test]
async fn a_conversation_that_leaves_no_room_for_an_answer_is_an_overflow() {
    let cut = |written: u64| {
        let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "length" }],
            "usage": { "prompt_tokens": 32_768, "completion_tokens": written } });
        Answer::frames([Frame::data(end), Frame::data("[DONE]")])
    };
    let mock = Mock::start(Script::new().answer(cut(0)).answer(cut(9)));
    let agent = agent(&mock, json!({}));
    let error = agent.prompt("go").await.unwrap_err();
    let text = "openai had no room left to answer: the conversation (32768 tokens) fills the model's context window";
    assert_eq!((error.kind(), error.message(), error.is_retryable()), (ErrorKind::ContextOverflow, text, false));
    assert_eq!(mock.requests().len(), 1);
    agent.reset().unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().outcome, Outcome::Completed, "thinking that is not emitted may take all");
}

#[tokio::test]
async fn calls_in_an_answer_of_exactly_the_allowed_tokens_are_not_executed() {
    let calls = |written: u64| {
        let call = json!({ "index": 0, "id": "a", "function": { "name": "t", "arguments": "" } });
        Answer::frames([
            Frame::data(json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] })),
            Frame::data(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] })),
            Frame::data(json!({ "choices": [], "usage": { "prompt_tokens": 5, "completion_tokens": written } })),
            Frame::data("[DONE]"),
        ])
    };
    for (written, executed) in [(64, 0), (63, 1)] {
        let mock = Mock::start(Script::new().answer(calls(written)).answer(chat("done")));
        let ran = Arc::new(Mutex::new(0));
        let count = Arc::clone(&ran);
        let tool = tool("t", move |_, _| {
            *count.lock().unwrap() += 1;
            async { Ok(json!("ran")) }
        });
        let agent = agent(&mock, json!({ "max_tokens": 64 }));
        agent.add_tool(tool).unwrap();
        let (events, result) = play(&agent).await;
        check(&agent, &events);
        assert_eq!((result.text.as_str(), *ran.lock().unwrap()), ("done", executed), "{written} of 64");
    }
}

#[tokio::test]
async fn an_overload_inside_a_good_stream_is_tried_again() {
    let overloaded = json!({ "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let mock = Mock::start(Script::new().answer(Answer::frames([Frame::data(overloaded)])).answer(chat("done")));
    let result = agent(&mock, json!({ "retry_base_ms": 1 })).prompt("go").await.unwrap();
    assert_eq!(result.text, "done");
}

#[tokio::test]
async fn a_server_that_does_not_answer() {
    let mock = Mock::start(Script::new().answer(chat("late").delay_ms(30_000)));
    let options = json!({ "first_byte_timeout_ms": 50, "max_retries": 0 });
    let error = agent(&mock, options).prompt("go").await.unwrap_err();
    assert_eq!(error.to_string(), "timeout: openai: nothing came within first_byte_timeout_ms (50)");
}

#[tokio::test]
async fn a_server_that_falls_silent() {
    let half = Frame::data(json!({ "choices": [{ "index": 0, "delta": { "content": "half" } }] }));
    let mock = Mock::start(Script::new().answer(Answer::frames([half]).stall()));
    let agent = agent(&mock, json!({ "idle_timeout_ms": 2000 }));
    let (_, result) = play(&agent).await;
    assert_eq!((result.outcome, result.text.as_str()), (Outcome::Error, "half"));
    assert_eq!(result.error.unwrap().message(), "openai: nothing more came within idle_timeout_ms (2000)");
}

#[tokio::test]
async fn keep_alive_comments_are_signs_of_life() {
    let last = json!({ "choices": [{ "index": 0, "delta": { "content": "done" }, "finish_reason": "stop" }] });
    let body = format!("{}data: {last}\n\ndata: [DONE]\n\n", ": ping\n\n".repeat(30));
    let answer = Answer::text(body).header("content-type", "text/event-stream").chunk(Chunk::Frame).frame_delay_ms(100);
    let mock = Mock::start(Script::new().answer(answer));
    let options = json!({ "idle_timeout_ms": 2500, "max_retries": 0 });
    assert_eq!(agent(&mock, options).prompt("go").await.unwrap().text, "done");
}

#[tokio::test]
async fn a_host_that_cannot_be_reached_in_time() {
    // An address set aside for documentation: nothing answers there, not even with a refusal.
    let agent = Agent::builder("openai/tiny").base_url("http://192.0.2.1:81").api_key("k").build().unwrap();
    let options = json!({ "connect_timeout_ms": 50, "max_retries": 0 });
    agent.set_options(options.as_object().unwrap(), Spelling::Snake, &[]).unwrap();
    let error = agent.prompt("go").await.unwrap_err();
    if error.kind() == ErrorKind::Connection {
        println!("skipped: this network refuses the address immediately");
        return;
    }
    assert_eq!(error.message(), "http://192.0.2.1:81/v1/chat/completions: no connection within connect_timeout_ms (50)");
}

fn answering(function: impl Fn(ModelCall) + Send + Sync + 'static) -> Agent {
    Agent::builder("acme/large").provider(function).build().unwrap()
}

#[tokio::test]
async fn a_provider_of_ones_own_answers_piece_by_piece() {
    let agent = answering(|call| {
        let asked = call.request().request.messages.len();
        call.push(&json!({ "thinking": "hm" })).unwrap();
        call.push(&json!("one ")).unwrap();
        call.push(&json!({ "type": "text_delta", "delta": "two" })).unwrap();
        if asked == 1 {
            call.push(&json!({ "tool_call": { "id": "c", "name": "t", "arguments": { "n": 1 } } })).unwrap();
            call.finish();
        } else {
            call.push(&json!({ "end": { "stop_reason": "stop", "usage": { "input": 1, "output": 2 } } })).unwrap();
        }
    });
    agent.add_tool(tool("t", |_, _| async { Ok(json!("ran")) })).unwrap();
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    assert_eq!((result.text.as_str(), result.turns, result.usage.output), ("one two", 2, 2));
    let message = result.message.unwrap();
    let message = message.as_assistant().unwrap();
    assert_eq!((message.provider.as_str(), message.model.as_str(), message.protocol.as_str()), ("acme", "large", "acme"));
}

#[tokio::test]
async fn it_wins_over_the_known_providers() {
    let agent =
        Agent::builder("anthropic/claude").provider(|call| call.push(&json!({ "text": "mine" })).unwrap()).build().unwrap();
    let error = agent.prompt("go").await.unwrap_err();
    assert_eq!(error.to_string(), "provider: the provider anthropic dropped the request without ending its answer");
    assert_eq!(error.result().unwrap().text, "mine");
}

#[tokio::test]
async fn it_may_fail_in_its_own_words_and_is_tried_again() {
    let tries = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&tries);
    let agent = answering(move |call| {
        *counted.lock().unwrap() += 1;
        if *counted.lock().unwrap() == 1 {
            call.fail(Error::new(ErrorKind::Overloaded, "come back later"));
        } else {
            let wrong = call.push(&json!({ "tekst": "x" })).unwrap_err();
            assert_eq!(
                wrong.message(),
                "chunk: unknown field \"tekst\"; known are text, thinking, tool_call, type, end, error, usage, diagnostic"
            );
            call.push(&json!("done")).unwrap();
            call.finish();
        }
    });
    agent.set_options(json!({ "retry_base_ms": 1 }).as_object().unwrap(), Spelling::Snake, &[]).unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().text, "done");
    assert_eq!(*tries.lock().unwrap(), 2);
}

#[tokio::test]
async fn a_failure_without_a_text_has_one() {
    let agent = answering(|call| call.fail(Error::new(ErrorKind::Provider, "")));
    let error = agent.prompt("go").await.unwrap_err();
    assert!(error.message().ends_with(" failed without saying why"), "{error}");
}

#[tokio::test]
async fn it_is_cancelled_when_its_answer_is_no_longer_awaited() {
    let cancelled = Arc::new(tokio::sync::Notify::new());
    let heard = Arc::clone(&cancelled);
    let agent = answering(move |call| {
        call.push(&json!("one")).unwrap();
        let heard = Arc::clone(&heard);
        tokio::spawn(async move {
            call.cancel_token().cancelled().await;
            assert!(!call.ready().await);
            heard.notify_one();
        });
    });
    let _subscription = {
        let agent = agent.clone();
        agent.clone().subscribe(move |event| {
            if event.kind() == "text_delta" {
                agent.abort();
            }
        })
    };
    let (_, result) = play(&agent).await;
    assert_eq!((result.outcome, result.text.as_str()), (Outcome::Aborted, "one"));
    cancelled.notified().await;
}

#[tokio::test]
async fn a_fast_provider_waits_for_a_slow_reader() {
    let pushed = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&pushed);
    let agent = answering(move |call| {
        let counted = Arc::clone(&counted);
        tokio::spawn(async move {
            for _ in 0..20_000 {
                call.push(&json!("x")).unwrap();
                *counted.lock().unwrap() += 1;
                if !call.ready().await {
                    return;
                }
            }
            call.finish();
        });
    });
    let mut run = agent.stream("go").unwrap();
    // Read nothing until it stands still.
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = *pushed.lock().unwrap();
        if now > 0 && now == before {
            break;
        }
        before = now;
    }
    assert!(before < 3000, "{before} pieces were taken though no one read");
    while run.next().await.is_some() {}
    assert_eq!(run.ended().await.unwrap().text.len(), 20_000);
}

#[tokio::test]
async fn a_piece_that_does_not_fit_is_refused_and_the_answer_goes_on() {
    let agent = answering(|call| {
        let wrong = |piece: Value| call.push(&piece).unwrap_err().message().to_owned();
        call.push(&json!({ "type": "tool_call_start", "content_index": 0, "id": "c", "name": "t" })).unwrap();
        let other = wrong(json!({ "type": "text_delta", "content_index": 0, "delta": "x" }));
        assert_eq!(other, "chunk: content_index 0: its block is of another type, or has ended");
        assert_eq!(wrong(json!({ "tool_call": { "id": "d" } })), "chunk: tool call: name is missing");
        call.push(&json!({ "type": "tool_call_delta", "content_index": 0, "delta": "{\"n\":1}" })).unwrap();
        call.push(&json!({ "type": "tool_call_end", "content_index": 0 })).unwrap();
        assert!(wrong(json!({ "type": "tool_call_delta", "content_index": 0, "delta": "x" })).contains("has ended"));
        assert_eq!(
            wrong(json!({ "type": "tool_call_end", "content_index": 0 })),
            "chunk: tool_call_end: its block was not started, or has ended"
        );
        call.push(&json!({ "type": "text_delta", "content_index": 4_294_967_295_u32, "delta": "last" })).unwrap();
        call.finish();
    });
    agent.set_max_turns(1);
    let (events, result) = play(&agent).await;
    let calls: Vec<String> = only(&events, &["tool_call_delta", "text_delta"]);
    assert_eq!(calls, ["tool_call_delta {\"n\":1}", "text_delta last"]);
    assert_eq!(result.outcome, Outcome::MaxTurns);
}

#[tokio::test]
async fn another_provider_gets_neither_the_key_nor_the_address_of_the_first() {
    let tool_call = json!({ "index": 0, "id": "c", "function": { "name": "t", "arguments": "{}" } });
    let called = Answer::frames([
        Frame::data(json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [tool_call] } }] })),
        Frame::data(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] })),
        Frame::data("[DONE]"),
    ]);
    let (first, second) = (Mock::start(Script::new().answer(called)), Mock::start(Script::new().answer(chat("from the second"))));
    let url = second.url();
    let agent = agent(&first, json!({}));
    agent.add_tool(tool("t", |_, _| async { Ok(json!("ran")) })).unwrap();
    agent.set_hook(Hook::prepare_next_turn(move |_, _| {
        let model = json!({ "provider": "company", "id": "tiny", "base_url": url });
        let model = agent_loop::ModelSpec::from_json(model).ok();
        async { Ok::<_, String>(agent_loop::hook::TurnChange { model, ..Default::default() }) }
    }));
    assert_eq!(agent.prompt("go").await.unwrap().text, "from the second");
    assert!(first.requests()[0].headers.contains_key("authorization"));
    assert!(!second.requests()[0].headers.contains_key("authorization"), "the key is the first provider's");
}

#[tokio::test]
async fn a_tool_added_in_the_middle_of_a_turn_is_offered_in_the_next() {
    let agent = scripted(json!([[call("c", "t", json!({})), end("tool_use")], [{ "delta": "done" }, end("stop")]]));
    agent.add_tool(tool("t", |_, _| async { Ok(json!("ran")) })).unwrap();
    let offered: Arc<Mutex<Vec<usize>>> = Arc::default();
    let seen = Arc::clone(&offered);
    let adding = agent.clone();
    agent.set_hook(Hook::transform_context(move |_, _| {
        // After the turn has begun, before its request is made. The second time there is one of that name.
        let _ = adding.add_tool(tool("late", |_, _| async { Ok(json!("late")) }));
        async { Ok::<_, String>(None) }
    }));
    agent.set_hook(Hook::on_payload(move |payload, _| {
        seen.lock().unwrap().push(payload.payload["tools"].as_array().unwrap().len());
        async { Ok::<_, String>(None) }
    }));
    agent.prompt("go").await.unwrap();
    assert_eq!(*offered.lock().unwrap(), [1, 2]);
}
