//! The typed final answer of a run: what the option `output` asks for, and how an answer is read as it.
//!
//! The model is held to a JSON Schema in one of two ways. Where its server can, the request says which form the answer's text
//! has ([`OutputFormat`]). Else the model gets one more tool, whose arguments are the answer. When a model is asked in which way
//! is decided in [`crate::machine`]; how a wire format says it, in [`crate::protocol`].

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::depth;
use crate::did_you_mean::{Spelling, canonical_names};
use crate::error::Error;
use crate::json_error::shown;
use crate::json_reader::from_value;
use crate::lenient_json::lenient_json;
use crate::partial_json::partial_json;
use crate::schema::{Schema, Validation};

/// The name of the final tool, where none is given.
const NAME: &str = "final_answer";

/// What the answer stands in where the schema is not that of an object: servers take only objects.
const RESULT: &str = "result";

/// How a model is asked for a final answer of a type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum OutputMode {
    /// In the provider's own way where the model has one for this schema, else by a tool.
    #[default]
    Auto,
    /// In the provider's own way: the text of the answer is JSON.
    Native,
    /// By a tool whose arguments are the answer.
    Tool,
}

/// The type that a run's final answer has, checked when it is created.
///
/// ```
/// # mod agent_loop { pub use agent_loop_proto::{error::*, output}; }
/// use agent_loop::output::OutputSpec;
/// use serde_json::json;
///
/// let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
/// let spec = OutputSpec::new(schema)?.with_description("The place that was asked about.");
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct OutputSpec {
    /// As it was given.
    schema: Arc<Value>,
    mode: OutputMode,
    or_text: bool,
    format: Arc<OutputFormat>,
    checked: Arc<Schema>,
}

/// The format of an answer's text, for models that can be held to one. Canonical JSON: `{name, description, schema}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct OutputFormat {
    /// Letters, digits, `_`, `-`; at most 64 characters.
    pub name: String,
    /// For the model; may be empty.
    pub description: String,
    /// The JSON Schema, always of an object. One of another type is that of its property `result`.
    pub schema: Arc<Value>,
}

impl PartialEq for OutputSpec {
    fn eq(&self, other: &OutputSpec) -> bool {
        let given = |spec: &OutputSpec| (spec.mode, spec.or_text, Arc::clone(&spec.format), Arc::clone(&spec.schema));
        given(self) == given(other)
    }
}

impl Serialize for OutputSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("OutputSpec", 5)?;
        fields.serialize_field("schema", &self.schema)?;
        fields.serialize_field("name", &self.format.name)?;
        fields.serialize_field("description", &self.format.description)?;
        fields.serialize_field("mode", &self.mode)?;
        fields.serialize_field("or_text", &self.or_text)?;
        fields.end()
    }
}

impl TryFrom<Map<String, Value>> for OutputSpec {
    /// The text alone: it stands in the error of what has the type.
    type Error = String;

    fn try_from(fields: Map<String, Value>) -> Result<OutputSpec, String> {
        // As the options of the model: both spellings are known.
        let is_camel = fields.keys().any(|name| name.contains(char::is_uppercase));
        let spelling = if is_camel { Spelling::Camel } else { Spelling::Snake };
        OutputSpec::from_json_spelled(fields.into(), spelling).map_err(|error| error.message().to_owned())
    }
}

impl OutputSpec {
    /// An answer that fits this JSON Schema, of any type.
    ///
    /// # Errors
    /// `invalid_argument`: it is no JSON Schema (says where).
    pub fn new(schema: Value) -> Result<OutputSpec, Error> {
        let sent = Arc::new(if is_of_object(&schema) { schema.clone() } else { in_object(&schema) });
        let checked = Schema::new(Arc::clone(&sent)).map_err(|why| {
            // The place in the schema that was given.
            let why = why.replace(&format!("\"/properties/{RESULT}"), "\"");
            Error::invalid_argument(format!("output: schema {why}"))
        })?;
        let format = OutputFormat { name: NAME.to_owned(), description: String::new(), schema: sent };
        let (schema, format) = (Arc::new(schema), Arc::new(format));
        Ok(OutputSpec { schema, mode: OutputMode::Auto, or_text: false, format, checked: Arc::new(checked) })
    }

    /// Reads a type in JSON: a JSON Schema, or `{schema, name?, description?, mode?, or_text?}`.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown or wrong field (names it).
    pub fn from_json(value: Value) -> Result<OutputSpec, Error> {
        OutputSpec::from_json_spelled(value, Spelling::Snake)
    }

    /// As [`OutputSpec::from_json`], with field names as the host's language spells them.
    ///
    /// # Errors
    /// As [`OutputSpec::from_json`].
    #[doc(hidden)]
    pub fn from_json_spelled(value: Value, spelling: Spelling) -> Result<OutputSpec, Error> {
        let Value::Object(map) = value else {
            return Err(Error::invalid_argument(format!("output: expected a JSON Schema, got {}", shown(&value))));
        };
        // No keyword of JSON Schema is called so.
        if !map.contains_key("schema") {
            return OutputSpec::new(Value::Object(map));
        }
        let fields = canonical_names("field", map, &["schema", "name", "description", "mode", "or_text"], spelling)
            .map_err(|error| Error::invalid_argument(format!("output: {}", error.message())))?;
        let given = |field: &str| fields.get(field).filter(|value| !value.is_null());
        let wrong = |field: &str, wanted: &str, got: &Value| {
            Error::invalid_argument(format!("output: {}: expected {wanted}, got {}", spelling.spell(field), shown(got)))
        };
        let text = |field: &str| given(field).map(|value| value.as_str().ok_or_else(|| wrong(field, "text", value))).transpose();
        let mut spec = OutputSpec::new(fields.get("schema").cloned().unwrap_or_default())?;
        if let Some(name) = text("name")? {
            spec = spec.with_name(name)?;
        }
        if let Some(description) = text("description")? {
            spec = spec.with_description(description);
        }
        if let Some(mode) = given("mode") {
            spec.mode = from_value(mode).map_err(|_| wrong("mode", "\"auto\", \"native\" or \"tool\"", mode))?;
        }
        if let Some(or_text) = given("or_text") {
            spec.or_text = or_text.as_bool().ok_or_else(|| wrong("or_text", "true or false", or_text))?;
        }
        if spec.or_text && spec.mode == OutputMode::Native {
            let or_text = spelling.spell("or_text");
            let text =
                format!("output: a model that is held to a form cannot answer with other text; leave out mode or {or_text}");
            return Err(Error::invalid_argument(text));
        }
        Ok(spec)
    }

    /// Sets the name of the final tool, and of the form at providers that name it; by default `final_answer`.
    ///
    /// # Errors
    /// `invalid_argument`: no provider takes it.
    pub fn with_name(mut self, name: &str) -> Result<OutputSpec, Error> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            let text = format!("output: name {name:?}: use 1 to 64 letters, digits, '_' or '-' (what every provider takes)");
            return Err(Error::invalid_argument(text));
        }
        name.clone_into(&mut Arc::make_mut(&mut self.format).name);
        Ok(self)
    }

    /// Sets what the model reads about the answer.
    #[must_use]
    pub fn with_description(mut self, description: &str) -> OutputSpec {
        description.clone_into(&mut Arc::make_mut(&mut self.format).description);
        self
    }

    /// Sets how the model is asked for it.
    #[must_use]
    pub fn with_mode(mut self, mode: OutputMode) -> OutputSpec {
        self.mode = mode;
        self
    }

    /// The model may also answer with text, which is then the answer, a JSON string. It is asked by a tool.
    #[must_use]
    pub fn or_text(mut self) -> OutputSpec {
        self.or_text = true;
        self
    }

    /// The JSON Schema as it was given.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// How the model is asked for it.
    pub fn mode(&self) -> OutputMode {
        self.mode
    }

    /// Whether the model may also answer with text.
    pub fn is_or_text(&self) -> bool {
        self.or_text
    }

    /// The format that the model is held to.
    pub(crate) fn format(&self) -> &Arc<OutputFormat> {
        &self.format
    }

    /// The name of the final tool.
    pub(crate) fn name(&self) -> &str {
        &self.format.name
    }

    fn is_wrapped(&self) -> bool {
        !is_of_object(&self.schema)
    }

    /// The answer of a call of the final tool, or what is wrong with it, for the model.
    pub(crate) fn of_arguments(&self, arguments: &Map<String, Value>, how: Validation) -> Result<Value, String> {
        let mut checked = self.checked.check(arguments, how)?;
        depth::check_map("the answer", &checked)?;
        if !self.is_wrapped() {
            return Ok(Value::Object(checked));
        }
        checked.remove(RESULT).ok_or_else(|| format!("/{RESULT}: is required"))
    }

    /// The answer of a text, or what is wrong with it, for the model.
    pub(crate) fn of_text(&self, text: &str, how: Validation) -> Result<Value, String> {
        let json = unfenced(text);
        let value = match lenient_json(json) {
            Some(value) => value,
            None if json.is_empty() => return Err("the answer is empty".to_owned()),
            None => return Err("the answer is not JSON, or not JSON alone".to_owned()),
        };
        let arguments = match value {
            Value::Object(map) if !self.is_wrapped() || map.contains_key(RESULT) => map,
            value if self.is_wrapped() => Map::from_iter([(RESULT.to_owned(), value)]),
            other => return Err(format!("the answer is not a JSON object, but {}", shown(&other))),
        };
        let misfit = |why| format!("the answer does not fit its JSON Schema:\n{why}");
        self.of_arguments(&arguments, how).map_err(misfit)
    }
}

/// What is read as the answer while it is written. Part of a saved loop.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PartialOutput {
    /// The name of the final tool; `None`: the text is the answer.
    tool: Option<String>,
    is_wrapped: bool,
}

impl PartialOutput {
    pub(crate) fn new(spec: &OutputSpec, by_tool: bool) -> PartialOutput {
        PartialOutput { tool: by_tool.then(|| spec.name().to_owned()), is_wrapped: spec.is_wrapped() }
    }

    pub(crate) fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// The answer in this much of its JSON: what is not whole is left out, but for texts. `None` while there is none.
    pub(crate) fn read(&self, json: &str) -> Option<Value> {
        self.whole(partial_json(unfenced(json))?)
    }

    /// The answer in this value.
    pub(crate) fn whole(&self, value: Value) -> Option<Value> {
        if !self.is_wrapped {
            return Some(value);
        }
        match value {
            Value::Object(mut map) => map.remove(RESULT),
            _ => None,
        }
    }
}

/// Whether values of this schema are objects for sure.
fn is_of_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

/// The schema of an object that has a value of this schema as its `result`. Definitions stay at the root, and references from
/// elsewhere follow.
fn in_object(schema: &Value) -> Value {
    let mut result = schema.clone();
    let mut whole = Map::new();
    for name in ["$schema", "$defs", "definitions"] {
        if let Some(definitions) = result.as_object_mut().and_then(|result| result.shift_remove(name)) {
            whole.insert(name.to_owned(), definitions);
        }
    }
    refer_from_root(&mut result);
    whole.iter_mut().filter(|(name, _)| *name != "$schema").for_each(|(_, definitions)| refer_from_root(definitions));
    let properties = Map::from_iter([(RESULT.to_owned(), result)]);
    let mut object = Map::new();
    object.insert("type".to_owned(), "object".into());
    object.insert("properties".to_owned(), properties.into());
    object.insert("required".to_owned(), json!([RESULT]));
    object.insert("additionalProperties".to_owned(), false.into());
    object.extend(whole);
    object.into()
}

fn refer_from_root(part: &mut Value) {
    match part {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get_mut("$ref")
                && let Some(path) = reference.strip_prefix('#')
                && !["/$defs/", "/definitions/"].iter().any(|kept| path.starts_with(kept))
            {
                *reference = format!("#/properties/{RESULT}{path}");
            }
            map.values_mut().for_each(refer_from_root);
        }
        Value::Array(items) => items.iter_mut().for_each(refer_from_root),
        _ => {}
    }
}

/// The text without the fence of a Markdown code block around it, in which models like to put JSON.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let Some(inside) = text.strip_prefix("```") else { return text };
    let inside = inside.split_once('\n').map(|(_, inside)| inside).unwrap_or_default();
    inside.strip_suffix("```").unwrap_or(inside).trim()
}
