//! What the command line makes of a spec: the agent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_loop::builtin::BuiltinTools;
use agent_loop::hook::{Hook, HookKind};
use agent_loop::session::{OpenSession, Store};
use agent_loop::suspension::Decision;
use agent_loop::{Agent, Message};
use clap::ArgMatches;
use serde_json::{Map, Value, json};

use crate::arguments::text;
use crate::failure::Failure;
use crate::spec::AgentSpec;
use crate::spec_file::set_builtin;
use crate::{history, mcp, models, places, verbose};

/// What a command needs to make its agents.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) spec: AgentSpec,
    /// The spec's options, with those of the command line in their place.
    pub(crate) options: Map<String, Value>,
    pub(crate) as_json: bool,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    pub(crate) yes: bool,
}

impl Settings {
    /// The spec as the command line changes it, without a model.
    pub(crate) fn of(mut spec: AgentSpec, matches: &ArgMatches) -> Result<Settings, Failure> {
        if spec.loads_plugins() {
            let plugins = matches.get_many::<PathBuf>("plugin").into_iter().flatten();
            spec = plugins.fold(spec, |spec, path| spec.plugin(path));
        }
        let mut options = spec.options().clone();
        let mut set = |name: &str, value: Value| options.insert(name.to_owned(), value);
        if let Some(prompt) = text(matches, "system") {
            set("system_prompt", prompt_of(prompt)?.into());
        }
        if let Some(turns) = matches.get_one::<u32>("max-turns") {
            set("max_turns", (*turns).into());
        }
        if let Some(cost) = matches.get_one::<f64>("max-cost") {
            set("max_cost", (*cost).into());
        }
        if let Some(level) = text(matches, "thinking") {
            set("thinking_level", level.into());
        }
        if let Some(path) = matches.get_one::<PathBuf>("record") {
            set("record", path.to_string_lossy().into());
        }
        let servers: Vec<&String> = matches.get_many("mcp").into_iter().flatten().collect();
        if !servers.is_empty() {
            let mut all = options.get("mcp").and_then(Value::as_array).cloned().unwrap_or_default();
            for server in servers {
                all.extend(mcp::servers_of(server)?);
            }
            options.insert("mcp".to_owned(), all.into());
        }
        if let Some(names) = text(matches, "tools") {
            set_builtin(&mut options, "tools", json!(tool_names(names)));
        }
        if let Some(root) = matches.get_one::<PathBuf>("root") {
            // Also without tools, which would refuse it.
            if !root.is_dir() {
                return Err(Failure::usage(format!("--root: {} is no folder: name one that is there", root.display())));
            }
            set_builtin(&mut options, "root", root.to_string_lossy().into());
        }
        let flag = |name: &str| matches.get_flag(name);
        Ok(Settings { spec, options, as_json: flag("json"), quiet: flag("quiet"), verbose: flag("verbose"), yes: flag("yes") })
    }

    /// The same with a model.
    pub(crate) fn with_model(mut self, matches: &ArgMatches) -> Result<Settings, Failure> {
        if let Err(none) = models::choose(&mut self.options, self.spec.has_model(), matches) {
            // Perhaps the spec names one, and misspells the key: the error of the agent says so.
            self.with_any_model().agent(Conversation::New)?;
            return Err(none);
        }
        Ok(self)
    }

    /// The same with a model that is never called, where there is none: for what needs an agent but no answer.
    pub(crate) fn with_any_model(&self) -> Settings {
        let mut settings = self.clone();
        settings.options.entry("model").or_insert_with(|| json!({ "provider": "scripted", "id": "none", "script": [] }));
        settings
    }

    /// The agent, with a conversation.
    pub(crate) fn agent(&self, of: Conversation) -> Result<Agent, Failure> {
        let built = self.spec.build_with(&self.options).map_err(|error| self.spec.name_file(error, &self.options));
        // Whatever it is, a flag or the spec says so: a plugin that is not there, for example.
        let agent = built.map_err(|error| Failure::usage(error.message()))?;
        match of {
            Conversation::New => {}
            Conversation::Messages(messages) => agent.replace_messages(messages)?,
            Conversation::Session(session) => agent.set_session(session)?,
        }
        if self.yes && !agent.has_hook(HookKind::OnApproval) {
            // Before a call waits: each run that goes on with calls that waited would have limits of its own.
            agent.set_hook(Hook::on_approval(|_, _| async { Ok::<_, String>(Some(Decision::Approve)) }));
        }
        if self.verbose {
            verbose::show_requests(&agent, &self.options);
        }
        Ok(agent)
    }

    /// The sessions of this agent.
    pub(crate) fn store(&self) -> Result<Store, Failure> {
        places::store(self.spec.name())
    }
}

/// What an agent goes on with.
pub(crate) enum Conversation {
    New,
    Messages(Vec<Arc<Message>>),
    Session(OpenSession),
}

impl Conversation {
    /// As the command line says.
    pub(crate) async fn of(settings: &Settings, matches: &ArgMatches) -> Result<Conversation, Failure> {
        if let Some(id) = text(matches, "session") {
            return Ok(Conversation::Session(settings.store()?.session(id)?.open().await?));
        }
        match matches.get_one::<PathBuf>("history") {
            Some(path) => Ok(Conversation::Messages(history::read(path)?)),
            None => Ok(Conversation::New),
        }
    }
}

/// The text of the flag `--system`.
fn prompt_of(given: &str) -> Result<String, Failure> {
    let Some(path) = given.strip_prefix('@') else { return Ok(given.to_owned()) };
    if path.is_empty() {
        return Err(Failure::usage("--system: expected a text, or @ and the path of a file, such as @prompt.md"));
    }
    std::fs::read_to_string(Path::new(path)).map_err(|why| Failure::usage(format!("--system: {path} cannot be read: {why}")))
}

/// The names of the flag `--tools`.
pub(crate) fn tool_names(given: &str) -> Vec<String> {
    match given {
        "none" => Vec::new(),
        "all" => BuiltinTools::names().map(str::to_owned).collect(),
        names => names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect(),
    }
}
