//! What an application's own tokio runtime has to have.

use std::net::{Ipv4Addr, UdpSocket};
use std::panic::catch_unwind;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::error::{Error, ErrorKind};

/// The tokio runtime that this code runs in, which has timers and IO.
///
/// # Errors
/// `invalid_state` where there is none, and for one without them.
pub(super) fn current() -> Result<Handle, Error> {
    let handle = Handle::try_current().map_err(|_| {
        let text = "there is no tokio runtime here; call from async code, or give the agent a Runtime::new()";
        Error::new(ErrorKind::InvalidState, text)
    })?;
    let lacking = match (has_timers(), has_io()) {
        (true, true) => return Ok(handle),
        (false, true) => "timers",
        (true, false) => "IO",
        (false, false) => "timers and no IO",
    };
    let text = format!("this tokio runtime has no {lacking}; build it with enable_all(), or give the agent a Runtime::new()");
    Err(Error::new(ErrorKind::InvalidState, text))
}

/// tokio does not say it: making a timer panics, as any later one would, in the middle of a run. Nothing of it was begun.
fn has_timers() -> bool {
    catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO))).is_ok()
}

/// The same of a socket. Where the system gives none, it is not known, and a run reports what it lacks.
fn has_io() -> bool {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
    socket.map_or(true, |socket| catch_unwind(|| drop(tokio::net::UdpSocket::from_std(socket))).is_ok())
}
