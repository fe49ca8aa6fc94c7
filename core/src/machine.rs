//! The loop as a value, for programs that drive a run themselves: every decision, without IO, clock, threads or async. An
//! [`Agent`](crate::Agent) drives the same one for you. [`Conversation`] keeps transcript and queues from run to run, as an agent
//! does; and [`Script`](crate::testing::Script) has answers for tests.
//!
//! [`Loop::handle`] takes in what happened, [`Loop::poll`] gives the next thing to do. The program executes the actions: it asks
//! models, runs tools, answers hooks, hands on events. The same inputs give the same actions, byte for byte. [`wire`] has what
//! turns a request into bytes and bytes into an answer, for models behind HTTP; [`workflow`], what a workflow engine keeps.
//!
//! # A run in steps
//!
//! This program keeps nothing in memory between two steps: it could be a function that a queue calls, or a job of a workflow
//! engine. It needs `agent-loop`, `serde` (with `derive`) and `serde_json`, and no runtime.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::{SystemTime, UNIX_EPOCH};
//!
//! use agent_loop::machine::{Action, Config, HookAnswer, Input, Loop, ModelEntry, Start, Tools};
//! use agent_loop::model::{BlockStart, Delta};
//! use agent_loop::{Message, RunResult, StopReason, ToolSpec};
//! use serde::{Deserialize, Serialize};
//! use serde_json::json;
//!
//! /// What is stored, in one write: the loop, and what it has asked for and got no answer to.
//! #[derive(Serialize, Deserialize)]
//! struct Job {
//!     state: String,
//!     open: Vec<Action>,
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
//!     let weather = ToolSpec::new("weather", "The weather in a city.", parameters)?;
//!     let model = ModelEntry::new(0, "mine", "mine", "oracle");
//!     let mut config = Config::new(model.name(), Ok(model));
//!     config.tools = Tools::from(vec![Arc::new(weather)]);
//!     config.settings.system_prompt = "Be brief.".to_owned();
//!     let prompts = vec![Message::user("Rain in Oslo?", now_ms())];
//!     let run = Loop::new(config, Start::new("run_1", 0, prompts));
//!
//!     let mut stored = serde_json::to_string(&Job { state: run.save()?, open: Vec::new() })?;
//!     let result = loop {
//!         // Each time this could be another process.
//!         let (job, result) = step(serde_json::from_str(&stored)?)?;
//!         stored = serde_json::to_string(&job)?;
//!         if let Some(result) = result {
//!             break result;
//!         }
//!     };
//!     assert_eq!(result.text, "Yes, there is rain in Oslo.");
//!     Ok(())
//! }
//!
//! /// Does what is open, and polls until the loop waits for something.
//! fn step(job: Job) -> Result<(Job, Option<RunResult>), agent_loop::Error> {
//!     let mut run = Loop::load(&job.state)?;
//!     for action in job.open {
//!         work(action, &mut run);
//!     }
//!     let (mut open, mut result) = (Vec::new(), None);
//!     while let Some(action) = run.poll(now_ms()) {
//!         match action {
//!             Action::Emit(event) => println!("{}", event.to_json()),
//!             Action::CallModel(_) | Action::CallTool { .. } => open.push(action),
//!             // Before each tool call: whether to change its arguments. And the hooks of `config.hooks`: none.
//!             Action::AskHook { question_id, .. } => {
//!                 run.handle(Input::HookAnswer { question_id, answer: Ok(HookAnswer::Nothing.into()) });
//!             }
//!             Action::Done(done) => result = Some(*done),
//!             // Nothing is aborted here, and the next step comes soon enough for any timer.
//!             _ => {}
//!         }
//!     }
//!     Ok((Job { state: run.save()?, open }, result))
//! }
//!
//! /// Carries out what takes its time, and reports it.
//! fn work(action: Action, run: &mut Loop) {
//!     match action {
//!         Action::CallModel(asked) => {
//!             let (call, last) = (asked.call, asked.request.messages.last());
//!             let deltas = match last.map(|message| message.role()) {
//!                 Some("user") => vec![
//!                     Delta::Start { key: 0, block: BlockStart::ToolCall { id: "call_1".into(), name: "weather".into() } },
//!                     Delta::Append { key: 0, text: r#"{"city": "Oslo"}"#.into() },
//!                     Delta::Stop { reason: StopReason::ToolUse, raw: None },
//!                 ],
//!                 _ => vec![
//!                     Delta::Start { key: 0, block: BlockStart::Text },
//!                     Delta::Append { key: 0, text: format!("Yes, there is {}.", last.unwrap().text()) },
//!                     Delta::Stop { reason: StopReason::Stop, raw: None },
//!                 ],
//!             };
//!             // In as many parts as they come; `ModelEnd` is the last one.
//!             run.handle(Input::ModelDeltas { call, deltas });
//!             run.handle(Input::ModelEnd { call, result: Ok(()) });
//!         }
//!         Action::CallTool { call, name, arguments, .. } => {
//!             let result = match (&*name, arguments["city"].as_str()) {
//!                 ("weather", Some(city)) => Ok(json!(format!("rain in {city}"))),
//!                 _ => Err("no such city".to_owned()),
//!             };
//!             run.handle(Input::ToolDone { call, result });
//!         }
//!         _ => unreachable!("only these two are stored"),
//!     }
//! }
//!
//! /// Milliseconds since the epoch: a saved loop goes on with the time of another process.
//! fn now_ms() -> u64 {
//!     SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
//! }
//! ```
//!
//! Each `AskHook` has to be answered, or the loop waits for ever. Which hooks are asked is in [`Config::hooks`];
//! [`Question::PrepareArguments`] comes for each tool call whatever is in there, and [`HookAnswer::Nothing`] leaves everything as
//! it is.
//!
//! # Saving and loading
//!
//! A loop may be saved between any two calls of `poll` and `handle`, also while a model answers or tools run. [`Loop`] is
//! `Serialize` and `Deserialize`; [`Loop::save`] and [`Loop::load`] are the same in JSON. The state has the transcript, the
//! queues and the [`Config`], but no API key, no header and no function.
//!
//! `poll` gives each action once, so what a program has not carried out yet has to be stored beside the state, in the same
//! write:
//!
//! - `CallModel`, until its `ModelEnd`. After loading, ask again, with the same `call`, if no delta of the answer went in. Else,
//!   or if you do not want to pay for it twice, report `ModelEnd` with an error.
//! - `CallTool`, until its `ToolDone`. Run it again if that does no harm; else report `ToolDone` with an error text, which the
//!   model reads.
//! - `AskHook`, until its `HookAnswer`. Ask again.
//!
//! [`Action`] is `Serialize` and `Deserialize` for this. `CancelModel`, `CancelTool` and `CancelHook` take the stored action of
//! their number away. `Emit` and `Done` do not come again: hand events on before you save, and store the result. `SetTimer` need
//! not be stored: a loaded loop gives it first, if it needs one. A program that loads again after each `SetTimer` gets nothing
//! else.
//!
//! A model call that is reported as failed with an error that [may be retried](crate::Error::is_retryable), such as
//! `ErrorKind::Connection`, is tried again by the loop if nothing of its answer was emitted; else the run ends with that error.
//!
//! Time goes on while a loop is stored: a limit that passed meanwhile counts at the first `poll` (`first_byte_timeout_ms`,
//! two minutes, for a model call that was open). The program that loads has to know the models by the same
//! [keys](ModelEntry::key), and a saved loop is read by the library versions that have the same [`STATE_VERSION`].

pub use agent_loop_proto::conversation::{ActiveRun, AgentState, Conversation};
pub use agent_loop_proto::hook::{HookAnswer, Question};
pub use agent_loop_proto::limits::Limits;
pub use agent_loop_proto::machine::*;
pub use agent_loop_proto::partial::Partial;
pub use agent_loop_proto::queues::{Queue, Queues};
pub use agent_loop_proto::retry::{Jitter, RetryPolicy};
pub use agent_loop_proto::settings::Settings;
pub use agent_loop_proto::workflow;

/// What models behind HTTP are sent, and what they answer: requests to bytes, bytes to deltas. No IO: the program has the client.
///
/// ```
/// use std::sync::Arc;
///
/// use agent_loop::machine::wire::{AnswerReader, Served, Splitter, error_of_http};
/// use agent_loop::machine::{Action, Config, Encoder, Input, Loop, ModelEntry, Start};
/// use agent_loop::{Error, Message, ModelSpec};
///
/// /// A POST of your HTTP client: the status, and the body in the chunks in which it comes.
/// fn post(url: &str, headers: &[(&str, String)], body: &[u8]) -> (u16, Vec<Vec<u8>>) {
///     assert_eq!((url, headers[0].0), ("https://api.deepseek.com/v1/chat/completions", "authorization"));
///     assert!(String::from_utf8_lossy(body).contains("Say hello."));
///     let answer = "data: {\"choices\": [{\"delta\": {\"content\": \"Hello.\"}, \"finish_reason\": \"stop\"}]}\n\n";
///     (200, [answer, "data: [DONE]\n\n"].concat().as_bytes().chunks(40).map(<[u8]>::to_vec).collect())
/// }
///
/// fn main() -> Result<(), Error> {
///     let spec = ModelSpec::parse("deepseek/deepseek-v4-pro")?;
///     let served = Served::of(&spec, None, &|variable| std::env::var(variable).ok())?;
///     let mut model = ModelEntry::new(0, &spec.provider, served.protocol.name(), &spec.id);
///     model.constraints = served.constraints(&spec);
///     model.encoder = Some(Arc::new(Encoder::new(spec.clone(), served.clone())));
///
///     let start = Start::new("run_1", 0, vec![Message::user("Say hello.", 0)]);
///     let mut run = Loop::new(Config::new(model.name(), Ok(model)), start);
///     while let Some(action) = run.poll(0) {
///         match action {
///             Action::CallModel(asked) => {
///                 let url = format!("{}{}", served.base_url, served.protocol.path(&spec.id));
///                 let mut headers = vec![served.protocol.key_header("the key")];
///                 headers.push(("content-type", "application/json".to_owned()));
///                 headers.extend(served.protocol.headers(&asked.request, served.target(&spec)));
///                 let (status, body) = post(&url, &headers, asked.body.as_deref().unwrap_or_default());
///
///                 let mut splitter = Splitter::new(served.protocol.framing());
///                 let decoder = served.protocol.decoder(served.target(&spec));
///                 let mut reader = AnswerReader::new(decoder, &spec.provider, asked.raw_events);
///                 let read = match status {
///                     200 => body.iter().try_for_each(|chunk| {
///                         let mut deltas = Vec::new();
///                         splitter.feed(chunk, |frame| reader.frame(&frame, &mut deltas))?;
///                         run.handle(Input::ModelDeltas { call: asked.call, deltas });
///                         Ok(())
///                     }),
///                     _ => Err(error_of_http(&spec.provider, &spec.provider, status, &String::from_utf8_lossy(&body.concat()))),
///                 };
///                 let mut last = Vec::new();
///                 let read = read.and_then(|()| splitter.finish(|frame| reader.frame(&frame, &mut last)));
///                 let result = read.and_then(|_more| reader.end(&mut last));
///                 run.handle(Input::ModelDeltas { call: asked.call, deltas: last });
///                 run.handle(Input::ModelEnd { call: asked.call, result });
///             }
///             Action::Done(result) => assert_eq!(result.text, "Hello."),
///             _ => {}
///         }
///     }
///     Ok(())
/// }
/// ```
///
/// The addresses of Azure, Vertex AI and Bedrock ([`Hosting`](wire::Hosting)) are built of more than `base_url` and path; an
/// [`Agent`](crate::Agent) does that, gets Google's tokens and signs requests for AWS.
pub mod wire {
    pub use agent_loop_proto::answer_reader::AnswerReader;
    pub use agent_loop_proto::chunk::{Chunk, ChunkReader};
    pub use agent_loop_proto::framing::{Framing, Splitter};
    pub use agent_loop_proto::hosting::Hosting;
    pub use agent_loop_proto::protocol::{Decoder, EncodeCache, Encoded, Encoder, Protocol, Target, by_name};
    pub use agent_loop_proto::provider::known::Provider;
    pub use agent_loop_proto::provider::{Served, completed};
    pub use agent_loop_proto::provider_error::from_http as error_of_http;
    pub use agent_loop_proto::quirks;
    pub use agent_loop_proto::retry_after;
    pub use agent_loop_proto::sse::Frame;
}
