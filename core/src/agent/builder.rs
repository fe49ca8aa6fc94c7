//! Making an agent: chained setters. They may be called later, too, and then take effect at a run's next turn. Those of plain
//! options are made from the table, `agent_loop_proto::table::options`.

use std::future::Future;
use std::sync::Arc;

use agent_loop_proto::options_of;
use serde_json::Value;

use super::handle::Agent;
use super::state::{Fallback, State};
use crate::error::Error;
use crate::message::Message;
use crate::model::custom::ModelCall;
use crate::model::{CacheRetention, ThinkingBudgets, ThinkingLevel, ToolChoice};
use crate::provider::ModelSpec;
use crate::queues::{QueueMode, SteeringPolicy};
use crate::runtime::Runtime;
use crate::tool::middleware::MiddlewareCall;
use crate::tool::{ExecutionMode, Tool, Validation};
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

    /// The server's address, with or without `/v1`, instead of the provider's own. A key is then optional. Checked when a run
    /// starts.
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

    /// Proxies, certificate authorities and the like.
    #[must_use]
    pub fn network(self, network: Network) -> Agent {
        self.with(|state| state.settings.network = Arc::new(network))
    }

    /// A custom provider, which answers for any model's name.
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

/// An argument of a setter as the field of its option has it.
trait IntoField<F> {
    fn into_field(self) -> F;
}

impl<T> IntoField<T> for T {
    fn into_field(self) -> T {
        self
    }
}

impl<T> IntoField<Option<T>> for T {
    fn into_field(self) -> Option<T> {
        Some(self)
    }
}

impl IntoField<String> for &str {
    fn into_field(self) -> String {
        self.to_owned()
    }
}

impl IntoField<Option<String>> for &str {
    fn into_field(self) -> Option<String> {
        Some(self.to_owned())
    }
}

/// A setter for each option of a block, which is the given part of the state.
macro_rules! option_setters {
    (
        [$title:literal, $block:expr]
        $(
            $(#[doc = $doc:literal])* $(#[serde($($serde:tt)*)])*
            $name:ident: $field:ty = $default:expr, $(shown $shown:literal,)? $(at_least $least:literal,)? set $argument:ty,
            $kind:expr, $group:ident, $since:literal;
        )+
    ) => {
        #[doc = $title]
        impl Agent {
            $(
                $(#[doc = $doc])*
                ///
                #[doc = concat!("Default: ", option_setters!(@default $($shown)? ; $default), ".")]
                #[must_use]
                pub fn $name(self, $name: $argument) -> Agent {
                    $(let $name = $name.max($least);)?
                    self.with(|state| {
                        let block: fn(&mut State) -> &mut _ = $block;
                        block(state).$name = $name.into_field();
                    })
                }
            )+
        }
    };
    (@default $shown:literal ; $default:expr) => { $shown };
    (@default ; $default:expr) => { concat!("`", stringify!($default), "`") };
}

options_of!(settings, option_setters ["Options of the loop and its tools.", |state| &mut state.settings.engine]);
options_of!(model, option_setters ["Options of a model's requests.", |state| &mut state.settings.model]);
options_of!(limits, option_setters ["Time limits.", |state| &mut state.settings.limits]);
options_of!(retry, option_setters ["Retries.", |state| &mut state.settings.retry]);
