//! What a model is asked: the transcript through the hooks, repaired for the model; the key; the body.

use std::sync::Arc;

use serde_json::json;

use super::driver::Driver;
use super::hooks::Unanswered;
use crate::error::{Error, ErrorKind};
use crate::hook::{HookKind, Payload};
use crate::model::{Model, ModelRequest};
use crate::protocol::prepare;

impl Driver {
    /// What is asked, and whom.
    pub(super) async fn prepare_request(&mut self) -> Result<(Arc<dyn Model>, ModelRequest), Unanswered> {
        let hooks = Arc::clone(&self.offered.hooks);
        let model = self.offered.model.clone().map_err(Unanswered::Failed)?;
        let max_result_bytes = self.offered.settings.max_result_bytes;
        let changed = self.changes.messages.clone();
        let messages = if hooks.transform_context.is_none() && hooks.convert_to_llm.is_none() {
            match &changed {
                Some(messages) => prepare(messages, max_result_bytes),
                None => prepare(&self.agent.messages(), max_result_bytes),
            }
        } else {
            let messages = changed.unwrap_or_else(|| self.agent.messages().to_vec());
            let messages = self.change_messages(HookKind::TransformContext, hooks.transform_context.clone(), messages).await?;
            let messages = self.change_messages(HookKind::ConvertToLlm, hooks.convert_to_llm.clone(), messages).await?;
            prepare(&messages, max_result_bytes)
        };
        let provider = model.info().provider.to_owned();
        // The configured key is for the configured provider; another one has its own.
        let configured = self.offered.model_name.split_once('/').is_some_and(|(configured, _)| configured == provider);
        let mut api_key = self.offered.api_key.clone().filter(|_| configured);
        if let Some(hook) = &hooks.get_api_key {
            api_key = self.ask(HookKind::GetApiKey, hook, provider.clone()).await?.or(api_key);
        }
        let settings = &self.offered.settings;
        let mut request = ModelRequest {
            model: format!("{provider}/{}", model.info().id),
            system_prompt: settings.system_prompt.clone(),
            messages,
            tools: Arc::clone(&self.offered.descriptions),
            thinking_level: settings.thinking_level,
            options: settings.model.clone(),
            api_key,
            raw_events: settings.raw_events,
            wants_response: hooks.on_response.is_some(),
            connect_timeout_ms: settings.limits.connect_timeout_ms,
            network: Arc::clone(&settings.network),
            payload: None,
        };
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
}
