//! The contents: parts, each call with its result, signatures.

use super::super::image::is_google_bytes;
use super::super::place::{Checked, Object, Place, Wrong, said, snake, wrong_at};
use super::Service;

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

pub(super) fn parts<'a>(content: &Object<'a>, path: &str) -> Checked<Vec<Place<'a>>> {
    match content.get("parts").map(|parts| parts.array()).transpose()? {
        Some(parts) if !parts.is_empty() => Ok(parts),
        _ => wrong_at(format!("{path}.parts"), "contents.parts must not be empty."),
    }
}

pub(super) struct Turn<'a> {
    pub(super) user: bool,
    parts: Vec<Part<'a>>,
}

pub(super) struct Part<'a> {
    kind: &'static str,
    /// Of a call or a result.
    name: &'a str,
    signature: Option<&'a str>,
    /// Counted from 1 in the content.
    position: usize,
}

impl<'a> Turn<'a> {
    pub(super) fn read(service: &Service<'_>, content: &Place<'a>) -> Checked<Turn<'a>> {
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
    pub(super) fn read(service: &Service<'_>, place: &Place<'a>) -> Checked<Part<'a>> {
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
            "inlineData" => inline_data(&data, false)?,
            "fileData" => {
                let file = data.object(&["mimeType", "fileUri", "displayName"])?;
                file.strings(&["mimeType"])?;
                file.require("fileUri")?.filled_string()?;
            }
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
                        inline_data(&data, true)?;
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

/// <https://ai.google.dev/gemini-api/docs/file-input-methods>
const READABLE: &[&str] = &[
    "image/png",
    "image/jpeg",
    "image/webp",
    "image/heic",
    "image/heif",
    "application/pdf",
    "text/plain",
    "audio/wav",
    "audio/mp3",
    "audio/mpeg",
    "audio/aiff",
    "audio/aac",
    "audio/ogg",
    "audio/flac",
];

/// In a response of a function there is no audio.
fn inline_data(place: &Place<'_>, in_response: bool) -> Checked {
    let data = place.object(&["mimeType", "data", "displayName"])?;
    let kind = data.require("mimeType")?.filled_string()?;
    if !READABLE.contains(&kind) || (in_response && kind.starts_with("audio/")) {
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
pub(super) fn pairs(turns: &[Turn<'_>]) -> Checked {
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
pub(super) fn signatures(service: &Service<'_>, turns: &[Turn<'_>]) -> Checked {
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
                     correctly, and missing thought_signature may lead to degraded model performance. Additional data, function \
                     call `default_api:{}` , position {}. Please refer to \
                     https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
                    call.name, call.position
                ));
            }
            _ => {}
        }
    }
    Ok(())
}
