//! Describing an agent before there is one: [`AgentBuilder`].

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use agent_loop_proto::conversation::Conversation;

use super::handle::{Agent, StandsFor};
use super::models::{ConfiguredModel, Models};
#[cfg(feature = "store")]
use super::session::AgentSession;
use super::setters::check_provider_name;
use super::state::State;
use crate::connection::Connection;
use crate::error::{BoxError, Error};
use crate::hook::{Hook, Hooks};
use crate::message::Message;
use crate::model::custom::{ModelCall, ProviderFn};
use crate::model::source::ModelSource;
use crate::runtime::Runtime;
#[cfg(feature = "store")]
use crate::session::OpenSession;
use crate::tool::middleware::{Middleware, MiddlewareCall, middleware};
use crate::tool::{Tool, ToolSet};
use crate::transport::header::check_header;
use agent_loop_proto::settings::Settings;

/// Describes an agent; [`build`](AgentBuilder::build) makes it. Setters replace what was given before, but for tools, headers,
/// middleware and named providers, which they add. A clone is another description: changing one does not change the other, nor
/// an agent that was built.
///
/// ```
/// use agent_loop::Agent;
///
/// let brief = Agent::builder("anthropic/claude-sonnet-4-5").system_prompt("Be brief.").max_turns(3);
/// let agent = brief.clone().temperature(0.0).build()?;
/// assert_eq!((agent.max_turns(), agent.temperature()), (3, Some(0.0)));
/// assert_eq!(brief.build()?.temperature(), None);
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a description makes no agent before `build`"]
pub struct AgentBuilder {
    model: ModelSource,
    pub(super) settings: Settings,
    base_url: Option<String>,
    api_key: Option<String>,
    fallbacks: Vec<ModelSource>,
    headers: Vec<(String, String)>,
    pub(super) connection: Connection,
    provider: Option<ProviderFn>,
    providers: Vec<(String, ProviderFn)>,
    runtime: Option<Runtime>,
    tools: Vec<Arc<dyn Tool>>,
    hooks: Arc<Hooks>,
    middleware: Arc<Vec<Middleware>>,
    messages: Vec<Arc<Message>>,
    #[cfg(feature = "store")]
    session: AgentSession,
}

impl Agent {
    /// Describes an agent for a model: its name `provider/id`, a [`ModelSpec`](crate::ModelSpec), or a [`Model`](crate::Model) of
    /// your own.
    pub fn builder(model: impl Into<ModelSource>) -> AgentBuilder {
        AgentBuilder {
            model: model.into(),
            settings: Settings::default(),
            base_url: None,
            api_key: None,
            fallbacks: Vec::new(),
            headers: Vec::new(),
            connection: Connection::default(),
            provider: None,
            providers: Vec::new(),
            runtime: None,
            tools: Vec::new(),
            hooks: Arc::default(),
            middleware: Arc::default(),
            messages: Vec::new(),
            #[cfg(feature = "store")]
            session: AgentSession::default(),
        }
    }

    /// An agent with a model and nothing else: short for `Agent::builder(model).build()`.
    ///
    /// # Errors
    /// As [`AgentBuilder::build`].
    pub fn new(model: impl Into<ModelSource>) -> Result<Agent, Error> {
        Agent::builder(model).build()
    }
}

impl AgentBuilder {
    /// Checks the description and makes the agent. Environment variables that a model needs, a key for example, are looked up
    /// when a run starts.
    ///
    /// # Errors
    /// `invalid_argument`: a model or fallback that cannot be used (a name that is not `provider/id`, an unknown provider without
    /// an address, an unusable address), two tools of one name, a custom provider's name that is empty or has a slash, or a
    /// header that HTTP does not allow. `invalid_state` for a session that was closed, or that another agent has.
    pub fn build(self) -> Result<Agent, Error> {
        self.built(true)
    }

    /// As [`AgentBuilder::build`], but whether the models can be used is found out when a run starts. For bindings, which set
    /// options by name on the agent.
    ///
    /// # Errors
    /// As [`AgentBuilder::build`], but for those.
    #[doc(hidden)]
    pub fn build_unchecked(self) -> Result<Agent, Error> {
        self.built(false)
    }

    #[cfg_attr(not(feature = "store"), allow(unused_mut))] // Of what the session needs.
    fn built(mut self, checks_models: bool) -> Result<Agent, Error> {
        #[cfg(feature = "store")]
        let session = std::mem::take(&mut self.session);
        let mut state = self.state()?;
        if checks_models {
            state.models.check(true)?;
        }
        // Last: a session has one agent.
        #[cfg(feature = "store")]
        state.open_session(session)?;
        Ok(Agent::from_state(state, StandsFor::Itself))
    }

    fn state(self) -> Result<State, Error> {
        let mut tools = ToolSet::default();
        self.tools.into_iter().try_for_each(|tool| tools.add(tool))?;
        let mut models = Models::new(self.model.parse()?);
        models.connection = self.connection;
        let headers = Arc::make_mut(&mut models.connection.headers);
        for (name, value) in self.headers {
            check_header(&name, &value)?;
            headers.insert(name, value.into());
        }
        models.provider = self.provider;
        for (name, provider) in self.providers {
            check_provider_name(&name)?;
            models.providers.insert(name, provider);
        }
        models.base_url = self.base_url;
        models.api_key = self.api_key;
        models.fallbacks = ConfiguredModel::fallbacks(self.fallbacks)?;
        Ok(State {
            runtime: self.runtime,
            settings: self.settings,
            tools,
            hooks: self.hooks,
            middleware: self.middleware,
            conversation: Conversation::new(Arc::new(self.messages))?,
            ..State::new(models)
        })
    }

    /// Where its runs live. Without one they live in the tokio runtime in which they are started.
    pub fn runtime(mut self, runtime: &Runtime) -> AgentBuilder {
        self.runtime = Some(runtime.clone());
        self
    }

    /// The server's address, with or without `/v1`, instead of the provider's own. A key is then optional.
    pub fn base_url(mut self, url: &str) -> AgentBuilder {
        self.base_url = Some(url.to_owned());
        self
    }

    /// The API key, instead of the provider's environment variable.
    pub fn api_key(mut self, key: &str) -> AgentBuilder {
        self.api_key = Some(key.to_owned());
        self
    }

    /// Models that are tried in this order when the model fails before its first content; see [`Agent::set_fallbacks`].
    pub fn fallbacks<M: Into<ModelSource>>(mut self, models: impl IntoIterator<Item = M>) -> AgentBuilder {
        self.fallbacks = models.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a header to each request.
    pub fn header(mut self, name: &str, value: &str) -> AgentBuilder {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A custom provider, which answers for the agent's own model, whatever its name; see [`Agent::set_provider`] for its
    /// fallbacks. It is called inside of the run's tokio runtime, must not block its
    /// thread, and may answer later: from a task (`tokio::spawn`, with `call.ready().await` before each chunk) or a thread.
    pub fn provider(mut self, provider: impl Fn(ModelCall) + Send + Sync + 'static) -> AgentBuilder {
        self.provider = Some(Arc::new(provider));
        self
    }

    /// Adds a custom provider by its name: it answers for all models `name/…`, beside other custom providers and the known ones.
    /// It is called as that of [`AgentBuilder::provider`].
    ///
    /// ```
    /// use agent_loop::Agent;
    /// use agent_loop::model::ModelCall;
    ///
    /// fn parrot(call: ModelCall) {
    ///     call.finish();
    /// }
    ///
    /// let agent = Agent::builder("anthropic/claude-sonnet-4-5").custom_provider("mine", parrot).fallbacks(["mine/parrot"]);
    /// agent.build()?;
    /// # Ok::<(), agent_loop::Error>(())
    /// ```
    pub fn custom_provider(mut self, name: &str, provider: impl Fn(ModelCall) + Send + Sync + 'static) -> AgentBuilder {
        self.providers.push((name.to_owned(), Arc::new(provider)));
        self
    }

    /// Adds a link to the chain around tool execution, inside of those added before.
    pub fn middleware<F, Fut, E>(mut self, link: F) -> AgentBuilder
    where
        F: Fn(MiddlewareCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<serde_json::Value, E>> + Send + 'static,
        E: Into<BoxError> + Send + 'static,
    {
        Arc::make_mut(&mut self.middleware).push(middleware(link));
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl Tool) -> AgentBuilder {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Sets a hook, in place of one of the same kind.
    pub fn hook(mut self, hook: Hook) -> AgentBuilder {
        Arc::make_mut(&mut self.hooks).set(hook);
        self
    }

    /// The session that keeps the conversation: it goes on from there, and each change is written before it has an effect. A
    /// session has one agent at a time.
    ///
    /// ```
    /// use agent_loop::Agent;
    /// use agent_loop::session::Store;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
    /// let store = Store::open("memory:")?; // "agents.db", for example
    /// let session = store.session("user-7")?.open().await?;
    /// let agent = Agent::builder("anthropic/claude-sonnet-4-5").session(session).build()?;
    /// agent.append_message(agent_loop::Message::user("Rain in Oslo?", 0))?;
    /// drop(agent);
    ///
    /// let session = store.session("user-7")?.open().await?;
    /// let agent = Agent::builder("anthropic/claude-sonnet-4-5").session(session).build()?;
    /// assert_eq!(agent.messages()[0].text(), "Rain in Oslo?");
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "store")]
    #[cfg_attr(docsrs, doc(cfg(feature = "store")))]
    pub fn session(mut self, session: OpenSession) -> AgentBuilder {
        self.session = AgentSession::new(session);
        self
    }

    /// The conversation so far, to go on from.
    pub fn messages(mut self, messages: impl IntoIterator<Item = impl Into<Arc<Message>>>) -> AgentBuilder {
        self.messages = messages.into_iter().map(Into::into).collect();
        self
    }
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the key, and not the headers, which may have one.
        f.debug_struct("AgentBuilder")
            .field("model", &self.model)
            .field("fallbacks", &self.fallbacks)
            .field("tools", &self.tools.iter().map(|tool| tool.spec().name()).collect::<Vec<_>>())
            .field("hooks", &self.hooks.kinds())
            .field("messages", &self.messages.len())
            .finish_non_exhaustive()
    }
}
