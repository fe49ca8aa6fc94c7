//! Where credentials are kept.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::credential::Credential;
use super::{file, keyring};
use crate::data_folder::keys_folder;
use crate::error::{Error, ErrorKind};
use crate::private_file;

/// How long a process waits for another one that refreshes the same tokens: longer than that may take, which asks the keyring
/// three times and a server once.
const LOCK_LIMIT: Duration = Duration::from_secs(240);

/// The longest name of a provider that has a file.
const LONGEST_NAME: usize = 64;

/// The ending of a [mark].
const MARK: &str = "keyring";

/// Which place is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keyring {
    /// The system's keyring if there is one that answers, else files. What is read is the newer one of both.
    #[default]
    Auto,
    /// The system's keyring alone.
    System,
    /// Files alone.
    File,
}

/// Where a credential is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In the system's keyring.
    Keyring,
    /// In a file that only its owner can read.
    File(PathBuf),
}

/// A credential, and where it is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Stored {
    /// The credential.
    pub credential: Credential,
    /// Where it is.
    pub place: Place,
}

/// Keeps what authenticates at providers, by their names: in the system's keyring (the Secret Service of Linux, macOS's Keychain,
/// Windows' credentials), or in a file for each provider, of mode 0600 in a folder of mode 0700. All programs of a user that are
/// built on agent-loop share them. Its functions block.
///
/// ```
/// use agent_loop::sign_in::{Credential, KeyStore, Keyring};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path().join("keys");
/// let store = KeyStore::new(folder, Keyring::File);
/// store.write("openai", &Credential::key("sk-1234567890"))?;
/// assert_eq!(store.read("openai")?.unwrap().credential, Credential::key("sk-1234567890"));
/// assert!(store.remove("openai")?);
/// assert!(store.read("openai")?.is_none());
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct KeyStore {
    folder: PathBuf,
    keyring: Keyring,
}

impl KeyStore {
    /// A store with its files in this folder. What is in the system's keyring does not depend on it.
    pub fn new(folder: impl Into<PathBuf>, keyring: Keyring) -> KeyStore {
        KeyStore { folder: folder.into(), keyring }
    }

    /// The user's own: `AGENT_KEYRING` is `auto` (unless it is set), `system` or `file`, and the folder is `.credentials` in the
    /// [data folder](crate::sign_in::data_folder).
    ///
    /// # Errors
    /// `invalid_argument`: `AGENT_KEYRING` is something else; `io`: there is no folder for data.
    pub fn from_environment() -> Result<KeyStore, Error> {
        let keyring = match std::env::var("AGENT_KEYRING").unwrap_or_default().as_str() {
            "" | "auto" => Keyring::Auto,
            "system" => Keyring::System,
            "file" => Keyring::File,
            other => {
                let text = format!("AGENT_KEYRING is {other:?}; set it to auto, system or file");
                return Err(Error::invalid_argument(text));
            }
        };
        let no_folder = || Error::new(ErrorKind::Io, "there is no folder for keys; set AGENT_HOME to one");
        Ok(KeyStore::new(keys_folder().ok_or_else(no_folder)?, keyring))
    }

    /// The same folder, with this place.
    #[must_use]
    pub fn with_keyring(self, keyring: Keyring) -> KeyStore {
        KeyStore { keyring, ..self }
    }

    /// Which place is used.
    pub fn keyring(&self) -> Keyring {
        self.keyring
    }

    /// What is stored for a provider.
    ///
    /// # Errors
    /// `io`: the file can be read by other users, or cannot be read, or the keyring does not answer and has to;
    /// `invalid_argument`: this can be no provider's name.
    pub fn read(&self, provider: &str) -> Result<Option<Stored>, Error> {
        let path = self.path(provider)?;
        // First: a write to the keyring removes the file, so that one that is there is newer than an entry.
        if self.keyring != Keyring::System
            && let Some(text) = file::read(&path)?
        {
            return of_text(&text, Place::File(path)).map(Some);
        }
        if self.keyring == Keyring::File {
            return Ok(None);
        }
        match keyring::read(provider) {
            Ok(text) => text.map(|text| of_text(&text, Place::Keyring)).transpose(),
            Err(error) if self.keyring == Keyring::System || error.is_late => Err(error.into()),
            Err(error) if mark(&path).exists() => Err(in_keyring(provider, &error.why)),
            Err(_) => Ok(None),
        }
    }

    /// Stores a credential in the place of the one that was there, and says where.
    ///
    /// # Errors
    /// As [`KeyStore::read`].
    pub fn write(&self, provider: &str, credential: &Credential) -> Result<Place, Error> {
        // No other process writes what it has refreshed in between.
        let _lock = self.lock(provider)?;
        self.write_locked(provider, credential)
    }

    /// The same for who has the lock.
    pub(super) fn write_locked(&self, provider: &str, credential: &Credential) -> Result<Place, Error> {
        let path = self.path(provider)?;
        let text = serde_json::to_string(credential).unwrap_or_default();
        if self.keyring != Keyring::File {
            match keyring::write(provider, &text) {
                Ok(()) => {
                    file::write(&mark(&path), "")?;
                    // An older one would be found where the keyring does not answer.
                    file::remove(&path)?;
                    return Ok(Place::Keyring);
                }
                Err(error) if self.keyring == Keyring::System || error.is_late => return Err(error.into()),
                Err(_) => {}
            }
        }
        file::write(&path, &text)?;
        Ok(Place::File(path))
    }

    /// Removes what is stored for a provider in the places that are used: with [`Keyring::File`], an entry of the keyring stays.
    /// Whether there was anything.
    ///
    /// # Errors
    /// As [`KeyStore::read`]; `io` also for an entry of the keyring, if that does not answer.
    pub fn remove(&self, provider: &str) -> Result<bool, Error> {
        let path = self.path(provider)?;
        // Nobody writes what it is about to refresh behind this.
        let _lock = self.lock(provider)?;
        let mut was_there = false;
        let mut unreached = None;
        if self.keyring != Keyring::File {
            match keyring::remove(provider) {
                Ok(removed) => {
                    file::remove(&mark(&path))?;
                    was_there = removed;
                }
                Err(error) if self.keyring == Keyring::System || error.is_late => return Err(error.into()),
                Err(error) => unreached = Some(error),
            }
        }
        if self.keyring != Keyring::System {
            was_there |= file::remove(&path)?;
        }
        match unreached {
            Some(error) if mark(&path).exists() => Err(still_in_keyring(provider, &error.why)),
            _ => Ok(was_there),
        }
    }

    /// The names of the providers for which something was stored in the places that are used, in order. What is in the keyring
    /// may be gone meanwhile.
    ///
    /// # Errors
    /// `io`: the folder cannot be read.
    pub fn providers(&self) -> Result<Vec<String>, Error> {
        let endings: &[&str] = match self.keyring {
            Keyring::Auto => &["json", MARK],
            Keyring::System => &[MARK],
            Keyring::File => &["json"],
        };
        file::names(&self.folder, endings)
    }

    /// Why the system's keyring is not used: there is none, it does not answer, or files were chosen. `None` if it is.
    pub fn why_no_keyring(&self) -> Option<String> {
        match self.keyring {
            Keyring::File => Some("files were chosen".to_owned()),
            Keyring::Auto | Keyring::System => keyring::read("agent-loop").err().map(|error| error.why),
        }
    }

    /// The lock of a provider's credential, which one process at a time refreshes, writes or removes. Its file stays: who waits
    /// for one that is removed gets another lock than who comes later.
    ///
    /// # Errors
    /// `io`.
    pub(super) fn lock(&self, provider: &str) -> Result<impl Drop + Send + 'static + use<>, Error> {
        let path = self.path(provider)?.with_extension("lock");
        file::make_folder(&self.folder)?;
        private_file::lock(&path, LOCK_LIMIT).map_err(|error| file::of_io("locked", &path, error))
    }

    /// The file of a provider.
    fn path(&self, provider: &str) -> Result<PathBuf, Error> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_name = !provider.is_empty() && provider.len() <= LONGEST_NAME && !provider.starts_with('.');
        if !is_name || !provider.chars().all(is_plain) {
            let text = format!("{provider:?} can be no provider's name here: letters, digits, -, _ and . are, 64 at most");
            return Err(Error::invalid_argument(text));
        }
        Ok(self.folder.join(format!("{provider}.json")))
    }
}

/// The file that says that a provider's credential is in the keyring, which programs without one cannot ask.
fn mark(path: &Path) -> PathBuf {
    path.with_extension(MARK)
}

fn in_keyring(provider: &str, why: &str) -> Error {
    let text = format!(
        "what is stored for {provider} is in the system's keyring, which this program cannot read: {why}. Sign in again with \
         `AGENT_KEYRING=file agent auth login {provider}` to have it in a file"
    );
    Error::new(ErrorKind::Io, text)
}

fn still_in_keyring(provider: &str, why: &str) -> Error {
    let text =
        format!("what is stored for {provider} in the system's keyring is still there, this program cannot reach it: {why}");
    Error::new(ErrorKind::Io, text)
}

fn of_text(text: &str, place: Place) -> Result<Stored, Error> {
    // Not why: that may quote it.
    let credential = serde_json::from_str(text).map_err(|_| {
        let place = match &place {
            Place::Keyring => "the entry of the system's keyring".to_owned(),
            Place::File(path) => path.display().to_string(),
        };
        Error::new(ErrorKind::Io, format!("{place} has no key that can be read; sign in again"))
    })?;
    Ok(Stored { credential, place })
}
