//! What preparing a request costs: repair and encoding of a conversation with small tool calls, at turn 10 and at turn 200.
//! "cached" is a turn of a run, which has the caches of the request before; "fresh" begins with empty caches, as the first
//! request of a run over a stored conversation does. Below it, what the option `context` costs beside that in a conversation of
//! 10,000 messages, most of which requests leave out. Wall clock, medians, one thread.

use std::sync::Arc;
use std::time::Instant;

use agent_loop_proto::context_policy::ContextPolicy;
use agent_loop_proto::message::Message;
use agent_loop_proto::model_spec::ModelSpec;
use agent_loop_proto::protocol::EncodeCache;
use agent_loop_proto::provider::Served;
use agent_loop_proto::request::{Request, ToolDescription};
use agent_loop_proto::transcript::{FitTo, Fitting, RepairCache, repair_with};
use serde_json::json;

const MODELS: [&str; 4] = ["anthropic/claude-sonnet-4-5", "groq/openai/gpt-oss-20b", "openai/gpt-5", "google/gemini-2.5-flash"];

/// How many turns are measured in one run, the last of which is the one it is named by.
const TURNS: usize = 10;

const RUNS: usize = 31;

/// Turns of the conversation that is fitted, each with two messages.
const LONG: usize = 5_000;

/// The most tokens of its requests.
const LIMIT: u64 = 40_000;

/// A model, and what its requests have besides messages.
struct Asked {
    spec: ModelSpec,
    served: Served,
    tools: Arc<Vec<ToolDescription>>,
}

#[derive(Default)]
struct Caches {
    repair: RepairCache,
    encode: EncodeCache,
}

impl Asked {
    fn new(model: &str) -> Asked {
        let spec = ModelSpec::parse(model).expect("a model");
        let served = Served::of(&spec, None, &|_| None).expect("a known provider");
        let number = json!({ "type": "number" });
        let operation = json!({ "type": "string", "enum": ["add", "multiply"] });
        let parameters = json!({ "type": "object", "properties": { "operation": operation, "a": number, "b": number } });
        let tool = |name: &str| ToolDescription {
            name: name.to_owned(),
            description: "Computes.".to_owned(),
            parameters: Arc::new(parameters.clone()),
        };
        Asked { spec, served, tools: Arc::new(vec![tool("calculator"), tool("echo")]) }
    }

    /// A conversation of so many turns.
    fn conversation(&self, turns: usize) -> Vec<Arc<Message>> {
        let mut messages = vec![json!({ "role": "user", "content": "What is 15 multiplied by 23?" })];
        for turn in 0..turns {
            let id = format!("call_{turn:04}");
            let arguments = json!({ "operation": "multiply", "a": turn, "b": 23 });
            messages.push(json!({
                "role": "assistant", "provider": self.spec.provider, "protocol": self.served.protocol.name(),
                "model": self.spec.id, "stop_reason": "tool_use", "content": [
                    { "type": "text", "text": "I multiply the two numbers." },
                    { "type": "tool_call", "id": id, "name": "calculator", "arguments": arguments },
                ],
            }));
            let answer = (turn * 23).to_string();
            messages.push(json!({ "role": "tool_result", "tool_call_id": id, "tool_name": "calculator", "content": answer }));
        }
        serde_json::from_value(messages.into()).expect("messages")
    }

    /// Prepares a request; gives the microseconds it took, with freeing it, and its size.
    fn prepare(&self, caches: &mut Caches, messages: &[Arc<Message>]) -> (f64, usize) {
        let constraints = self.served.constraints(&self.spec);
        let start = Instant::now();
        let size = {
            let messages = repair_with(&mut caches.repair, messages, &constraints).messages;
            let tools = Arc::clone(&self.tools);
            let request = Request { system_prompt: "You compute.".to_owned(), messages, tools, ..Request::default() };
            caches.encode.encode(self.served.protocol, &request, self.served.target(&self.spec)).body.len()
        };
        (start.elapsed().as_secs_f64() * 1e6, size)
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Fits a request; gives the microseconds it took, and how many messages are left out.
fn fit(fitting: &mut Fitting, asked: &Asked, messages: &[Arc<Message>]) -> (f64, usize) {
    let to = FitTo {
        policy: ContextPolicy::new(),
        provider: asked.spec.provider.clone(),
        model: asked.spec.id.clone(),
        limit: LIMIT,
        fixed: 1_000,
        reads_on: true,
        refused: None,
    };
    let start = Instant::now();
    let fitted = fitting.fit(messages, to);
    (start.elapsed().as_secs_f64() * 1e6, fitted.left_out)
}

fn print_fitting() {
    let [model, ..] = MODELS;
    let asked = Asked::new(model);
    let messages = asked.conversation(LONG + TURNS);
    let (mut fresh_us, mut next_us, mut left_out) = (Vec::new(), Vec::new(), 0);
    for _ in 0..RUNS {
        let mut fitting = Fitting::default();
        fresh_us.push(fit(&mut fitting, &asked, &messages[..messages.len() - 2 * TURNS]).0);
        for missing in (0..TURNS).rev() {
            let (us, count) = fit(&mut fitting, &asked, &messages[..messages.len() - 2 * missing]);
            next_us.push(us);
            left_out = count;
        }
    }
    println!("\n| messages | left out | first request, ms | each further one, µs |\n|---|---|---|---|");
    println!("| {} | {left_out} | {:.2} | {:.1} |", messages.len(), median(fresh_us) / 1e3, median(next_us));
}

fn main() {
    println!("| format | turn | bytes | cached, µs | fresh, µs |\n|---|---|---|---|---|");
    for asked in MODELS.map(Asked::new) {
        for turn in [10, 200] {
            let messages = asked.conversation(turn);
            let (mut cached_us, mut fresh_us, mut bytes) = (Vec::new(), Vec::new(), 0);
            for _ in 0..RUNS {
                let mut caches = Caches::default();
                // The conversation before each of the last turns; each adds a call and its result.
                for missing in (0..TURNS).rev() {
                    let (us, size) = asked.prepare(&mut caches, &messages[..messages.len() - 2 * missing]);
                    bytes = size;
                    if missing + 1 < TURNS {
                        cached_us.push(us);
                    }
                }
                fresh_us.push(asked.prepare(&mut Caches::default(), &messages).0);
            }
            let (cached, fresh) = (median(cached_us), median(fresh_us));
            println!("| {} | {turn} | {bytes} | {cached:.1} | {fresh:.1} |", asked.served.protocol.name());
        }
    }
    print_fitting();
}
