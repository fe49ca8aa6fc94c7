//! The field `oauth` of a server.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::did_you_mean::Spelling;
use crate::option_fields::{self, Field, is_texts, kind_of};

/// How access to a server is had that wants a sign-in (OAuth 2.1, as MCP's specification has it). By default the user signs in:
/// the hook [`on_mcp_sign_in`](crate::hook::Hook::on_mcp_sign_in) shows the address, and the engine receives the redirect at a
/// loopback address. Where the authorization server registers clients dynamically, nothing else is needed.
///
/// ```
/// use agent_loop::mcp::{McpOAuth, McpServer};
///
/// let server = McpServer::url("https://mcp.example.com/mcp").oauth(McpOAuth::new().tokens_file("tokens.json"));
/// let machine = McpServer::url("https://mcp.example.com/mcp").oauth(McpOAuth::client_credentials("id", "secret"));
/// # drop((server, machine));
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct McpOAuth {
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) redirect_uri: Option<String>,
    pub(super) client_name: Option<String>,
    pub(super) client_metadata_url: Option<String>,
    pub(super) tokens_file: Option<PathBuf>,
    pub(super) uses_client_credentials: bool,
}

impl McpOAuth {
    /// The user signs in.
    pub fn new() -> McpOAuth {
        McpOAuth::default()
    }

    /// Without a user: the grant `client_credentials`, for a program with an account at the authorization server.
    pub fn client_credentials(client_id: impl Into<String>, client_secret: impl Into<String>) -> McpOAuth {
        let oauth = McpOAuth { uses_client_credentials: true, ..McpOAuth::default() };
        oauth.client_id(client_id).client_secret(client_secret)
    }

    /// The client id at the authorization server. Default: dynamic registration.
    #[must_use]
    pub fn client_id(mut self, id: impl Into<String>) -> McpOAuth {
        self.client_id = Some(id.into());
        self
    }

    /// The secret of the client id.
    #[must_use]
    pub fn client_secret(mut self, secret: impl Into<String>) -> McpOAuth {
        self.client_secret = Some(secret.into());
        self
    }

    /// The scopes to ask for. Default: those that the server says it needs.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> McpOAuth {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Where the authorization server sends the user's browser. At a loopback address the engine listens; at another one, the
    /// hook returns the whole address that the browser was sent to. Default: a free port of `127.0.0.1`.
    #[must_use]
    pub fn redirect_uri(mut self, uri: impl Into<String>) -> McpOAuth {
        self.redirect_uri = Some(uri.into());
        self
    }

    /// The name that the user reads when they sign in. Default: `agent-loop`.
    #[must_use]
    pub fn client_name(mut self, name: impl Into<String>) -> McpOAuth {
        self.client_name = Some(name.into());
        self
    }

    /// The https address of a client ID metadata document, used as the client id where the authorization server supports that.
    #[must_use]
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> McpOAuth {
        self.client_metadata_url = Some(url.into());
        self
    }

    /// The file that keeps the tokens, so that the next process needs no sign-in; one per server, with the mode 0600. Default:
    /// the tokens are dropped with the server.
    #[must_use]
    pub fn tokens_file(mut self, path: impl Into<PathBuf>) -> McpOAuth {
        self.tokens_file = Some(path.into());
        self
    }
}

impl fmt::Debug for McpOAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the secret.
        f.debug_struct("McpOAuth").field("client_id", &self.client_id).field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// The fields with what they take.
const FIELDS: &[Field] = &[
    ("client_id", is_filled, "a text"),
    ("client_secret", is_filled, "a text"),
    ("scopes", is_texts, "a list of texts"),
    ("redirect_uri", is_url, "an address such as \"http://127.0.0.1:8765/callback\""),
    ("client_name", is_filled, "a text"),
    ("client_metadata_url", is_secure_url, "an address that begins with https://"),
    ("tokens_file", is_filled, "the path of a file"),
    ("grant", is_grant, "\"authorization_code\" or \"client_credentials\""),
];

fn is_filled(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

fn is_url(value: &Value) -> bool {
    value.as_str().is_some_and(|text| reqwest::Url::parse(text).is_ok())
}

fn is_secure_url(value: &Value) -> bool {
    value.as_str().and_then(|text| reqwest::Url::parse(text).ok()).is_some_and(|url| url.scheme() == "https")
}

fn is_grant(value: &Value) -> bool {
    matches!(value.as_str(), Some("authorization_code" | "client_credentials"))
}

#[derive(Deserialize, Default)]
#[serde(default, rename = "strict", deny_unknown_fields)]
struct Given {
    client_id: Option<String>,
    client_secret: Option<String>,
    scopes: Vec<String>,
    redirect_uri: Option<String>,
    client_name: Option<String>,
    client_metadata_url: Option<String>,
    tokens_file: Option<PathBuf>,
    grant: Option<String>,
}

impl McpOAuth {
    /// Reads `true`, `false` or an object of the fields.
    pub(crate) fn from_json(value: &Value, spelling: Spelling) -> Result<Option<McpOAuth>, String> {
        let map = match value {
            Value::Null | Value::Bool(false) => return Ok(None),
            Value::Bool(true) => return Ok(Some(McpOAuth::new())),
            Value::Object(map) => map.clone(),
            other => return Err(format!("oauth: expected true or an object, got {}", kind_of(other))),
        };
        let given = option_fields::read("field of oauth", map, FIELDS, spelling);
        let Given { client_id, client_secret, scopes, redirect_uri, client_name, client_metadata_url, tokens_file, grant } =
            given.map_err(|text| format!("oauth: {text}"))?;
        let uses_client_credentials = grant.as_deref() == Some("client_credentials");
        let oauth = McpOAuth {
            client_id,
            client_secret,
            scopes,
            redirect_uri,
            client_name,
            client_metadata_url,
            tokens_file,
            uses_client_credentials,
        };
        oauth.check(spelling)?;
        Ok(Some(oauth))
    }

    /// Whether its parts fit together.
    fn check(&self, spelling: Spelling) -> Result<(), String> {
        let (id, secret) = (spelling.spell("client_id"), spelling.spell("client_secret"));
        match (&self.client_id, &self.client_secret) {
            (None, Some(_)) => Err(format!("oauth: {secret} needs {id}, which is missing")),
            (Some(_), Some(_)) => Ok(()),
            _ if self.uses_client_credentials => Err(format!("oauth: the grant client_credentials needs {id} and {secret}")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<Option<McpOAuth>, String> {
        McpOAuth::from_json(&value, Spelling::Snake)
    }

    #[test]
    fn the_field_is_true_or_an_object() {
        assert_eq!(read(json!(null)), Ok(None));
        assert_eq!(read(json!(false)), Ok(None));
        assert_eq!(read(json!(true)), Ok(Some(McpOAuth::new())));
        let given = json!({ "client_id": "a", "client_secret": "b", "grant": "client_credentials", "scopes": ["c"] });
        assert_eq!(read(given), Ok(Some(McpOAuth::client_credentials("a", "b").scopes(["c"]))));
        let spelled = McpOAuth::from_json(&json!({ "tokensFile": "t" }), Spelling::Camel);
        assert_eq!(spelled, Ok(Some(McpOAuth::new().tokens_file("t"))));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (given, text) in [
            (json!(1), "oauth: expected true or an object, got a number"),
            (json!({ "client_id": 1 }), "oauth: client_id: expected a text, got a number"),
            (json!({ "client_secret": "a" }), "oauth: client_secret needs client_id, which is missing"),
            (json!({ "grant": "client_credentials" }), "oauth: the grant client_credentials needs client_id and client_secret"),
            (json!({ "redirect_uri": "a b" }), "oauth: redirect_uri: expected an address such as"),
            (json!({ "client_metadata_url": "http://a" }), "oauth: client_metadata_url: expected an address that begins with"),
            (json!({ "client": "a" }), "unknown field of oauth \"client\""),
        ] {
            let error = read(given.clone()).unwrap_err();
            assert!(error.contains(text), "{given}: {error}");
        }
    }

    #[test]
    fn the_secret_is_not_shown() {
        assert!(!format!("{:?}", McpOAuth::client_credentials("a", "hidden")).contains("hidden"));
    }
}
