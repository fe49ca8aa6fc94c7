//! What authenticates a request is taken out of all that its server says beside the answer: servers echo keys, whole or in parts
//! of their texts, in bodies and in headers.

use agent_loop_proto::provider_error;
use reqwest::Url;
use serde_json::{Map, Value};

use super::interface::Delta;
use crate::error::Error;
use crate::provider::is_credential;

/// What authenticates one request.
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// Of the key, of headers that are known to be secret or have a name that says so, and of the address.
    pub(crate) fn of<'a>(
        key: Option<&str>,
        secret: &'a Map<String, Value>,
        given: impl Iterator<Item = (&'a String, &'a Value)>,
        url: &Url,
    ) -> Secrets {
        let mut secrets: Vec<String> = in_address(url);
        secrets.extend(key.map(str::to_owned));
        let headers = given.filter(|(name, _)| is_credential(name)).chain(secret).filter_map(|(_, value)| value.as_str());
        // With the scheme before it (`Bearer`, `Basic`) and without.
        secrets.extend(headers.flat_map(|value| [value].into_iter().chain(value.split(' ').next_back())).map(str::to_owned));
        Secrets(secrets)
    }

    /// With others.
    pub(crate) fn and<'a>(mut self, others: impl Iterator<Item = &'a str>) -> Secrets {
        self.0.extend(others.map(str::to_owned));
        self
    }

    /// The text without them.
    pub(crate) fn taken_out_of(&self, text: &str) -> String {
        let secrets: Vec<&str> = self.0.iter().map(String::as_str).collect();
        provider_error::redacted(text, &secrets)
    }

    /// The error without them.
    pub(crate) fn taken_out_of_error(&self, error: Error) -> Error {
        let message = self.taken_out_of(error.message());
        let id = error.request_id().map(|id| self.taken_out_of(id));
        let error = error.with_message(&message);
        match id {
            Some(id) => error.with_request_id(&id),
            None => error,
        }
    }

    fn take_out_of_text(&self, text: &mut String) {
        *text = self.taken_out_of(text);
    }

    fn take_out_of_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.take_out_of_text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.take_out_of_value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.take_out_of_value(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Takes the secrets out of what is not the model's own answer.
pub(super) fn redact(deltas: &mut [Delta], secrets: impl Fn() -> Secrets) {
    for delta in deltas {
        match delta {
            Delta::ResponseId(text) | Delta::ResponseModel(text) => secrets().take_out_of_text(text),
            Delta::Stop { raw: Some(raw), .. } => secrets().take_out_of_text(raw),
            Delta::Diagnostic { message, data, .. } => {
                let secrets = secrets();
                secrets.take_out_of_text(message);
                secrets.take_out_of_value(data);
            }
            Delta::Response { headers, .. } => {
                let secrets = secrets();
                headers.values_mut().for_each(|value| secrets.take_out_of_value(value));
            }
            Delta::Raw(frame) => secrets().take_out_of_value(frame),
            _ => {}
        }
    }
}

/// What of the address authenticates, as it stands there and as a server reads it.
fn in_address(url: &Url) -> Vec<String> {
    if url.query().is_none() && url.username().is_empty() && url.password().is_none() {
        return Vec::new();
    }
    let query = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let in_query = query.filter(|(name, _)| is_credential(name)).map(|(_, value)| value);
    // A user without a password is a token.
    let user = Some(url.username()).filter(|user| !user.is_empty() && url.password().is_none());
    let written: Vec<&str> = in_query.chain(user).chain(url.password()).collect();
    // Decoded as a query's values, where a plus would be a space.
    let values: Vec<String> = written.iter().map(|text| format!("={}", text.replace('+', "%2B"))).collect();
    let mut read = url.clone();
    read.set_query(Some(&values.join("&")));
    let decoded: Vec<String> = read.query_pairs().map(|(_, value)| value.into_owned()).collect();
    written.into_iter().map(str::to_owned).chain(decoded).collect()
}
