//! The option `builtin_tools`, in JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::BuiltinTools;
use super::sandbox::SandboxMode;
use crate::connection::FromOption;
use crate::did_you_mean::Spelling;
use crate::error::Error;
use crate::option_fields::{self, Field, is_texts};

/// The fields with what they take.
const FIELDS: &[Field] = &[
    ("tools", is_texts, "a list of names of built-in tools"),
    ("root", Value::is_string, "the path of a folder"),
    ("command_timeout_ms", is_above_zero, "a whole number of milliseconds, at least 1"),
    ("env", is_texts_by_name, "an object of texts"),
    ("sandbox", is_mode, "\"auto\", \"required\" or \"off\""),
    ("network", Value::is_boolean, "true or false"),
    ("readable", is_texts, "a list of paths"),
    ("writable", is_texts, "a list of paths"),
    ("private_addresses", Value::is_boolean, "true or false"),
];

fn is_above_zero(value: &Value) -> bool {
    value.as_u64().is_some_and(|number| number > 0)
}

fn is_texts_by_name(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.values().all(Value::is_string))
}

fn is_mode(value: &Value) -> bool {
    matches!(value.as_str(), Some("auto" | "required" | "off"))
}

/// Which built-in tools an agent has, and how they work.
///
/// ```
/// use agent_loop::builtin::{BuiltinOptions, BuiltinTools};
///
/// let mut options = BuiltinOptions::default();
/// options.tools = vec!["todo".to_owned()];
/// BuiltinTools::with_options(options)?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug, Clone, Deserialize)]
#[serde(default, rename = "strict", deny_unknown_fields)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct BuiltinOptions {
    /// The names of the tools, in the order in which the model has them.
    pub tools: Vec<String>,
    /// The folder they stay in. Default: the current one.
    pub root: PathBuf,
    /// The time limit of a command, in milliseconds, unless its call asks for another one. Default: 120,000.
    pub command_timeout_ms: u64,
    /// Environment variables of commands. They have few of this process, and none that may be a key.
    pub env: BTreeMap<String, String>,
    /// Whether commands run in a sandbox.
    pub sandbox: SandboxMode,
    /// Whether commands in the sandbox have a network. Default: false.
    pub network: bool,
    /// Files and folders outside of the root that commands in the sandbox may read, and run programs of.
    pub readable: Vec<PathBuf>,
    /// Those that they may also change.
    pub writable: Vec<PathBuf>,
    /// Whether `fetch_url` may ask servers in private networks, those of this machine included. Default: false.
    pub private_addresses: bool,
}

impl Default for BuiltinOptions {
    fn default() -> BuiltinOptions {
        BuiltinOptions {
            tools: Vec::new(),
            root: ".".into(),
            command_timeout_ms: 120_000,
            env: BTreeMap::new(),
            sandbox: SandboxMode::default(),
            network: false,
            readable: Vec::new(),
            writable: Vec::new(),
            private_addresses: false,
        }
    }
}

impl BuiltinTools {
    /// Reads the option: a list of names, for the current folder, or `{tools, root?}`.
    ///
    /// ```
    /// use agent_loop::builtin::BuiltinTools;
    /// use serde_json::json;
    ///
    /// BuiltinTools::from_json(&json!({ "tools": ["todo"], "root": "." }))?;
    /// # Ok::<(), agent_loop::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`BuiltinTools::new`]; `invalid_argument` also for an unknown or wrong field (names it).
    pub fn from_json(value: &Value) -> Result<BuiltinTools, Error> {
        BuiltinTools::from_json_spelled(value, Spelling::Snake)
    }

    fn from_json_spelled(value: &Value, spelling: Spelling) -> Result<BuiltinTools, Error> {
        let options = match value {
            Value::Null => return Ok(BuiltinTools::default()),
            names if is_texts(names) => {
                let tools = names.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
                BuiltinOptions { tools, ..BuiltinOptions::default() }
            }
            Value::Object(fields) => {
                let what = "field of built-in tools";
                option_fields::read(what, fields.clone(), FIELDS, spelling).map_err(Error::invalid_argument)?
            }
            _ => return Err(Error::invalid_argument("expected a list of names, or {\"tools\": […], \"root\": …}")),
        };
        BuiltinTools::with_options(options)
    }
}

impl FromOption for BuiltinTools {
    fn from_option(value: &Value, spelled: &str, spelling: Spelling) -> Result<BuiltinTools, Error> {
        let read = BuiltinTools::from_json_spelled(value, spelling);
        read.map_err(|error| error.reworded(|why| format!("option {spelled:?}: {why}")))
    }
}
