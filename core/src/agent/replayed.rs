//! Starts a recorded run that is played again.

use std::sync::Arc;

use agent_loop_proto::conversation::Conversation;
use agent_loop_proto::machine::{Config, Start};
use agent_loop_proto::recording::Player;

use super::handle::{Agent, StandsFor};
use super::models::Models;
use super::state::State;
use crate::clock::Clock;
use crate::error::Error;
use crate::future::BoxFuture;
use crate::log::{LogLevel, RunLogFunction};
use crate::model::source::ModelSource;
use crate::recording::Replay;
use crate::run::Run;
use crate::run::driver::Driver;
use crate::run::shared::RunShared;
use crate::runtime::Runtime;

/// Starts a recorded run.
pub(super) fn start(
    recording: &Replay,
    runtime: Option<Runtime>,
    with_queue: bool,
    aborted: bool,
    cancels: Vec<BoxFuture<'static, ()>>,
    log: Option<(LogLevel, RunLogFunction)>,
) -> Result<Run, Error> {
    let runtime = runtime.map_or_else(Runtime::current, Ok)?;
    runtime.check()?;
    let recorded = recording.recorded()?;
    let (clock, id) = (Clock::simulated_at(recorded.started_ms()), Arc::from(recorded.start.run_id.as_str()));
    let agent = stand_in(&recorded.config, &recorded.start, &runtime)?;
    let (_, host) = agent.configuration(&clock, &mut Vec::new());
    let (machine, player) = Player::new(recorded);
    let mut shared = RunShared::new(id, with_queue, runtime.clone(), log, machine);
    shared.is_replay = true;
    let run = Arc::new(shared);
    if aborted {
        run.abort();
    }
    let driver = Driver::new(agent.clone(), Arc::clone(&run), clock, host, Vec::new(), None);
    runtime.spawn_run(driver.drive(cancels, Some(Box::new(player))));
    Ok(Run::new(run, agent))
}

/// What stands for the agent whose run it was.
fn stand_in(config: &Config, start: &Start, runtime: &Runtime) -> Result<Agent, Error> {
    let model = ModelSource::from(&*config.model_name).parse().or_else(|_| ModelSource::from("scripted/replay").parse())?;
    let state = State {
        runtime: Some(runtime.clone()),
        settings: config.settings.clone(),
        specs: Some(config.tools.clone()),
        conversation: Conversation::new(Arc::new(start.transcript.clone()))?,
        ..State::new(Models::new(model))
    };
    Ok(Agent::from_state(state, StandsFor::Replay))
}
