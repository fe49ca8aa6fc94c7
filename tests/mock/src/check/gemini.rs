//! Gemini's `streamGenerateContent`, on the Developer API and on Vertex: <https://ai.google.dev/api/generate-content>.

use serde_json::Value;

use super::image::is_google_bytes;
use super::place::{Checked, Object, Place, Wrong, said, snake, wrong_at};
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

/// The subset of OpenAPI that `parameters` is; full JSON Schema has a field of its own.
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

/// What a part can be; exactly one of them.
const DATA: &[&str] = &[
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];

const BESIDE_DATA: &[&str] = &["thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution"];

/// Stands for a signature that the conversation does not have, on the Developer API only.
const NO_SIGNATURE: &[&str] = &["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

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
        generation_config(&service, &config)?;
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

fn generation_config(service: &Service<'_>, place: &Place<'_>) -> Checked {
    let config = place.object(CONFIG)?;
    if let Some(temperature) = config.get("temperature") {
        temperature.number(0.0, 2.0)?;
    }
    if let Some(top_p) = config.get("topP") {
        top_p.number(0.0, 1.0)?;
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
        "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), \
         dots (.), colons (:), or dashes (-), with a maximum length of 64.",
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

fn parts<'a>(content: &Object<'a>, path: &str) -> Checked<Vec<Place<'a>>> {
    match content.get("parts").map(|parts| parts.array()).transpose()? {
        Some(parts) if !parts.is_empty() => Ok(parts),
        _ => wrong_at(format!("{path}.parts"), "contents.parts must not be empty."),
    }
}

struct Turn<'a> {
    user: bool,
    parts: Vec<Part<'a>>,
}

struct Part<'a> {
    kind: &'static str,
    /// Of a call or a result.
    name: &'a str,
    signature: Option<&'a str>,
    /// Counted from 1 in the content.
    position: usize,
}

impl<'a> Turn<'a> {
    fn read(service: &Service<'_>, content: &Place<'a>) -> Checked<Turn<'a>> {
        let fields = content.object(&["role", "parts"])?;
        let user = match fields.get("role").map(|role| role.string()).transpose()? {
            None | Some("user") => true,
            Some("model") => false,
            Some(_) => return said("Please use a valid role: user, model."),
        };
        let mut read = Vec::new();
        for (index, place) in parts(&fields, &content.path)?.iter().enumerate() {
            let part = Part { position: index + 1, ..Part::read(service, place)? };
            let misplaced = if user { "functionCall" } else { "functionResponse" };
            if part.kind == misplaced {
                return place.wrong(format!("{misplaced} is not allowed in a {} turn.", if user { "user" } else { "model" }));
            }
            read.push(part);
        }
        Ok(Turn { user, parts: read })
    }

    fn of(&self, kind: &'static str) -> impl Iterator<Item = &Part<'a>> {
        self.parts.iter().filter(move |part| part.kind == kind)
    }
}

impl<'a> Part<'a> {
    fn read(service: &Service<'_>, place: &Place<'a>) -> Checked<Part<'a>> {
        let part = place.object(&[DATA, BESIDE_DATA].concat())?;
        let mut kinds = DATA.iter().copied().filter(|kind| part.has(kind));
        let Some(kind) = kinds.next() else {
            return place.tagged("data").wrong("required oneof field 'data' must have one initialized field");
        };
        if let Some(second) = kinds.next() {
            return said(format!(
                "Invalid value at '{}' (oneof), oneof field 'data' is already set. Cannot set '{second}'",
                snake(&place.path)
            ));
        }
        part.booleans(&["thought"])?;
        let signature = part.get("thoughtSignature").map(|it| bytes(&it)).transpose()?;
        let data = part.require(kind)?;
        let mut name = "";
        match kind {
            "text" if data.string()?.is_empty() && service.vertex && signature.is_none() => {
                return said(
                    "Unable to submit request because it must have a text parameter. Add a text parameter and try again.",
                );
            }
            "inlineData" => inline_data(&data)?,
            "fileData" => data.object(&["mimeType", "fileUri", "displayName"])?.require("fileUri")?.filled_string().map(drop)?,
            "functionCall" => {
                let call = data.object(if service.ids { &["id", "name", "args"] } else { &["name", "args"] })?;
                name = filled_name(&call)?;
                if let Some(args) = call.get("args") {
                    args.open_object()?;
                }
            }
            "functionResponse" => {
                let known = ["name", "response", "parts", "scheduling", "willContinue", "id"];
                let result = data.object(if service.ids { &known } else { &known[..5] })?;
                name = filled_name(&result)?;
                result.require("response")?.open_object()?;
                for part in result.get("parts").map(|it| it.array()).transpose()?.unwrap_or_default() {
                    if let Some(data) = part.object(&["inlineData", "fileData"])?.get("inlineData") {
                        inline_data(&data)?;
                    }
                }
            }
            _ => {}
        }
        Ok(Part { kind, name, signature, position: 0 })
    }
}

fn filled_name<'a>(object: &Object<'a>) -> Checked<&'a str> {
    let name = object.get("name").map(|name| name.string()).transpose()?.unwrap_or_default();
    if name.is_empty() {
        return wrong_at(format!("{}.name", object.path), "Name cannot be empty.");
    }
    Ok(name)
}

fn inline_data(place: &Place<'_>) -> Checked {
    let data = place.object(&["mimeType", "data", "displayName"])?;
    let kind = data.require("mimeType")?.filled_string()?;
    let readable = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"].contains(&kind);
    if !readable && kind.starts_with("image/") {
        return said(format!("Unsupported MIME type: {kind}"));
    }
    let data = data.require("data")?;
    data.filled_string()?;
    bytes(&data).map(drop)
}

fn bytes<'a>(place: &Place<'a>) -> Checked<&'a str> {
    let text = place.string()?;
    if is_google_bytes(text) {
        return Ok(text);
    }
    Err(Wrong::Type { path: place.path.clone(), expected: "base64", got: "Base64 decoding failed" })
}

/// A turn with calls comes after the user or after results, and is answered by the very next turn: as many results, in order.
fn pairs(turns: &[Turn<'_>]) -> Checked {
    for (index, turn) in turns.iter().enumerate() {
        let calls: Vec<&str> = turn.of("functionCall").map(|part| part.name).collect();
        let results: Vec<&str> = turn.of("functionResponse").map(|part| part.name).collect();
        let before = index.checked_sub(1).map(|before| &turns[before]);
        if !results.is_empty() && before.is_none_or(|turn| turn.of("functionCall").next().is_none()) {
            return said("Please ensure that function response turn comes immediately after a function call turn.");
        }
        if calls.is_empty() {
            continue;
        }
        if before.is_none_or(|turn| !turn.user) {
            return said(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
            );
        }
        let answers: Vec<&str> =
            turns.get(index + 1).map(|next| next.of("functionResponse").map(|part| part.name).collect()).unwrap_or_default();
        if answers.len() != calls.len() {
            return said(
                "Please ensure that the number of function response parts is equal to the number of function call parts of the \
                 function call turn.",
            );
        }
        if answers != calls {
            return said(
                "Please ensure that the function response parts have the names of the function call parts, in their order.",
            );
        }
    }
    Ok(())
}

/// Gemini 3 wants the first call of each step of the current turn signed; earlier turns are not looked at. The turn begins with
/// what the user said last. On Vertex a missing signature is let through, and the word that stands for it is not.
fn signatures(service: &Service<'_>, turns: &[Turn<'_>]) -> Checked {
    if !service.model.starts_with("gemini-3") {
        return Ok(());
    }
    let begin = turns.iter().rposition(|turn| turn.user && turn.of("functionResponse").next().is_none()).unwrap_or(0);
    for turn in turns[begin..].iter().filter(|turn| !turn.user) {
        let Some(call) = turn.of("functionCall").next() else { continue };
        match call.signature {
            Some(mark) if service.vertex && NO_SIGNATURE.contains(&mark) => return said("Thought signature is not valid."),
            None | Some("") if !service.vertex => {
                return said(format!(
                    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work \
                     correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \
                     `default_api:{}` , position {}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more \
                     details.",
                    call.name, call.position
                ));
            }
            _ => {}
        }
    }
    Ok(())
}
