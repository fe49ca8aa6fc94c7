//! Recordings of runs: what went into the loop, and what came out. A recorded run can be played again, without any host; or the
//! model's answers of it are given to another run, whose requests are compared.
//!
//! - `recorder`: observes a loop and writes its lines; `line`: the lines
//! - `reading`: the lines of a file back to runs
//! - `player`: plays a recorded run through a loop; `output`: what is compared
//! - `answers`: the model's answers of a recorded run, for another one
//! - `difference`: where two values differ first
//! - `test_file`: the name of the file for the recording of a test
//!
//! The loop is deterministic. So the inputs are enough, in their order, with the times at which it was polled between them:
//!
//! ```
//! # use agent_loop_proto::delta::{BlockStart, Delta};
//! # use agent_loop_proto::machine::{Action, Config, Input, Loop, ModelEntry, Start};
//! # use agent_loop_proto::message::Message;
//! # use agent_loop_proto::usage::StopReason;
//! use agent_loop_proto::recording::{Played, Player, Recorder, read};
//!
//! let model = ModelEntry::new(0, "mine", "mine", "oracle");
//! let recorder = Recorder::new(false);
//! let mut start = Start::new("run_1", 0, vec![Message::user("Rain?", 0)]);
//! start.observed = Some(recorder.observed());
//! let mut run = Loop::new(Config::new(model.name(), Ok(model)), start);
//! let mut seen = Vec::new();
//! while let Some(action) = run.poll(0) {
//!     match action {
//!         Action::Emit(event) => seen.push(event.to_json()),
//!         Action::CallModel(call) => {
//!             let stop = Delta::Stop { reason: StopReason::Stop, raw: None };
//!             let text = Delta::Append { key: 0, text: "Yes.".into() };
//!             let deltas = vec![Delta::Start { key: 0, block: BlockStart::Text }, text, stop];
//!             run.handle(Input::ModelDeltas { call: call.call, deltas });
//!             run.handle(Input::ModelEnd { call: call.call, result: Ok(()) });
//!         }
//!         _ => {}
//!     }
//! }
//!
//! let recorded = read(&recorder.take_text()).unwrap().remove(0);
//! let (mut again, mut player) = Player::new(recorded);
//! for event in seen {
//!     assert!(matches!(player.next(&mut again).unwrap(), Played::Event(played) if played.to_json() == event));
//! }
//! assert!(matches!(player.next(&mut again).unwrap(), Played::Done(result) if result.text == "Yes."));
//! ```

mod answers;
mod difference;
mod line;
mod output;
mod player;
mod reading;
mod recorder;
mod test_file;
#[cfg(test)]
mod tests;

pub use answers::{AnswerPart, Answers, RecordedAnswer, changed};
pub use difference::{Difference, difference};
pub use line::RECORDING_VERSION;
#[doc(hidden)]
pub use line::{END, HEAD};
pub use player::{Played, Player};
pub use reading::{RecordedRun, read};
pub use recorder::Recorder;
pub use test_file::test_file_name;
