//! Making an agent: chained setters. They may be called later, too, and then take effect at a run's next turn.

use std::future::Future;
use std::sync::Arc;

use serde_json::Value;

use super::Agent;
use super::state::Fallback;
use crate::error::Error;
use crate::message::Message;
use crate::model::{CacheRetention, ModelCall, ThinkingLevel};
use crate::provider::ModelSpec;
use crate::queues::{QueueMode, SteeringPolicy};
use crate::runtime::Runtime;
use crate::tool::{ExecutionMode, MiddlewareCall, Tool, Validation};
use crate::transport::network::Network;

impl Agent {
    /// Where its runs live. Without one they live in the tokio runtime that `prompt` is called from.
    #[must_use]
    pub fn runtime(self, runtime: &Runtime) -> Agent {
        self.with(|state| {
            state.runtime = Some(runtime.clone());
            state.resolved = None;
            state.forget_fallbacks();
        })
    }

    /// What the model is told first.
    #[must_use]
    pub fn system_prompt(self, text: &str) -> Agent {
        self.with(|state| text.clone_into(&mut state.settings.system_prompt))
    }

    /// The server's address, with or without `/v1`, instead of the provider's own. A key is then optional. Checked when a run starts.
    #[must_use]
    pub fn base_url(self, url: &str) -> Agent {
        self.with(|state| state.take_base_url(Some(url.to_owned())))
    }

    /// The API key, instead of the provider's environment variable.
    #[must_use]
    pub fn api_key(self, key: &str) -> Agent {
        self.set_api_key(Some(key));
        self
    }

    /// Models tried in this order when the model fails before it said anything; see [`Agent::set_fallbacks`]. Checked
    /// when a run starts.
    #[must_use]
    pub fn fallbacks(self, specs: Vec<ModelSpec>) -> Agent {
        self.with(|state| state.fallbacks = Fallback::all(specs))
    }

    /// A header for each request.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Agent {
        self.with(|state| {
            state.settings.headers.insert(name.to_owned(), value.into());
            state.keys_are_given();
        })
    }

    /// The sampling temperature; 0 is sent as 0.
    #[must_use]
    pub fn temperature(self, temperature: f64) -> Agent {
        self.with(|state| state.settings.model.temperature = Some(temperature))
    }

    /// The most tokens the model may write per message, of thinking and answer together. Raised where a budget of thinking would
    /// leave no answer, which a `diagnostic` tells.
    #[must_use]
    pub fn max_tokens(self, tokens: u64) -> Agent {
        self.with(|state| state.settings.model.max_tokens = Some(tokens))
    }

    /// The most turns of one run; 0 for no limit. 10 by default.
    #[must_use]
    pub fn max_turns(self, turns: u32) -> Agent {
        self.with(|state| state.settings.max_turns = turns)
    }

    /// Whether the calls of a message run side by side (default) or one after the other.
    #[must_use]
    pub fn tool_execution(self, mode: ExecutionMode) -> Agent {
        self.with(|state| state.settings.tool_execution = mode)
    }

    /// The most tools that run at once; 8 by default, at least 1.
    #[must_use]
    pub fn max_parallel_tools(self, most: usize) -> Agent {
        self.with(|state| state.settings.max_parallel_tools = most.max(1))
    }

    /// How tool arguments are checked.
    #[must_use]
    pub fn validation(self, validation: Validation) -> Agent {
        self.with(|state| state.settings.validation = validation)
    }

    /// How long an aborted run waits for tools that do not react, in milliseconds. 1,000 by default.
    #[must_use]
    pub fn abort_grace_ms(self, ms: u64) -> Agent {
        self.with(|state| state.settings.abort_grace_ms = ms)
    }

    /// Whether each frame is told as the provider sent it (`raw` events).
    #[must_use]
    pub fn raw_events(self, on: bool) -> Agent {
        self.with(|state| state.settings.raw_events = on)
    }

    /// How much thinking to ask for. `off` by default.
    #[must_use]
    pub fn thinking_level(self, level: ThinkingLevel) -> Agent {
        self.set_thinking_level(level);
        self
    }

    /// How much of the steering queue one poll takes.
    #[must_use]
    pub fn steering_mode(self, mode: QueueMode) -> Agent {
        self.with(|state| state.settings.steering_mode = mode)
    }

    /// How much of the follow-up queue one poll takes.
    #[must_use]
    pub fn follow_up_mode(self, mode: QueueMode) -> Agent {
        self.with(|state| state.settings.follow_up_mode = mode)
    }

    /// What steering does to the calls of a batch that do not run yet.
    #[must_use]
    pub fn steering_policy(self, policy: SteeringPolicy) -> Agent {
        self.with(|state| state.settings.steering_policy = policy)
    }

    /// The longest a tool call may run, in milliseconds; 0, the default, for no limit.
    #[must_use]
    pub fn tool_timeout_ms(self, ms: u64) -> Agent {
        self.with(|state| state.settings.limits.tool_timeout_ms = ms)
    }

    /// The longest a run may take, in milliseconds; 0, the default, for no limit.
    #[must_use]
    pub fn run_timeout_ms(self, ms: u64) -> Agent {
        self.with(|state| state.settings.limits.run_timeout_ms = ms)
    }

    /// How often a failed model call is tried again. 2 by default.
    #[must_use]
    pub fn max_retries(self, most: u32) -> Agent {
        self.with(|state| state.settings.retry.max_retries = most)
    }

    /// Proxies, certificate authorities and the like.
    #[must_use]
    pub fn network(self, network: Network) -> Agent {
        self.with(|state| state.settings.network = Arc::new(network))
    }

    /// Names the conversation to providers that keep caches or route by it.
    #[must_use]
    pub fn session_id(self, id: &str) -> Agent {
        self.with(|state| state.settings.model.session_id = Some(id.to_owned()))
    }

    /// How long the provider is asked to keep what it has read. [`CacheRetention::Short`] by default.
    #[must_use]
    pub fn cache_retention(self, retention: CacheRetention) -> Agent {
        self.with(|state| state.settings.model.cache_retention = retention)
    }

    /// A provider of one's own, which answers for any model's name.
    #[must_use]
    pub fn provider(self, provider: impl Fn(ModelCall) + Send + Sync + 'static) -> Agent {
        self.set_provider(Some(Arc::new(provider)));
        self
    }

    /// A link of the chain around tool execution, inside of those added before.
    #[must_use]
    pub fn middleware<F, Fut, E>(self, link: F) -> Agent
    where
        F: Fn(MiddlewareCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        self.add_middleware(Arc::new(move |call| {
            let answer = link(call);
            Box::pin(async move { answer.await.map_err(|error| error.to_string()) })
        }));
        self
    }

    /// A tool.
    ///
    /// # Errors
    /// As [`Agent::add_tool`].
    pub fn tool(self, tool: impl Tool) -> Result<Agent, Error> {
        self.add_tool(Arc::new(tool))?;
        Ok(self)
    }

    /// The conversation so far, to go on from. Not during a run, which keeps its own; see [`Agent::replace_messages`].
    #[must_use]
    pub fn messages_so_far(self, messages: Vec<Message>) -> Agent {
        let _ = self.replace_messages(messages);
        self
    }
}
