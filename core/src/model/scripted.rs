//! The `scripted` model, in process and in virtual time. [`agent_loop_proto::script`] describes scripts.

use std::sync::{Mutex, PoisonError};

use agent_loop_proto::chunk::Chunk;
use agent_loop_proto::script::{SCRIPTED, Script, Step};
use agent_loop_proto::transcript::Constraints;

use super::interface::{DeltaSink, Model, ModelInfo, ModelRequest};
use crate::clock::Clock;
use crate::error::Error;
use crate::future::BoxFuture;
use crate::provider::ModelSpec;
use crate::usage::Prices;

/// A model that plays a script.
pub(crate) struct ScriptedModel {
    id: String,
    constraints: Constraints,
    prices: Option<Prices>,
    clock: Clock,
    script: Mutex<Script>,
}

impl ScriptedModel {
    /// Reads the spec's script.
    ///
    /// # Errors
    /// `invalid_argument`: says which step of which answer is wrong.
    pub(crate) fn new(spec: &ModelSpec) -> Result<ScriptedModel, Error> {
        let script = Mutex::new(Script::of(spec)?);
        Ok(ScriptedModel {
            id: spec.id.clone(),
            constraints: Constraints::of_spec(spec, SCRIPTED),
            prices: spec.cost.clone(),
            clock: Clock::simulated(),
            script,
        })
    }

    async fn play(&self, sink: &DeltaSink) -> Result<(), Error> {
        let answer = self.script.lock().unwrap_or_else(PoisonError::into_inner).next_answer();
        // A subagent's time is that of the run around it.
        let clock = sink.clock().unwrap_or(&self.clock);
        for step in answer? {
            match step {
                Step::Chunk(Chunk::Deltas(deltas)) => deltas.into_iter().for_each(|delta| sink.push(delta)),
                Step::Wait(ms) => clock.sleep(ms).await,
                Step::Chunk(Chunk::Fail(error)) => return Err(error),
                Step::Chunk(Chunk::End(deltas)) => {
                    deltas.into_iter().for_each(|delta| sink.push(delta));
                    return Ok(());
                }
            }
            sink.ready().await;
        }
        Err(Script::cut_off())
    }
}

impl Model for ScriptedModel {
    fn info(&self) -> ModelInfo<'_> {
        ModelInfo { provider: SCRIPTED, protocol: SCRIPTED, id: &self.id, prices: self.prices.clone() }
    }

    fn constraints(&self) -> Constraints {
        self.constraints.clone()
    }

    fn stream<'a>(&'a self, _request: &'a ModelRequest, sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.play(sink))
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }
}
