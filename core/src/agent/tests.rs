//! What the public API does not show: the state of a run's loop, as it would be saved.

use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};

use super::handle::Agent;
use crate::error::{Error, ErrorKind};
use crate::message::Message;
use crate::model::custom::ModelCall;
use crate::provider::ModelSpec;
use crate::usage::Outcome;

/// Whether the state has this text, also in the bytes of a body.
fn holds(state: &str, text: &str) -> bool {
    let bytes = json!(text.as_bytes()).to_string();
    state.contains(text) || state.contains(bytes.trim_matches(['[', ']']))
}

#[tokio::test]
async fn no_key_and_no_header_of_a_custom_model_is_saved() {
    let saved: Arc<Mutex<Vec<String>>> = Arc::default();
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let (saves, asks) = (Arc::clone(&saved), Arc::clone(&asked));
    let itself: Arc<OnceLock<Agent>> = Arc::default();
    let known = Arc::clone(&itself);
    let save = move || {
        let run = known.get().unwrap().active_run().unwrap();
        saves.lock().unwrap().push(run.machine().save().unwrap());
    };
    let save_in_hook = save.clone();
    let provider = move |call: ModelCall| {
        save();
        let request = json!(call.request());
        let is_own = request["model"] == "mine/model";
        asks.lock().unwrap().push(request);
        if is_own {
            return call.fail(Error::new(ErrorKind::Provider, "not today").with_retryable(false));
        }
        call.push(&json!("hello")).unwrap();
        call.finish();
    };
    let agent = Agent::builder("mine/model").provider(provider).api_key("sk-top-secret");
    let agent = agent.header("authorization", "top-secret").header("x-plain", "yes");
    let agent = agent.fallbacks(vec![ModelSpec::parse("other/model").unwrap()]).on_payload(move |asked, _| {
        save_in_hook();
        let mut payload = asked.payload;
        payload["options"]["headers"]["x-session-token"] = "top-secret, too".into();
        payload.insert("seen".into(), true.into());
        async move { Ok::<_, String>(Some(payload)) }
    });
    let agent = agent.build().unwrap();
    itself.set(agent.clone()).unwrap();
    let result = agent.prompt("go").await.unwrap();
    assert_eq!((result.outcome, &*result.text), (Outcome::Completed, "hello"));
    let asked = asked.lock().unwrap();
    let payloads: Vec<&Value> = asked.iter().map(|request| &request["payload"]).collect();
    assert!(payloads.iter().all(|payload| payload["seen"] == true), "{payloads:?}");
    let own = json!({ "authorization": "top-secret", "x-plain": "yes", "x-session-token": "top-secret, too" });
    assert_eq!(payloads[0]["options"]["headers"], own, "as the hook has answered");
    let others = json!({ "x-plain": "yes", "x-session-token": "top-secret, too" });
    assert_eq!(payloads[1]["options"]["headers"], others, "another provider's model does not get the agent's credentials");
    let saved = saved.lock().unwrap();
    assert_eq!(saved.len(), 4, "in each hook and each call");
    for state in saved.iter() {
        assert!(holds(state, "mine/model") && !holds(state, "top-secret"), "{state}");
    }
    assert!(holds(&saved[1], "\"seen\":true"), "the rest of the hook's answer is part of the state: {}", saved[1]);
    // The agent holds the provider, which holds the agent.
    agent.release_host();
}

#[tokio::test]
async fn a_run_goes_on_from_what_was_repaired_for_the_one_before() {
    let asked: Arc<Mutex<Vec<Vec<Arc<Message>>>>> = Arc::default();
    let asks = Arc::clone(&asked);
    let agent = Agent::builder("mine/model").provider(move |call| {
        asks.lock().unwrap().push(call.request().request.messages.clone());
        call.push(&json!("yes")).unwrap();
        call.finish();
    });
    let agent = agent.build().unwrap();
    // Another model's thinking becomes text.
    let thinking = json!({ "role": "assistant", "content": [{ "type": "thinking", "thinking": "hm" }], "model": "another" });
    let history: Vec<Message> = serde_json::from_value(json!([{ "role": "user", "content": "hi" }, thinking])).unwrap();
    agent.replace_messages(history.clone()).unwrap();
    agent.prompt("one").await.unwrap();
    agent.prompt("two").await.unwrap();
    agent.replace_messages(history).unwrap();
    agent.prompt("three").await.unwrap();
    let asked = asked.lock().unwrap();
    let second = |run: usize| &asked[run][1];
    assert_eq!(second(0).as_assistant().unwrap().text(), "hm", "it was repaired");
    assert!(Arc::ptr_eq(second(0), second(1)), "not once more for the next run");
    assert!(!Arc::ptr_eq(second(1), second(2)), "another transcript is repaired anew");
}
