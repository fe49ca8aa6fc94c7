//! What a stepped loop is made with: the options of an agent, and those that stand for its functions.

use std::sync::Arc;

use agent_loop_proto::conversation::export::Export;
use agent_loop_proto::hook::{HookAnswer, HookKind};
use agent_loop_proto::json_error::{read_value, shown};
use agent_loop_proto::machine::Config;
use agent_loop_proto::script::SCRIPTED;
use agent_loop_proto::tool::ToolSpec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::models::{Models, check_headers};
use crate::agent::{Agent, export};
use crate::clock::Clock;
use crate::did_you_mean::{Spelling, unknown_name};
use crate::error::Error;
use crate::hook::Hook;
use crate::message::{Message, Prompt};
use crate::provider::ModelSpec;
use crate::tool::{PendingCall, Tool, ToolSet};
use agent_loop_proto::suspension::Decision;

/// Options that only a loop has, at its start or later.
const OWN: &[&str] = &["tools", "hooks", "providers", "prompt", "decisions", "export", "run_id", "run_seed"];

/// What is only for the start.
const OF_START: &[&str] = &["prompt", "decisions", "export", "run_id", "run_seed", "messages"];

/// What a run begins with.
#[derive(Default)]
pub(super) struct Beginning {
    pub(super) prompt: Option<Prompt>,
    pub(super) decisions: Vec<(String, Decision)>,
    /// The conversation so far, where it is more than messages.
    pub(super) export: Option<Export>,
    pub(super) run_id: Option<String>,
    /// What jitter and made ids come from; by default a random one.
    pub(super) seed: Option<u64>,
}

/// What requests and questions of a turn are made with, beside the loop's own configuration.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Side {
    pub(super) headers: Map<String, Value>,
    pub(super) connect_timeout_ms: u64,
    /// The tools that prepare their arguments.
    pub(super) preparing: Vec<String>,
}

/// Options as they were given, and how their names are spelled.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Layer {
    is_camel: bool,
    options: Map<String, Value>,
}

/// The options: an agent that runs nothing keeps them, and reads them as any agent does.
pub(super) struct Options {
    agent: Agent,
    /// As they were given, in order: a saved loop has these.
    layers: Vec<Layer>,
    preparing: Vec<String>,
}

/// A tool of the host, of which the loop has the description alone.
struct Described(ToolSpec);

impl Tool for Described {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    /// Never called: the host runs it.
    fn start(&self, call: PendingCall) {
        drop(call);
    }
}

impl Options {
    /// Without any.
    fn new() -> Result<Options, Error> {
        let placeholder = ModelSpec::from_json(json!({ "provider": SCRIPTED, "id": "none", "script": [] }))?;
        Ok(Options { agent: Agent::builder(placeholder).build()?, layers: Vec::new(), preparing: Vec::new() })
    }

    /// Reads what a loop is made with.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown option, a wrong value, or one that a loop is not given.
    pub(super) fn read(given: Map<String, Value>, spelling: Spelling) -> Result<(Options, Beginning), Error> {
        let mut options = Options::new()?;
        let (start, other): (Map<_, _>, Map<_, _>) =
            given.into_iter().partition(|(name, _)| OWN.iter().any(|own| is_of_start(own) && spelling.spell(own) == *name));
        if other.get("model").is_none_or(Value::is_null) {
            let example = "for example \"anthropic/claude-sonnet-4-5\", or an object";
            return Err(Error::invalid_argument(format!("option \"model\" is missing; give \"provider/id\", {example}")));
        }
        let has_messages = other.get("messages").is_some_and(|messages| !messages.is_null());
        options.add(other, spelling)?;
        let beginning = beginning(&start, spelling)?;
        if beginning.export.is_some() && has_messages {
            return Err(export::has_messages());
        }
        Ok((options, beginning))
    }

    /// The options again, as they were saved.
    ///
    /// # Errors
    /// As [`Options::read`].
    pub(super) fn load(layers: Vec<Layer>) -> Result<Options, Error> {
        let mut options = Options::new()?;
        for Layer { is_camel, options: given } in layers {
            options.add(given, if is_camel { Spelling::Camel } else { Spelling::Snake })?;
        }
        Ok(options)
    }

    pub(super) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Changes options: all, or on an error none. Returns what the loop then runs with.
    ///
    /// # Errors
    /// As [`Options::read`] and [`Options::configuration`].
    pub(super) fn change(
        &mut self,
        given: Map<String, Value>,
        spelling: Spelling,
        models: &mut Models,
    ) -> Result<(Config, Side), Error> {
        if let Some(name) = given.keys().find(|name| OF_START.iter().any(|own| spelling.spell(own) == **name)) {
            return Err(Error::invalid_argument(format!("option {name:?}: only a new loop takes it")));
        }
        let before = self.layers.clone();
        let changed = self.add(given, spelling).and_then(|()| self.configuration(models));
        if changed.is_err() {
            *self = Options::load(before)?;
        }
        changed
    }

    fn add(&mut self, given: Map<String, Value>, spelling: Spelling) -> Result<(), Error> {
        let (own, other): (Map<_, _>, Map<_, _>) = given.clone().into_iter().partition(|(name, _)| OWN.contains(&name.as_str()));
        for (name, why) in [
            ("api_key", "a loop is not given a key; add it to the request of call_model, as its auth says"),
            ("network", "a loop makes no connections; the host does"),
            ("builtin_tools", "a loop executes no tools; the host's tools are in the option tools"),
            ("mcp", "a loop makes no connections; the host's tools are in the option tools"),
            ("record", "the runs of agents are recorded; save a loop to keep it"),
            ("replay", "the runs of agents are replayed; the host of a loop answers as it likes"),
        ] {
            let spelled = spelling.spell(name);
            if other.get(&spelled).is_some_and(|value| !value.is_null()) {
                return Err(Error::invalid_argument(format!("option {spelled:?}: {why}")));
            }
        }
        if let Some(Value::Object(headers)) = other.get("headers") {
            check_headers("option \"headers\":", headers)?;
        }
        let tools = own.get("tools").map(|tools| read_tools(tools, spelling)).transpose()?;
        let hooks = own.get("hooks").map(read_hooks).transpose()?;
        for name in own.get("providers").map(|names| read_list::<String>("providers", names)).transpose()?.into_iter().flatten() {
            // What it would answer, the host does.
            self.agent.set_custom_provider(&name, Some(Arc::new(drop)))?;
        }
        self.agent.set_options(&other, spelling, OWN)?;
        if let Some((set, preparing)) = tools {
            self.agent.set_tools(set);
            self.preparing = preparing;
        }
        if let Some(hooks) = hooks {
            for kind in HookKind::ALL {
                self.agent.remove_hook(*kind);
            }
            hooks.into_iter().for_each(|kind| self.agent.set_hook(unasked(kind)));
        }
        self.keep(given, spelling);
        Ok(())
    }

    /// Later values take the place of earlier ones. What was begun with stands in the loop, messages above all.
    fn keep(&mut self, mut given: Map<String, Value>, spelling: Spelling) {
        given.shift_remove("messages");
        let is_camel = spelling == Spelling::Camel;
        match self.layers.last_mut().filter(|layer| layer.is_camel == is_camel) {
            Some(layer) => layer.options.extend(given),
            None => self.layers.push(Layer { is_camel, options: given }),
        }
    }

    /// The conversation so far.
    pub(super) fn messages(&self) -> Arc<Vec<Arc<Message>>> {
        self.agent.messages()
    }

    /// What the loop runs with from its next turn on, and what is made beside it.
    ///
    /// # Errors
    /// `invalid_argument` for a model that cannot be used, or that has a key.
    pub(super) fn configuration(&self, models: &mut Models) -> Result<(Config, Side), Error> {
        self.agent.check()?;
        let (mut config, host) = self.agent.configuration(&Clock::real(), &mut models.table);
        models.find_endpoints()?;
        // Tests know what comes.
        config.has_jitter = !config.model_name.starts_with("scripted/");
        let headers = Map::clone(&host.connection.headers);
        let side = Side { headers, connect_timeout_ms: host.connect_timeout_ms, preparing: self.preparing.clone() };
        Ok((config, side))
    }

    /// A model that a hook names.
    ///
    /// # Errors
    /// As [`Options::configuration`].
    pub(super) fn other_model(&self, spec: &ModelSpec) -> Result<crate::model::table::ResolvedModel, Error> {
        self.agent.resolve_other(spec)
    }
}

fn is_of_start(name: &str) -> bool {
    OF_START.contains(&name)
}

/// Reads what a run begins with.
fn beginning(given: &Map<String, Value>, spelling: Spelling) -> Result<Beginning, Error> {
    let value = |name: &str| given.get(&spelling.spell(name)).filter(|value| !value.is_null());
    let prompt = value("prompt").map(|prompt| Prompt::from_json(prompt.clone())).transpose()?;
    let decisions = value("decisions").map(|decisions| Decision::all_from_json(decisions.clone())).transpose()?;
    let run_id = value("run_id").map(|id| read_as("run_id", id)).transpose()?;
    let seed = value("run_seed").map(|seed| read_as("run_seed", seed)).transpose()?;
    let export = value("export").map(read_export).transpose()?;
    if prompt.is_some() && decisions.is_some() {
        let text = "option \"decisions\": a run begins with a prompt, or goes on with decisions; give one of them";
        return Err(Error::invalid_argument(text));
    }
    Ok(Beginning { prompt, decisions: decisions.unwrap_or_default(), export, run_id, seed })
}

/// Reads a conversation, as it was written by `export` or parsed from that.
fn read_export(value: &Value) -> Result<Export, Error> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if serde_json::from_str::<Value>(&text).is_ok_and(|export| export.get("signature").is_some()) {
        let text =
            "the export is signed, and a loop has no key to check it: give it to an agent, and that agent's export to the loop";
        return Err(Error::invalid_argument(text));
    }
    export::read(&text, None)
}

fn read_as<T: DeserializeOwned>(name: &str, value: &Value) -> Result<T, Error> {
    read_value(value).map_err(|unread| unread.at(format_args!("option {name:?}")).invalid_argument())
}

/// The items of a list; null is an empty one.
fn read_list<T: DeserializeOwned>(name: &str, value: &Value) -> Result<Vec<T>, Error> {
    Ok(read_as::<Option<Vec<T>>>(name, value)?.unwrap_or_default())
}

/// Reads descriptions of tools; also the names of those that prepare their arguments.
fn read_tools(value: &Value, spelling: Spelling) -> Result<(ToolSet, Vec<String>), Error> {
    let (mut set, mut preparing) = (ToolSet::default(), Vec::new());
    let prepares = spelling.spell("prepare_arguments");
    for (i, mut tool) in read_list::<Value>("tools", value)?.into_iter().enumerate() {
        let at = |error: Error| error.reworded(|why| format!("option \"tools\": [{i}]: {why}"));
        let flag = tool.as_object_mut().and_then(|fields| fields.shift_remove(&prepares));
        let spec = ToolSpec::from_json_spelled(tool, spelling, &["prepare_arguments"]).map_err(at)?;
        match flag {
            None | Some(Value::Null | Value::Bool(false)) => {}
            Some(Value::Bool(true)) => preparing.push(spec.name().to_owned()),
            Some(other) => {
                let text = format!("{prepares}: expected true or false, got {}; the function stays with the host", shown(&other));
                return Err(at(Error::invalid_argument(text)));
            }
        }
        set.add(Arc::new(Described(spec))).map_err(at)?;
    }
    Ok((set, preparing))
}

/// Reads the names of hooks.
fn read_hooks(value: &Value) -> Result<Vec<HookKind>, Error> {
    let kind = |name: String| {
        HookKind::parse(&name).ok_or_else(|| {
            let names = HookKind::ALL.iter().map(|kind| kind.as_str());
            unknown_name("hook", &name, names, Spelling::Snake).reworded(|why| format!("option \"hooks\": {why}"))
        })
    };
    let kinds: Vec<HookKind> = read_list::<String>("hooks", value)?.into_iter().map(kind).collect::<Result<_, _>>()?;
    if let Some(kind) = kinds.iter().find(|kind| kind.effect().is_of_servers()) {
        let text = format!("option \"hooks\": {kind}: a loop has no MCP servers, which could ask it");
        return Err(Error::invalid_argument(text));
    }
    Ok(kinds)
}

/// A hook that is set, so that the loop asks for it. The host answers.
fn unasked(kind: HookKind) -> Hook {
    Hook::new(kind, Arc::new(|_, _| Box::pin(std::future::ready(Ok(HookAnswer::Nothing)))))
}
