//! Preparing a model call: the transcript through the hooks, repaired for the model, encoded.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::action::PreparedRequest;
use super::config::Config;
use super::context::{RequestSize, fit_to};
use super::emitter::Emitter;
use super::final_answer::Asked;
use super::model_calls::ModelCalls;
use super::questions::NoAnswer;
use super::read_result;
use super::run_state::{Progress, RunState};
use super::summaries::Summaries;
use super::turn::Turn;
use crate::context_policy::ContextPolicy;
use crate::error::{Error, ErrorKind};
use crate::hook::{HookAnswer, HookKind, NextRequest, Payload, Question, TurnChange};
use crate::message::Message;
use crate::model_entry::ModelEntry;
use crate::protocol::{EncodeCache, Encoded};
use crate::request::{IgnoredOption, ModelOptions, Request};
use crate::table::codes;
use crate::transcript::{self, Constraints, Fitting, Repair, RepairCache, Repaired};

use Progress::{Blocked, Made};

/// How far the preparation is.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RequestPreparation {
    stage: RequestStage,
    /// The messages, while hooks change them.
    messages: Vec<Arc<Message>>,
    /// Whether `prepare_request` was asked in this turn.
    #[serde(default)]
    is_asked: bool,
    /// The messages of the turn's request, if that hook has others.
    #[serde(default)]
    given: Option<Vec<Arc<Message>>>,
    request: Request,
    /// The body, in JSON; none for a custom model.
    body: Option<Arc<[u8]>>,
    reported: Reported,
    #[serde(default)]
    size: RequestSize,
    #[serde(default)]
    summaries: Summaries,
    #[serde(skip)]
    caches: RequestCaches,
}

/// What was repaired and encoded for the last request, so that the next one costs what the transcript has gained. For the host it
/// is a thing to keep between two runs: [`Loop::finish`](super::Loop::finish). It notices by itself what has changed;
/// a message that is the same `Arc` as before is taken as unchanged. Not part of the saved state: it can be made again.
#[derive(Debug, Default)]
pub struct RequestCaches {
    /// None where nothing is fitted.
    fitting: Option<Box<Fitting>>,
    /// The messages with summaries in their place, before hooks have changed them.
    compacted: Option<Box<Fitting>>,
    repair: RepairCache,
    encode: EncodeCache,
}

/// What is reported once in a run.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Reported {
    /// Repairs: how many there were of each text. Not by their places, which a hook that leaves out messages shifts.
    repairs: BTreeMap<String, usize>,
    /// Ignored options: model and option.
    ignored: Vec<(String, String)>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum RequestStage {
    #[default]
    Begin,
    PrepareRequest,
    /// A model writes summaries of what the request has no room for.
    Summarize,
    Messages,
    TransformContext,
    ConvertToLlm,
    Repair,
    GetApiKey,
    Encode,
    OnPayload,
    Call,
}

impl RequestPreparation {
    /// Goes on from what was repaired and encoded for an earlier run.
    pub(super) fn set_caches(&mut self, mut caches: RequestCaches) {
        self.summaries.set_fitting(caches.compacted.take());
        self.caches = caches;
    }

    pub(super) fn into_caches(self) -> RequestCaches {
        RequestCaches { compacted: self.summaries.into_fitting(), ..self.caches }
    }

    /// The first request of a turn.
    pub(super) fn begin_turn(&mut self) {
        (self.is_asked, self.given) = (false, None);
        self.summaries.begin_turn();
        self.begin();
    }

    pub(super) fn begin(&mut self) {
        self.stage = RequestStage::Begin;
    }

    /// Another model is asked in the same turn: it may read less, and need summaries that the first one did not.
    pub(super) fn begin_for_other_model(&mut self) {
        self.summaries.begin_turn();
        self.begin();
    }

    /// The provider has refused the request as too large: a smaller one follows.
    pub(super) fn begin_smaller(&mut self, turn: &mut Turn) {
        turn.set_refused_limit(Some(self.size.limit_when_refused()));
        self.begin();
    }

    fn go_to<T>(&mut self, stage: RequestStage) -> Progress<T> {
        self.stage = stage;
        Made
    }

    pub(super) fn step(&mut self, run: &mut RunState, calls: &mut ModelCalls) -> Progress<PreparedRequest> {
        if let Some(error) = run.turn.take_failure_before_call() {
            return Progress::Ended(Err(Some(error)));
        }
        let config = Arc::clone(run.setup.current());
        let model = match &config.model {
            Ok(model) => model,
            Err(error) => return Progress::Ended(Err(Some(error.clone()))),
        };
        let hooks = config.hooks;
        match self.stage {
            RequestStage::Begin => {
                let most = config.settings.max_transcript_bytes;
                if most > 0 && run.transcript.bytes() > most {
                    return Progress::Ended(Err(Some(too_long(run.transcript.bytes(), most))));
                }
                let asks = hooks.has(HookKind::PrepareRequest) && !self.is_asked;
                self.go_to(if asks { RequestStage::PrepareRequest } else { after_changes(&config) })
            }
            RequestStage::PrepareRequest => self.change_request(run, model),
            RequestStage::Summarize => match self.summaries.step(run, calls) {
                Made => Made,
                Blocked => Blocked,
                // A summary may have used up what the request needs: it is not called.
                Progress::Ended(()) if run.used_up(run.settings()).is_some() => self.go_to(RequestStage::Call),
                Progress::Ended(()) => self.go_to(RequestStage::Messages),
            },
            RequestStage::Messages => {
                if self.given.is_none() && !changes_messages(&config) {
                    return self.go_to(RequestStage::Repair);
                }
                self.messages = self.given.clone().unwrap_or_else(|| self.summaries.messages(run));
                self.go_to(RequestStage::TransformContext)
            }
            RequestStage::TransformContext => self.change_messages(run, HookKind::TransformContext, RequestStage::ConvertToLlm),
            RequestStage::ConvertToLlm => self.change_messages(run, HookKind::ConvertToLlm, RequestStage::Repair),
            RequestStage::Repair => {
                self.repair(run, &config, model);
                self.go_to(RequestStage::GetApiKey)
            }
            RequestStage::GetApiKey => {
                if hooks.has(HookKind::GetApiKey) {
                    match run.ask(|| Question::GetApiKey(model.provider.clone())) {
                        None => return Blocked,
                        Some(Err(unanswered)) => return not_prepared(run, unanswered, HookKind::GetApiKey),
                        Some(Ok(_)) => {}
                    }
                }
                self.go_to(RequestStage::Encode)
            }
            RequestStage::Encode => {
                self.encode(model, config.settings.model.tool_choice.is_some(), &mut run.emitter);
                self.go_to(if hooks.has(HookKind::OnPayload) { RequestStage::OnPayload } else { RequestStage::Call })
            }
            RequestStage::OnPayload => self.replace_body(run, model),
            RequestStage::Call => {
                let request = Arc::new(std::mem::take(&mut self.request));
                Progress::Ended(Ok((request, self.body.take())))
            }
        }
    }

    /// What the hook changes for this request alone.
    fn change_request(&mut self, run: &mut RunState, model: &ModelEntry) -> Progress<PreparedRequest> {
        let config = Arc::clone(run.setup.current());
        let turn = run.emitter.turn();
        let asked = run.ask(|| {
            Question::PrepareRequest(NextRequest {
                turn,
                model: model.name(),
                system_prompt: config.settings.system_prompt.clone(),
                tools: config.tools.descriptions().iter().map(|tool| tool.name.clone()).collect(),
                thinking_level: config.settings.thinking_level,
            })
        });
        let (mut change, model) = match asked {
            None => return Blocked,
            Some(Err(unanswered)) => return not_prepared(run, unanswered, HookKind::PrepareRequest),
            Some(Ok(HookAnswer::PrepareRequest(change))) => (change, None),
            Some(Ok(HookAnswer::ChangeModel { change, model })) => (change, Some(*model)),
            Some(Ok(_)) => (TurnChange::default(), None),
        };
        self.is_asked = true;
        self.given = change.messages.take();
        if let Err(why) = run.setup.change_turn(change, model) {
            let error = Error::callback(format!("the hook {} failed: {why}", HookKind::PrepareRequest));
            return Progress::Ended(Err(Some(error)));
        }
        // The next step looks the model up again: it may be another one.
        self.go_to(after_changes(run.config()))
    }

    fn change_messages(&mut self, run: &mut RunState, kind: HookKind, next: RequestStage) -> Progress<PreparedRequest> {
        if run.hooks().has(kind) {
            let asked = run.ask(|| {
                let messages = self.messages.clone();
                if kind == HookKind::TransformContext {
                    Question::TransformContext(messages)
                } else {
                    Question::ConvertToLlm(messages)
                }
            });
            match asked {
                None => return Blocked,
                Some(Err(unanswered)) => return not_prepared(run, unanswered, kind),
                Some(Ok(HookAnswer::TransformContext(Some(messages)) | HookAnswer::ConvertToLlm(Some(messages)))) => {
                    self.messages = messages;
                }
                Some(Ok(_)) => {}
            }
        }
        self.go_to(next)
    }

    fn repair(&mut self, run: &mut RunState, config: &Config, model: &ModelEntry) {
        let settings = &config.settings;
        let constraints = read_result::constraints(config, &model.constraints);
        let changed = std::mem::take(&mut self.messages);
        let is_changed = self.given.is_some() || changes_messages(config);
        let RequestCaches { fitting, repair, .. } = &mut self.caches;
        let mut context: &[Arc<Message>] = if is_changed { &changed } else { run.transcript.context() };
        if let Some(policy) = &settings.context {
            let to = fit_to(policy, config, model, &run.turn);
            let fitting = fitting.get_or_insert_default();
            let fitted = self.size.fit(fitting, context, to, &mut run.emitter);
            run.turn.set_can_shrink(fitted.can_shrink);
            context = fitting.kept();
        }
        let Repaired { messages, repairs } = transcript::repair_with(repair, context, &constraints);
        let (tool_choice, ignored) = run.tool_demand.choice(config);
        self.reported.ignored(ignored.into_iter().collect(), &model.name(), &mut run.emitter);
        let asked = Asked::of(config);
        let own = config.tools.descriptions();
        let tools = if read_result::is_offered(config) { &read_result::with_tool(own) } else { own };
        self.request = Request {
            model: model.name(),
            system_prompt: settings.system_prompt.clone(),
            messages,
            tools: asked.map_or_else(|| Arc::clone(tools), |asked| asked.tools(tools)),
            thinking_level: settings.thinking_level,
            options: ModelOptions {
                tool_choice: asked.map_or(tool_choice.clone(), |asked| asked.choice(tool_choice, config)),
                ..settings.model.clone()
            },
            output: asked.and_then(Asked::format),
        };
        self.reported.repairs(&repairs, &constraints, &mut run.emitter);
    }

    fn replace_body(&mut self, run: &mut RunState, model: &ModelEntry) -> Progress<PreparedRequest> {
        let asked = run.ask(|| {
            // A custom model has no body: the hook gets what the model gets.
            let payload = match &self.body {
                Some(body) => serde_json::from_slice(body).unwrap_or_default(),
                None => json!(self.request).as_object().cloned().unwrap_or_default(),
            };
            Question::OnPayload(Payload { provider: model.provider.clone(), model: model.id.clone(), payload })
        });
        match asked {
            None => return Blocked,
            Some(Err(unanswered)) => return not_prepared(run, unanswered, HookKind::OnPayload),
            Some(Ok(HookAnswer::OnPayload(Some(payload)))) => match serde_json::to_vec(&payload) {
                Ok(body) => self.body = Some(body.into()),
                Err(error) => {
                    let text = format!("the request cannot be written: {error}");
                    return Progress::Ended(Err(Some(Error::new(ErrorKind::InvalidArgument, text))));
                }
            },
            Some(Ok(_)) => {}
        }
        self.go_to(RequestStage::Call)
    }

    fn encode(&mut self, model: &ModelEntry, is_tool_choice_given: bool, emitter: &mut Emitter) {
        let Some(encoder) = &model.encoder else {
            self.body = None;
            return;
        };
        let Encoded { body, mut ignored } = encoder.encode(&mut self.caches.encode, &self.request);
        self.body = Some(body.into());
        // What the loop itself asks for, so that the model calls the final tool.
        ignored.retain(|ignored| ignored.option != "tool_choice" || is_tool_choice_given);
        self.reported.ignored(ignored, &model.name(), emitter);
    }
}

/// The error of a transcript that is larger than it may be.
fn too_long(bytes: usize, most: usize) -> Error {
    let text = format!(
        "the transcript has {bytes} bytes, more than max_transcript_bytes ({most}); replace its messages with fewer ones, or \
         raise the limit"
    );
    Error::new(ErrorKind::Limit, text)
}

/// What follows once the configuration of the request is known.
fn after_changes(config: &Config) -> RequestStage {
    let summarizes = config.settings.context.as_ref().is_some_and(ContextPolicy::summarizes);
    if summarizes { RequestStage::Summarize } else { RequestStage::Messages }
}

/// Whether hooks change the messages that the model reads.
fn changes_messages(config: &Config) -> bool {
    config.hooks.has(HookKind::TransformContext) || config.hooks.has(HookKind::ConvertToLlm)
}

fn not_prepared(run: &mut RunState, unanswered: NoAnswer, kind: HookKind) -> Progress<PreparedRequest> {
    run.hook_failed(kind, unanswered);
    Progress::Ended(Err(run.turn.take_failure_before_call()))
}

impl Reported {
    /// Reports repairs, each once in a run.
    fn repairs(&mut self, repairs: &[Repair], constraints: &Constraints, emitter: &mut Emitter) {
        let mut counts = BTreeMap::<&str, usize>::new();
        let mut new = Vec::new();
        for repair in repairs {
            let count = counts.entry(&repair.text).or_default();
            *count += 1;
            if self.repairs.get(&repair.text).is_none_or(|known| *count > *known) {
                new.push(repair);
            }
        }
        let Some(first) = new.first() else {
            return;
        };
        let more = match new.len() {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        let name = constraints.name();
        let message = format!("the transcript was made to fit {name}: message {}: {}{more}", first.message_index, first.text);
        let data = json!({ "repairs": new });
        for repair in new {
            *self.repairs.entry(repair.text.clone()).or_default() += 1;
        }
        emitter.diagnostic(codes::TRANSCRIPT_REPAIRED, message, data);
    }

    /// Reports the options that do not reach the model as they were given, each once in a run.
    fn ignored(&mut self, ignored: Vec<IgnoredOption>, model: &str, emitter: &mut Emitter) {
        for IgnoredOption { option, why } in ignored {
            let reported = (model.to_owned(), option.to_owned());
            if self.ignored.contains(&reported) {
                continue;
            }
            self.ignored.push(reported);
            let message = format!("{model} does not get {option} as it was given: {why}");
            emitter.diagnostic(codes::OPTION_IGNORED, message, json!({ "option": option }));
        }
    }
}
