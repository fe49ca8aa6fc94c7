//! Where the tokens of a server are kept: in memory, and in a file if there is one.

use std::future::Future;
use std::io::{self, ErrorKind as IoErrorKind};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::transport::auth::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::private_file;
use crate::threads::blocking;

/// How long a process waits for another one that renews the same tokens.
const LOCK_LIMIT: Duration = Duration::from_secs(60);

/// The tokens of a server. Clones share them.
#[derive(Clone)]
pub(super) struct Tokens(Arc<Inner>);

struct Inner {
    server: String,
    file: Option<PathBuf>,
    kept: Mutex<Option<StoredCredentials>>,
}

/// What a file has.
#[derive(Serialize, Deserialize)]
struct Content {
    server: String,
    credentials: StoredCredentials,
}

impl Tokens {
    pub(super) fn new(server: String, file: Option<PathBuf>) -> Tokens {
        Tokens(Arc::new(Inner { server, file, kept: Mutex::default() }))
    }

    /// Those that are there: of the file, as another process may have renewed them.
    pub(super) async fn read(&self) -> Result<Option<StoredCredentials>, Error> {
        let Some(file) = self.0.file.clone() else {
            return Ok(self.0.kept.lock().unwrap_or_else(PoisonError::into_inner).clone());
        };
        let server = self.0.server.clone();
        blocking(move || read(&file, &server)).await
    }

    async fn write(&self, credentials: Option<StoredCredentials>) -> Result<(), Error> {
        let Some(file) = self.0.file.clone() else {
            *self.0.kept.lock().unwrap_or_else(PoisonError::into_inner) = credentials;
            return Ok(());
        };
        let server = self.0.server.clone();
        let content = credentials.map(|credentials| Content { server, credentials });
        blocking(move || match content {
            Some(content) => write(&file, &content),
            None => match std::fs::remove_file(&file) {
                Err(error) if error.kind() != IoErrorKind::NotFound => Err(of_io("removed", &file, error)),
                _ => Ok(()),
            },
        })
        .await
    }

    /// Removes them.
    pub(super) async fn forget(&self) -> Result<(), Error> {
        self.write(None).await
    }

    /// Whether they can be kept, before a user signs in.
    pub(super) async fn check(&self) -> Result<(), Error> {
        let Some(file) = self.0.file.clone() else { return Ok(()) };
        blocking(move || private_file::check(&file).map_err(|error| of_io("written", &file, error))).await
    }

    async fn lock(&self) -> Result<Option<CredentialRefreshGuard>, Error> {
        let Some(mut path) = self.0.file.clone().map(PathBuf::into_os_string) else { return Ok(None) };
        path.push(".lock");
        let lock = blocking(move || {
            let path = Path::new(&path);
            private_file::lock(path, LOCK_LIMIT).map_err(|error| of_io("locked", path, error))
        });
        Ok(Some(CredentialRefreshGuard::new(lock.await?)))
    }
}

fn of_io(what: &str, path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("tokens_file: {} cannot be {what}: {error}", path.display())).with_source(error)
}

fn read(path: &Path, server: &str) -> Result<Option<StoredCredentials>, Error> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == IoErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(of_io("read", path, error)),
    };
    let wrong = |why: &str| Error::new(ErrorKind::Io, format!("tokens_file: {} {why}", path.display()));
    // Not why it is none: that may quote a token.
    let content: Content = serde_json::from_slice(&text).map_err(|_| wrong("has no tokens; remove it to sign in again"))?;
    match content.server == server {
        true => Ok(Some(content.credentials)),
        false => Err(wrong(&format!("has those of another server, {}: each server needs one of its own", content.server))),
    }
}

fn write(path: &Path, content: &Content) -> Result<(), Error> {
    let text = serde_json::to_vec(content).unwrap_or_default();
    private_file::write(path, &text).map_err(|error| of_io("written", path, error))
}

fn failed(error: Error) -> AuthError {
    AuthError::CredentialStoreError(error.message().to_owned())
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

// As the crate async-trait writes it.
impl CredentialStore for Tokens {
    fn load<'a, 'b>(&'a self) -> Answer<'b, Option<StoredCredentials>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.read().await.map_err(failed) })
    }

    fn save<'a, 'b>(&'a self, credentials: StoredCredentials) -> Answer<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.write(Some(credentials)).await.map_err(failed) })
    }

    fn clear<'a, 'b>(&'a self) -> Answer<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.write(None).await.map_err(failed) })
    }

    fn acquire_refresh_guard<'a, 'b>(&'a self) -> Answer<'b, Option<CredentialRefreshGuard>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.lock().await.map_err(failed) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials() -> StoredCredentials {
        let token = serde_json::json!({ "access_token": "a", "token_type": "Bearer" });
        StoredCredentials::new("me".to_owned(), serde_json::from_value(token).unwrap(), Vec::new(), None)
    }

    #[test]
    fn a_file_keeps_them_for_its_owner_and_for_one_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.json");
        assert!(read(&path, "s").unwrap().is_none());
        write(&path, &Content { server: "s".to_owned(), credentials: credentials() }).unwrap();
        assert_eq!(read(&path, "s").unwrap().unwrap().client_id, "me");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let error = read(&path, "other").unwrap_err();
        assert!(error.message().contains("has those of another server, s: each server needs one of its own"), "{error}");
        std::fs::write(&path, "{\"server\": \"s\", \"secret\": 1").unwrap();
        let error = read(&path, "s").unwrap_err();
        assert!(error.message().ends_with("has no tokens; remove it to sign in again"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
