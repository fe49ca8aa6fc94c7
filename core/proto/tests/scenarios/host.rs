//! What the loop does not do itself: the scripted model, and the agent's configuration.

use std::collections::VecDeque;
use std::sync::Arc;

use agent_loop_proto::chunk::{Chunk, ChunkReader};
use agent_loop_proto::delta::Delta;
use agent_loop_proto::error::{Error, ErrorKind};
use agent_loop_proto::machine::{Config, Input, ModelEntry, Tools};
use agent_loop_proto::model_spec::ModelSpec;
use agent_loop_proto::settings::Settings;
use agent_loop_proto::transcript::Constraints;
use serde_json::{Map, Value, json};

/// The scripted models, by the keys that the loop has for them.
#[derive(Default)]
pub(crate) struct Models(Vec<Model>);

struct Model {
    answers: VecDeque<Value>,
    calls: usize,
}

impl Models {
    pub(crate) fn add(&mut self, spec: &Value) -> Result<(String, Result<ModelEntry, Error>), Error> {
        let spec = ModelSpec::from_json(spec.clone())?;
        let answers = spec.script.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
        let key = u32::try_from(self.0.len()).expect("few models");
        self.0.push(Model { answers: answers.into(), calls: 0 });
        let entry = ModelEntry {
            key,
            provider: spec.provider.clone(),
            protocol: spec.provider.clone(),
            id: spec.id.clone(),
            prices: spec.cost,
            constraints: Constraints::new(&spec.provider, &spec.provider, &spec.id),
            encoder: None,
        };
        Ok((spec.name(), Ok(entry)))
    }

    /// The stream of a call to this model.
    pub(crate) fn stream(&mut self, call: u32, model: u32) -> Stream {
        let model = &mut self.0[model as usize];
        model.calls += 1;
        let number = model.calls;
        let exhausted = || {
            let answers = if number == 2 { "1 answer".to_owned() } else { format!("{} answers", number - 1) };
            let message = format!("the script has {answers}, and this is model call {number}");
            json!([{ "error": { "kind": "provider", "message": message, "retryable": false } }])
        };
        let answer = model.answers.pop_front().unwrap_or_else(exhausted);
        let steps = answer.as_array().cloned().unwrap_or_default().into();
        Stream { call, steps, chunks: ChunkReader::new("scripted"), until_ms: None }
    }
}

/// An answer of the scripted model that is being played.
pub(crate) struct Stream {
    pub(crate) call: u32,
    steps: VecDeque<Value>,
    chunks: ChunkReader,
    /// Until when the model is silent.
    pub(crate) until_ms: Option<u64>,
}

impl Stream {
    /// Plays the answer up to the next silence. Returns the inputs for the loop, and whether the answer is over.
    pub(crate) fn play(&mut self, now_ms: u64) -> (Vec<Input>, bool) {
        let (call, mut deltas): (u32, Vec<Delta>) = (self.call, Vec::new());
        self.until_ms = None;
        let result = loop {
            let Some(step) = self.steps.pop_front() else {
                let text = "the script's answer has no end step: the stream was cut off";
                break Err(Error::new(ErrorKind::StreamTruncated, text).with_provider("scripted"));
            };
            if let Some(ms) = step.get("wait_ms").and_then(Value::as_u64) {
                self.until_ms = Some(now_ms + ms);
                return (vec![Input::ModelDeltas { call, deltas }], false);
            }
            match self.chunks.read(step.get("delta").unwrap_or(&step)).expect("a step of a script") {
                Chunk::Deltas(more) => deltas.extend(more),
                Chunk::Fail(error) => break Err(error),
                Chunk::End(more) => {
                    deltas.extend(more);
                    break Ok(());
                }
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
