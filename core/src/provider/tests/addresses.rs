//! What users give of a model never leads a request away from where its provider is: every row with hostile texts.

use super::*;

/// Each alone, and behind and before something that fits.
const HOSTILE: &[&str] = &[
    "..",
    ".",
    "../..",
    "a/../../b",
    "../v1/files",
    "?",
    "a?b=c",
    "#",
    "a#b",
    "@",
    "x@evil.example",
    "user:pw@evil.example",
    "/",
    "//evil.example",
    "\\",
    "\\\\evil.example",
    "evil.example/",
    "evil.example#",
    "evil.example?x=",
    "evil.example:443/",
    ":",
    ":0/",
    "%2e%2e",
    "%2f",
    "%2F%2e%2E%2f",
    "%00",
    "%",
    " ",
    "a b",
    "\t",
    "\r\nhost: evil.example",
    "\n",
    "\0",
    "{location}",
    "[::1]",
    "\u{ff0e}\u{ff0e}",
    "\u{3002}",
    "\u{2024}\u{2024}",
    "\u{ff0f}",
    "\u{202e}",
    "\u{ad}",
    "a;b",
    "a&key=1",
    "a=b",
    "*",
    "$(x)",
    "~",
    "+",
];

fn spec_of(provider: &str) -> Value {
    let mut spec = json!({ "provider": provider, "id": "m", "project": "p", "location": "l" });
    if known(provider).base_url.is_empty() {
        spec["base_url"] = json!("https://own.example/base");
    }
    spec
}

fn known(name: &str) -> &'static agent_loop_proto::provider::known::Provider {
    PROVIDERS.iter().find(|row| row.name == name).unwrap()
}

/// Where a request goes with this text in a field; none where it is refused, as it should be.
fn with(plain: &Value, field: &str, text: &str) -> Option<Url> {
    let mut spec = plain.clone();
    spec[field] = json!(text);
    match find(spec, &[]) {
        Ok(found) => Some(found.url),
        Err(error) => {
            let said = error.message();
            assert!(said.contains(field) && said.contains(&format!("{text:?}")), "{field} {text:?}: {said}");
            None
        }
    }
}

/// Whether a request goes where it usually does, but for the text in its place.
fn stays(url: &Url, usual: &Url, field: &str) -> bool {
    let hosts = [url, usual].map(|url| url.host_str().unwrap());
    // Of a location the first part of the host is made, and of a host no more than that.
    let regional = hosts.map(|host| host.split_once('-').filter(|(_, rest)| *rest == "aiplatform.googleapis.com"));
    let at_aws = hosts.map(|host| host.starts_with("bedrock-runtime.") && host.ends_with(".amazonaws.com"));
    let one_part = url.host_str().unwrap().matches('.').count() == usual.host_str().unwrap().matches('.').count();
    let host = hosts[0] == hosts[1]
        || (field == "location" && regional[1].is_some() && one_part && hosts[0].ends_with("-aiplatform.googleapis.com"))
        || (field == "location" && at_aws == [true; 2] && one_part);
    let place = |url: &Url| (url.scheme().to_owned(), url.port_or_known_default(), url.path_segments().unwrap().count());
    let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    let names = |url: &Url| url.query_pairs().map(|(name, _)| name.into_owned()).collect::<Vec<_>>();
    let segments = |url: &Url| url.path_segments().unwrap().map(str::to_owned).collect::<Vec<_>>();
    let (ours, theirs) = (segments(url), segments(usual));
    // What differs begins with the text's place, `m` or `p` or `l` in the usual request, and the action at the end is the same.
    let same = ours.iter().zip(&theirs).take_while(|(ours, theirs)| ours == theirs).count();
    let own_place = theirs.get(same).is_none_or(|part| matches!(part.split(':').next(), Some("m" | "p" | "l")));
    let action = |all: &[String]| all.last().map(|part| part.rsplit(':').next().unwrap_or_default().to_owned());
    let several = field == "id" && ours.len() >= theirs.len();
    host && plain
        && names(url) == names(usual)
        && (place(url) == place(usual) || several)
        && own_place
        && (action(&ours) == action(&theirs) || theirs.last().is_some_and(|last| last == "m"))
        && ours.iter().all(|part| !matches!(part.as_str(), "" | "." | ".."))
}

#[test]
fn found_a7_no_text_leads_a_request_elsewhere() {
    let (mut refused, mut sent) = (0, 0);
    let protocols = ["", "openai_chat", "gemini"];
    let settings =
        PROVIDERS.iter().flat_map(|row| protocols.iter().flat_map(move |protocol| [(row, *protocol, ""), (row, *protocol, "1")]));
    for (row, protocol, version) in settings {
        let mut plain = spec_of(row.name);
        for (name, value) in [("protocol", protocol), ("api_version", version)] {
            if !value.is_empty() {
                plain[name] = json!(value);
            }
        }
        let Some(usual) = find(plain.clone(), &[]).ok().map(|found| found.url) else {
            continue;
        };
        // A version where there was none is another path.
        let fields = ["id", "project", "location", "api_version"].iter().take(if version.is_empty() { 3 } else { 4 });
        for (field, hostile) in fields.flat_map(|field| HOSTILE.iter().map(move |hostile| (*field, *hostile))) {
            for text in [hostile.to_owned(), format!("m{hostile}"), format!("{hostile}m"), format!("m/{hostile}/m")] {
                match with(&plain, field, &text) {
                    Some(url) => {
                        assert!(stays(&url, &usual, field), "{} {protocol} {field} {text:?}: {url}", row.name);
                        sent += 1;
                    }
                    None => refused += 1,
                }
            }
        }
    }
    assert!(refused > 1000 && sent > 1000, "{refused} refused, {sent} sent");
}

#[test]
fn found_a7_the_error_names_the_field_and_what_is_allowed() {
    let vertex = |field: &str, text: &str| {
        let mut spec = json!({ "provider": "google-vertex", "id": "gemini-3", "project": "p", "location": "l" });
        spec[field] = json!(text);
        error(spec)
    };
    assert_eq!(
        vertex("location", "evil.example/"),
        "model \"google-vertex/gemini-3\": location \"evil.example/\" becomes a part of the address, where only letters, digits \
         and \"-\" are allowed"
    );
    assert_eq!(
        vertex("project", "a/../b"),
        "model \"google-vertex/gemini-3\": project \"a/../b\" becomes a part of the address, where only letters, digits, \"-\", \
         \"_\", \".\" and \":\" are allowed, and no part of it may be empty, \".\" or \"..\""
    );
    let id = error(json!({ "provider": "google", "id": "../files?x=" }));
    assert!(id.starts_with("model \"google/../files?x=\": id \"../files?x=\" becomes a part of the address, where only"), "{id}");
    let environment = [("GOOGLE_CLOUD_PROJECT", "p"), ("GOOGLE_CLOUD_LOCATION", "x@evil.example")];
    let of_variable = find(json!("google-vertex/gemini-3"), &environment).err().unwrap();
    assert!(of_variable.message().contains("location (of GOOGLE_CLOUD_LOCATION) \"x@evil.example\""), "{of_variable}");
}

#[test]
fn ids_as_they_are_go_on_to_work() {
    let vertex =
        |id: &str| json!({ "provider": "google-vertex", "id": id, "project": "example.com:my-project", "location": "us-east5" });
    let claude = found(vertex("claude-sonnet-4-5@20250929"), &[]).url;
    assert_eq!(
        claude.as_str(),
        "https://us-east5-aiplatform.googleapis.com/v1/projects/example.com:my-project/locations/us-east5/publishers/anthropic/\
         models/claude-sonnet-4-5@20250929:streamRawPredict"
    );
    let gateway = json!({ "provider": "google", "id": "models/acme/gemini-3", "base_url": "http://127.0.0.1:4000" });
    assert_eq!(
        found(gateway, &[]).url.as_str(),
        "http://127.0.0.1:4000/v1beta/models/acme/gemini-3:streamGenerateContent?alt=sse"
    );
    let azure = json!({ "provider": "azure-openai", "id": "my_deployment-1.2", "protocol": "openai_chat", "api_version": "1" });
    let azure = found(azure, &[AZURE]).url;
    assert_eq!(azure.as_str(), "https://r.openai.azure.com/openai/deployments/my_deployment-1.2/chat/completions?api-version=1");
    // It stands in the body alone.
    assert!(find(json!("openrouter/acme/x?y#z"), &[]).is_ok());
}
