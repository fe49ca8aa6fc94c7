//! What a model is asked: the transcript through the hooks, repaired for the model; the key; the body.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::driver::Driver;
use super::hooks::Unanswered;
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
        let mut api_key = self.offered.api_key.clone();
        if let Some(hook) = &hooks.get_api_key {
            api_key = self.ask(HookKind::GetApiKey, hook, provider.clone()).await?.or(api_key);
        }
        let settings = &self.offered.settings;
        let mut request = ModelRequest {
            model: format!("{provider}/{}", model.info().id),
            system_prompt: settings.system_prompt.clone(),
            messages,
            tools: self.agent.descriptions(&self.offered.tools, self.changes.tools.is_some()),
            thinking_level: settings.thinking_level,
            options: settings.model.clone(),
            api_key,
            raw_events: settings.raw_events,
            wants_response: hooks.on_response.is_some(),
            connect_timeout_ms: settings.limits.connect_timeout_ms,
            payload: None,
        };
        request.payload = model.payload(&request).map_err(Unanswered::Failed)?.map(Arc::new);
        if let Some(hook) = &hooks.on_payload {
            let payload = match &request.payload {
                Some(payload) => Map::clone(payload),
                // A model that writes no request of its own is shown what it is asked.
                None => match json!(request) {
                    Value::Object(asked) => asked,
                    _ => Map::new(),
                },
            };
            let shown = Payload { provider, model: model.info().id.to_owned(), payload };
            if let Some(replaced) = self.ask(HookKind::OnPayload, hook, shown).await? {
                request.payload = Some(Arc::new(replaced));
            }
        }
        Ok((model, request))
    }
}
