//! The option `builtin_tools`, in JSON.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::BuiltinTools;
use crate::connection::FromOption;
use crate::did_you_mean::Spelling;
use crate::error::Error;
use crate::option_fields::{self, Field, is_texts};

/// The fields with what they take.
const FIELDS: &[Field] =
    &[("tools", is_texts, "a list of names of built-in tools"), ("root", Value::is_string, "the path of a folder")];

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
}

impl Default for BuiltinOptions {
    fn default() -> BuiltinOptions {
        BuiltinOptions { tools: Vec::new(), root: ".".into() }
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
