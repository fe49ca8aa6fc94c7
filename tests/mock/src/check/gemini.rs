//! Gemini's `streamGenerateContent`, on the Developer API and on Vertex: <https://ai.google.dev/api/generate-content>.

mod contents;

use serde_json::Value;

use self::contents::{Part, Turn, pairs, parts, signatures};
use super::place::{Checked, Object, Place, said};
use super::{Strict, tools};
use crate::route::{Host, Route};

const FIELDS: &[&str] = &[
    "model",
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "safetySettings",
    "generationConfig",
    "cachedContent",
    "serviceTier",
    "store",
];

const VERTEX_FIELDS: &[&str] = &["labels", "modelArmorConfig"];

const CONFIG: &[&str] = &[
    "candidateCount",
    "stopSequences",
    "maxOutputTokens",
    "temperature",
    "topP",
    "topK",
    "responseMimeType",
    "responseSchema",
    "responseJsonSchema",
    "_responseJsonSchema",
    "responseModalities",
    "thinkingConfig",
    "seed",
    "presencePenalty",
    "frequencyPenalty",
    "responseLogprobs",
    "logprobs",
    "enableEnhancedCivicAnswers",
    "speechConfig",
    "imageConfig",
    "mediaResolution",
    "audioTimestamp",
    "routingConfig",
];

/// The subset of OpenAPI that `parameters` is; full JSON Schema has its own field.
const SCHEMA: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];

const VERTEX_SCHEMA: &[&str] = &["additionalProperties", "ref", "defs"];

/// What the rules depend on.
struct Service<'a> {
    vertex: bool,
    /// Calls and results may carry ids.
    ids: bool,
    model: &'a str,
}

pub(super) fn check(strict: &Strict, route: &Route, body: &Value) -> Checked {
    let place = Place::body_in_either_case(body);
    let vertex = route.host == Host::Vertex;
    let service = Service { vertex, ids: !strict.no_call_ids, model: route.model.as_deref().unwrap_or_default() };
    let body = match vertex {
        true => place.object(&[FIELDS, VERTEX_FIELDS].concat())?,
        false => place.object(FIELDS)?,
    };
    let functions = offered(&service, &body)?;
    tool_config(&body, &functions)?;
    if let Some(config) = body.get("generationConfig") {
        generation_config(&service, &config, !functions.is_empty())?;
    }
    if let Some(instruction) = body.get("systemInstruction") {
        for part in parts(&instruction.object(&["role", "parts"])?, &instruction.path)? {
            Part::read(&service, &part)?;
            if !part.open_object()?.has("text") {
                return part.wrong("system instructions can only have text.");
            }
        }
    }
    let Some(contents) = body.get("contents") else {
        return said("* GenerateContentRequest.contents: contents is not specified");
    };
    let contents = contents.array()?;
    if contents.is_empty() {
        return said("* GenerateContentRequest.contents: contents is not specified");
    }
    let turns = contents.iter().map(|content| Turn::read(&service, content)).collect::<Checked<Vec<_>>>()?;
    if !turns[0].user {
        return said("Please ensure that multiturn requests begin with a user turn.");
    }
    pairs(&turns)?;
    signatures(&service, &turns)
}

fn generation_config(service: &Service<'_>, place: &Place<'_>, has_functions: bool) -> Checked {
    let config = place.object(CONFIG)?;
    let is_json = config.get("responseMimeType").is_some_and(|kind| kind.value == "application/json");
    // https://github.com/google-gemini/deprecated-generative-ai-python/issues/515
    if is_json && has_functions && service.model.starts_with("gemini-2") {
        return said("Function calling with a response mime type: 'application/json' is unsupported");
    }
    if config.has("responseJsonSchema") && !is_json {
        return said("* GenerateContentRequest.generation_config.response_json_schema: only allowed with application/json");
    }
    if let Some(temperature) = config.get("temperature") {
        temperature.number(0.0, 2.0)?;
    }
    if let Some(top_p) = config.get("topP") {
        top_p.number(0.0, 1.0)?;
    }
    // https://github.com/google-gemini/cookbook/issues/1290
    let takes_penalties = service.model.starts_with("gemini-2.0");
    if !takes_penalties && (config.has("presencePenalty") || config.has("frequencyPenalty")) {
        return said("Penalty is not enabled for this model");
    }
    for name in ["maxOutputTokens", "candidateCount"] {
        if let Some(number) = config.get(name) {
            number.integer(1)?;
        }
    }
    if let Some(stops) = config.get("stopSequences") {
        let stops_list = stops.array()?;
        if stops_list.len() > 5 {
            return stops.wrong("at most 5 stop sequences are allowed.");
        }
        stops_list.iter().try_for_each(|stop| stop.filled_string().map(drop))?;
    }
    let Some(thinking) = config.get("thinkingConfig") else { return Ok(()) };
    let thinking = thinking.object(&["includeThoughts", "thinkingBudget", "thinkingLevel"])?;
    thinking.booleans(&["includeThoughts"])?;
    let budget = thinking.get("thinkingBudget").map(|it| it.integer(-1)).transpose()?;
    if let Some(level) = thinking.get("thinkingLevel") {
        let word = level.string()?.to_ascii_lowercase();
        if !["minimal", "low", "medium", "high"].contains(&word.as_str()) {
            level.one_of(&["minimal", "low", "medium", "high"])?;
        }
        if budget.is_some() {
            return said("You can only set only one of thinking budget and thinking level.");
        }
        if service.model.starts_with("gemini-2") {
            return said("Thinking level is not supported for this model.");
        }
    }
    if budget == Some(0) && service.model.starts_with("gemini-2.5-pro") {
        return said("Budget 0 is invalid. This model only works in thinking mode.");
    }
    Ok(())
}

/// The functions' names.
fn offered<'a>(service: &Service<'_>, body: &Object<'a>) -> Checked<Vec<&'a str>> {
    const KINDS: &[&str] = &[
        "functionDeclarations",
        "googleSearch",
        "googleSearchRetrieval",
        "codeExecution",
        "urlContext",
        "fileSearch",
        "computerUse",
        "googleMaps",
        "mcpServers",
        "retrieval",
        "enterpriseWebSearch",
    ];
    let mut names = Vec::new();
    for tool in body.get("tools").map(|tools| tools.array()).transpose()?.unwrap_or_default() {
        let fields = tool.object(KINDS)?;
        if fields.map.is_empty() {
            return tool.tagged("tool_type").wrong("required one_of 'tool_type' must have one initialized field");
        }
        for function in fields.get("functionDeclarations").map(|it| it.array()).transpose()?.unwrap_or_default() {
            const FIELDS: &[&str] =
                &["name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior"];
            let place = function.clone();
            let function = function.object(FIELDS)?;
            let name = function.require("name")?;
            names.push(function_name(&name)?);
            function.strings(&["description"])?;
            let older = function.get("parameters");
            if older.is_some() && function.has("parametersJsonSchema") {
                return place.wrong("only one of parameters and parameters_json_schema can be set.");
            }
            if let Some(schema) = older {
                openapi(service, &schema)?;
            }
            if let Some(schema) = function.get("parametersJsonSchema") {
                schema.open_object()?.require("type")?.one_of(&["object"])?;
            }
        }
    }
    match tools::repeated(&names) {
        Some(name) => said(format!("Duplicate function declaration found: {name}")),
        None => Ok(names),
    }
}

fn function_name<'a>(place: &Place<'a>) -> Checked<&'a str> {
    let name = place.string()?;
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_.:-".contains(letter);
    let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    if begins && name.len() <= 64 && name.chars().all(fits) {
        return Ok(name);
    }
    place.wrong(
        "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores \
         (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
    )
}

fn openapi(service: &Service<'_>, place: &Place<'_>) -> Checked {
    let schema = match service.vertex {
        true => place.object(&[SCHEMA, VERTEX_SCHEMA].concat())?,
        false => place.object(SCHEMA)?,
    };
    for (name, property) in schema.get("properties").map(|it| it.open_object()).transpose()?.iter().flat_map(|it| it.map) {
        openapi(service, &place.inner(property, &format!(".properties[{name}]")))?;
    }
    if let Some(items) = schema.get("items") {
        openapi(service, &items)?;
    }
    for choice in schema.get("anyOf").map(|it| it.array()).transpose()?.unwrap_or_default() {
        openapi(service, &choice)?;
    }
    Ok(())
}

fn tool_config(body: &Object<'_>, functions: &[&str]) -> Checked {
    let Some(config) = body.get("toolConfig") else { return Ok(()) };
    let config = config.object(&["functionCallingConfig", "retrievalConfig", "includeServerSideToolInvocations"])?;
    let Some(calling) = config.get("functionCallingConfig") else { return Ok(()) };
    let calling = calling.object(&["mode", "allowedFunctionNames", "streamFunctionCallArguments"])?;
    let mode =
        calling.get("mode").map(|mode| mode.one_of(&["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"])).transpose()?;
    if functions.is_empty() {
        return said("Function calling config is set without function_declarations.");
    }
    for name in calling.get("allowedFunctionNames").map(|it| it.array()).transpose()?.unwrap_or_default() {
        if !matches!(mode, Some("ANY" | "VALIDATED")) {
            return said("Allowed function names should only be set when mode is ANY.");
        }
        if !functions.contains(&name.string()?) {
            return said("Allowed function names should be a subset of the function declarations.");
        }
    }
    Ok(())
}
