//! `agent.toml`: an agent without code.
//!
//! ```toml
//! name = "reviewer"
//! description = "Reviews changes."
//! model = "anthropic/claude-sonnet-4-5"
//! system_prompt = "You review the changes of a Git repository."
//! tools = ["git", "read_file", "search_text"]
//! max_turns = 20
//! ```
//!
//! Beside `name`, `description`, `version`, `system_prompt_file`, `tools`, `root`, `plugins` and `agents`, each option of
//! `docs/options.md` is a key. `tools` are names of built-in tools, `root` is the folder they stay in, `plugins` are paths of
//! shared libraries, `agents` is a list of further specs. Paths are relative to the file.

use std::path::{Path, PathBuf};

use agent_loop::{Error, ErrorKind};
use serde_json::{Map, Value, json};

use crate::spec::AgentSpec;

impl AgentSpec {
    /// Reads a file such as `agent.toml`.
    ///
    /// # Errors
    /// `io` when it cannot be read; `invalid_argument` when it is no TOML (with the line), or has a wrong value for what stands
    /// above the options. Options are checked when the agent is built.
    pub fn from_file(path: impl AsRef<Path>) -> Result<AgentSpec, Error> {
        let path = path.as_ref();
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|why| Error::new(ErrorKind::Io, format!("{shown} cannot be read: {why}")).with_source(why))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
        let read = AgentSpec::from_toml(&text, folder).map(|spec| spec.read_from(shown.to_string()));
        read.map_err(|error| Error::new(error.kind(), format!("{shown}: {}", error.message())))
    }

    /// Reads the text of such a file. Paths in it are relative to `folder`.
    ///
    /// # Errors
    /// As [`AgentSpec::from_file`].
    pub fn from_toml(text: &str, folder: impl AsRef<Path>) -> Result<AgentSpec, Error> {
        let read: Value = toml::from_str(text).map_err(|why| Error::invalid_argument(place_of(&why, text)))?;
        let Value::Object(fields) = read else { return Err(Error::invalid_argument("expected a table")) };
        AgentSpec::from_fields(fields, folder.as_ref())
    }

    fn from_fields(mut fields: Map<String, Value>, folder: &Path) -> Result<AgentSpec, Error> {
        let mut text = |name: &str| match fields.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Error::invalid_argument(format!("{name}: expected a text"))),
        };
        let (name, description, version) = (text("name")?, text("description")?, text("version")?);
        let (prompt_file, root) = (text("system_prompt_file")?, text("root")?);
        let name = name.ok_or_else(|| Error::invalid_argument("name is missing: name = \"reviewer\", for example"))?;
        let mut spec = AgentSpec::new(name).description(description.unwrap_or_default());
        if let Some(version) = version {
            spec = spec.version(version);
        }
        if let Some(file) = prompt_file {
            if fields.contains_key("system_prompt") {
                return Err(Error::invalid_argument("system_prompt and system_prompt_file: give one of them"));
            }
            let path = folder.join(&file);
            let read = std::fs::read_to_string(&path);
            let read = read.map_err(|why| Error::new(ErrorKind::Io, format!("system_prompt_file: {}: {why}", path.display())))?;
            spec = spec.system_prompt(read);
        }
        for plugin in list("plugins", fields.remove("plugins"))? {
            let Value::String(path) = plugin else { return Err(Error::invalid_argument("plugins: expected paths")) };
            spec = spec.plugin(folder.join(path));
        }
        for agent in list("agents", fields.remove("agents"))? {
            let Value::Object(agent) = agent else { return Err(Error::invalid_argument("agents: expected tables: [[agents]]")) };
            let read = AgentSpec::from_fields(agent, folder);
            let read = read.map_err(|error| Error::new(error.kind(), format!("agents: {}", error.message())))?;
            spec = spec.subagent(read);
        }
        if let Some(tools) = fields.remove("tools") {
            if fields.contains_key("builtin_tools") {
                return Err(Error::invalid_argument("tools and builtin_tools: give one of them"));
            }
            fields.insert("builtin_tools".to_owned(), json!({ "tools": tools }));
        }
        if let Some(root) = root {
            let root: PathBuf = folder.join(root);
            set_builtin(&mut fields, "root", root.to_string_lossy().into());
        }
        for server in fields.get_mut("mcp").and_then(Value::as_array_mut).into_iter().flatten() {
            from_folder(server, folder);
        }
        for (name, value) in fields {
            spec = spec.option(&name, value);
        }
        Ok(spec)
    }
}

/// A program of an MCP server that is named by a relative path is looked for from the file's folder.
fn from_folder(server: &mut Value, folder: &Path) {
    if let Some(Value::String(command)) = server.get_mut("command")
        && (command.starts_with("./") || command.starts_with("../"))
    {
        *command = folder.join(&*command).to_string_lossy().into_owned();
    }
}

/// Where a text is no TOML, and why. Not the line itself: it may have a key.
fn place_of(why: &toml::de::Error, text: &str) -> String {
    let before = why.span().and_then(|span| text.get(..span.start)).unwrap_or(text);
    let (line, column) = (before.matches('\n').count() + 1, before.rsplit('\n').next().unwrap_or_default().chars().count() + 1);
    format!("line {line}, column {column}: {}", why.message().replace('\n', ", "))
}

/// Sets a field of the option `builtin_tools`, which may be a list of names.
pub(crate) fn set_builtin(options: &mut Map<String, Value>, name: &str, value: Value) {
    let mut fields = match options.remove("builtin_tools") {
        Some(Value::Object(fields)) => fields,
        Some(names) => Map::from_iter([("tools".to_owned(), names)]),
        None => Map::new(),
    };
    fields.insert(name.to_owned(), value);
    options.insert("builtin_tools".to_owned(), Value::Object(fields));
}

fn list(name: &str, value: Option<Value>) -> Result<Vec<Value>, Error> {
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(Error::invalid_argument(format!("{name}: expected a list"))),
    }
}
