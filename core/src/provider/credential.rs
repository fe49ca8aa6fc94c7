//! Access tokens: what authenticates a call where no lasting key does. Google's, by its Application Default Credentials, for
//! Vertex AI. Keys are not for here: they come from the settings, `get_api_key` or the environment, where the call is made.
//!
//! Written here and not taken from `google-cloud-auth` or `gcp_auth`, which do more: both bring an HTTP client of their own that
//! knows nothing of our proxies, authorities and limits (and the first one AWS's TLS library), so that a token could not be had
//! where a model can be reached. What is needed is a signature and two requests.

mod exchange;
mod google;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::exchange::Granted;
use self::google::Source;
use crate::clock::Clock;
use crate::error::Error;
use crate::log::{Log, LogRecord};
use crate::threads::blocking;
use crate::transport::client::Client;
use crate::transport::network::{Environment, Network};
use agent_loop_proto::table::logs;

/// How long before its end a token is replaced, if it lives long enough. The metadata server gives out the old one until four
/// minutes before; Google's own libraries take the same
/// (<https://github.com/googleapis/google-auth-library-python/commit/c6af1d6>).
const REFRESH_AHEAD_MS: u64 = 225_000;

/// A token that ends within this time may not reach its server.
const ON_THE_WAY_MS: u64 = 10_000;

/// How long a token is waited for: then the old one serves, or the call fails with the reason.
const FETCH_MS: u64 = 10_000;

/// What authenticates a call to Google.
#[derive(Clone)]
pub(crate) struct GoogleToken {
    /// For `authorization: Bearer …`.
    pub(crate) token: Arc<str>,
    /// For `x-goog-user-project`: the project that pays and whose limits count, where it is not the token's own.
    pub(crate) quota_project: Option<String>,
}

/// The project that the environment or the credentials name. Reads a file while the caller waits: it is a part of the model's
/// address, which is made once, where no other model waits for it.
pub(crate) fn google_project(environment: Environment<'_>) -> Option<String> {
    google::project(environment)
}

fn of_the_process(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// What a token was made from (a changed file is another source) and the network it was asked for through. The same account's
/// tokens are good wherever they were had, but the network decides who answered, and whose proxy is to blame when no server did.
type Key = (Source, Arc<Network>);

/// The most sources and networks whose tokens are kept.
const MOST_SLOTS: usize = 64;

/// The tokens that are kept.
#[derive(Default)]
pub(crate) struct Tokens {
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
    log: Log,
}

#[derive(Default)]
struct Slot {
    state: Mutex<State>,
    /// Held by the one that fetches.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    held: Option<Held>,
    /// How many fetches there were, and the error of the last one.
    fetches: u64,
    error: Option<Error>,
}

#[derive(Clone)]
struct Held {
    token: Arc<str>,
    refresh_ms: u64,
    expiry_ms: u64,
}

impl Tokens {
    pub(crate) fn new(log: Log) -> Tokens {
        Tokens { log, ..Tokens::default() }
    }

    /// The token of this machine's Application Default Credentials, a kept one while it is good.
    ///
    /// # Errors
    /// `authentication`: says which credentials were tried and what to do; those of [`Client::post`].
    pub(crate) async fn google(
        &self,
        client: &Client,
        network: &Arc<Network>,
        connect_timeout_ms: u64,
    ) -> Result<GoogleToken, Error> {
        let source = blocking(|| google::find(&of_the_process)).await?;
        let key = (source, Arc::clone(network));
        let (source, network) = (&key.0, &key.1);
        let fetch = async {
            let fetch = exchange::fetch(source, client, network, connect_timeout_ms);
            let fetched = tokio::time::timeout(Duration::from_millis(FETCH_MS), fetch).await;
            fetched.unwrap_or_else(|_| Err(exchange::late(source, FETCH_MS)))
        };
        self.get(&key, &Clock::real(), fetch).await
    }

    /// Forgets a token that its server refused: the next one who asks fetches another.
    pub(crate) fn forget(&self, token: &str) {
        for slot in self.slots().values() {
            let mut state = slot.state();
            // Perhaps another call has replaced it already.
            state.held = state.held.take().filter(|held| &*held.token != token);
        }
    }

    /// The kept token, or the one that `fetch` gets. Near its end one caller fetches the next and the others go on with the old
    /// one, which also serves when no next one can be had; without one, all wait for the same fetch.
    async fn get(
        &self,
        key: &Key,
        clock: &Clock,
        fetch: impl Future<Output = Result<Granted, Error>>,
    ) -> Result<GoogleToken, Error> {
        let slot = {
            let mut slots = self.slots();
            if slots.len() >= MOST_SLOTS && !slots.contains_key(key) {
                // Whoever needs one of these again fetches it again.
                slots.retain(|_, slot| Arc::strong_count(slot) > 1);
            }
            Arc::clone(slots.entry(key.clone()).or_default())
        };
        let given = |held: Held| GoogleToken { token: held.token, quota_project: key.0.quota_project.clone() };
        let (usable, before) = {
            let state = slot.state();
            (state.held.clone().filter(|held| clock.now_ms() < held.expiry_ms), state.fetches)
        };
        let _fetching = match &usable {
            Some(held) if clock.now_ms() < held.refresh_ms => return Ok(given(held.clone())),
            Some(held) => match slot.fetching.try_lock() {
                Ok(fetching) => fetching,
                Err(_) => return Ok(given(held.clone())),
            },
            None => slot.fetching.lock().await,
        };
        let other = {
            let state = slot.state();
            let fresh = state.held.clone().filter(|held| clock.now_ms() < held.refresh_ms);
            // Whoever waited for another's fetch takes what came of it, also an error.
            let error = state.error.clone().filter(|_| state.fetches > before);
            fresh.map(Ok).or_else(|| error.map(|error| usable.clone().ok_or(error)))
        };
        if let Some(other) = other {
            return other.map(given);
        }
        let fetched = fetch.await;
        let mut state = slot.state();
        state.fetches += 1;
        state.error = fetched.as_ref().err().cloned();
        match (fetched, usable) {
            (Ok(granted), _) => {
                let Granted { token, lifetime_ms } = granted;
                let expiry_ms = clock.now_ms().saturating_add(lifetime_ms);
                let held = Held {
                    token: token.into(),
                    refresh_ms: expiry_ms.saturating_sub(REFRESH_AHEAD_MS.min(lifetime_ms / 4)),
                    expiry_ms: expiry_ms.saturating_sub(ON_THE_WAY_MS),
                };
                state.held = Some(held.clone());
                Ok(given(held))
            }
            (Err(error), Some(held)) => {
                // Not under the lock.
                drop(state);
                let what = "the access token could not be replaced, the old one is used";
                self.log.write(logs::TOKEN_KEPT, |code| LogRecord::new(code, what).because(error));
                Ok(given(held))
            }
            (Err(error), None) => Err(error),
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<Key, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for GoogleToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GoogleToken").field("quota_project", &self.quota_project).finish_non_exhaustive()
    }
}
