//! What the loop does not do itself: the scripted model, and the agent's configuration.

use agent_loop_proto::chunk::Chunk;
use agent_loop_proto::error::Error;
use agent_loop_proto::machine::{Config, Input, ModelEntry, Tools};
use agent_loop_proto::model_spec::ModelSpec;
use agent_loop_proto::script::{Script, Step};
use serde_json::{Map, Value};

/// The scripted models, by the keys that the loop has for them.
#[derive(Default)]
pub(crate) struct Models(Vec<Script>);

impl Models {
    pub(crate) fn add(&mut self, spec: &ModelSpec) -> Result<ModelEntry, Error> {
        let key = u32::try_from(self.0.len()).expect("few models");
        self.0.push(Script::of(spec)?);
        Ok(ModelEntry { prices: spec.cost, ..ModelEntry::new(key, &spec.provider, &spec.provider, &spec.id) })
    }

    /// The stream of a call to this model.
    pub(crate) fn stream(&mut self, call: u32, model: u32) -> Stream {
        let answer = self.0[model as usize].next_answer();
        let steps = answer.unwrap_or_else(|error| vec![Step::Chunk(Chunk::Fail(error))]);
        Stream { call, steps: steps.into_iter(), until_ms: None }
    }
}

/// An answer of the scripted model that is being played.
pub(crate) struct Stream {
    pub(crate) call: u32,
    steps: std::vec::IntoIter<Step>,
    /// Until when the model is silent.
    pub(crate) until_ms: Option<u64>,
}

impl Stream {
    /// Plays the answer up to the next silence. Returns the inputs for the loop, and whether the answer is over.
    pub(crate) fn play(&mut self, now_ms: u64) -> (Vec<Input>, bool) {
        let (call, mut deltas) = (self.call, Vec::new());
        self.until_ms = None;
        let result = loop {
            match self.steps.next() {
                Some(Step::Chunk(Chunk::Deltas(more))) => deltas.extend(more),
                Some(Step::Wait(ms)) => {
                    self.until_ms = Some(now_ms + ms);
                    return (vec![Input::ModelDeltas { call, deltas }], false);
                }
                Some(Step::Chunk(Chunk::Fail(error))) => break Err(error),
                Some(Step::Chunk(Chunk::End(more))) => {
                    deltas.extend(more);
                    break Ok(());
                }
                None => break Err(Script::cut_off()),
            }
        };
        (vec![Input::ModelDeltas { call, deltas }, Input::ModelEnd { call, result }], true)
    }
}

/// Sets the agent's options by their canonical names.
pub(crate) fn set_options(config: &mut Config, options: &Map<String, Value>, models: &mut Models) -> Result<(), Error> {
    for (name, value) in options {
        if name == "fallbacks" {
            let specs = value.as_array().into_iter().flatten().cloned().map(ModelSpec::from_json);
            config.fallbacks = specs.map(|spec| spec.map(|spec| (spec.name(), models.add(&spec)))).collect::<Result<_, _>>()?;
        } else {
            assert!(config.settings.set_option(name, value, name)?, "there is no option {name}");
        }
    }
    Ok(())
}

/// The configuration of an agent with this model.
pub(crate) fn config(spec: &ModelSpec, models: &mut Models, tools: Tools) -> Config {
    Config { tools, has_jitter: false, ..Config::new(spec.name(), models.add(spec)) }
}
