//! What the loop does not do itself: the scripted model, and the agent's configuration.

use std::sync::Arc;

use agent_loop_proto::chunk::Chunk;
use agent_loop_proto::error::Error;
use agent_loop_proto::machine::{Config, Input, ModelEntry, Tools};
use agent_loop_proto::model_spec::ModelSpec;
use agent_loop_proto::script::{Script, Step};
use agent_loop_proto::settings::Settings;
use agent_loop_proto::transcript::Constraints;
use serde_json::{Map, Value, json};

/// The scripted models, by the keys that the loop has for them.
#[derive(Default)]
pub(crate) struct Models(Vec<Script>);

impl Models {
    pub(crate) fn add(&mut self, spec: &Value) -> Result<(String, Result<ModelEntry, Error>), Error> {
        let spec = ModelSpec::from_json(spec.clone())?;
        let key = u32::try_from(self.0.len()).expect("few models");
        let entry = Script::of(&spec).map(|script| {
            self.0.push(script);
            ModelEntry {
                key,
                provider: spec.provider.clone(),
                protocol: spec.provider.clone(),
                id: spec.id.clone(),
                prices: spec.cost,
                constraints: Constraints::new(&spec.provider, &spec.provider, &spec.id),
                encoder: None,
            }
        });
        Ok((spec.name(), entry))
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
    let mut settings = json!(config.settings);
    for (name, value) in options {
        match name.as_str() {
            "fallbacks" => {
                let specs = value.as_array().into_iter().flatten();
                config.fallbacks = specs.map(|spec| models.add(spec)).collect::<Result<_, _>>()?;
            }
            "max_retries" => settings["retry"]["max_retries"] = value.clone(),
            "retry_base_ms" => settings["retry"]["retry_base_ms"] = value.clone(),
            "max_retry_delay_ms" => settings["retry"]["max_retry_delay_ms"] = value.clone(),
            name if settings["limits"].get(name).is_some() => settings["limits"][name] = value.clone(),
            name if settings.get(name).is_some() => settings[name] = value.clone(),
            name => settings["model"][name] = value.clone(),
        }
    }
    config.settings = serde_json::from_value(settings).map_err(|error| Error::invalid_argument(error.to_string()))?;
    Ok(())
}

/// The configuration of an agent with this model.
pub(crate) fn config(spec: &Value, models: &mut Models, tools: Tools) -> Result<Config, Error> {
    let (model_name, model) = models.add(spec)?;
    Ok(Config {
        settings: Settings::default(),
        model_name,
        model,
        fallbacks: Vec::new(),
        tools,
        hooks: [].into_iter().collect(),
        is_stateless: false,
        has_jitter: false,
    })
}

/// The state of the agent in JSON.
pub(crate) fn messages(given: &Value) -> Result<Vec<Arc<agent_loop_proto::message::Message>>, Error> {
    let list = given.as_array().into_iter().flatten().cloned();
    list.map(|message| agent_loop_proto::message::Message::from_json(message).map(Arc::new)).collect()
}
