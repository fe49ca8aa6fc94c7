//! Runs every scenario of `tests/scenarios` and compares the result with its `expected.json`. `docs/scenarios.md` describes the
//! format of a scenario.
//!
//! `RECORD=1` writes the result instead (for a new scenario; read it before you commit it).

mod act;
mod play;
mod scenario;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agent_loop::testing::check_events;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

use scenario::Scenario;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Scenarios are short, and those with a tool that never answers should run concurrently.
    arguments.test_threads.get_or_insert(8);
    let trials = folders().into_iter().map(|folder| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let scenario = Scenario::read(&folder);
        let skipped = scenario.as_ref().is_ok_and(|scenario| scenario.skip("rust").is_some());
        Trial::test(name, move || check(&folder, scenario?)).with_ignored_flag(skipped)
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// The folders of all scenarios, by name.
fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios");
    let entries = std::fs::read_dir(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let mut folders: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.join("scenario.json").exists()).collect();
    folders.sort();
    folders
}

fn check(folder: &Path, scenario: Scenario) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let happened = runtime.block_on(play::play(scenario))?;
    runtime.shutdown_background();
    for run in happened["runs"].as_array().into_iter().flatten() {
        let events = run["events"].as_array().map(Vec::as_slice).unwrap_or_default();
        check_events(events).map_err(|error| error.message().to_owned())?;
    }
    let path = folder.join("expected.json");
    if std::env::var_os("RECORD").is_some() {
        std::fs::write(&path, written(&happened))?;
        return Ok(());
    }
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let expected: Value = serde_json::from_str(&text)?;
    match difference("", &happened, &expected) {
        None => Ok(()),
        Some(difference) => Err(format!("{difference}\n\nthe result:\n{}", written(&happened)).into()),
    }
}

/// The first place where two values differ.
fn difference(path: &str, got: &Value, expected: &Value) -> Option<String> {
    match (got, expected) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = b.keys().chain(a.keys().filter(|key| !b.contains_key(*key)));
            keys.into_iter().find_map(|key| match (a.get(key), b.get(key)) {
                (Some(a), Some(b)) => difference(&format!("{path}/{key}"), a, b),
                (a, b) => Some(format!("{path}/{key}: got {a:?}, expected {b:?}")),
            })
        }
        (Value::Array(a), Value::Array(b)) => {
            let pairs = a.iter().zip(b).enumerate().find_map(|(i, (a, b))| difference(&format!("{path}/{i}"), a, b));
            pairs.or_else(|| (a.len() != b.len()).then(|| format!("{path}: got {} of them, expected {}", a.len(), b.len())))
        }
        _ => (got != expected).then(|| format!("{path}: got {got}, expected {expected}")),
    }
}

/// JSON for people who compare versions: one line for each member of a list.
fn written(value: &Value) -> String {
    fn write(value: &Value, depth: usize, out: &mut String) {
        let pad = "  ".repeat(depth + 1);
        let end = "  ".repeat(depth);
        match value {
            Value::Object(map) if depth < 3 && !map.is_empty() && !map.contains_key("type") && !map.contains_key("hook") => {
                out.push_str("{\n");
                for (i, (key, value)) in map.iter().enumerate() {
                    out.push_str(&format!("{pad}{}: ", Value::from(key.as_str())));
                    write(value, depth + 1, out);
                    out.push_str(if i + 1 < map.len() { ",\n" } else { "\n" });
                }
                out.push_str(&format!("{end}}}"));
            }
            Value::Array(list) if depth < 4 && !list.is_empty() => {
                out.push_str("[\n");
                for (i, value) in list.iter().enumerate() {
                    out.push_str(&pad);
                    write(value, depth + 1, out);
                    out.push_str(if i + 1 < list.len() { ",\n" } else { "\n" });
                }
                out.push_str(&format!("{end}]"));
            }
            other => out.push_str(&other.to_string()),
        }
    }
    let mut out = String::new();
    write(value, 0, &mut out);
    out.push('\n');
    out
}
