//! What an agent is, before there is one: [`AgentSpec`].

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_loop::subagent::Subagent;
use agent_loop::{Agent, AgentBuilder, Error, Tool};
use serde_json::{Map, Value, json};

use crate::models;
use crate::spec_file::set_builtin;

type BuildPrompt = Arc<dyn Fn() -> String + Send + Sync>;
/// Adds the plugin of a path to an agent.
type LoadPlugin = fn(&Agent, &Path) -> Result<(), Error>;
type Setup = Arc<dyn Fn(AgentBuilder) -> Result<AgentBuilder, Error> + Send + Sync>;

/// What an agent is: its name, prompt, tools and defaults, and the agents that it may call. [`agent_main`](crate::agent_main)
/// makes a program of it, [`AgentSpec::build`] an agent.
///
/// ```
/// use agent_loop_program::AgentSpec;
/// use serde_json::json;
///
/// let reader = AgentSpec::new("reader").description("Reads one file and sums it up.").builtin_tools(["read_file"]);
/// let spec = AgentSpec::new("reviewer")
///     .system_prompt("You review changes.")
///     .model("anthropic/claude-sonnet-4-5")
///     .option("max_turns", json!(20))
///     .subagent(reader);
/// # let _ = spec;
/// ```
#[derive(Clone)]
#[must_use = "a spec does nothing before `agent_main` or `build`"]
pub struct AgentSpec {
    name: String,
    description: String,
    version: Option<String>,
    prompt: Option<BuildPrompt>,
    options: Map<String, Value>,
    /// An agent that has all that the spec does not.
    template: Option<Agent>,
    /// Whether that one's model stands for none.
    without_model: bool,
    tools: Vec<Arc<dyn Tool>>,
    setups: Vec<Setup>,
    subagents: Vec<AgentSpec>,
    /// The file that it was read from.
    file: Option<String>,
    plugins: Vec<PathBuf>,
    load_plugin: Option<LoadPlugin>,
}

impl AgentSpec {
    /// An agent of this name: that of its program, of its folder of sessions, and of its tool where it is a subagent. Letters,
    /// digits, `_` and `-`.
    pub fn new(name: impl Into<String>) -> AgentSpec {
        AgentSpec {
            name: name.into(),
            description: String::new(),
            version: None,
            prompt: None,
            options: Map::new(),
            template: None,
            without_model: false,
            tools: Vec::new(),
            setups: Vec::new(),
            subagents: Vec::new(),
            file: None,
            plugins: Vec::new(),
            load_plugin: None,
        }
    }

    /// The agent of the program `agent`, which is nothing but what its flags say.
    pub fn agent() -> AgentSpec {
        AgentSpec::new("agent").description("Runs LLM agents: asks a model, lets it use tools, and shows what happens.")
    }

    /// The same, with what this agent has: its tools, hooks and options. Its conversation is not part of it.
    pub fn like(mut self, agent: &Agent) -> AgentSpec {
        self.template = Some(agent.clone());
        self
    }

    /// The model of the agent that [`like`](AgentSpec::like) has given stands for none: the command line or the environment names
    /// it.
    pub fn without_model(mut self) -> AgentSpec {
        self.without_model = true;
        self
    }

    /// What it does, in a sentence: for `--help`, and for the model that may call it as a subagent.
    pub fn description(mut self, text: impl Into<String>) -> AgentSpec {
        self.description = text.into();
        self
    }

    /// What `--version` prints. Default: the version of this library.
    pub fn version(mut self, version: impl Into<String>) -> AgentSpec {
        self.version = Some(version.into());
        self
    }

    /// The text that precedes the messages: instructions for the model.
    pub fn system_prompt(self, text: impl Into<String>) -> AgentSpec {
        let text = text.into();
        self.system_prompt_with(move || text.clone())
    }

    /// A function that makes that text, each time an agent is made.
    pub fn system_prompt_with(mut self, build: impl Fn() -> String + Send + Sync + 'static) -> AgentSpec {
        self.prompt = Some(Arc::new(build));
        self
    }

    /// The model, `provider/id`, where the command line names none.
    pub fn model(self, model: &str) -> AgentSpec {
        self.option("model", model.into())
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl Tool) -> AgentSpec {
        self.tools.push(Arc::new(tool));
        self
    }

    /// The [built-in tools](agent_loop::builtin) of these names, in the folder in which the program is started.
    pub fn builtin_tools<N: AsRef<str>>(self, names: impl IntoIterator<Item = N>) -> AgentSpec {
        let names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
        self.option("builtin_tools", json!(names))
    }

    /// The default of an option, by its name in `docs/options.md`.
    pub fn option(mut self, name: &str, value: Value) -> AgentSpec {
        self.options.insert(name.to_owned(), value);
        self
    }

    /// What else is to be done to the agent before it is built: hooks, middleware, custom providers. Not beside
    /// [`like`](AgentSpec::like).
    pub fn setup(mut self, setup: impl Fn(AgentBuilder) -> Result<AgentBuilder, Error> + Send + Sync + 'static) -> AgentSpec {
        self.setups.push(Arc::new(setup));
        self
    }

    /// What loads plugins, shared libraries that add tools, hooks and providers. With it the program has the flag `--plugin`, and
    /// a file the key `plugins`. The program `agent` gives `agent_loop_plugins::add`.
    pub fn plugin_loader(mut self, load: fn(&Agent, &Path) -> Result<(), Error>) -> AgentSpec {
        self.load_plugin = Some(load);
        self
    }

    /// Adds the plugin of this path. It is loaded before the model is looked up, which may be of its provider.
    pub fn plugin(mut self, path: impl Into<PathBuf>) -> AgentSpec {
        self.plugins.push(path.into());
        self
    }

    /// Adds an agent that the model may call as a tool. What it does not say of model, address and key is that of this one.
    pub fn subagent(mut self, spec: AgentSpec) -> AgentSpec {
        self.subagents.push(spec);
        self
    }

    /// The agent.
    ///
    /// # Errors
    /// `invalid_argument`: an option that is not known or wrong, two tools of one name, no model, or one that cannot be used.
    pub fn build(&self) -> Result<Agent, Error> {
        self.build_with(&self.options)
    }

    /// The agent with these options in place of the spec's own.
    pub(crate) fn build_with(&self, options: &Map<String, Value>) -> Result<Agent, Error> {
        let Some(template) = &self.template else { return self.built(options) };
        if !self.setups.is_empty() {
            return Err(Error::invalid_argument("spec: setup: the agent of `like` is built already; set its hooks before"));
        }
        let agent = template.fork(Arc::default())?;
        self.add_plugins(&agent)?;
        self.tools.iter().try_for_each(|tool| agent.add_tool(Arc::clone(tool)))?;
        self.subagents(options)?.into_iter().try_for_each(|subagent| agent.add_tool(subagent))?;
        let mut options = self.with_prompt(options.clone());
        if let Some(tools) = self.builtin_in(&options) {
            options.insert("builtin_tools".to_owned(), tools);
        }
        agent.set_json(&Value::Object(options))?;
        Ok(agent)
    }

    /// The option `builtin_tools` of these options. Fields that they do not name are those of the agent that `like` has given.
    pub(crate) fn builtin_in(&self, options: &Map<String, Value>) -> Option<Value> {
        let given = options.get("builtin_tools")?;
        let own = self.template.as_ref().and_then(|agent| agent.builtin_tools().options().map(|own| json!(own)));
        let Some(Value::Object(mut fields)) = own else { return Some(given.clone()) };
        match given {
            Value::Object(given) => fields.extend(given.clone()),
            names => drop(fields.insert("tools".to_owned(), names.clone())),
        }
        Some(Value::Object(fields))
    }

    /// Whether these options, or the agent of `like`, name the folder of the built-in tools.
    pub(crate) fn names_root(&self, options: &Map<String, Value>) -> bool {
        let own = self.template.as_ref().and_then(|agent| agent.builtin_tools().options().map(|own| own.root.clone()));
        // The current folder is what they have where none is named.
        let is_named = own.is_some_and(|root| root != std::path::Path::new("."));
        is_named || options.get("builtin_tools").is_some_and(|tools| tools.get("root").is_some())
    }

    fn built(&self, options: &Map<String, Value>) -> Result<Agent, Error> {
        let mut rest = options.clone();
        let model = rest.remove("model").filter(|model| !model.is_null());
        let model = model.ok_or_else(|| Error::invalid_argument("the agent has no model; name one, as provider/id"))?;
        let spec = match &model {
            Value::String(name) => agent_loop::ModelSpec::parse(name)?,
            other => agent_loop::ModelSpec::from_json(other.clone())?,
        };
        let mut builder = Agent::builder(spec);
        if let Some(url) = rest.get("base_url").and_then(Value::as_str) {
            builder = builder.base_url(url);
        }
        for tool in &self.tools {
            builder = builder.tool(Arc::clone(tool));
        }
        for subagent in self.subagents(options)? {
            builder = builder.tool(subagent);
        }
        for setup in &self.setups {
            builder = setup(builder)?;
        }
        // Its model may be of a plugin.
        let agent = if self.plugins.is_empty() { builder.build()? } else { builder.build_unchecked()? };
        self.add_plugins(&agent)?;
        agent.set_json(&Value::Object(self.with_prompt(rest)))?;
        agent.check()?;
        Ok(agent)
    }

    fn add_plugins(&self, agent: &Agent) -> Result<(), Error> {
        let none = || Error::invalid_argument("plugins: this program loads none");
        self.plugins.iter().try_for_each(|path| self.load_plugin.ok_or_else(none)?(agent, path))
    }

    fn with_prompt(&self, mut options: Map<String, Value>) -> Map<String, Value> {
        if let (false, Some(prompt)) = (options.contains_key("system_prompt"), &self.prompt) {
            options.insert("system_prompt".to_owned(), prompt().into());
        }
        options
    }

    /// The agents that it may call, as tools.
    fn subagents(&self, options: &Map<String, Value>) -> Result<Vec<Subagent>, Error> {
        let made = self.subagents.iter().map(|subagent| {
            let agent = subagent.build_with(&subagent.options_within(options))?;
            agent.as_tool(&subagent.name, &subagent.description)
        });
        made.collect()
    }

    /// Its options as a subagent of an agent with those.
    fn options_within(&self, outer: &Map<String, Value>) -> Map<String, Value> {
        let mut own = self.options.clone();
        // An address and a key are for a model.
        let of_model: &[&str] = if self.has_model() { &[] } else { &["model", "base_url", "api_key"] };
        for name in of_model.iter().copied().chain(["network"]) {
            if let (false, Some(value)) = (own.contains_key(name), outer.get(name)) {
                own.insert(name.to_owned(), value.clone());
            }
        }
        models::use_stored(&mut own);
        let root = outer.get("builtin_tools").and_then(|tools| tools.get("root"));
        let has_root = own.get("builtin_tools").is_some_and(|tools| tools.get("root").is_some());
        if let (Some(root), true, false) = (root, own.contains_key("builtin_tools"), has_root) {
            set_builtin(&mut own, "root", root.clone());
        }
        own
    }

    /// Whether it says which model answers.
    pub(crate) fn has_model(&self) -> bool {
        self.options.contains_key("model") || (self.template.is_some() && !self.without_model)
    }

    /// Whether the name is one: it is that of a folder, too.
    ///
    /// # Errors
    /// `invalid_argument`: it is none.
    pub(crate) fn check_name(&self) -> Result<(), Error> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if self.name.is_empty() || !self.name.chars().all(fits) {
            let place = self.file.as_deref().unwrap_or("spec");
            let text = format!("{place}: name {:?}: use letters, digits, '_' or '-'; a folder is named so, too", self.name);
            return Err(Error::invalid_argument(text));
        }
        Ok(())
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn about(&self) -> &str {
        &self.description
    }

    pub(crate) fn own_version(&self) -> &str {
        self.version.as_deref().unwrap_or(agent_loop::VERSION)
    }

    /// The file that describes it.
    pub(crate) fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    pub(crate) fn read_from(mut self, file: String) -> AgentSpec {
        self.file = Some(file);
        self
    }

    /// The error of an agent with these options; with the file's name in front, if it is about an option of the file.
    pub(crate) fn name_file(&self, error: Error, options: &Map<String, Value>) -> Error {
        let Some(file) = &self.file else { return error };
        let message = error.message().strip_prefix("unknown ").unwrap_or(error.message());
        let named = message.strip_prefix("option \"").and_then(|rest| rest.split_once('"')).map(|(name, _)| name);
        let is_own = named.is_some_and(|name| self.options.get(name).is_some_and(|own| options.get(name) == Some(own)));
        if is_own { Error::new(error.kind(), format!("{file}: {}", error.message())) } else { error }
    }

    pub(crate) fn options(&self) -> &Map<String, Value> {
        &self.options
    }

    pub(crate) fn loads_plugins(&self) -> bool {
        self.load_plugin.is_some()
    }

    /// The same, and what it may call, with what loads plugins there.
    fn loading_as(mut self, program: &AgentSpec) -> AgentSpec {
        self.load_plugin = program.load_plugin;
        self.subagents = self.subagents.into_iter().map(|subagent| subagent.loading_as(program)).collect();
        self
    }

    /// The same with its own tools, for what a file says beside them.
    pub(crate) fn with_code_of(self, program: &AgentSpec) -> AgentSpec {
        let mut spec = self.loading_as(program);
        spec.template = program.template.clone();
        spec.without_model = program.without_model;
        spec.tools.extend(program.tools.iter().cloned());
        spec.setups.extend(program.setups.iter().cloned());
        spec.subagents.extend(program.subagents.iter().cloned());
        spec.plugins.extend(program.plugins.iter().cloned());
        spec
    }
}

impl fmt::Debug for AgentSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the options, which may have a key.
        f.debug_struct("AgentSpec").field("name", &self.name).field("tools", &self.tools.len()).finish_non_exhaustive()
    }
}
