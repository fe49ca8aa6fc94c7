//! Typed tools: arguments that are a Rust type, whose JSON Schema comes from schemars.

use std::future::Future;
use std::sync::Arc;

use agent_loop_proto::json_error::words;
use agent_loop_proto::tool::ToolSpec;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::Segment;

use super::call::ToolContext;
use super::function::FnTool;
use crate::error::{BoxError, Error};
use crate::type_schema::schema_of;

/// Typed tools, with the feature `schema`.
impl FnTool {
    /// A tool whose arguments are a type with serde's `Deserialize` and schemars' `JsonSchema`: a struct with named fields. Doc
    /// comments of the type and its fields become descriptions for the model. The result is anything that serializes: text is
    /// text for the model, a [`ToolOutput`](super::ToolOutput) is a full result, anything else becomes JSON text. An error goes
    /// to the model as text: what its `Display` writes, without its `source()`.
    ///
    /// Arguments that do not fit never reach the function: the call's result is an error, the model reads why, and the run goes
    /// on. For the tool below, called without a city, the model gets
    ///
    /// ```text
    /// the arguments of weather do not fit its schema:
    /// /city: is required
    /// ```
    ///
    /// There is a line for each violation, with the place as a JSON pointer: `/city: 7 is not of type "string"`, and of a type
    /// with `#[serde(deny_unknown_fields)]` also `/town: is not a parameter`. What only `Deserialize` can know, a date for
    /// example, is `the arguments of weather cannot be read:` and such a line. In the events, `tool_execution_start` has the
    /// arguments as the model gave them, and `tool_execution_end` that text with `is_error: true`.
    ///
    /// The program needs `serde` 1 with the feature `derive`, and `schemars` 1: another major version has another trait
    /// `JsonSchema`.
    ///
    /// ```
    /// use agent_loop::{Agent, FnTool};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Weather {
    ///     /// The city, for example Oslo.
    ///     city: String,
    /// }
    ///
    /// let weather = FnTool::typed("weather", "The weather in a city.", |arguments: Weather, _context| async move {
    ///     match arguments.city.as_str() {
    ///         "Oslo" => Ok("7 °C, rain".to_owned()),
    ///         other => Err(format!("no weather for {other}")),
    ///     }
    /// })?;
    /// let agent = Agent::builder("anthropic/claude-sonnet-4-5").tool(weather).build()?;
    /// # Ok::<(), agent_loop::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ToolSpec::new`]; `invalid_argument`, too, for a type that is no object in JSON, such as a `String`.
    pub fn typed<A, F, Fut, O, E>(name: &str, description: &str, function: F) -> Result<FnTool, Error>
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, E>> + Send + 'static,
        O: Serialize,
        E: Into<BoxError>,
    {
        let parameters = parameters::<A>();
        if !may_be_object(&parameters) {
            let given = std::any::type_name::<A>();
            return Err(Error::invalid_argument(format!(
                "tool {name:?}: a model gives arguments as an object, and {given} is none in JSON; use a struct with a named \
                 field for each argument"
            )));
        }
        let spec = ToolSpec::new(name, description, parameters)?;
        let function = Arc::new(function);
        Ok(FnTool::with_spec(spec, move |arguments, context| {
            let name = context.name().to_owned();
            let answer = read(arguments, &name).map(|arguments: A| function(arguments, context));
            async move {
                let output = answer?.await.map_err(Into::<BoxError>::into)?;
                let unwritten = |error| format!("the result of {name} cannot be written as JSON: {error}");
                serde_json::to_value(output).map_err(|error| BoxError::from(unwritten(error)))
            }
        }))
    }
}

/// The arguments, or a text that says which field cannot be read.
fn read<A: DeserializeOwned>(arguments: Value, tool: &str) -> Result<A, String> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().iter().map(|segment| match segment {
            Segment::Seq { index } => format!("/{index}"),
            Segment::Map { key } => format!("/{key}"),
            Segment::Enum { variant } => format!("/{variant}"),
            Segment::Unknown => String::new(),
        });
        let path: String = path.collect();
        let place = if path.is_empty() { "(the arguments)" } else { &path };
        format!("the arguments of {tool} cannot be read:\n{place}: {}", words(error.inner()))
    })
}

/// The schema of arguments of a type.
fn parameters<A: JsonSchema>() -> Value {
    let mut schema = schema_of::<A>();
    if let Some(object) = schema.as_object_mut() {
        object.entry("type").or_insert_with(|| json!("object"));
        object.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// Whether a value that fits can be an object. An enum's schema has its type only in that of each variant.
fn may_be_object(schema: &Value) -> bool {
    let variants = ["oneOf", "anyOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
    schema.get("type").is_none_or(|kind| kind == "object") && variants.into_iter().all(|list| list.iter().any(may_be_object))
}
