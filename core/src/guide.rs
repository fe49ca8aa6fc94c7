//! Whole programs, and what they need in `Cargo.toml`. This module has documentation only.
//!
//! # Dependencies
//!
//! ```toml
//! [dependencies]
//! # Not on crates.io yet: a clone of the repository beside the program.
//! agent-loop = { path = "../agent-loop/core", features = ["schema"] }
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! serde_json = "1"
//! # Typed tools:
//! serde = { version = "1", features = ["derive"] }
//! schemars = "1"
//! ```
//!
//! - `agent-loop`: its feature `schema` is for typed tools; all other features are on by default.
//! - `tokio` 1: `#[tokio::main]`. Not needed with a [`Runtime`](crate::Runtime) of this crate, nor to drive a run by hand.
//! - `serde_json` 1: schemas, arguments and results as JSON (`json!`, `Value`).
//! - `serde` 1 and `schemars` 1: typed tools. The major versions must be these: other ones have other traits of the same names.
//! - `futures-util` 0.3: `StreamExt` for a [`Run`](crate::Run), which is a `Stream`. [`Run::next`](crate::Run::next) needs
//!   nothing.
//!
//! # A typed tool
//!
#![cfg_attr(feature = "schema", doc = "```")]
#![cfg_attr(not(feature = "schema"), doc = "```ignore")]
//! use agent_loop::{Agent, Error, EventData, FnTool};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! /// What the model gives: a doc comment is its description of a field.
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Place {
//!     /// The city, for example Oslo.
//!     city: String,
//!     /// Days from today; 0 if left out.
//!     days: Option<u32>,
//! }
//!
//! /// What it gets, as JSON.
//! #[derive(Serialize)]
//! struct Weather {
//!     sky: &'static str,
//!     celsius: i32,
//! }
//!
//! async fn weather(place: Place) -> Result<Weather, String> {
//!     match (place.city.as_str(), place.days.unwrap_or(0)) {
//!         ("Oslo", 0..7) => Ok(Weather { sky: "rain", celsius: 7 }),
//!         ("Oslo", _) => Err("no forecast for more than a week".to_owned()),
//!         (city, _) => Err(format!("there is no city {city}")),
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Error> {
//!     let weather = FnTool::typed("weather", "The weather in a city.", |place, _context| weather(place))?;
//!     // In place of "anthropic/claude-sonnet-4-5": it answers from a script. Its first call does not fit the type.
//!     let model = r#"{"provider": "scripted", "id": "s", "script": [
//!         [{"delta": {"tool_call": {"id": "1", "name": "weather", "arguments": {"town": "Oslo"}}}}, {"end": "tool_use"}],
//!         [{"delta": {"tool_call": {"id": "2", "name": "weather", "arguments": {"city": "Oslo"}}}}, {"end": "tool_use"}],
//!         [{"delta": "It rains, at 7 °C."}, {"end": "stop"}]]}"#;
//!     let mut run = Agent::builder(model).tool(weather).build()?.stream("Rain in Oslo?")?;
//!     let mut results = Vec::new();
//!     while let Some(event) = run.next().await {
//!         if let EventData::ToolExecutionEnd { result, is_error, .. } = &event.data {
//!             results.push((result.text(), *is_error));
//!         }
//!     }
//!     let wrong = "the arguments of weather do not fit its schema:\n/town: is not a parameter\n/city: is required";
//!     assert_eq!(results[0], (wrong.to_owned(), true), "the model reads this and may try again");
//!     assert_eq!(results[1], (r#"{"sky":"rain","celsius":7}"#.to_owned(), false));
//!     println!("{}", run.result().await?.text);
//!     Ok(())
//! }
//! ```
//!
//! # An endpoint
//!
//! With [axum](https://github.com/tokio-rs/axum): each event of a run becomes a server-sent event as it comes. A run is aborted
//! when it is dropped, and the server drops the response when its client leaves.
//!
//! ```toml
//! [dependencies]
//! agent-loop = { path = "../agent-loop/core" }
//! axum = "0.8"
//! futures-util = "0.3"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread", "net"] }
//! ```
//!
//! ```ignore
//! use std::convert::Infallible;
//! use std::process::ExitCode;
//!
//! use agent_loop::{Agent, AgentBuilder, Error, Runtime};
//! use axum::Router;
//! use axum::extract::State;
//! use axum::http::StatusCode;
//! use axum::response::sse::{Event, KeepAlive, Sse};
//! use axum::routing::post;
//! use futures_util::{Stream, StreamExt};
//!
//! /// Answers one prompt with an agent of its own.
//! async fn ask(
//!     State(builder): State<AgentBuilder>,
//!     prompt: String,
//! ) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, (StatusCode, String)> {
//!     let run = builder.build().and_then(|agent| agent.stream(prompt));
//!     let run = run.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
//!     // The response owns the run: when the client leaves, both are dropped, and dropping a run aborts it.
//!     let events = run.map(|event| Ok(Event::default().event(event.kind()).data(event.to_json())));
//!     Ok(Sse::new(events).keep_alive(KeepAlive::default()))
//! }
//!
//! fn app(builder: AgentBuilder) -> Router {
//!     Router::new().route("/ask", post(ask)).with_state(builder)
//! }
//!
//! async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut arguments = std::env::args().skip(1);
//!     let model = arguments.next().unwrap_or_else(|| "anthropic/claude-sonnet-4-5".to_owned());
//!     // All agents share the runtime and with it the connections to the model.
//!     let mut builder = Agent::builder(model).system_prompt("Be brief.").runtime(&Runtime::current()?);
//!     if let Some(url) = arguments.next() {
//!         builder = builder.base_url(&url);
//!     }
//!     // What is wrong with the model is found now, not by the first client.
//!     builder.clone().build()?;
//!     let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
//!     println!("http://{}/ask", listener.local_addr()?);
//!     Ok(axum::serve(listener, app(builder)).await?)
//! }
//!
//! #[tokio::main]
//! async fn main() -> ExitCode {
//!     match serve().await {
//!         Ok(()) => ExitCode::SUCCESS,
//!         Err(error) => {
//!             eprintln!("{}", error.downcast_ref::<Error>().map_or_else(|| error.to_string(), ToString::to_string));
//!             ExitCode::FAILURE
//!         }
//!     }
//! }
//! ```
//!
//! An agent has one active run at a time and is cheap to make, so that each request has its own; what they have in common is the
//! [`Runtime`](crate::Runtime), whose connections they share. To go on with a conversation, give the builder its stored
//! [messages](crate::AgentBuilder::messages), and store behind them what the run has added: the response owns the run, so take it
//! from the last event, [`EventData::AgentEnd`](crate::EventData::AgentEnd), or in the [hook](crate::hook) `after_run`, which is
//! also called, with the outcome `aborted`, when the client has left.
//!
//! # Many agents
//!
//! An agent's run is a future that owns what it needs, so it goes into a `JoinSet` as it is:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use agent_loop::{Agent, CancelToken, Error, Runtime};
//! use tokio::task::JoinSet;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Error> {
//!     let builder = Agent::builder("anthropic/claude-sonnet-4-5").runtime(&Runtime::current()?);
//!     let (all, mut runs) = (CancelToken::new(), JoinSet::new());
//!     for city in ["Oslo", "Bergen", "Tromsø"] {
//!         let run = builder.clone().build()?.prompt(format!("Rain in {city}?"));
//!         runs.spawn(run.abort_on(all.clone()).abort_on(tokio::time::sleep(Duration::from_secs(60))));
//!     }
//!     while let Some(Ok(done)) = runs.join_next().await {
//!         match done {
//!             Ok(result) => println!("{}: {}", result.outcome.as_str(), result.text),
//!             Err(error) => println!("{error}"),
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # More programs
//!
//! - A model of your own: [`model`](crate::model), as a function and as a type.
//! - A run in steps, saved and loaded: [`machine`](crate::machine).
//! - A test without a model server: [`testing`](crate::testing).
//!
//! # Logs
//!
//! A run emits spans and records of `tracing`; without a subscriber they cost next to nothing.
//!
//! | span | level | fields |
//! | --- | --- | --- |
//! | `agent_run` | info | `run_id`, `model`; at the end `outcome` and `turns` |
//! | `model_call`, in the run | debug | `provider`, `model`, `call` |
//! | `tool_call`, in the run | debug | `tool_call_id`, `tool_name` |
//!
//! What a tool logs is inside of its `tool_call`, and what a custom model logs inside of its `model_call`. The span of a run is
//! inside of the one where it is awaited.
//!
//! A record has a `code`, the `run_id`, the fields of its code, and the `kind` and message (`error`) of an error that is its
//! cause. `run_error` is an error; `tool_error`, `hook_error`, `hook_left`, `listener_error`, `listener_left`, `retry` and
//! `token_kept` are warnings; `listener_back` and `bundled_roots` are of the level info, `run_end` is of the level debug.
//!
//! With the crate `tracing-subscriber` (feature `env-filter`), this shows all of it:
//! `tracing_subscriber::fmt().with_env_filter("info,agent_loop=debug").init()`.
