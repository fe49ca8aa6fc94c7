//! Misspelt names, and the error that suggests the right one.

use serde_json::{Map, Value};

use crate::error::Error;

/// How the caller's language spells names of several words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// `base_url`.
    Snake,
    /// `baseUrl`.
    Camel,
}

impl Spelling {
    /// The canonical (snake case) name in this spelling.
    pub fn spell(self, name: &str) -> String {
        match self {
            Spelling::Snake => name.to_owned(),
            Spelling::Camel => {
                let mut words = name.split('_');
                let first = words.next().unwrap_or_default().to_owned();
                words.fold(first, |mut all, word| {
                    let mut chars = word.chars();
                    all.extend(chars.next().map(|c| c.to_ascii_uppercase()));
                    all.push_str(chars.as_str());
                    all
                })
            }
        }
    }
}

impl Spelling {
    /// Whether the canonical name is spelled so in any language.
    fn is_spelled(canonical: &str, name: &str) -> bool {
        canonical == name || Spelling::Camel.spell(canonical) == name
    }

    /// A text with these canonical names in this spelling, wherever they stand as words of ours. What is quoted is the user's: a
    /// tool's name, a value. Ours are the quoted words of the clauses that begin as one of `OURS`, and of hints on our fields.
    pub fn respell(self, text: &str, names: &[&str]) -> String {
        if self == Spelling::Snake {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let (mut rest, mut is_ours, mut of_field) = (text, false, false);
        while !rest.is_empty() {
            let (outside, from_quote) = rest.split_at(rest.find('"').unwrap_or(rest.len()));
            // A script has canonical names in every language, and behind a pointer the names are another program's.
            if outside.contains(": script[") || outside.contains("messages: /") {
                return out + rest;
            }
            out.push_str(&self.respell_words(outside, names));
            is_ours |= OURS.iter().any(|clause| outside.contains(clause)) || (of_field && outside == "; did you mean ");
            of_field = outside.ends_with("unknown field ");
            let (quoted, after) = from_quote.split_at(end_of_quoted(from_quote));
            let is_of_message = outside.ends_with(" message: unknown field ") || outside.ends_with(" block: unknown field ");
            if is_of_message && after.starts_with("; did you mean ") {
                // The host has made the names of messages canonical before they were read.
                out.push_str(&self.spell(quoted));
            } else if is_ours {
                out.push_str(&self.respell_words(quoted, names));
            } else {
                out.push_str(quoted);
            }
            rest = after;
        }
        out
    }

    fn respell_words(self, text: &str, names: &[&str]) -> String {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(is_part) {
            let (before, from) = rest.split_at(start);
            let (word, after) = from.split_at(from.find(|c| !is_part(c)).unwrap_or(from.len()));
            out.push_str(before);
            out.push_str(names.contains(&word).then(|| self.spell(word)).as_deref().unwrap_or(word));
            rest = after;
        }
        out + rest
    }
}

/// How clauses begin that quote names of ours. The user's are in none of them, nor after them.
const OURS: &[&str] = &[
    "; an image is ",
    "; a file is ",
    "; a file has ",
    "; a sound is ",
    "; a call is a block ",
    "; a tool's result ",
    "; the name of a tool is ",
    "; the id of the call is ",
    "; the kind of a file is ",
    "; a model's calls are blocks ",
    "; where caches begin is decided by the option ",
    "; why a message ended is ",
    "network: expected an object such as ",
];

/// How long the quoted text is with which this begins, if it does.
fn end_of_quoted(text: &str) -> usize {
    let mut is_escaped = false;
    let is_end = |c: char| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    };
    text.get(1..).and_then(|inside| inside.find(is_end)).map_or(text.len(), |length| length + 2)
}

/// The known name nearest to a wrong one, if one is near.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_ascii_lowercase().replace('-', "_");
    let distance = |name: &&str| strsim::damerau_levenshtein(&wrong, &name.to_ascii_lowercase());
    known
        .into_iter()
        .min_by_key(distance)
        .filter(|name| distance(name) <= (name.len() / 3).max(2).min(name.len().saturating_sub(1)))
}

/// What others call a thing that has another name here, by what is named: libraries and commands that users come from.
const ELSEWHERE: &[(&str, &[&str], &[&str])] = &[
    ("option", &["system", "system_message", "instructions"], &["system_prompt"]),
    ("option", &["timeout", "timeout_ms"], &["request_timeout_ms", "run_timeout_ms"]),
    ("option", &["max_steps", "max_iterations"], &["max_turns"]),
    ("option", &["max_budget_usd", "max_budget", "budget"], &["max_cost"]),
    ("option", &["total_tokens_limit", "token_budget"], &["max_total_tokens"]),
    ("option", &["tool_calls_limit"], &["max_tool_calls"]),
    ("option", &["max_output_tokens", "max_completion_tokens"], &["max_tokens"]),
    ("option", &["stop"], &["stop_sequences"]),
    ("option", &["reasoning_effort", "reasoning", "thinking"], &["thinking_level"]),
    ("option", &["history"], &["messages"]),
    ("option", &["proxy"], &["network"]),
    ("option", &["extra_headers", "default_headers"], &["headers"]),
    ("option", &["model_kwargs", "provider_options", "extra_params"], &["extra_body"]),
    ("option", &["builtin_tools", "built_in_tools", "native_tools", "provider_tools", "server_tools"], &["hosted_tools"]),
    ("provider", &["gemini", "google-ai", "googleai"], &["google"]),
    ("provider", &["vertex", "vertexai", "vertex_ai", "vertex-ai"], &["google-vertex"]),
    ("provider", &["azure", "azure_openai"], &["azure-openai"]),
    ("provider", &["claude"], &["anthropic"]),
    ("provider", &["gpt", "chatgpt"], &["openai"]),
    ("provider", &["grok"], &["xai"]),
    ("provider", &["kimi", "moonshotai"], &["moonshot"]),
    ("field", &["input_schema", "schema", "args_schema"], &["parameters"]),
    ("field", &["handler", "function", "func", "fn", "run", "callback"], &["execute"]),
];

/// What such a name is called here, where that is known.
fn called_here<'a>(what: &str, wrong: &str, known: &'a [String]) -> Vec<&'a str> {
    let same = |name: &str| name.replace('_', "").eq_ignore_ascii_case(&wrong.replace('_', ""));
    let row = ELSEWHERE.iter().find(|(of, others, _)| *of == what && others.iter().any(|other| same(other)));
    let is_meant = |name: &&String| row.is_some_and(|(.., here)| here.iter().any(|right| Spelling::is_spelled(right, name)));
    known.iter().filter(is_meant).map(String::as_str).collect()
}

/// Fails when the object has a name that is not known: names it and the nearest right one.
pub fn check_names(what: &str, map: &Map<String, Value>, known: &[&str]) -> Result<(), Error> {
    match map.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(unknown_name(what, name, known.iter().copied(), Spelling::Snake)),
    }
}

/// The object with its names in canonical spelling. Canonical names are understood under every spelling, so that saved JSON can
/// be read by all.
///
/// # Errors
/// `invalid_argument` for a name that is not known; names the nearest right one.
pub fn canonical_names(
    what: &str,
    map: Map<String, Value>,
    known: &[&str],
    spelling: Spelling,
) -> Result<Map<String, Value>, Error> {
    let rename = |(name, value): (String, Value)| match known.iter().find(|k| **k == name || spelling.spell(k) == name) {
        Some(canonical) => Ok(((*canonical).to_owned(), value)),
        None => Err(unknown_name(what, &name, known.iter().copied(), spelling)),
    };
    map.into_iter().map(rename).collect()
}

/// The error for a name that is not known.
pub fn unknown_name<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone, spelling: Spelling) -> Error {
    let known: Vec<String> = known.map(|name| spelling.spell(name)).collect();
    let here = called_here(what, name, &known);
    let hint = match nearest(name, known.iter().map(String::as_str)).filter(|_| here.is_empty()) {
        Some(right) => format!("did you mean {right:?}?"),
        None if known.is_empty() => "there are none here".to_owned(),
        None if here.is_empty() => format!("known are {}", known.join(", ")),
        None => format!("did you mean {}?", here.iter().map(|right| format!("{right:?}")).collect::<Vec<_>>().join(" or ")),
    };
    Error::invalid_argument(format!("unknown {what} {name:?}; {hint}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn found_a_name_that_others_use_leads_to_ours() {
        let error =
            |what, name, known: &[&str], spelling| unknown_name(what, name, known.iter().copied(), spelling).message().to_owned();
        let options = ["system_prompt", "steering_mode", "request_timeout_ms", "run_timeout_ms", "max_turns"];
        let of_option = |name, spelling| error("option", name, &options, spelling);
        assert_eq!(of_option("system", Spelling::Snake), "unknown option \"system\"; did you mean \"system_prompt\"?");
        assert_eq!(of_option("maxSteps", Spelling::Camel), "unknown option \"maxSteps\"; did you mean \"maxTurns\"?");
        assert_eq!(
            of_option("timeout", Spelling::Camel),
            "unknown option \"timeout\"; did you mean \"requestTimeoutMs\" or \"runTimeoutMs\"?"
        );
        // Only what there is: a runtime has no system prompt, and a provider no timeout.
        assert!(error("option", "system", &["threads"], Spelling::Snake).ends_with("known are threads"));
        assert_eq!(error("field", "to", &[], Spelling::Snake), "unknown field \"to\"; there are none here");
        assert!(error("provider", "timeout", &["google"], Spelling::Snake).ends_with("known are google"));
        assert!(error("provider", "Gemini", &["google", "xai"], Spelling::Snake).ends_with("did you mean \"google\"?"));
    }

    #[test]
    fn only_known_names_are_respelled_and_only_whole_words() {
        let respell = |text| Spelling::Camel.respell(text, &["mime_type", "tool_call_id", "id"]);
        assert_eq!(respell("image block: mime_type is missing"), "image block: mimeType is missing");
        assert_eq!(respell("give tool_call_id, (id)"), "give toolCallId, (id)");
        assert_eq!(respell("tool_call, my_mime_type, é mime_type"), "tool_call, my_mime_type, é mimeType");
        let hint = "unknown field \"mime_type\"; did you mean \"mimeType\"?";
        assert_eq!(respell(hint), hint);
        assert_eq!(Spelling::Snake.respell("mime_type", &["mime_type"]), "mime_type");
    }

    #[test]
    fn found_a_name_that_the_user_gave_is_not_respelled() {
        let respell = |text| Spelling::Camel.respell(text, &["mime_type", "tool_name", "stop_reason"]);
        for unchanged in [
            "two tools are named \"mime_type\"",
            "expected text, got \"a \\\" mime_type \\\\\"",
            "not closed \"mime_type",
            "is not in \"properties\"; did you mean \"mime_type\"?",
            "model \"scripted/s\": script[0][1]: end: unknown field \"stopReason\"; did you mean \"stop_reason\"?",
            "model \"scripted/s\": script[0][1]: stop_reason: expected a word",
        ] {
            assert_eq!(respell(unchanged), unchanged);
        }
        for (text, expected) in [
            ("\"mime_type\": mime_type is missing", "\"mime_type\": mimeType is missing"),
            (
                "tool_result message: unknown field \"tool_nme\"; did you mean \"tool_name\"?",
                "tool_result message: unknown field \"toolNme\"; did you mean \"toolName\"?",
            ),
            (
                "unknown field \"x\"; a file is \"data\" (base64) with \"mime_type\"",
                "unknown field \"x\"; a file is \"data\" (base64) with \"mimeType\"",
            ),
        ] {
            assert_eq!(respell(text), expected);
        }
    }

    #[test]
    fn names_are_read_and_reported_in_the_host_s_spelling() {
        let read = |value: Value| match value {
            Value::Object(map) => canonical_names("field", map, &["base_url", "id"], Spelling::Camel),
            _ => unreachable!(),
        };
        let expected = json!({ "id": 1, "base_url": 2 });
        assert_eq!(Value::Object(read(json!({ "id": 1, "baseUrl": 2 })).unwrap()), expected);
        assert_eq!(Value::Object(read(json!({ "id": 1, "base_url": 2 })).unwrap()), expected);
        let error = read(json!({ "baseURL": 2 })).unwrap_err();
        assert_eq!(error.message(), "unknown field \"baseURL\"; did you mean \"baseUrl\"?");
    }
}
