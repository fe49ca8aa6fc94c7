//! What is written by mistake in place of a JSON Schema. Much of it is one by the letter, as unknown keywords mean nothing: a map
//! of properties alone would take any arguments, and tell the model nothing. For the rest, the texts here say what was meant.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::keywords::{Keyword, TYPES, keyword, type_for};
use crate::did_you_mean::nearest;
use crate::json_error::shown;

#[cfg(test)]
mod tests;

/// A whole schema is given under these names where a tool is described to a model.
const WRAPPERS: [&str; 5] = ["parameters", "schema", "input_schema", "inputSchema", "json_schema"];

/// Beside these, a required property may be described elsewhere.
const OPEN: [&str; 14] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
];

/// Looks for mistakes in the schema of a tool's arguments.
///
/// # Errors
/// What is wrong, to follow the word "parameters".
pub(super) fn check(root: &Value) -> Result<(), String> {
    Search { path: Vec::new() }.schema(root, true)
}

struct Search<'a> {
    path: Vec<Cow<'a, str>>,
}

impl<'a> Search<'a> {
    /// `is_alone`: no other schema describes the same value.
    fn schema(&mut self, schema: &'a Value, is_alone: bool) -> Result<(), String> {
        let Value::Object(map) = schema else { return Ok(()) };
        self.properties_alone(map)?;
        // That of the arguments themselves has a text of its own.
        if !self.path.is_empty() {
            self.type_names(map)?;
        }
        let is_alone = is_alone && !OPEN.iter().any(|name| map.contains_key(*name));
        if is_alone {
            self.required(map)?;
        }
        for (name, value) in map {
            match (name.as_str(), value) {
                ("properties" | "patternProperties", Value::Object(schemas)) => self.each_property(name, schemas, is_alone)?,
                ("$defs" | "definitions" | "dependentSchemas", Value::Object(schemas)) => {
                    for (inner, schema) in schemas {
                        self.inside(&[name, inner], schema, false)?;
                    }
                }
                ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(schemas)) => {
                    for (i, schema) in schemas.iter().enumerate() {
                        self.path.push(Cow::Borrowed(name));
                        self.path.push(Cow::Owned(i.to_string()));
                        self.schema(schema, false)?;
                        self.path.truncate(self.path.len() - 2);
                    }
                }
                ("items" | "additionalProperties", schema) => self.inside(&[name], schema, is_alone)?,
                ("not" | "if" | "then" | "else" | "contains" | "propertyNames", schema) => self.inside(&[name], schema, false)?,
                ("required", Value::Bool(_)) => {
                    let why = "a list of the names that are required, beside \"properties\"";
                    return Err(self.wrong(Some(name), &format!("expected {why}, got {value}")));
                }
                ("required", Value::String(names)) => {
                    let list: Vec<&str> = names.split(',').map(str::trim).collect();
                    let why = format!("expected a list of names, got {}; write {}", shown(value), Value::from(list));
                    return Err(self.wrong(Some(name), &why));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn inside(&mut self, names: &[&'a str], schema: &'a Value, is_alone: bool) -> Result<(), String> {
        self.path.extend(names.iter().copied().map(Cow::Borrowed));
        self.schema(schema, is_alone)?;
        self.path.truncate(self.path.len() - names.len());
        Ok(())
    }

    fn each_property(&mut self, keyword: &'a str, schemas: &'a Map<String, Value>, is_alone: bool) -> Result<(), String> {
        for (name, schema) in schemas {
            if let Value::String(text) = schema {
                self.path.extend([Cow::Borrowed(keyword), Cow::Borrowed(name.as_str())]);
                let example = type_for(text).unwrap_or("string");
                return Err(
                    self.wrong(None, &format!("expected a schema such as {{\"type\": \"{example}\"}}, got {}", shown(schema)))
                );
            }
            self.inside(&[keyword, name], schema, is_alone)?;
        }
        Ok(())
    }

    /// The text for something that is wrong here, or with a keyword here.
    fn wrong(&self, keyword: Option<&str>, why: &str) -> String {
        let names = self.path.iter().map(AsRef::as_ref).chain(keyword);
        let pointer: String = names.map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect();
        match pointer.as_str() {
            "" => format!("is not a JSON Schema: {why}"),
            pointer => format!("is not a JSON Schema: at \"{pointer}\": {why}"),
        }
    }

    fn type_names(&self, map: &Map<String, Value>) -> Result<(), String> {
        let names = match map.get("type") {
            Some(Value::Array(names)) => names.as_slice(),
            Some(name) => std::slice::from_ref(name),
            None => return Ok(()),
        };
        let Some(wrong) = names.iter().filter_map(Value::as_str).find(|name| !TYPES.contains(name)) else { return Ok(()) };
        let hint = match (wrong, type_for(wrong).or_else(|| nearest(wrong, TYPES))) {
            ("any", _) => "leave it out to take any value".to_owned(),
            ("date" | "date-time" | "datetime", _) => "write {\"type\": \"string\", \"format\": \"date-time\"}".to_owned(),
            (_, Some(meant)) => format!("did you mean {meant:?}?"),
            (_, None) => format!("known are {}", TYPES.join(", ")),
        };
        Err(self.wrong(Some("type"), &format!("unknown type {}; {hint}", shown(&wrong.into()))))
    }

    /// A property that is required and not described: its name is misspelt, or it is forgotten.
    fn required(&self, map: &Map<String, Value>) -> Result<(), String> {
        let (Some(Value::Object(properties)), Some(Value::Array(required))) = (map.get("properties"), map.get("required")) else {
            return Ok(());
        };
        if !matches!(map.get("additionalProperties"), None | Some(Value::Bool(false))) {
            return Ok(());
        }
        let Some(name) = required.iter().filter_map(Value::as_str).find(|name| !properties.contains_key(*name)) else {
            return Ok(());
        };
        let hint = match nearest(name, properties.keys().map(String::as_str)) {
            Some(right) => format!("did you mean {}?", shown(&right.into())),
            None => "describe it there, or take it out".to_owned(),
        };
        Err(self.wrong(Some("required"), &format!("{} is not in \"properties\"; {hint}", shown(&name.into()))))
    }

    /// Properties that stand where the keywords of a schema do.
    fn properties_alone(&self, map: &Map<String, Value>) -> Result<(), String> {
        let is_root = self.path.is_empty();
        let kinds = || map.iter().map(|(name, value)| (keyword(name, value), name, value));
        let may_be_object = match map.get("type") {
            Some(Value::String(name)) => name == "object",
            Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
            _ => true,
        };
        if !may_be_object || kinds().any(|(kind, ..)| kind == Keyword::OfObjects) {
            return Ok(());
        }
        let has_keyword = kinds().any(|(kind, ..)| kind == Keyword::Other);
        let unknown = || kinds().filter(|(kind, ..)| *kind == Keyword::Unknown).map(|(_, name, value)| (name, value));
        if let Some((name, _)) = unknown().find(|(name, value)| is_root && WRAPPERS.contains(&name.as_str()) && is_schema(value))
        {
            return Err(format!("has its JSON Schema in {name:?}; give that alone"));
        }
        if let Some((name, _)) = unknown().find(|(name, value)| nearest(name, ["properties"]).is_some() && holds_schemas(value)) {
            return Err(self.wrong(None, &format!("unknown keyword {name:?}; did you mean \"properties\"?")));
        }
        let has_type = map.get("type").is_some_and(|value| keyword("type", value) != Keyword::Unknown);
        let names_type =
            |name: &str, value: &Value| !name.to_lowercase().ends_with("type") && value.as_str().and_then(type_for).is_some();
        let is_property = |(name, value): &(&String, &Value)| {
            let by_name = !has_keyword || (is_root && !has_type);
            is_schema(value) || holds_schemas(value) || (by_name && names_type(name, value))
        };
        let meant: Vec<&String> = match (is_root, has_keyword) {
            (true, false) => unknown().map(|(name, _)| name).collect(),
            // Some keywords of a vendor, and nothing else, take any value.
            (false, false) if !unknown().all(|field| is_property(&field)) => Vec::new(),
            _ => unknown().filter(is_property).map(|(name, _)| name).collect(),
        };
        let Some(first) = meant.first() else {
            return Ok(());
        };
        let names: Vec<String> = meant.iter().take(3).map(|name| format!("{}: …", shown(&name.as_str().into()))).collect();
        let more = if meant.len() > 3 { ", …" } else { "" };
        let instead = format!("did you mean {{\"type\": \"object\", \"properties\": {{{}{more}}}}}?", names.join(", "));
        Err(match (is_root, has_keyword) {
            (true, false) => format!("has no JSON Schema keyword; {instead}"),
            (false, false) => self.wrong(None, &format!("it has no JSON Schema keyword; {instead}")),
            (_, true) => self.wrong(None, &format!("{} is no JSON Schema keyword; {instead}", shown(&first.as_str().into()))),
        })
    }
}

/// Whether a value is certainly meant as a schema, as that of a property.
fn is_schema(value: &Value) -> bool {
    let Value::Object(map) = value else { return false };
    let is_type = |name: &Value| name.as_str().and_then(type_for).is_some();
    map.iter().any(|(name, value)| match (name.as_str(), value) {
        ("type", Value::Array(names)) => !names.is_empty() && names.iter().all(is_type),
        ("type", name) => is_type(name),
        ("enum" | "anyOf" | "oneOf" | "allOf", value) => value.is_array(),
        ("$ref", value) => value.is_string(),
        ("properties", value) => value.is_object(),
        _ => false,
    })
}

/// Whether a value is a map of schemas, as that of `properties`.
fn holds_schemas(value: &Value) -> bool {
    value.as_object().is_some_and(|map| !map.is_empty() && !is_schema(value) && map.values().all(is_schema))
}
