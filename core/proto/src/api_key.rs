//! What authenticates a model call, as the hook `get_api_key` answers it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::did_you_mean::check_names;
use crate::hook_answers::FromJson;

/// What authenticates a model call. In JSON a text, `{bearer}` or `{headers}`. One that is empty, or white space alone, counts as
/// no answer. `Debug` shows no secret.
///
/// ```
/// # use agent_loop_proto as agent_loop;
/// use agent_loop::hook::ApiKey;
///
/// let key: ApiKey = "sk-1234".into();
/// let of_login = ApiKey::Bearer("a token for an hour".into());
/// let signed = ApiKey::Headers([("x-signature".to_owned(), "f00d".to_owned())].into());
/// # let _ = (key, of_login, signed);
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum ApiKey {
    /// A key, in the header that the provider has for keys.
    Key(String),
    /// A token, as `authorization: Bearer …` whatever the provider: of OAuth, for example.
    Bearer(String),
    /// Headers, by name, in place of any key; they win over all others.
    Headers(BTreeMap<String, String>),
}

impl ApiKey {
    /// Without the white space around it: a line break that came with it from a file or a command. None of what is empty.
    #[doc(hidden)]
    pub fn trimmed(self) -> Option<ApiKey> {
        let given = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        match self {
            ApiKey::Key(key) => given(key).map(ApiKey::Key),
            ApiKey::Bearer(token) => given(token).map(ApiKey::Bearer),
            ApiKey::Headers(headers) => Some(headers).filter(|headers| !headers.is_empty()).map(ApiKey::Headers),
        }
    }
}

impl From<&str> for ApiKey {
    fn from(key: &str) -> ApiKey {
        ApiKey::Key(key.to_owned())
    }
}

impl From<String> for ApiKey {
    fn from(key: String) -> ApiKey {
        ApiKey::Key(key)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApiKey::Key(_) => f.write_str("Key(…)"),
            ApiKey::Bearer(_) => f.write_str("Bearer(…)"),
            ApiKey::Headers(headers) => {
                let names: Vec<&str> = headers.keys().map(String::as_str).collect();
                write!(f, "Headers({}: …)", names.join(", "))
            }
        }
    }
}

/// The errors quote nothing of the answer: it may be a key in another form.
impl FromJson for Option<ApiKey> {
    fn from_json(value: Value) -> Result<Option<ApiKey>, String> {
        const EXPECTED: &str = "expected text, {\"bearer\": text}, {\"headers\": object of texts} or null";
        let mut map = match value {
            Value::Null => return Ok(None),
            Value::String(key) => return Ok(Some(ApiKey::Key(key))),
            Value::Object(map) => map,
            _ => return Err(EXPECTED.to_owned()),
        };
        check_names("field", &map, &["bearer", "headers"]).map_err(|error| error.message().to_owned())?;
        let given = |value: Option<Value>| value.filter(|value| !value.is_null());
        match (given(map.remove("bearer")), given(map.remove("headers"))) {
            (Some(Value::String(token)), None) => Ok(Some(ApiKey::Bearer(token))),
            (Some(_), None) => Err("bearer: expected text".to_owned()),
            (None, Some(Value::Object(headers))) => {
                let text = |(name, value)| match value {
                    Value::String(value) => Ok((name, value)),
                    _ => Err(format!("headers: {name}: expected text")),
                };
                headers.into_iter().map(text).collect::<Result<_, _>>().map(|headers| Some(ApiKey::Headers(headers)))
            }
            (None, Some(_)) => Err("headers: expected an object of texts".to_owned()),
            (Some(_), Some(_)) => Err("there is a bearer as well as headers; give one of them".to_owned()),
            // `{}`, and fields that are null, say as much as null.
            (None, None) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<Option<ApiKey>, String> {
        Option::<ApiKey>::from_json(value)
    }

    #[test]
    fn found_w13_a_text_a_token_or_headers() {
        assert_eq!(read(json!("k")), Ok(Some("k".into())));
        assert_eq!(read(json!({ "bearer": "t" })), Ok(Some(ApiKey::Bearer("t".into()))));
        let headers = ApiKey::Headers([("x-a".to_owned(), "1".to_owned())].into());
        assert_eq!(read(json!({ "headers": { "x-a": "1" } })), Ok(Some(headers)));
        for nothing in [json!(null), json!({}), json!({ "bearer": null }), json!({ "headers": null, "bearer": null })] {
            assert_eq!(read(nothing), Ok(None));
        }
        for (wrong, said) in [
            (json!(5), "expected text, {\"bearer\": text}, {\"headers\": object of texts} or null"),
            (json!(["sk-1"]), "expected text, {\"bearer\": text}, {\"headers\": object of texts} or null"),
            (json!({ "bearer": ["sk-1"] }), "bearer: expected text"),
            (json!({ "headers": "sk-1" }), "headers: expected an object of texts"),
            (json!({ "headers": { "x-a": 1 } }), "headers: x-a: expected text"),
            (json!({ "bearer": "t", "headers": {} }), "there is a bearer as well as headers; give one of them"),
            (json!({ "bearr": "sk-1" }), "unknown field \"bearr\"; did you mean \"bearer\"?"),
        ] {
            let error = read(wrong).unwrap_err();
            assert_eq!(error, said);
            assert!(!error.contains("sk-1"), "{error}");
        }
    }

    #[test]
    fn found_e9_what_is_empty_is_no_answer() {
        assert_eq!(ApiKey::from(" k\n").trimmed(), Some("k".into()));
        assert_eq!(ApiKey::Bearer("\tt ".into()).trimmed(), Some(ApiKey::Bearer("t".into())));
        for empty in [ApiKey::from(""), " \n\t".into(), ApiKey::Bearer("  ".into()), ApiKey::Headers(BTreeMap::new())] {
            assert_eq!(empty.trimmed(), None);
        }
    }

    #[test]
    fn found_w13_debug_shows_no_secret() {
        let headers = ApiKey::Headers([("x-a".to_owned(), "secret".to_owned())].into());
        let shown = format!("{:?} {:?} {headers:?}", ApiKey::from("secret"), ApiKey::Bearer("secret".into()));
        assert_eq!(shown, "Key(…) Bearer(…) Headers(x-a: …)");
    }
}
