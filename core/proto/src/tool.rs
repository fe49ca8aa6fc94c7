//! What a tool is and what it returned, as data: its description, checked and compiled, and its output.

mod output;
mod result_shape;

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::depth;
use crate::did_you_mean::{Spelling, canonical_names, unknown_name};
use crate::error::Error;
use crate::gate::Subject;
use crate::json_error::shown;
use crate::json_reader::from_value;
use crate::schema::{Schema, Validation};

pub use self::output::ToolOutput;

/// Whether a tool may run concurrently with others of its batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum ExecutionMode {
    /// Concurrently with the others.
    #[default]
    Parallel,
    /// Sequentially, in the order of the calls.
    Sequential,
}

/// Whether calls of a tool wait for a decision before they run. In JSON `false`, `true` or `"ask"`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Approval {
    /// They run.
    #[default]
    NotNeeded,
    /// They wait.
    Needed,
    /// The tool is asked for each call, with its validated arguments.
    Asked,
}

/// What becomes of a call without a result that a `resume` finds: the process ended while it ran, or the transcript is from
/// elsewhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum OnInterrupted {
    /// The model reads that its outcome is not known.
    #[default]
    Report,
    /// It runs again.
    Retry,
    /// The hook `on_interrupted_call` decides; without one, as `Report`.
    Ask,
}

/// The description of a tool for the model, checked when it is created.
///
/// ```
/// # mod agent_loop { pub use agent_loop_proto::error::*; pub use agent_loop_proto::tool; }
/// use agent_loop::tool::{ExecutionMode, ToolSpec};
/// use serde_json::json;
///
/// let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
/// let spec = ToolSpec::new("write", "Writes a file.", parameters)?
///     .with_execution_mode(ExecutionMode::Sequential)
///     .with_timeout_ms(5_000);
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct ToolSpec {
    /// Letters, digits, `_`, `-`; at most 64 characters; unique in an agent.
    name: String,
    /// For display; the name where none is given.
    label: String,
    /// For the model.
    description: String,
    /// A JSON Schema of an object.
    parameters: Arc<Value>,
    /// `None`: as the agent says.
    execution_mode: Option<ExecutionMode>,
    /// The longest a call may run, in milliseconds, where that is less than the agent's `tool_timeout_ms`; 0 for no limit.
    timeout_ms: u64,
    #[serde(skip_serializing_if = "Approval::is_not_needed", serialize_with = "Approval::serialize_word")]
    needs_approval: Approval,
    on_interrupted: OnInterrupted,
    /// `None`: the JSON of all arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<Subject>,
    #[serde(skip)]
    schema: Arc<Schema>,
}

impl Approval {
    fn is_not_needed(&self) -> bool {
        *self == Approval::NotNeeded
    }

    fn serialize_word<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Approval::NotNeeded => false.serialize(serializer),
            Approval::Needed => true.serialize(serializer),
            Approval::Asked => "ask".serialize(serializer),
        }
    }

    fn from_json(value: &Value) -> Option<Approval> {
        match value {
            Value::Bool(false) => Some(Approval::NotNeeded),
            Value::Bool(true) => Some(Approval::Needed),
            Value::String(word) if word == "ask" => Some(Approval::Asked),
            _ => None,
        }
    }
}

impl TryFrom<Map<String, Value>> for ToolSpec {
    type Error = Error;

    fn try_from(fields: Map<String, Value>) -> Result<ToolSpec, Error> {
        ToolSpec::from_json(Value::Object(fields))
    }
}

impl ToolSpec {
    /// Checks and compiles a tool's description.
    ///
    /// # Errors
    /// `invalid_argument`: a name that no provider takes, or parameters that are not a JSON Schema, or certainly not the one that
    /// is meant: a map of properties, a required property that nothing describes (says where).
    pub fn new(name: &str, description: &str, parameters: Value) -> Result<ToolSpec, Error> {
        check_name(name)?;
        let parameters = Arc::new(parameters);
        let schema = Schema::new(Arc::clone(&parameters))
            .map_err(|why| Error::invalid_argument(format!("tool {name:?}: parameters {why}")))?;
        Ok(ToolSpec {
            name: name.to_owned(),
            label: name.to_owned(),
            description: description.to_owned(),
            parameters,
            execution_mode: None,
            timeout_ms: 0,
            needs_approval: Approval::NotNeeded,
            on_interrupted: OnInterrupted::Report,
            subject: None,
            schema: Arc::new(schema),
        })
    }

    /// Reads a description in JSON: `{name, description, parameters, label?, execution_mode?, timeout_ms?,
    /// needs_approval?, on_interrupted?, subject?}`.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown, missing or wrong field (names it).
    pub fn from_json(value: Value) -> Result<ToolSpec, Error> {
        ToolSpec::from_json_spelled(value, Spelling::Snake, &[])
    }

    /// As [`ToolSpec::from_json`], with field names as the host's language spells them. `own` are names that the host handles
    /// itself; they appear in the hint for a name that is not known.
    ///
    /// # Errors
    /// As [`ToolSpec::from_json`].
    #[doc(hidden)]
    pub fn from_json_spelled(value: Value, spelling: Spelling, own: &[&'static str]) -> Result<ToolSpec, Error> {
        const FIELDS: &[&str] = &[
            "name",
            "description",
            "parameters",
            "label",
            "execution_mode",
            "timeout_ms",
            "needs_approval",
            "on_interrupted",
            "subject",
        ];
        let Value::Object(map) = value else {
            return Err(Error::invalid_argument(format!("tool: expected an object, got {}", shown(&value))));
        };
        // Which one: a program has many.
        let what = match map.get("name") {
            Some(name @ Value::String(_)) => format!("tool {}", shown(name)),
            _ => "tool".to_owned(),
        };
        let wrong = |field: &str, wanted: &str, got: &Value| {
            Error::invalid_argument(format!("{what}: {}: expected {wanted}, got {}", spelling.spell(field), shown(got)))
        };
        let map = canonical_names("field", map, &[FIELDS, own].concat(), spelling)
            .map_err(|error| Error::invalid_argument(format!("{what}: {}", error.message())))?;
        let given = |field: &str| map.get(field).filter(|value| !value.is_null());
        let text = |field: &str| given(field).map(|value| value.as_str().ok_or_else(|| wrong(field, "text", value))).transpose();
        let name = text("name")?.ok_or_else(|| Error::invalid_argument("tool: name is missing"))?;
        let parameters = given("parameters").cloned().unwrap_or_else(no_parameters);
        let mut spec = ToolSpec::new(name, text("description")?.unwrap_or_default(), parameters)?;
        if let Some(label) = text("label")? {
            label.clone_into(&mut spec.label);
        }
        if let Some(mode) = given("execution_mode") {
            let read = from_value::<ExecutionMode>(mode);
            spec.execution_mode = Some(read.map_err(|_| wrong("execution_mode", "\"parallel\" or \"sequential\"", mode))?);
        }
        if let Some(ms) = given("timeout_ms") {
            spec.timeout_ms = ms.as_u64().ok_or_else(|| wrong("timeout_ms", "milliseconds (0 for no limit)", ms))?;
        }
        if let Some(approval) = given("needs_approval") {
            let read = Approval::from_json(approval);
            spec.needs_approval = read.ok_or_else(|| wrong("needs_approval", "true or false", approval))?;
        }
        if let Some(word) = given("on_interrupted") {
            let wanted = "\"report\", \"retry\" or \"ask\"";
            spec.on_interrupted = from_value(word).map_err(|_| wrong("on_interrupted", wanted, word))?;
        }
        if let Some(subject) = given("subject") {
            let read = Subject::from_json(subject, spelling);
            spec = spec.with_subject(read.map_err(|why| Error::invalid_argument(format!("{what}: subject: {why}")))?)?;
        }
        Ok(spec)
    }

    /// Its name: letters, digits, `_`, `-`; at most 64 characters; unique in an agent.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name for display; the name where none was given.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What the model reads about it.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The JSON Schema of its arguments.
    pub fn parameters(&self) -> &Value {
        &self.parameters
    }

    pub(crate) fn shared_parameters(&self) -> &Arc<Value> {
        &self.parameters
    }

    /// Whether its calls run concurrently with others; `None` where the agent decides.
    pub fn execution_mode(&self) -> Option<ExecutionMode> {
        self.execution_mode
    }

    /// The longest a call may run, in milliseconds, where that is less than the agent's `tool_timeout_ms`; 0 for no limit.
    pub fn timeout_ms(&self) -> u64 {
        self.timeout_ms
    }

    /// Whether its calls wait for a decision before they run.
    pub fn needs_approval(&self) -> Approval {
        self.needs_approval
    }

    /// What becomes of a call of it without a result that a `resume` finds.
    pub fn on_interrupted(&self) -> OnInterrupted {
        self.on_interrupted
    }

    /// What of its calls the patterns of a [gate](crate::gate) are compared with; `None`: the JSON of all arguments.
    pub fn subject(&self) -> Option<&Subject> {
        self.subject.as_ref()
    }

    /// The same tool under another name. Its label stays.
    ///
    /// # Errors
    /// `invalid_argument`: a name that no provider takes.
    pub fn with_name(mut self, name: &str) -> Result<ToolSpec, Error> {
        check_name(name)?;
        name.clone_into(&mut self.name);
        Ok(self)
    }

    /// Sets [`label`](ToolSpec::label).
    #[must_use]
    pub fn with_label(mut self, label: &str) -> ToolSpec {
        label.clone_into(&mut self.label);
        self
    }

    /// Sets [`execution_mode`](ToolSpec::execution_mode).
    #[must_use]
    pub fn with_execution_mode(mut self, mode: ExecutionMode) -> ToolSpec {
        self.execution_mode = Some(mode);
        self
    }

    /// Sets [`timeout_ms`](ToolSpec::timeout_ms).
    #[must_use]
    pub fn with_timeout_ms(mut self, ms: u64) -> ToolSpec {
        self.timeout_ms = ms;
        self
    }

    /// Sets [`needs_approval`](ToolSpec::needs_approval).
    #[must_use]
    pub fn with_needs_approval(mut self, approval: Approval) -> ToolSpec {
        self.needs_approval = approval;
        self
    }

    /// Sets [`on_interrupted`](ToolSpec::on_interrupted).
    #[must_use]
    pub fn with_on_interrupted(mut self, on_interrupted: OnInterrupted) -> ToolSpec {
        self.on_interrupted = on_interrupted;
        self
    }

    /// Sets [`subject`](ToolSpec::subject).
    ///
    /// # Errors
    /// `invalid_argument`: the tool's parameters describe no such argument.
    pub fn with_subject(mut self, subject: Subject) -> Result<ToolSpec, Error> {
        if let Some(Value::Object(properties)) = self.parameters.get("properties")
            && !properties.contains_key(&subject.argument)
        {
            let known = properties.keys().map(String::as_str);
            let error = unknown_name("argument", &subject.argument, known, Spelling::Snake);
            return Err(error.reworded(|why| format!("tool {:?}: subject: {why}", self.name)));
        }
        self.subject = Some(subject);
        Ok(self)
    }

    /// As [`check`](ToolSpec::check), with the text that the model reads, and refuses arguments that are too deep to be kept.
    #[doc(hidden)]
    pub fn checked(&self, arguments: &Map<String, Value>, how: Validation) -> Result<Map<String, Value>, String> {
        let misfit = |violations| format!("the arguments of {} do not fit its schema:\n{violations}", self.name);
        let checked = self.check(arguments, how).map_err(misfit)?;
        depth::check_map(&format!("what the arguments of {} hold", self.name), &checked)?;
        Ok(checked)
    }

    /// The arguments as the tool will get them, or every violation with its JSON pointer.
    pub fn check(&self, arguments: &Map<String, Value>, how: Validation) -> Result<Map<String, Value>, String> {
        self.schema.check(arguments, how)
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err(Error::invalid_argument(format!(
            "tool name {name:?}: use 1 to 64 letters, digits, '_' or '-' (what every provider takes)"
        )));
    }
    Ok(())
}

fn no_parameters() -> Value {
    serde_json::json!({ "type": "object", "properties": {} })
}
