//! What a model is asked: the transcript through the hooks, repaired for the model; the key; the body.

use std::sync::Arc;

use serde_json::json;

use super::driver::Driver;
use super::hooks::Unanswered;
use crate::error::{Error, ErrorKind};
use crate::event::EventData;
use crate::hook::{HookKind, Payload};
use crate::model::{IgnoredOption, Model, ModelRequest, Request};
use crate::provider::is_credential;
use crate::transcript::{self, Constraints, Repair, Repaired};

impl Driver {
    /// What is asked, and whom.
    pub(super) async fn prepare_request(&mut self) -> Result<(Arc<dyn Model>, ModelRequest), Unanswered> {
        let hooks = Arc::clone(&self.offered.hooks);
        let model = self.offered.model.clone().map_err(Unanswered::Failed)?;
        let fit = Constraints { max_result_bytes: self.offered.settings.max_result_bytes, ..model.constraints() };
        let changed = self.changes.messages.clone();
        let Repaired { messages, repairs } = if hooks.transform_context.is_none() && hooks.convert_to_llm.is_none() {
            match &changed {
                Some(messages) => transcript::repair(messages, &fit),
                None => transcript::repair(&self.agent.messages(), &fit),
            }
        } else {
            let messages = changed.unwrap_or_else(|| self.agent.messages().to_vec());
            let messages = self.change_messages(HookKind::TransformContext, hooks.transform_context.clone(), messages).await?;
            let messages = self.change_messages(HookKind::ConvertToLlm, hooks.convert_to_llm.clone(), messages).await?;
            transcript::repair(&messages, &fit)
        };
        self.tell_repairs(repairs, &fit).await;
        let provider = model.info().provider.to_owned();
        // The agent's key, and headers that may hold one, are for the server of its own model.
        let at_home = self.offered.at_home;
        let (own_key, keys_for) = (self.offered.api_key.clone(), &self.offered.keys_for);
        let withheld_key = own_key.as_ref().filter(|_| !at_home).map(|_| match *keys_for == provider {
            true => format!("{keys_for} at another address"),
            false => keys_for.clone(),
        });
        let mut api_key = own_key.filter(|_| at_home);
        if let Some(hook) = &hooks.get_api_key {
            api_key = self.ask(HookKind::GetApiKey, hook, provider.clone()).await?.or(api_key);
        }
        // A key that was read from a file ends with a line break.
        let api_key = api_key.map(|key| key.trim().to_owned());
        let settings = &self.offered.settings;
        let mut headers = settings.headers.clone();
        headers.retain(|name, _| at_home || !is_credential(name));
        let mut request = ModelRequest {
            request: Request {
                model: format!("{provider}/{}", model.info().id),
                system_prompt: settings.system_prompt.clone(),
                messages,
                tools: Arc::clone(&self.offered.descriptions),
                thinking_level: settings.thinking_level,
                options: settings.model.clone(),
            },
            headers,
            api_key,
            withheld_key,
            raw_events: settings.raw_events,
            wants_response: hooks.on_response.is_some(),
            connect_timeout_ms: settings.limits.connect_timeout_ms,
            network: Arc::clone(&settings.network),
            payload: None,
        };
        self.tell_ignored(model.ignored(&request), &request.request.model).await;
        let mut payload = model.payload(&request).map_err(Unanswered::Failed)?;
        if let Some(hook) = &hooks.on_payload {
            // A model that writes no request of its own is shown what it is asked.
            let shown = payload.clone().or_else(|| json!(request).as_object().cloned()).unwrap_or_default();
            let shown = Payload { provider, model: model.info().id.to_owned(), payload: shown };
            payload = self.ask(HookKind::OnPayload, hook, shown).await?.or(payload);
        }
        // Written once: the tree is several times as large, and each try sends the same bytes.
        let written = payload.map(|payload| serde_json::to_vec(&payload)).transpose();
        let written = written.map_err(|e| {
            Unanswered::Failed(Error::new(ErrorKind::InvalidArgument, format!("the request cannot be written: {e}")))
        })?;
        request.payload = written.map(Arc::from);
        Ok((model, request))
    }

    /// Tells what was repaired, once in a run.
    async fn tell_repairs(&mut self, repairs: Vec<Repair>, fit: &Constraints) {
        let new: Vec<Repair> = repairs.into_iter().filter(|repair| !self.repaired.contains(repair)).collect();
        let Some(first) = new.first() else {
            return;
        };
        let more = match new.len() {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        let message =
            format!("the transcript was made to fit {}: message {}: {}{more}", fit.name(), first.message_index, first.text);
        let data = Box::new(json!({ "repairs": new }));
        self.repaired.extend(new);
        self.emit(EventData::Diagnostic { code: "transcript_repaired".into(), message, data }).await;
    }

    /// Tells which options do not reach the model as they were given, each once in a run.
    async fn tell_ignored(&mut self, ignored: Vec<IgnoredOption>, model: &str) {
        for IgnoredOption { option, why } in ignored {
            let told = (model.to_owned(), option);
            if self.ignored.contains(&told) {
                continue;
            }
            self.ignored.push(told);
            let message = format!("{model} does not get {option} as it was given: {why}");
            let data = Box::new(json!({ "option": option }));
            self.emit(EventData::Diagnostic { code: "option_ignored".into(), message, data }).await;
        }
    }
}
