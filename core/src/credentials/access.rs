//! What models get of what is stored: a key as it is, tokens refreshed before they end and once after they were refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::credential::{Credential, Tokens};
use super::oauth::{self, Http, NotRefreshed};
use super::store::KeyStore;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::threads::{blocking, inherit};
use crate::transport::client::Client;
use crate::transport::network::Network;

/// How long before its end a token is replaced.
const REFRESH_AHEAD_MS: u64 = 60_000;

/// How long a token that is still good is used after it could not be replaced, before that is tried again.
const PAUSE_MS: u64 = 30_000;

/// What authenticates a call.
pub(crate) struct Found {
    pub(crate) secret: String,
    /// Whether it goes as a token.
    pub(crate) is_bearer: bool,
}

/// What a runtime's models get. What was read is kept until it ends or is refused. The store is that of the environment, unless
/// the runtime was given one.
#[derive(Default)]
pub(crate) struct Access {
    store: Option<KeyStore>,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
}

#[derive(Default)]
struct Slot {
    state: Mutex<State>,
    /// Held by the one that reads or refreshes.
    working: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    held: Option<Credential>,
    /// What the provider has refused.
    refused: Option<String>,
    /// Until when a token that is still good is not replaced: it could not be.
    not_before_ms: u64,
    /// How many refreshes have failed, and the last one's error.
    failures: u64,
    failure: Option<Error>,
}

impl State {
    /// Whether a credential can be sent, and need not be replaced now.
    fn is_usable(&self, credential: &Credential) -> bool {
        let ahead_ms = if Clock::real().now_ms() < self.not_before_ms { 0 } else { REFRESH_AHEAD_MS };
        self.refused.as_deref() != Some(credential.secret()) && !ends_within(credential, ahead_ms)
    }
}

fn ends_within(credential: &Credential, ms: u64) -> bool {
    let Credential::Tokens(Tokens { expires_at_ms: Some(expires_at_ms), .. }) = credential else { return false };
    Clock::real().now_ms().saturating_add(ms) >= *expires_at_ms
}

impl Slot {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn usable(&self) -> Option<Credential> {
        let state = self.state();
        state.held.clone().filter(|held| state.is_usable(held))
    }

    /// Why the refresh failed that another call has made, if there were so many before this one began to wait.
    fn failed_since(&self, failures: u64) -> Option<Error> {
        let state = self.state();
        state.failure.clone().filter(|_| state.failures != failures)
    }
}

impl Access {
    pub(crate) fn new(store: Option<KeyStore>) -> Access {
        Access { store, ..Access::default() }
    }

    /// What is stored for a provider, as it can be sent now. `None`: nothing is.
    ///
    /// # Errors
    /// Those of [`KeyStore::read`]; `authentication`: the tokens have ended and cannot be replaced.
    pub(crate) async fn get(
        &self,
        provider: &str,
        client: &Arc<Client>,
        network: &Arc<Network>,
        connect_timeout_ms: u64,
    ) -> Result<Option<Found>, Error> {
        let slot = Arc::clone(self.slots.lock().unwrap_or_else(PoisonError::into_inner).entry(provider.to_owned()).or_default());
        if let Some(held) = slot.usable() {
            return Ok(Some(found(&held)));
        }
        let failures = slot.state().failures;
        let _working = slot.working.lock().await;
        if let Some(held) = slot.usable() {
            return Ok(Some(found(&held)));
        }
        // One failure is that of all who waited for it: each would take as long.
        if let Some(error) = slot.failed_since(failures) {
            return Err(error);
        }
        let store = match &self.store {
            Some(store) => store.clone(),
            None => KeyStore::from_environment()?,
        };
        let Some(mut credential) = read(&store, provider).await? else {
            slot.state().held = None;
            return Ok(None);
        };
        if let Credential::Tokens(_) = &credential
            && !slot.state().is_usable(&credential)
        {
            let refresh = Refresh {
                store,
                provider: provider.to_owned(),
                slot: Arc::clone(&slot),
                client: Arc::clone(client),
                network: Arc::clone(network),
                connect_timeout_ms,
            };
            credential = to_its_end(refresh.run()).await?;
        }
        slot.state().held = Some(credential.clone());
        Ok(Some(found(&credential)))
    }

    /// Notes that the provider has refused a secret.
    pub(crate) fn refused(&self, provider: &str, secret: &str) {
        if let Some(slot) = self.slots.lock().unwrap_or_else(PoisonError::into_inner).get(provider) {
            slot.state().refused = Some(secret.to_owned());
        }
    }
}

/// What the replacement of tokens needs: it owns it, as it may go on without the call that began it.
struct Refresh {
    store: KeyStore,
    provider: String,
    slot: Arc<Slot>,
    client: Arc<Client>,
    network: Arc<Network>,
    connect_timeout_ms: u64,
}

impl Refresh {
    /// The tokens, replaced. A failure is noted.
    async fn run(self) -> Result<Credential, Error> {
        let slot = Arc::clone(&self.slot);
        self.replaced().await.inspect_err(|error| {
            let mut state = slot.state();
            state.failures += 1;
            state.failure = Some(error.clone());
        })
    }

    /// The tokens, replaced by this process or meanwhile by another one: a refresh token is often good for one use.
    async fn replaced(self) -> Result<Credential, Error> {
        let Refresh { store, provider, slot, client, network, connect_timeout_ms } = self;
        let (locked, name) = (store.clone(), provider.clone());
        let lock = blocking(move || locked.lock(&name)).await?;
        let ended = |why: &str| {
            let text = format!("the sign-in to {provider} has ended{why}: sign in again with `agent auth login {provider}`");
            Error::new(ErrorKind::Authentication, text).with_provider(&provider)
        };
        let credential = match read(&store, &provider).await? {
            Some(credential) if slot.state().is_usable(&credential) => return Ok(credential),
            Some(credential) => credential,
            None => return Err(ended("")),
        };
        let Credential::Tokens(tokens) = &credential else { return Ok(credential) };
        let is_refused = slot.state().refused.as_deref() == Some(credential.secret());
        let is_good = !is_refused && !ends_within(&credential, 0);
        if tokens.refresh_token.is_none() {
            return if is_good { Ok(credential) } else { Err(ended("")) };
        }
        let http = Http { client: &client, network: &network, connect_timeout_ms };
        match oauth::refresh(&http, tokens).await {
            Ok(tokens) => {
                let fresh = Credential::Tokens(tokens);
                let (name, written) = (provider.clone(), fresh.clone());
                let write = move || {
                    // As long as this writes, also when nobody waits for it any more.
                    let _lock = lock;
                    // Somebody may have removed it by hand: that counts.
                    match store.read(&name) {
                        Ok(None) => Ok(()),
                        _ => store.write_locked(&name, &written).map(drop),
                    }
                };
                blocking(write).await?;
                Ok(fresh)
            }
            // The old one serves as long as it can.
            Err(_) if is_good => {
                slot.state().not_before_ms = Clock::real().now_ms().saturating_add(PAUSE_MS);
                Ok(credential)
            }
            Err(NotRefreshed { error, has_ended: true }) => Err(ended(&format!(" ({})", error.message()))),
            Err(NotRefreshed { error, .. }) => {
                let error = error.reworded(|why| format!("the sign-in to {provider} cannot be refreshed: {why}"));
                Err(error.with_provider(&provider))
            }
        }
    }
}

/// Waits for work that goes on when the waiting is given up: an abort must not lose a token that the server has already replaced.
async fn to_its_end<T: Send + 'static>(work: impl Future<Output = Result<T, Error>> + Send + 'static) -> Result<T, Error> {
    match tokio::spawn(inherit(work)).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(Error::new(ErrorKind::InvalidState, "the runtime was shut down")),
    }
}

async fn read(store: &KeyStore, provider: &str) -> Result<Option<Credential>, Error> {
    let (store, provider) = (store.clone(), provider.to_owned());
    blocking(move || Ok(store.read(&provider)?.map(|stored| stored.credential))).await
}

fn found(credential: &Credential) -> Found {
    Found { secret: credential.secret().to_owned(), is_bearer: matches!(credential, Credential::Tokens(_)) }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").finish_non_exhaustive()
    }
}
