//! The HTTP of a model call of a stepped loop, over the engine's connections.

use std::sync::{Arc, Mutex, PoisonError};

use agent_loop::CancelToken;
use agent_loop::host::{Exchange as CoreExchange, ExchangeOptions, HostLoop, Spelling};
use napi_derive::napi;
use serde_json::Value;

use crate::bridge::{Bridge, Link};
use crate::error::{Result, invalid_argument, thrown};
use crate::{message, runtime};

/// The request of a `call_model`, to be sent once.
#[napi]
pub struct Exchange {
    core: Mutex<Option<CoreExchange>>,
    cancel: CancelToken,
    link: Arc<Link>,
}

impl Exchange {
    /// That of a call of this loop, with these options in JSON.
    pub(crate) fn of(bridge: &Bridge, run: &HostLoop, call: u32, options: &str) -> Result<Exchange> {
        let options = read(options)?;
        let runtime = runtime::runtime().map_err(|e| thrown(&e))?;
        let core = run.exchange(call, &runtime, options).map_err(|e| thrown(&e))?;
        Ok(Exchange { core: Mutex::new(Some(core)), cancel: CancelToken::new(), link: Arc::clone(&bridge.link) })
    }
}

fn read(options: &str) -> Result<ExchangeOptions> {
    let Value::Object(given) = message::read("options", options).map_err(|e| thrown(&e))? else {
        return Err(invalid_argument("options: expected an object"));
    };
    ExchangeOptions::read(&given, Spelling::Camel).map_err(|e| thrown(&e))
}

/// Throws the error of options, in JSON, with which there is no exchange.
#[napi(catch_unwind)]
pub fn check_exchange(options: String) -> Result<()> {
    read(&options).map(drop)
}

#[napi]
impl Exchange {
    /// Sends the request and settles the ticket with the response or the error, in JSON. A second time it settles nothing.
    #[napi(catch_unwind)]
    pub fn send(&self, ticket: u32) -> Result<()> {
        let core = self.core.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (cancel, link) = (self.cancel.clone(), Arc::clone(&self.link));
        let send = async move {
            if let Some(core) = core {
                link.settle(ticket, Some(core.send(cancel).await.to_json().to_string()));
            }
        };
        runtime::runtime().map_err(|e| thrown(&e))?.spawn(send);
        Ok(())
    }

    /// Ends it: `send` then settles its ticket with the response so far.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}
