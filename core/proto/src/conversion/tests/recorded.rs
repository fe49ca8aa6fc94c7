//! Requests that real programs sent. They are not part of this repository: where they are not at hand (`../shared/wire` beside
//! it), the test says that it skips.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{canonical, read, written};
use crate::conversion::Format;

fn requests(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            requests(&path, out);
        } else if path.to_str().is_some_and(|name| name.ends_with("request.json")) {
            out.push(path);
        }
    }
}

fn format_of(path: &str) -> Format {
    match path {
        path if path.contains("anthropic-messages") || path.contains("/loops/anthropic") => Format::Anthropic,
        path if path.contains("openai-chat") || path.contains("/loops/chat") => Format::OpenaiChat,
        path if path.contains("openai-responses") || path.contains("/loops/responses") => Format::OpenaiResponses,
        _ => Format::Gemini,
    }
}

#[test]
fn recorded_requests_keep_what_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire");
    if !folder.is_dir() {
        eprintln!("skipped: {} is not there", folder.display());
        return;
    }
    let mut paths = Vec::new();
    requests(&folder, &mut paths);
    let mut count = 0;
    for path in &paths {
        let text = std::fs::read_to_string(path).unwrap();
        let request: Value = text.parse().unwrap();
        let body = &request["body"];
        let Some(messages) =
            ["messages", "input", "contents"].into_iter().find_map(|name| body.get(name)).filter(|m| m.is_array())
        else {
            continue;
        };
        let format = format_of(path.to_str().unwrap());
        let first = read(format, messages);
        let again = read(format, &written(format, &first).messages);
        // Made ids of Gemini's calls are in the second list; those of the first are the same.
        assert_eq!(canonical(&again), canonical(&first), "{}", path.display());
        assert_eq!(again.system_prompt, first.system_prompt);
        count += 1;
    }
    assert!(count > 100, "{count} of {}", paths.len());
}
