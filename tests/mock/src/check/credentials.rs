//! The key: is one there, in the header this service reads, and is it right? Keys are compared, never printed.

use std::collections::BTreeMap;

use super::{Flavour, Strict, signature};
use crate::refusal::Complaint;
use crate::route::{Format, Host, Route};

type Headers = BTreeMap<String, String>;

pub(super) fn check(strict: &Strict, route: &Route, headers: &Headers) -> Result<(), Complaint> {
    let given = match (route.format, route.host) {
        (_, Host::Vertex) => bearer(headers),
        (Format::Converse, _) => bearer(headers).or_else(|| signature::key_id(headers)),
        (Format::Anthropic, _) => header(headers, "x-api-key").or_else(|| bearer(headers)),
        (Format::Gemini, _) => header(headers, "x-goog-api-key").or_else(|| route.parameter("key").filter(|key| !key.is_empty())),
        // Azure's, in its two forms of address; the second is also Groq's.
        _ if route.path.starts_with("/openai/") => bearer(headers).or_else(|| header(headers, "api-key")),
        _ => bearer(headers),
    };
    let right = match (given, &strict.key) {
        (Some(given), Some(key)) if route.format == Format::Converse => key.split(':').next() == Some(given),
        (Some(given), Some(key)) => given == key,
        (Some(_), None) => true,
        (None, _) => false,
    };
    if right || (given.is_none() && strict.key.is_none() && strict.flavour == Flavour::Compatible) {
        return version(strict, route, headers);
    }
    Err(refused(route, given.is_some()))
}

/// What a wrong key gets.
pub(crate) fn refused_key(route: &Route) -> Complaint {
    refused(route, true)
}

fn refused(route: &Route, given: bool) -> Complaint {
    match (route.format, route.host, given) {
        (_, Host::Vertex, _) => Complaint::new(
            401,
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid \
             authentication credential.",
        ),
        (Format::Anthropic, _, true) => Complaint::new(401, "invalid x-api-key"),
        (Format::Anthropic, _, false) => Complaint::new(401, "x-api-key header is required"),
        (Format::Gemini, _, true) => {
            Complaint::new(400, "API key not valid. Please pass a valid API key.").code("API_KEY_INVALID")
        }
        (Format::Gemini, _, false) => Complaint::new(
            403,
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form \
             of API consumer identity to call this API.",
        ),
        (Format::Converse, _, true) => Complaint::new(403, "The security token included in the request is invalid."),
        (Format::Converse, _, false) => Complaint::new(403, "Missing Authentication Token"),
        (_, Host::Azure, _) => Complaint::new(
            401,
            "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active \
             subscription and use a correct regional API endpoint for your resource.",
        ),
        (_, _, true) => Complaint::new(401, "Incorrect API key provided.").code("invalid_api_key"),
        (_, _, false) => Complaint::new(
            401,
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. \
             Authorization: Bearer YOUR_KEY).",
        ),
    }
}

/// What belongs to the address beside the key: Anthropic's version header, Azure's parameter.
fn version(strict: &Strict, route: &Route, headers: &Headers) -> Result<(), Complaint> {
    match (route.format, route.host) {
        (Format::Anthropic, Host::Vendor)
            if strict.flavour != Flavour::Compatible && header(headers, "anthropic-version").is_none() =>
        {
            Err(Complaint::new(400, "anthropic-version: header is required"))
        }
        (_, Host::Azure) if route.parameter("api-version").is_none_or(str::is_empty) => {
            Err(Complaint::new(404, "Resource not found"))
        }
        _ => Ok(()),
    }
}

fn header<'a>(headers: &'a Headers, name: &str) -> Option<&'a str> {
    headers.get(name).map(String::as_str).filter(|value| !value.is_empty())
}

fn bearer(headers: &Headers) -> Option<&str> {
    let (scheme, token) = header(headers, "authorization")?.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty()).then(|| token.trim())
}
