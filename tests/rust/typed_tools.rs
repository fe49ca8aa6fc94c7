//! Tools whose arguments are Rust types.

use agent_loop::{ErrorKind, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;

/// Where and when.
#[derive(Deserialize, JsonSchema)]
struct Forecast {
    /// The city, for example Oslo.
    city: String,
    /// Days from today.
    days: Option<u32>,
    unit: Unit,
    /// A field that is named as a keyword of schemas is.
    title: String,
    at: Vec<Time>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[derive(Deserialize, JsonSchema)]
struct Time {
    hour: Hour,
}

/// An hour of the day.
#[derive(JsonSchema)]
#[schemars(transparent)]
struct Hour(u8);

impl<'de> Deserialize<'de> for Hour {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Hour, D::Error> {
        match u8::deserialize(deserializer)? {
            hour @ 0..24 => Ok(Hour(hour)),
            hour => Err(serde::de::Error::custom(format!("{hour} is no hour of the day"))),
        }
    }
}

#[derive(Serialize)]
struct Weather {
    city: String,
    unit: Unit,
    days: Option<u32>,
    hours: u8,
}

fn forecast() -> FnTool {
    let answer = |forecast: Forecast, _| async move {
        match forecast.city.as_str() {
            "Atlantis" => Err("Atlantis has no weather"),
            _ => Ok(Weather {
                hours: forecast.at.iter().map(|time| time.hour.0).sum(),
                city: forecast.title + &forecast.city,
                unit: forecast.unit,
                days: forecast.days,
            }),
        }
    };
    FnTool::typed("forecast", "The weather to come.", answer).unwrap()
}

/// The result of a call with these arguments: text, and whether it is an error.
async fn answer(arguments: Value) -> (String, bool) {
    let script = json!([[call("c", "forecast", arguments), end("tool_use")], says("done")]);
    let agent = builder(script).tool(forecast()).build().unwrap();
    results(&play(&agent).await.1).remove(0)
}

#[test]
fn the_schema_is_plain_and_has_the_doc_comments() {
    let tool = forecast();
    let schema = tool.spec().parameters();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["properties"]["city"], json!({ "type": "string", "description": "The city, for example Oslo." }));
    assert_eq!(schema["properties"]["title"]["type"], "string", "a property, not the name of a type");
    assert_eq!(schema["required"], json!(["city", "unit", "title", "at"]));
    assert_eq!(schema["properties"]["unit"]["enum"], json!(["celsius", "fahrenheit"]));
    let hour = &schema["properties"]["at"]["items"]["properties"]["hour"];
    assert_eq!(hour["type"], "integer", "inlined: {schema}");
    let text = schema.to_string();
    for noise in ["$schema", "$ref", "$defs", "uint", "\"Forecast\"", "\"Time\""] {
        assert!(!text.contains(noise), "{noise} in {text}");
    }

    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    let none = FnTool::typed("t", "", |_: Nothing, _| async { Ok::<_, String>(()) }).unwrap();
    assert_eq!(none.spec().parameters(), &json!({ "type": "object", "properties": {} }));
}

/// A type that a model could never give.
#[test]
fn arguments_that_are_no_object_are_refused_with_what_to_use() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct City(String);
    #[derive(Deserialize, JsonSchema)]
    enum Choice {
        /// With a sentence for each, the schema has no type of its own.
        All,
        /// Or none.
        None,
    }
    fn refused<A: serde::de::DeserializeOwned + JsonSchema + 'static>(name: &str) {
        let error = FnTool::typed("t", "", |_: A, _| async { Ok::<_, String>(()) }).unwrap_err();
        let text = format!(
            "tool \"t\": a model gives arguments as an object, and {name} is none in JSON; use a struct with a named field for \
             each argument"
        );
        assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, &*text));
    }
    refused::<String>("alloc::string::String");
    refused::<Vec<String>>("alloc::vec::Vec<alloc::string::String>");
    refused::<(String, u8)>("(alloc::string::String, u8)");
    refused::<()>("()");
    refused::<City>(std::any::type_name::<City>());
    refused::<Choice>(std::any::type_name::<Choice>());
    refused::<Option<Time>>(std::any::type_name::<Option<Time>>());

    fn taken<A: serde::de::DeserializeOwned + JsonSchema + 'static>() {
        FnTool::typed("t", "", |_: A, _| async { Ok::<_, String>(()) }).unwrap();
    }
    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "by")]
    #[allow(dead_code)]
    enum Where {
        /// By its name.
        Name { city: String },
        /// On the map.
        Place { x: f64, y: f64 },
    }
    taken::<Where>();
    taken::<Value>();
    taken::<std::collections::BTreeMap<String, u8>>();
}

#[tokio::test]
async fn good_arguments_become_the_type_and_the_result_json() {
    let given = json!({ "city": "Oslo", "unit": "celsius", "title": "In ", "at": [{ "hour": 7 }, { "hour": "8" }] });
    let (text, is_error) = answer(given).await;
    assert!(!is_error, "{text}");
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result, json!({ "city": "In Oslo", "unit": "celsius", "days": null, "hours": 15 }));
}

#[tokio::test]
async fn bad_arguments_are_refused_with_the_name_of_the_field() {
    let with = |field: &str, value: Value| {
        let mut all = json!({ "city": "Oslo", "unit": "celsius", "title": "", "at": [] });
        all[field] = value;
        answer(all)
    };
    let (text, is_error) = with("unit", json!("kelvin")).await;
    assert!(is_error && text.contains("/unit: "), "{text}");
    let (text, is_error) = answer(json!({ "unit": "celsius" })).await;
    assert!(is_error && text.contains("/city: is required") && text.contains("/at: is required"), "{text}");
    // What only the type knows.
    let (text, is_error) = with("at", json!([{ "hour": 1 }, { "hour": 25 }])).await;
    assert_eq!(text, "the arguments of forecast cannot be read:\n/at/1/hour: 25 is no hour of the day");
    assert!(is_error);
    assert_eq!(with("city", json!("Atlantis")).await, ("Atlantis has no weather".to_owned(), true));
}

#[tokio::test]
async fn a_result_may_be_text_nothing_or_a_whole_output() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    let says = |tool: FnTool| async move {
        let script = json!([[call("c", "t", json!({})), end("tool_use")], super::says("done")]);
        let (events, result) = play(&builder(script).tool(tool).build().unwrap()).await;
        let details = events.iter().find_map(|event| match &event.data {
            EventData::ToolExecutionEnd { result, .. } => Some(result.details.clone()),
            _ => None,
        });
        (results(&result).remove(0).0, details.unwrap())
    };
    let text = FnTool::typed("t", "", |_: Nothing, _| async { Ok::<_, String>("plain") }).unwrap();
    assert_eq!(says(text).await, ("plain".to_owned(), Value::Null));
    let nothing = FnTool::typed("t", "", |_: Nothing, _| async { Ok::<_, String>(()) }).unwrap();
    assert_eq!(says(nothing).await, (String::new(), Value::Null));
    let whole = FnTool::typed("t", "", |_: Nothing, _| async {
        let content = vec![agent_loop::ContentBlock::text("seen")];
        Ok::<_, String>(ToolOutput { content, details: json!({ "bytes": 7 }), terminate: false })
    });
    assert_eq!(says(whole.unwrap()).await, ("seen".to_owned(), json!({ "bytes": 7 })));
}
