//! What a session does at a moment: the prompt that it answers.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::StopReason;
use agent_loop::CancelToken;
use tokio::sync::watch;

/// How a turn ended.
pub(super) type Ended = Result<StopReason, Error>;

/// What a session does.
#[derive(Default)]
pub(super) struct State {
    pub(super) turn: Option<Active>,
    /// The next prompt is answered from a summary.
    pub(super) compacts: bool,
    pub(super) is_closed: bool,
}

/// The prompt that is being answered.
pub(super) struct Active {
    pub(super) cancel: CancelToken,
    pub(super) ended: watch::Receiver<Option<Ended>>,
}

impl State {
    /// Ends the turn. Calls that wait for approval go on waiting: who opens the session next is asked about them.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.cancel();
    }

    /// Aborts the run, and denies calls that wait.
    pub(super) fn cancel(&self) {
        if let Some(turn) = &self.turn {
            turn.cancel.cancel();
        }
    }
}
