//! What the public API does not show: the state of a run's loop, as it would be saved.

use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};

use super::handle::Agent;
use crate::error::{Error, ErrorKind};
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
        let run = known.get().unwrap().state().active.clone().unwrap();
        saves.lock().unwrap().push(run.core().save().unwrap());
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
    let agent = Agent::new("mine/model").unwrap().provider(provider).api_key("sk-top-secret");
    let agent = agent.header("authorization", "top-secret").header("x-plain", "yes");
    let agent = agent.fallbacks(vec![ModelSpec::parse("other/model").unwrap()]).on_payload(move |asked, _| {
        save_in_hook();
        let mut payload = asked.payload;
        payload["options"]["headers"]["x-session-token"] = "top-secret, too".into();
        payload.insert("seen".into(), true.into());
        async move { Ok::<_, String>(Some(payload)) }
    });
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
    agent.set_provider(None);
    agent.set_json_hook(crate::hook::HookKind::OnPayload, None);
}
