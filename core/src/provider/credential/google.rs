//! Where Google's Application Default Credentials are, in the order of
//! <https://cloud.google.com/docs/authentication/application-default-credentials>: a file that the environment names, the file
//! that `gcloud auth application-default login` writes, the metadata server of a machine at Google.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, ErrorKind};
use crate::transport::network::Environment;

/// What whoever has no credentials can do.
pub(super) const ADVICE: &str = "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a \
                                 service-account key file, or give api_key";

const FILE_VARIABLE: &str = "GOOGLE_APPLICATION_CREDENTIALS";
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
/// By its address, not its name: where there is none, no DNS server is asked.
const METADATA_HOST: &str = "169.254.169.254";

/// What tokens are made from.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Source {
    pub(super) kind: Kind,
    /// For messages: where it was found.
    pub(super) origin: String,
    pub(super) quota_project: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A service account's key: signs for itself.
    ServiceAccount { email: String, key_id: Option<String>, private_key: String, token_uri: String },
    /// A person who logged in: an access token for a refresh token.
    User { client_id: String, client_secret: String, refresh_token: String, token_uri: String },
    /// The machine's own account.
    Metadata {
        host: String,
        /// Where it was only guessed that there is one: what was looked at before.
        looked: Option<String>,
    },
}

/// What a credentials file may have.
#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    r#type: Option<String>,
    client_email: Option<String>,
    private_key: Option<String>,
    private_key_id: Option<String>,
    client_id: Option<String>,
    client_secret: Option<String>,
    refresh_token: Option<String>,
    token_uri: Option<String>,
    project_id: Option<String>,
    quota_project_id: Option<String>,
}

/// What a call is authenticated with. A metadata server is not asked yet whether it is there.
pub(super) fn find(environment: Environment<'_>) -> Result<Source, Error> {
    let quota = || variable(environment, &["GOOGLE_CLOUD_QUOTA_PROJECT"]);
    let (path, what) = match (variable(environment, &[FILE_VARIABLE]), written_by_gcloud(environment)) {
        (Some(path), _) => (PathBuf::from(path), FILE_VARIABLE.to_owned()),
        // One that cannot be looked at is there, and reading it says why it cannot be.
        (None, Some(path)) if path.try_exists().unwrap_or(true) => (path, "gcloud's file".to_owned()),
        (None, path) => {
            let named = variable(environment, &["GCE_METADATA_HOST"]);
            let file = path.map(|path| format!(", there is no {}", path.display())).unwrap_or_default();
            let looked = named.is_none().then(|| format!("{FILE_VARIABLE} is not set{file}"));
            let by = if named.is_some() { " (of GCE_METADATA_HOST)" } else { "" };
            let host = named.unwrap_or_else(|| METADATA_HOST.to_owned());
            let origin = format!("the metadata server {host}{by}");
            return Ok(Source { kind: Kind::Metadata { host, looked }, origin, quota_project: quota() });
        }
    };
    let origin = format!("{what} {:?}", path.display().to_string());
    let wrong = |why: String| Error::new(ErrorKind::Authentication, format!("Google credentials: {origin} {why}; {ADVICE}"));
    let file = read(&path).map_err(&wrong)?;
    let quota_project = quota().or_else(|| file.quota_project_id.clone());
    let kind = file.kind().map_err(&wrong)?;
    Ok(Source { kind, origin, quota_project })
}

/// The project of the environment, else of the credentials file. A person's file has none of its own; the one that pays for its
/// requests is the one that `gcloud` was set to.
pub(super) fn project(environment: Environment<'_>) -> Option<String> {
    variable(environment, &["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"]).or_else(|| {
        let path = variable(environment, &[FILE_VARIABLE]).map(PathBuf::from).or_else(|| written_by_gcloud(environment))?;
        let file = read(&path).ok()?;
        file.project_id.or(file.quota_project_id)
    })
}

/// The path of `gcloud`'s file, whether or not it is there.
fn written_by_gcloud(environment: Environment<'_>) -> Option<PathBuf> {
    let folder = match variable(environment, &["CLOUDSDK_CONFIG"]) {
        Some(folder) => PathBuf::from(folder),
        None if cfg!(windows) => Path::new(&variable(environment, &["APPDATA"])?).join("gcloud"),
        None => Path::new(&variable(environment, &["HOME"])?).join(".config/gcloud"),
    };
    Some(folder.join("application_default_credentials.json"))
}

fn read(path: &Path) -> Result<File, String> {
    let text = std::fs::read(path).map_err(|e| format!("cannot be read: {e}"))?;
    // Not the error's own words: they may quote the file.
    serde_json::from_slice(&text)
        .map_err(|e| format!("is not a credentials file: wrong at line {}, column {}", e.line(), e.column()))
}

impl File {
    fn kind(self) -> Result<Kind, String> {
        let needed = |name: &str, value: Option<String>| value.filter(|v| !v.is_empty()).ok_or_else(|| format!("has no {name}"));
        let token_uri = self.token_uri.unwrap_or_else(|| TOKEN_URI.to_owned());
        match self.r#type.as_deref() {
            Some("service_account") => Ok(Kind::ServiceAccount {
                email: needed("client_email", self.client_email)?,
                key_id: self.private_key_id,
                private_key: needed("private_key", self.private_key)?,
                token_uri,
            }),
            Some("authorized_user") => Ok(Kind::User {
                client_id: needed("client_id", self.client_id)?,
                client_secret: needed("client_secret", self.client_secret)?,
                refresh_token: needed("refresh_token", self.refresh_token)?,
                token_uri,
            }),
            Some(other) => Err(format!(
                "is of the type {other:?}, which is not supported (only service_account and authorized_user are; for workload \
                 identity let get_api_key give an access token)"
            )),
            None => Err("is not a credentials file: it has no \"type\"".to_owned()),
        }
    }
}

/// The first of these variables that is set and not empty.
fn variable(environment: Environment<'_>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| environment(name).filter(|value| !value.is_empty()))
}
