//! Where a request goes: the endpoint of a wire format under a server's address.

use agent_loop_proto::hosting::Hosting;
use agent_loop_proto::model_spec::{ModelSpec, NO_SCHEME, address_fault, without_secrets};
use agent_loop_proto::protocol::Protocol;
use reqwest::Url;

use super::credential::google_project;
use crate::error::Error;

/// The address of a model's endpoint at its provider.
///
/// # Errors
/// `invalid_argument`: an unusable address, a project or location that is missing, or an id, project or location that would lead
/// to another address.
pub(super) fn of_model(
    spec: &ModelSpec,
    base_url: &str,
    hosting: Hosting,
    protocol: &dyn Protocol,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Url, Error> {
    match hosting {
        Hosting::Plain => {
            if protocol.path("a") != protocol.path("b") {
                ID.check(spec, "id", &spec.id)?;
            }
            endpoint(base_url, &protocol.path(&spec.id))
        }
        Hosting::Azure => azure(spec, base_url, protocol, variable),
        Hosting::Vertex => vertex(spec, base_url, protocol, variable),
        Hosting::Bedrock => bedrock(spec, base_url, protocol, variable),
    }
}

/// What a text may be that becomes a part of an address. All else could lead the request, and the key in it, somewhere else.
struct Allowed {
    place: Place,
    /// Besides letters and digits.
    signs: &'static str,
    what: &'static str,
}

/// Which part of an address.
enum Place {
    /// Of its letters and digits only those of ASCII are taken.
    Host,
    Path,
}

const LOCATION: Allowed = Allowed { place: Place::Host, signs: "-", what: "letters, digits and \"-\"" };

const PROJECT: Allowed = Allowed { place: Place::Path, signs: "-_.:", what: "letters, digits, \"-\", \"_\", \".\" and \":\"" };

/// A gateway's ids may have several parts.
const ID: Allowed = Allowed {
    place: Place::Path,
    signs: "-_.:@~+/",
    what: "letters, digits, \"-\", \"_\", \".\", \":\", \"@\", \"~\", \"+\" and \"/\"",
};

/// One part of a path.
const PART: Allowed =
    Allowed { place: Place::Path, signs: "-_.:@~+", what: "letters, digits, \"-\", \"_\", \".\", \":\", \"@\", \"~\" and \"+\"" };

impl Allowed {
    /// # Errors
    /// `invalid_argument`, naming what was given as `name`.
    fn check(&self, spec: &ModelSpec, name: &str, text: &str) -> Result<(), Error> {
        let letter = |c: char| match self.place {
            Place::Host => c.is_ascii_alphanumeric(),
            Place::Path => c.is_alphanumeric(),
        };
        let fits = text.chars().all(|c| letter(c) || self.signs.contains(c));
        let is_part = |part: &str| !matches!(part, "" | "." | "..");
        if fits && text.split('/').all(is_part) {
            return Ok(());
        }
        let (model, what) = (spec.name(), self.what);
        let parts = match self.place {
            Place::Host => "",
            Place::Path => ", and no part of it may be empty, \".\" or \"..\"",
        };
        Err(Error::invalid_argument(format!(
            "model {model:?}: {name} {text:?} becomes a part of the address, where only {what} are allowed{parts}"
        )))
    }
}

/// `/openai/v1/responses` or `/openai/v1/chat/completions` with the deployment as the body's model; for Chat with an
/// `api-version` `/openai/deployments/{deployment}/chat/completions`:
/// <https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle>.
fn azure(
    spec: &ModelSpec,
    base_url: &str,
    protocol: &dyn Protocol,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Url, Error> {
    let root = base_url.trim().trim_end_matches('/').trim_end_matches("/v1").trim_end_matches("/openai");
    let version =
        spec.api_version.clone().or_else(|| variable("AZURE_OPENAI_API_VERSION")).or_else(|| variable("OPENAI_API_VERSION"));
    let mut url = endpoint(root, "")?;
    match (protocol.name(), &version) {
        ("openai_chat", Some(_)) => {
            PART.check(spec, "id", &spec.id)?;
            append(&mut url, &["openai", "deployments", &spec.id, "chat", "completions"]);
        }
        ("openai_chat", None) => append(&mut url, &["openai", "v1", "chat", "completions"]),
        _ => append(&mut url, &["openai", "v1", "responses"]),
    }
    if let Some(version) = version {
        url.query_pairs_mut().append_pair("api-version", &version);
    }
    Ok(url)
}

/// <https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference>; Claude:
/// <https://docs.anthropic.com/en/api/claude-on-vertex-ai>.
fn vertex(
    spec: &ModelSpec,
    base_url: &str,
    protocol: &dyn Protocol,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Url, Error> {
    let missing = |what: &str, variables: &str| {
        let name = spec.name();
        Error::invalid_argument(format!("model {name:?}: no {what}; give {what}, or set the environment variable {variables}"))
    };
    let project = spec.project.clone().or_else(|| google_project(variable));
    let project = project.ok_or_else(|| missing("project", "GOOGLE_CLOUD_PROJECT"))?;
    let location = spec.location.clone().or_else(|| variable("GOOGLE_CLOUD_LOCATION"));
    let location = location.ok_or_else(|| missing("location", "GOOGLE_CLOUD_LOCATION"))?;
    let from = |given: &Option<String>, name: &str, variable: &str| match given {
        Some(_) => name.to_owned(),
        None => format!("{name} (of {variable})"),
    };
    PROJECT.check(spec, &from(&spec.project, "project", "the environment"), &project)?;
    LOCATION.check(spec, &from(&spec.location, "location", "GOOGLE_CLOUD_LOCATION"), &location)?;
    PART.check(spec, "id", &spec.id)?;
    let base = match location.as_str() {
        "global" => base_url.replace("{location}-", ""),
        _ => base_url.replace("{location}", &location),
    };
    let mut url = endpoint(&base, "/v1/")?;
    let (publisher, action) = match protocol.name() {
        "anthropic" => ("anthropic", "streamRawPredict"),
        _ => ("google", "streamGenerateContent"),
    };
    let model = format!("{}:{action}", spec.id);
    append(&mut url, &["projects", &project, "locations", &location, "publishers", publisher, "models", &model]);
    if action == "streamGenerateContent" {
        url.query_pairs_mut().append_pair("alt", "sse");
    }
    Ok(url)
}

/// <https://docs.aws.amazon.com/general/latest/gr/bedrock.html>
fn bedrock(
    spec: &ModelSpec,
    base_url: &str,
    protocol: &dyn Protocol,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Url, Error> {
    if protocol.path("a") != protocol.path("b") {
        ID.check(spec, "id", &spec.id)?;
    }
    let path = protocol.path(&spec.id);
    if !base_url.contains(REGION) {
        return endpoint(base_url, &path);
    }
    let Some(region) = region_of(spec, variable) else {
        let name = spec.name();
        return Err(Error::invalid_argument(format!(
            "model {name:?}: no region; give location, or set the environment variable AWS_REGION"
        )));
    };
    LOCATION.check(spec, if spec.location.is_some() { "location" } else { "region (of the environment)" }, &region)?;
    let mut base = base_url.replace(REGION, &region);
    if region.starts_with("cn-") {
        base = base.replace(".amazonaws.com", ".amazonaws.com.cn");
    }
    endpoint(&base, &path)
}

/// What stands for the region in an address.
const REGION: &str = "{region}";

/// The region that a model is asked in, where its address does not say it.
pub(super) fn region_of(spec: &ModelSpec, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    spec.location.clone().or_else(|| variable("AWS_REGION")).or_else(|| variable("AWS_DEFAULT_REGION"))
}

fn append(url: &mut Url, segments: &[&str]) {
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
}

/// The address of an endpoint such as `/v1/messages` under a base URL that may or may not have the version, or the whole path.
pub(super) fn endpoint(base_url: &str, path: &str) -> Result<Url, Error> {
    let wrong = |why: &str| {
        let base_url = without_secrets(base_url);
        Error::invalid_argument(format!("base_url {base_url:?}: {why}; give an address such as \"http://127.0.0.1:8080/v1\""))
    };
    // A reader of addresses leaves some of them out without a word.
    if base_url.trim().contains(char::is_control) {
        return Err(wrong("it has a line break or another control character"));
    }
    let mut url = Url::parse(base_url.trim()).map_err(|e| wrong(address_fault(e)))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong(NO_SCHEME));
    }
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let is_version = |segment: &str| {
        let mut chars = segment.chars();
        chars.next() == Some('v') && chars.next().is_some_and(|c| c.is_ascii_digit())
    };
    let first = path.get(1..).and_then(|p| p.split_once('/')).map_or("", |(first, _)| first);
    let (version, tail) = path.split_at(if is_version(first) { first.len() + 1 } else { 0 });
    let mut base = url.path().trim_end_matches('/').to_owned();
    // Users add `/v1` to every address. Gemini's v1 knows neither thinking nor tools: the format's own version is meant.
    if !matches!(version, "" | "/v1") && base.ends_with("/v1") {
        base.truncate(base.len() - "/v1".len());
    }
    // A version further up is the gateway's own, but for OpenAI's formats, which stand under `/v1beta/openai` and the like.
    let of_openai = matches!(tail, "/chat/completions" | "/responses");
    let has_version = base.rsplit('/').take(if of_openai { usize::MAX } else { 1 }).any(is_version);
    let whole = if base.ends_with(tail) {
        base
    } else if has_version {
        format!("{base}{tail}")
    } else {
        format!("{base}{version}{tail}")
    };
    url.set_path(&whole);
    if let Some((name, value)) = query.and_then(|query| query.split_once('=')) {
        url.query_pairs_mut().append_pair(name, value);
    }
    Ok(url)
}
