//! A prompt of a session: from the conversation in Restate's state to the next one there.
//!
//! All inputs of the loop are in Restate's journal, times included, so that a replay leads to the same actions.

use std::pin::Pin;
use std::time::Duration;

use agent_loop::machine::workflow::{InboxInput, Room, StoredConversation, Suspended};
use agent_loop::machine::{Action, Conversation, HookAnswer, Input, Loop, Start};
use agent_loop::suspension::Decision;
use agent_loop::{Error, ErrorKind, Message, RunResult};
use restate_sdk::context::{DurableFuture, DurableFuturesUnordered};
use restate_sdk::prelude::*;
use serde_json::{Value, json};

use crate::assistant::{Definition, read, refused};
use crate::inbox::{AssistantInboxClient, signal_name};
use crate::steps::{AssistantStepsClient, ModelStep, Outcome, ToolStep, now_ms};

/// Something that the handler waits for.
enum Event {
    /// A step of this run is over.
    Step(u32, Outcome),
    /// The next steering, follow-up or abort.
    Sent(InboxInput),
    Timer(u64),
    /// `None` if the awakeable was rejected.
    Decided(Option<Value>),
}

type Durable<'ctx, T> = Pin<Box<dyn DurableFuture<Output = Result<T, TerminalError>> + Send + 'ctx>>;

/// One invocation of `prompt` or `resume`.
pub struct Session<'ctx> {
    ctx: &'ctx ObjectContext<'ctx>,
    definition: &'ctx Definition,
    kept: StoredConversation,
    room: Room,
    conversation: Conversation<Loop>,
    waiting: DurableFuturesUnordered<Durable<'ctx, Event>>,
    now_ms: u64,
    timer_ms: Option<u64>,
    /// How many inputs were read, and how many of them need not be read again.
    read: usize,
    saved: usize,
    is_cancelled: bool,
}

impl<'ctx> Session<'ctx> {
    pub async fn of(ctx: &'ctx ObjectContext<'ctx>, definition: &'ctx Definition) -> Result<Session<'ctx>, TerminalError> {
        let (kept, room) = read(ctx.get("conversation").await?)?;
        let (conversation, waiting) = (Conversation::default(), DurableFuturesUnordered::new());
        let (now_ms, timer_ms, read, saved, is_cancelled) = (0, None, 0, 0, false);
        Ok(Session { ctx, definition, kept, room, conversation, waiting, now_ms, timer_ms, read, saved, is_cancelled })
    }

    /// Runs the agent until no call waits for a decision; returns the result.
    pub async fn run(mut self, message: Option<String>) -> Result<Value, TerminalError> {
        if let Some(text) = &message {
            self.kept.check_prompt(&json!(text), self.room).map_err(refused)?;
        }
        // Calls still wait when a handler begins only if the invocation that waited for them was killed, or has failed.
        if self.kept.pending.is_empty() {
            self.begin(|id, seed| match message {
                Some(text) => Start::new(id, seed, vec![Message::user(text, 0)]),
                None => Start::resume(id, seed),
            })?;
        }
        let result = self.result().await;
        self.inbox().close(self.saved as u64).call().await?;
        match result {
            Ok(_) if self.is_cancelled => Err(TerminalError::new_with_code(409, "cancelled")),
            result => result.map(|result| json!(result)),
        }
    }

    fn inbox(&self) -> AssistantInboxClient<'ctx> {
        self.ctx.object_client(self.ctx.key())
    }

    fn steps(&self) -> AssistantStepsClient<'ctx> {
        self.ctx.service_client()
    }

    /// The loop of the next run. Its id and its seed are the same in each replay.
    fn begin(&mut self, start: impl FnOnce(String, u64) -> Start) -> Result<(), TerminalError> {
        self.kept.runs += 1;
        self.timer_ms = None;
        let (key, runs) = (self.ctx.key(), self.kept.runs);
        let start = start(format!("assistant/{key}/{runs}"), self.ctx.random_seed().wrapping_add(runs.into()));
        self.conversation = self.definition.begin(self.kept.export.as_ref(), start).map_err(refused)?;
        Ok(())
    }

    /// The result of the run, or of the one that goes on with decisions about its calls.
    async fn result(&mut self) -> Result<RunResult, TerminalError> {
        let opened = self.inbox().open(self.ctx.invocation_id().to_owned()).call().await?.into_inner();
        (self.now_ms, self.read) = (opened.at_ms, opened.waiting.len());
        self.wait_for_input();
        let mut inputs = opened.waiting;
        loop {
            if !self.kept.pending.is_empty() {
                self.decided(&mut inputs).await?;
                self.kept.begin_decided();
                self.store()?;
                // The time that calls wait for a decision is not that of the run.
                self.now_ms = self.now_ms.max(self.ctx.run(|| async { Ok(now_ms()) }).await?);
            }
            for input in inputs.drain(..) {
                self.conversation.handle(input.to_input().map_err(refused)?);
            }
            let result = self.result_of_run().await?;
            let export = self.conversation.export().map_err(refused)?;
            self.kept = StoredConversation::new(self.kept.runs, json!(export)).map_err(refused)?;
            // What the run took in goes with a conversation that is too large to be stored.
            self.saved = self.read;
            self.store()?;
            if self.kept.pending.is_empty() {
                return Ok(result);
            }
        }
    }

    fn store(&self) -> Result<(), TerminalError> {
        let json = self.kept.to_json(None).map_err(refused)?;
        self.ctx.set("conversation", json.into_bytes());
        Ok(())
    }

    /// Runs the loop to its end: its actions become steps, and their results its inputs.
    async fn result_of_run(&mut self) -> Result<RunResult, TerminalError> {
        loop {
            while let Some(action) = self.conversation.poll(self.now_ms) {
                match action {
                    Action::CallModel(asked) => {
                        let request = &asked.request;
                        let (system_prompt, messages) = (request.system_prompt.clone(), request.messages.clone());
                        let step = Json(ModelStep { call: asked.call, system_prompt, messages });
                        let call = asked.call;
                        self.wait_for_step(Box::pin(self.steps().model(step).call()), move |text| Input::ModelEnd {
                            call,
                            result: Err(Error::new(ErrorKind::Connection, text)),
                        });
                    }
                    Action::CallTool { call, name, arguments, idempotency_key, .. } => {
                        let step = Json(ToolStep { call, name, arguments, idempotency_key });
                        self.wait_for_step(Box::pin(self.steps().tool(step).call()), move |text| Input::ToolDone {
                            call,
                            result: Err(text),
                        });
                    }
                    // Of each tool: whether it prepares its arguments.
                    Action::AskHook { question_id, .. } => {
                        self.conversation.handle(Input::HookAnswer { question_id, answer: Ok(HookAnswer::Nothing.into()) });
                    }
                    Action::SetTimer(timer) => self.set_timer(timer.map(|timer| timer.at_ms)),
                    Action::Done(result) => return Ok(*result),
                    // Events are not kept. The results of cancelled calls are not waited for.
                    _ => {}
                }
            }
            match self.next().await? {
                Event::Step(runs, Outcome { inputs, at_ms }) if runs == self.kept.runs => {
                    // Clocks of machines differ; the loop's time does not go back.
                    self.now_ms = self.now_ms.max(at_ms);
                    inputs.into_iter().for_each(|input| self.conversation.handle(input));
                }
                Event::Sent(input) => self.conversation.handle(input.to_input().map_err(refused)?),
                Event::Timer(at_ms) => self.now_ms = self.now_ms.max(at_ms),
                Event::Step(..) | Event::Decided(_) => {}
            }
        }
    }

    /// Waits for decisions about the calls that wait, without a process if that takes long, and begins the run that goes on with
    /// them. Appends the inputs that arrive meanwhile. An abort denies all calls.
    async fn decided(&mut self, inputs: &mut Vec<InboxInput>) -> Result<(), TerminalError> {
        let ids: Vec<String> = self.kept.pending.iter().map(|call| call.tool_call_id.to_string()).collect();
        self.wait_for_decisions(&ids).await?;
        loop {
            let decisions = match self.next().await? {
                Event::Decided(decisions) => match decisions.and_then(|given| self.fitting(given)) {
                    Some(decisions) => decisions,
                    None => {
                        self.wait_for_decisions(&ids).await?;
                        continue;
                    }
                },
                Event::Sent(input) => {
                    let is_abort = input == InboxInput::Abort;
                    inputs.push(input);
                    if !is_abort {
                        continue;
                    }
                    ids.iter().map(|id| (id.clone(), Decision::deny("aborted"))).collect()
                }
                Event::Step(..) | Event::Timer(_) => continue,
            };
            return self.begin(|id, seed| Start::decided(id, seed, decisions));
        }
    }

    /// The decisions, if they are about the calls that wait: whoever knows the awakeable's id can complete it without `decide`,
    /// which checks.
    fn fitting(&self, given: Value) -> Option<Vec<(String, Decision)>> {
        let decisions = Decision::all_from_json(given).ok()?;
        self.definition.begin(self.kept.export.as_ref(), Start::decided("", 0, decisions.clone())).ok()?;
        Some(decisions)
    }

    async fn wait_for_decisions(&mut self, ids: &[String]) -> Result<(), TerminalError> {
        let (awakeable, decided) = self.ctx.awakeable::<Json<Value>>();
        let decided = decided.map(|decisions| Ok(Event::Decided(decisions.ok().map(Json::into_inner))));
        self.waiting.push(Box::pin(decided));
        self.inbox().suspend(Json((Suspended { awakeable, ids: ids.to_vec() }, self.saved))).call().await
    }

    /// Waits for a step. One that Restate ended, as when its invocation is cancelled, is a failed call, as `failed` has it.
    fn wait_for_step(&mut self, called: Durable<'ctx, Json<Outcome>>, failed: impl FnOnce(String) -> Input + Send + 'static) {
        let (runs, now_ms) = (self.kept.runs, self.now_ms);
        self.waiting.push(Box::pin(called.map(move |outcome| {
            let ended = |error: TerminalError| Outcome { inputs: vec![failed(error.to_string())], at_ms: now_ms };
            Ok(Event::Step(runs, outcome.map_or_else(ended, Json::into_inner)))
        })));
    }

    fn set_timer(&mut self, at_ms: Option<u64>) {
        if let Some(at_ms) = at_ms.filter(|_| at_ms != self.timer_ms) {
            let slept = self.ctx.sleep(Duration::from_millis(at_ms.saturating_sub(self.now_ms)));
            self.waiting.push(Box::pin(slept.map_ok(move |()| Event::Timer(at_ms))));
        }
        self.timer_ms = at_ms;
    }

    fn wait_for_input(&mut self) {
        let sent = self.ctx.signal::<Json<InboxInput>>(&signal_name(self.read));
        self.waiting.push(Box::pin(sent.map_ok(|input| Event::Sent(input.into_inner()))));
    }

    /// The next thing that happens. A cancelled invocation is an abort.
    async fn next(&mut self) -> Result<Event, TerminalError> {
        let event = match self.waiting.next().await {
            Ok(Some((_, event))) => event?,
            Ok(None) => return Err(TerminalError::new("nothing is under way")),
            Err(_cancelled) => {
                self.is_cancelled = true;
                return Ok(Event::Sent(InboxInput::Abort));
            }
        };
        if let Event::Sent(_) = event {
            self.read += 1;
            self.wait_for_input();
        }
        Ok(event)
    }
}
