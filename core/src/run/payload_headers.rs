//! The headers in the payload of a custom model. The hook `on_payload` sees and changes them with the model's options; the loop,
//! whose state is saved, gets the payload without them.

use std::sync::Arc;

use agent_loop_proto::hook::Payload;
use serde_json::{Map, Value};

use crate::model::table::ResolvedModel;
use crate::provider::headers_for;

const OPTIONS: &str = "options";
const HEADERS: &str = "headers";

/// The headers of the payload that a hook was asked about last.
#[derive(Debug, Default)]
pub(super) struct PayloadHeaders {
    /// Whether the payload is a custom model's: that of another one is the body of a request, which has no headers.
    is_custom: bool,
    /// As the hook has answered them.
    answered: Option<Value>,
}

impl PayloadHeaders {
    /// Adds the headers to the payload of a custom model: those that hold credentials only where the model gets them.
    pub(super) fn add(payload: &mut Payload, headers: &Map<String, Value>, models: &[ResolvedModel]) -> PayloadHeaders {
        let has_name = |known: &&ResolvedModel| {
            let info = known.model.info();
            info.provider == payload.provider && info.id == payload.model
        };
        // Models of one name may be served at several addresses: what does not hold for all of them holds for none.
        let candidates: Vec<_> = models.iter().filter(has_name).collect();
        let is_custom = !candidates.is_empty() && candidates.iter().all(|known| known.model.encoder().is_none());
        if is_custom {
            let takes_keys = candidates.iter().all(|known| known.takes_keys);
            let headers = headers_for(takes_keys, headers);
            if !headers.is_empty()
                && let Some(options) = options_of(&mut payload.payload)
            {
                options.insert(HEADERS.to_owned(), Value::Object(headers));
            }
        }
        PayloadHeaders { is_custom, answered: None }
    }

    /// Takes the headers out of what the hook has answered.
    pub(super) fn extract(&mut self, payload: &mut Map<String, Value>) {
        if self.is_custom {
            self.answered = options_of(payload).and_then(|options| options.remove(HEADERS));
        }
    }

    /// The payload as the hook has answered it, with its headers.
    pub(super) fn restore(&self, body: Arc<[u8]>) -> Arc<[u8]> {
        let Some(headers) = &self.answered else {
            return body;
        };
        let Ok(mut payload) = serde_json::from_slice::<Map<String, Value>>(&body) else {
            return body;
        };
        if let Some(options) = options_of(&mut payload) {
            options.insert(HEADERS.to_owned(), headers.clone());
        }
        serde_json::to_vec(&payload).map_or(body, Into::into)
    }
}

fn options_of(payload: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    payload.get_mut(OPTIONS).and_then(Value::as_object_mut)
}
