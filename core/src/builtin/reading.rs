//! The option `builtin_tools`, in JSON.

use serde_json::Value;

use super::BuiltinTools;
use super::options::BuiltinOptions;
use crate::connection::FromOption;
use crate::did_you_mean::Spelling;
use crate::error::Error;
use crate::option_fields::{self, Field, is_texts};

/// The fields with what they take.
const FIELDS: &[Field] = &[
    ("tools", is_texts, "a list of names of built-in tools"),
    ("root", Value::is_string, "the path of a folder"),
    ("command_timeout_ms", is_above_zero, "a whole number of milliseconds, at least 1"),
    ("env", is_environment, "an object of texts (without NUL) by their names (without \"=\" and NUL)"),
    ("sandbox", is_mode, "\"auto\", \"required\" or \"off\""),
    ("network", Value::is_boolean, "true or false"),
    ("readable", is_texts, "a list of paths"),
    ("writable", is_texts, "a list of paths"),
    ("private_addresses", Value::is_boolean, "true or false"),
    ("oracle", Value::is_string, "a model, provider/id"),
];

fn is_above_zero(value: &Value) -> bool {
    value.as_u64().is_some_and(|number| number > 0)
}

/// Whether a process can have these variables.
fn is_environment(value: &Value) -> bool {
    let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
    let is_value = |value: &Value| value.as_str().is_some_and(|text| !text.contains('\0'));
    value.as_object().is_some_and(|map| map.iter().all(|(name, value)| is_name(name) && is_value(value)))
}

fn is_mode(value: &Value) -> bool {
    matches!(value.as_str(), Some("auto" | "required" | "off"))
}

impl BuiltinTools {
    /// Reads the option: a list of names, for the current folder, or the fields of [`BuiltinOptions`].
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
