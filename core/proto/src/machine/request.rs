//! Preparing a model call: the transcript through the hooks, repaired for the model, encoded.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ask::{Patience, Unanswered};
use super::turn::Phase;
use super::{HookAnswer, HookKind, Loop, ModelEntry, Progress, Question};
use crate::error::{Error, ErrorKind};
use crate::hook::Payload;
use crate::message::Message;
use crate::request::{IgnoredOption, Request};
use crate::transcript::{self, Constraints, Repair, Repaired};

use Progress::{Blocked, Made};

/// How far the preparation is.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Preparation {
    stage: Stage,
    /// The messages, while hooks change them.
    messages: Vec<Arc<Message>>,
    request: Request,
    /// The body, while a hook may change it.
    payload: Option<Map<String, Value>>,
    /// How many of the fallbacks were tried in this turn.
    pub(super) fallbacks: usize,
    /// Which model failed first in this turn, and with what: it was meant to answer.
    pub(super) failed_before: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    #[default]
    Begin,
    TransformContext,
    ConvertToLlm,
    Repair,
    GetApiKey,
    Encode,
    OnPayload,
    Call,
}

impl Loop {
    /// The turn's first model call.
    pub(super) fn begin_request(&mut self) -> Progress {
        self.preparation = Preparation::default();
        self.go(Phase::Request)
    }

    /// The same turn with another model.
    pub(super) fn begin_request_again(&mut self) -> Progress {
        self.preparation.stage = Stage::Begin;
        self.go(Phase::Request)
    }

    fn goes_to(&mut self, stage: Stage) -> Progress {
        self.preparation.stage = stage;
        Made
    }

    pub(super) fn prepare_request(&mut self) -> Progress {
        if let Some(error) = self.before_call.take() {
            return self.begin_answer(Err(Some(error)));
        }
        let config = Arc::clone(&self.config);
        let model = match &config.model {
            Ok(model) => model,
            Err(error) => return self.begin_answer(Err(Some(error.clone()))),
        };
        let hooks = config.hooks;
        match self.preparation.stage {
            Stage::Begin => {
                let changes = hooks.has(HookKind::TransformContext) || hooks.has(HookKind::ConvertToLlm);
                if !changes {
                    return self.goes_to(Stage::Repair);
                }
                self.preparation.messages = self.context().to_vec();
                self.goes_to(Stage::TransformContext)
            }
            Stage::TransformContext => self.change_messages(HookKind::TransformContext, Stage::ConvertToLlm),
            Stage::ConvertToLlm => self.change_messages(HookKind::ConvertToLlm, Stage::Repair),
            Stage::Repair => {
                self.repair(model);
                self.goes_to(Stage::GetApiKey)
            }
            Stage::GetApiKey => {
                if hooks.has(HookKind::GetApiKey) {
                    let provider = model.provider.clone();
                    match self.ask(Patience::None, |_| Question::GetApiKey(provider)) {
                        None => return Blocked,
                        Some(Err(unanswered)) => return self.not_prepared(unanswered, HookKind::GetApiKey),
                        Some(Ok(_)) => {}
                    }
                }
                self.goes_to(Stage::Encode)
            }
            Stage::Encode => {
                self.encode(model);
                self.goes_to(if hooks.has(HookKind::OnPayload) { Stage::OnPayload } else { Stage::Call })
            }
            Stage::OnPayload => {
                let (provider, id) = (model.provider.clone(), model.id.clone());
                let asked = self.ask(Patience::None, |this| {
                    // A custom model has no body: the hook gets what the model gets.
                    let payload = this.preparation.payload.clone();
                    let payload = payload.or_else(|| json!(this.preparation.request).as_object().cloned()).unwrap_or_default();
                    Question::OnPayload(Payload { provider, model: id, payload })
                });
                match asked {
                    None => return Blocked,
                    Some(Err(unanswered)) => return self.not_prepared(unanswered, HookKind::OnPayload),
                    Some(Ok(HookAnswer::Payload(payload))) => self.preparation.payload = Some(payload),
                    Some(Ok(_)) => {}
                }
                self.goes_to(Stage::Call)
            }
            Stage::Call => {
                let request = Arc::new(std::mem::take(&mut self.preparation.request));
                // Written once: the tree is several times as large, and each try sends the same bytes.
                let body = self.preparation.payload.take().map(|payload| serde_json::to_vec(&payload)).transpose();
                match body {
                    Ok(body) => self.begin_answer(Ok((request, body.map(Arc::from)))),
                    Err(error) => {
                        let text = format!("the request cannot be written: {error}");
                        self.begin_answer(Err(Some(Error::new(ErrorKind::InvalidArgument, text))))
                    }
                }
            }
        }
    }

    fn not_prepared(&mut self, unanswered: Unanswered, kind: HookKind) -> Progress {
        let error = unanswered.error(kind);
        self.begin_answer(Err(error))
    }

    /// The messages before repair.
    fn context(&self) -> &[Arc<Message>] {
        self.changes.messages.as_deref().unwrap_or(&self.transcript)
    }

    fn change_messages(&mut self, kind: HookKind, next: Stage) -> Progress {
        if self.config.hooks.has(kind) {
            let asked = self.ask(Patience::None, |this| {
                let messages = this.preparation.messages.clone();
                if kind == HookKind::TransformContext {
                    Question::TransformContext(messages)
                } else {
                    Question::ConvertToLlm(messages)
                }
            });
            match asked {
                None => return Blocked,
                Some(Err(unanswered)) => return self.not_prepared(unanswered, kind),
                Some(Ok(HookAnswer::Messages(messages))) => self.preparation.messages = messages,
                Some(Ok(_)) => {}
            }
        }
        self.goes_to(next)
    }

    fn repair(&mut self, model: &ModelEntry) {
        let settings = &self.config.settings;
        let constraints = Constraints { max_result_bytes: settings.max_result_bytes, ..model.constraints.clone() };
        let changed = std::mem::take(&mut self.preparation.messages);
        let hooks = self.config.hooks;
        let Repaired { messages, repairs } = if hooks.has(HookKind::TransformContext) || hooks.has(HookKind::ConvertToLlm) {
            transcript::repair(&changed, &constraints)
        } else {
            transcript::repair(self.context(), &constraints)
        };
        self.preparation.request = Request {
            model: model.name(),
            system_prompt: settings.system_prompt.clone(),
            messages,
            tools: Arc::clone(self.config.tools.descriptions()),
            thinking_level: settings.thinking_level,
            options: settings.model.clone(),
        };
        self.report_repairs(repairs, &constraints);
    }

    fn encode(&mut self, model: &ModelEntry) {
        let Some(encoder) = &model.encoder else {
            self.preparation.payload = None;
            return;
        };
        let request = &self.preparation.request;
        let (payload, ignored) = (encoder.encode(request), encoder.ignored(request));
        self.preparation.payload = Some(payload);
        self.report_ignored(ignored, &model.name());
    }

    /// Reports repairs, each once in a run.
    fn report_repairs(&mut self, repairs: Vec<Repair>, constraints: &Constraints) {
        let key = |repair: &Repair| (repair.message_index, repair.content_index, repair.text.clone());
        let new: Vec<Repair> = repairs.into_iter().filter(|repair| !self.repairs.contains(&key(repair))).collect();
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
        self.repairs.extend(new.iter().map(key));
        self.diagnostic("transcript_repaired", message, data);
    }

    /// Reports the options that do not reach the model as they were given, each once in a run.
    fn report_ignored(&mut self, ignored: Vec<IgnoredOption>, model: &str) {
        for IgnoredOption { option, why } in ignored {
            let reported = (model.to_owned(), option.to_owned());
            if self.ignored.contains(&reported) {
                continue;
            }
            self.ignored.push(reported);
            let message = format!("{model} does not get {option} as it was given: {why}");
            self.diagnostic("option_ignored", message, json!({ "option": option }));
        }
    }
}
