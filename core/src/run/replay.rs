//! Plays a recorded run: its events as they come, without waiting for anything but the reader.

use agent_loop_proto::machine::EndCause;
use agent_loop_proto::recording::{Played, Player};

use super::driver::Driver;
use crate::result::RunResult;

impl Driver {
    /// The run from `agent_start` to its result. Where it is not as it was recorded, it ends with an error.
    pub(super) async fn play(&mut self, mut player: Box<Player>) -> RunResult {
        loop {
            if self.run.abort.is_cancelled() {
                player.abort(&mut self.run.machine());
            }
            let played = player.next(&mut self.run.machine());
            match played {
                Ok(Played::Event(event)) => self.emit(event).await,
                Ok(Played::Done(result)) => return *result,
                // Both crates have one version: there is nothing else.
                #[cfg(not(feature = "__bindings"))]
                Ok(_) => {}
                Err(error) => {
                    let (last, result) = self.run.machine().force_end(EndCause::Failure(error));
                    for event in last {
                        self.emit(event).await;
                    }
                    return result;
                }
            }
        }
    }
}
