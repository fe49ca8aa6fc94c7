//! One model call, without a loop: what routers, summarizers and workflow engines need.
//!
//! It is a stateless run that ends after its only answer, so that repair, retries, fallbacks, limits, hooks and events are those
//! of a run.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

#[cfg(feature = "__bindings")]
use agent_loop_proto::table::{hooks, hooks::HookRow, options};

use super::context::OwnedContext;
use super::handle::Agent;
use super::pending_run::{PendingRun, RunInput, already_begun};
#[cfg(feature = "__bindings")]
use crate::did_you_mean::Spelling;
use crate::error::{Error, ErrorKind};
use crate::future::BoxFuture;
use crate::message::{AssistantMessage, Message, Prompt};
use crate::model::source::ModelSource;
use crate::result::RunResult;
use crate::run::Run;
use crate::tool::{ToolSet, ToolSpec};

/// What a model is called with: the model alone, or an agent with a model, its options, its system prompt and its tools.
///
/// ```
/// use agent_loop::{Agent, CallSettings};
///
/// let by_name: CallSettings = "anthropic/claude-sonnet-4-5".into();
/// let agent = Agent::builder("anthropic/claude-sonnet-4-5").temperature(0.0).max_tokens(300).build()?;
/// let with_options: CallSettings = (&agent).into();
/// # let _ = (by_name, with_options);
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug)]
pub struct CallSettings(Result<Agent, Error>);

impl<M: Into<ModelSource>> From<M> for CallSettings {
    fn from(model: M) -> CallSettings {
        CallSettings(Agent::new(model))
    }
}

impl From<&Agent> for CallSettings {
    fn from(agent: &Agent) -> CallSettings {
        CallSettings(Ok(agent.clone()))
    }
}

impl From<Agent> for CallSettings {
    fn from(agent: Agent) -> CallSettings {
        CallSettings(Ok(agent))
    }
}

/// Asks for one call of a model over these messages, without a loop: await it for the answer. The tool calls of the answer are
/// the caller's: none is executed.
///
/// ```
/// use agent_loop::complete;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
/// // In place of "anthropic/claude-sonnet-4-5": it answers from a script.
/// let model = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": "weather"}, {"end": "stop"}]]}"#;
/// let topic = complete(model, "Rain in Oslo?").system_prompt("Name the topic, in one word.").await?;
/// assert_eq!(topic.text(), "weather");
/// # Ok(()) }
/// ```
///
/// `settings` is the model, or an agent where options are needed. Of the agent, model, key, address, options, system prompt,
/// tools and hooks are read; its conversation, its queues and its listeners are not. Many calls may share it, and share its
/// connections then. Options of the loop, such as `max_turns`, and hooks of tools and turns have no effect.
pub fn complete(settings: impl Into<CallSettings>, messages: impl Into<Prompt>) -> Completion {
    Completion(State::Draft(Box::new(Draft {
        settings: settings.into().0,
        system_prompt: None,
        tools: None,
        history: Vec::new(),
        messages: messages.into().0,
        cancels: Vec::new(),
    })))
}

/// A model call that has not begun; see [`complete`]. Awaiting it gives the answer; dropping it then aborts the call.
/// [`stream`](Completion::stream) gives it as a run with its events. It owns what it needs, as a [`PendingRun`] does.
///
/// # Errors
/// Awaiting it gives `invalid_argument` for a model or fallback that cannot be used, for messages that leave nothing to answer
/// (none at all, an empty one, an answer as the last one), for two tools of one name, and for a `tool_choice` of a tool that does
/// not exist; `invalid_state` as [`PendingRun`]; and the call's own error, with the result inside, when it failed and no retry
/// and no fallback was left. A call that was aborted is no error: its message, with what had come of it, has the stop reason
/// `aborted`. Only where a shutdown left no message, it is the error `aborted`.
#[must_use = "a model is not called before this is awaited or streamed"]
pub struct Completion(State);

enum State {
    Draft(Box<Draft>),
    Running(PendingRun),
    Over,
}

struct Draft {
    settings: Result<Agent, Error>,
    system_prompt: Option<String>,
    tools: Option<Vec<Arc<ToolSpec>>>,
    history: Vec<Arc<Message>>,
    messages: Vec<Message>,
    cancels: Vec<BoxFuture<'static, ()>>,
}

impl Completion {
    fn change(mut self, change: impl FnOnce(&mut Draft)) -> Completion {
        if let State::Draft(draft) = &mut self.0 {
            change(draft);
        }
        self
    }

    /// The text that comes before the messages, instead of that of the settings.
    pub fn system_prompt(self, text: impl Into<String>) -> Completion {
        let text = text.into();
        self.change(|draft| draft.system_prompt = Some(text))
    }

    /// What the model may call, instead of the tools of the settings: descriptions, as nothing is executed. Those of tools are
    /// [`ToolSet::specs`].
    ///
    /// ```
    /// use agent_loop::{ToolSpec, complete};
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), agent_loop::Error> {
    /// # let model = r#"{"provider": "scripted", "id": "s", "script": [[
    /// #     {"delta": {"tool_call": {"id": "a", "name": "weather", "arguments": {"city": "Oslo"}}}}, {"end": "tool_use"}]]}"#;
    /// let city = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    /// let weather = ToolSpec::new("weather", "The weather now.", city)?;
    /// let answer = complete(model, "Rain in Oslo?").tools([weather]).await?;
    /// let call = answer.tool_calls().next().expect("the script has one");
    /// assert_eq!((call.name.as_str(), &call.arguments["city"]), ("weather", &json!("Oslo")));
    /// # Ok(()) }
    /// ```
    pub fn tools(self, tools: impl IntoIterator<Item = impl Into<Arc<ToolSpec>>>) -> Completion {
        let tools = tools.into_iter().map(Into::into).collect();
        self.change(|draft| draft.tools = Some(tools))
    }

    /// The conversation before the messages. It is shared, not copied.
    pub fn history(self, messages: impl IntoIterator<Item = impl Into<Arc<Message>>>) -> Completion {
        let messages = messages.into_iter().map(Into::into).collect();
        self.change(|draft| draft.history = messages)
    }

    /// Aborts the call when this future ends; see [`PendingRun::abort_on`].
    pub fn abort_on<C>(self, cancel: C) -> Completion
    where
        C: IntoFuture,
        C::IntoFuture: Send + 'static,
    {
        let cancel = cancel.into_future();
        self.change(|draft| draft.cancels.push(Box::pin(async move { drop(cancel.await) })))
    }

    /// Starts the call and gives it as a run, with its events as they come: those of a run of one turn that has no input. Its
    /// result has the answer as its `message`. Steering and follow-ups are `invalid_state`.
    ///
    /// # Errors
    /// As awaiting it, but for the call's own.
    pub fn stream(self) -> Result<Run, Error> {
        match self.0 {
            State::Draft(draft) => draft.pending()?.stream(),
            State::Running(_) | State::Over => Err(already_begun()),
        }
    }
}

#[cfg(feature = "__bindings")]
impl Completion {
    /// The call as a run that has not begun.
    ///
    /// # Errors
    /// As [`Completion::stream`].
    #[doc(hidden)] // For hosts of other languages.
    pub fn pending(self) -> Result<PendingRun, Error> {
        match self.0 {
            State::Draft(draft) => draft.pending(),
            State::Running(pending) => Ok(pending),
            State::Over => Err(already_begun()),
        }
    }

    /// Refuses options that one model call has no use for. In Rust and C they are an agent's, which also has runs.
    ///
    /// # Errors
    /// `invalid_argument`: names the first one.
    #[doc(hidden)] // For hosts of other languages.
    pub fn check_options<'a>(names: impl IntoIterator<Item = &'a str>, spelling: Spelling) -> Result<(), Error> {
        let hooks = hooks::all().into_iter().filter(HookRow::is_of_the_loop).map(|hook| hook.word);
        let known: Vec<String> = options::OF_THE_LOOP.iter().copied().chain(hooks).map(|name| spelling.spell(name)).collect();
        match names.into_iter().find(|name| *name == "middleware" || known.iter().any(|known| known == name)) {
            None => Ok(()),
            Some(name) => Err(Error::invalid_argument(format!(
                "option {name:?}: one model call has no further turn and no queue, and executes no tool; leave the option out, \
                 or use run"
            ))),
        }
    }
}

impl Draft {
    fn pending(self) -> Result<PendingRun, Error> {
        let Draft { settings, system_prompt, tools, mut history, messages, cancels } = self;
        let settings = settings?;
        history.extend(messages.into_iter().map(Arc::new));
        if let Some(twice) = tools.iter().flatten().enumerate().find_map(|(at, tool)| {
            let before = tools.iter().flatten().take(at);
            before.map(|other| other.name()).find(|name| *name == tool.name())
        }) {
            return Err(Error::invalid_argument(format!("there are two tools named {twice:?}; give each its own name")));
        }
        let context = OwnedContext {
            system_prompt: system_prompt.unwrap_or_else(|| settings.system_prompt()),
            messages: Arc::new(history),
            tools: if tools.is_some() { ToolSet::default() } else { settings.tools() },
            specs: tools.map(Into::into),
            place: "",
        };
        let pending = PendingRun::of_context(context, settings, RunInput::OneCall);
        Ok(cancels.into_iter().fold(pending, PendingRun::abort_on))
    }
}

impl Future for Completion {
    type Output = Result<AssistantMessage, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut pending = match std::mem::replace(&mut self.0, State::Over) {
            State::Draft(draft) => match draft.pending() {
                Ok(pending) => pending,
                Err(error) => return Poll::Ready(Err(error)),
            },
            State::Running(pending) => pending,
            State::Over => return Poll::Ready(Err(already_begun())),
        };
        let result = Pin::new(&mut pending).poll(cx);
        if result.is_pending() {
            self.0 = State::Running(pending);
        }
        result.map(|result| result.and_then(answer))
    }
}

/// The message of a call that did not fail.
fn answer(result: RunResult) -> Result<AssistantMessage, Error> {
    if let Some(answer) = result.message.as_ref().and_then(|message| message.as_assistant()) {
        return Ok(answer.clone());
    }
    let error = result.error.clone();
    let error = error.unwrap_or_else(|| Error::new(ErrorKind::Aborted, "the call was aborted before the model answered"));
    Err(error.with_result(result))
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion").field("has_begun", &!matches!(self.0, State::Draft(_))).finish_non_exhaustive()
    }
}
