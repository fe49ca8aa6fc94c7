//! The option `context` against a strict server, in each wire format.

use std::sync::{Arc, Mutex};

use agent_loop::context::ContextPolicy;
use agent_mock::{Answer, Mock, Script, Speech, Tokens};

use super::*;

const TURNS: u32 = 500;
const MOST: u64 = 60_000;

/// What is compared between two requests: the messages, without the marks of what is to be cached.
fn messages(body: &Value) -> Vec<Value> {
    fn without_marks(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.remove("cache_control");
                map.values_mut().for_each(without_marks);
            }
            Value::Array(items) => items.iter_mut().for_each(without_marks),
            _ => {}
        }
    }
    let list = ["messages", "input", "contents"].iter().find_map(|name| body[*name].as_array());
    let mut list = list.unwrap().clone();
    list.iter_mut().for_each(without_marks);
    list
}

#[derive(Default)]
struct Seen {
    last: Vec<Value>,
    requests: u32,
    breaks: u32,
    largest: usize,
}

impl Seen {
    fn take(&mut self, mock: &Mock) {
        for request in mock.requests() {
            assert_eq!(request.refused, None);
            let messages = messages(&request.body);
            let extends = messages.len() >= self.last.len() && messages.iter().zip(&self.last).all(|(a, b)| a == b);
            self.breaks += u32::from(!extends);
            self.largest = self.largest.max(request.body.to_string().len());
            self.requests += 1;
            self.last = messages;
        }
        mock.forget_requests();
    }
}

/// 500 turns with results of 20,000 tokens each: every request is valid and within the budget, and begins as the one before it,
/// but where much is left out at once.
async fn a_long_conversation(protocol: &str) {
    let call = || Answer::message(Speech::call("read", json!({ "file": "log" }))).times(TURNS - 1);
    let mock = Arc::new(Mock::start(Script::new().strict().answer(call()).answer(Answer::message(Speech::text("Done.")))));
    let seen = Arc::new(Mutex::new(Seen::default()));
    let schema = json!({ "type": "object", "properties": { "file": { "type": "string" } } });
    let text: Arc<str> = "some line of a log file, \n".repeat(3_100).into();
    let read = {
        let (mock, seen) = (Arc::clone(&mock), Arc::clone(&seen));
        FnTool::new("read", "Reads a file.", schema, move |_, _| {
            seen.lock().unwrap().take(&mock);
            let text = Arc::clone(&text);
            async move { Ok::<_, String>(json!(&*text)) }
        })
    };
    let spec = json!({ "provider": "p", "id": "m", "protocol": protocol, "base_url": mock.url() });
    let agent = Agent::builder(ModelSpec::from_json(spec).unwrap())
        .api_key("k")
        .max_turns(0)
        .tool(read.unwrap())
        .context(ContextPolicy::new().with_max_tokens(MOST))
        .build()
        .unwrap();
    let result = agent.prompt("Read the log, again and again.").await.unwrap();
    let mut seen = seen.lock().unwrap();
    seen.take(&mock);
    assert_eq!((result.outcome, result.turns, seen.requests), (agent_loop::Outcome::Completed, TURNS, TURNS), "{protocol}");
    // Four bytes to a token, and what is around them.
    assert!(seen.largest < MOST as usize * 4 * 11 / 10, "{protocol}: {} bytes", seen.largest);
    // Four results fit; one or two of them go at a time.
    assert!((1..=TURNS / 2).contains(&seen.breaks), "{protocol}: {} breaks", seen.breaks);
}

#[tokio::test]
async fn a_long_conversation_stays_within_its_budget_anthropic() {
    a_long_conversation("anthropic").await;
}

#[tokio::test]
async fn a_long_conversation_stays_within_its_budget_openai_chat() {
    a_long_conversation("openai_chat").await;
}

#[tokio::test]
async fn a_long_conversation_stays_within_its_budget_openai_responses() {
    a_long_conversation("openai_responses").await;
}

#[tokio::test]
async fn a_long_conversation_stays_within_its_budget_gemini() {
    a_long_conversation("gemini").await;
}

#[tokio::test]
async fn a_long_conversation_stays_within_its_budget_bedrock_converse() {
    a_long_conversation("bedrock_converse").await;
}

#[tokio::test]
async fn another_model_writes_the_summaries() {
    let usage = Tokens { input: 0, output: 0, ..Tokens::default() };
    let answer = || Answer::message(Speech::text("An answer of some words.").usage(usage));
    let mock = Mock::start(Script::new().strict().answer(answer().times(9)));
    let policy = ContextPolicy::new().with_max_tokens(50).with_keep_last(0).compact();
    let agent = |model: &str| {
        let builder = Agent::builder("openai/large").base_url(&mock.url()).api_key("k");
        builder.context(policy.clone().with_summary_model(model)).build().unwrap()
    };
    let refused = agent("nowhere/small").prompt("go").await.unwrap_err();
    assert!(refused.message().starts_with("option \"context\": summary_model: "), "{refused}");
    assert!(mock.requests().is_empty());

    let agent = agent("openai/small");
    for _ in 0..4 {
        agent.prompt("A question of some forty characters, here.").await.unwrap();
    }
    let requests = mock.requests();
    let models: Vec<_> = requests.iter().map(|request| request.body["model"].as_str().unwrap()).collect();
    assert_eq!(models, ["large", "large", "small", "large", "small", "large"]);
    assert!(requests[2].body.to_string().contains("[assistant]\\nAn answer of some words."), "{}", requests[2].body);
    assert!(requests[3].body.to_string().contains("which is left out here]\\nAn answer of some words."), "{}", requests[3].body);
    let roles: Vec<_> = agent.messages().iter().map(|message| message.role().to_owned()).collect();
    assert_eq!(roles.iter().filter(|role| *role == "context_summary").count(), 2, "{roles:?}");
}
