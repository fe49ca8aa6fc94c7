//! Plays every scenario of `tests/scenarios` through the loop alone: no runtime, no threads, no clock. `docs/scenarios.md`
//! describes the format. Each scenario is played several times: the loop is saved and loaded after each action, or the agent has
//! a session, and neither may change anything. Wherever a process ends that has a session, the next one goes on.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // It reads files.

#[path = "../../../../tests/rust/scenarios/expected.rs"]
mod expected;
mod player;
#[path = "../../../../tests/rust/scenarios/scenario.rs"]
mod scenario;
mod session;
mod tape;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agent_loop_proto::testing::check_events;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};

use expected::Defaults;
use scenario::Scenario;

fn main() -> ExitCode {
    let mut trials: Vec<Trial> = folders().into_iter().flat_map(trials).collect();
    trials.push(Trial::test("comparison", || expected::check_comparison().map_err(Failed::from)));
    trials.push(Trial::test("tapes", || the_tapes_are_as_they_are_stored().map_err(Failed::from)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenarios")
}

fn folders() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root()).expect("tests/scenarios");
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable entry").path()).collect();
    folders.retain(|path| path.join("scenario.json").exists());
    folders.sort();
    folders
}

fn read(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn trials(folder: PathBuf) -> [Trial; 2] {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let skipped = scenario(&folder).is_ok_and(|scenario| scenario.skip.contains_key("loop"));
    let (journaled, with_session) = (format!("{name} with a session"), folder.clone());
    [
        Trial::test(name, move || plays_the_same_saved_and_loaded(&folder)).with_ignored_flag(skipped),
        Trial::test(journaled, move || plays_the_same_with_a_session(&with_session)).with_ignored_flag(skipped),
    ]
}

/// `RECORD=1` writes them.
fn the_tapes_are_as_they_are_stored() -> Result<(), String> {
    let mut lines = String::new();
    for folder in folders() {
        let scenario = scenario(&folder)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let line = match scenario.skip.get("loop") {
            Some(why) => json!({ "scenario": name, "skipped": why }),
            None => player::play(scenario, false).map_err(|error| error.to_string())?.1.line(&name),
        };
        lines += &format!("{line}\n");
    }
    let path = root().join("steps.jsonl");
    if std::env::var_os("RECORD").is_some() {
        return std::fs::write(path, lines).map_err(|error| error.to_string());
    }
    let stored = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    match stored.lines().zip(lines.lines()).find(|(stored, now)| stored != now) {
        Some((_, now)) => Err(format!("steps.jsonl is not what RECORD=1 would write; the first other line is {now:.200}")),
        None if stored.len() != lines.len() => Err("steps.jsonl has more or fewer lines than there are scenarios".to_owned()),
        None => Ok(()),
    }
}

fn scenario(folder: &Path) -> Result<Scenario, String> {
    let path = folder.join("scenario.json");
    serde_json::from_value(read(&path)?).map_err(|error| format!("{}: {error}", path.display()))
}

fn plays_the_same_saved_and_loaded(folder: &Path) -> Result<(), Failed> {
    let defaults = Defaults::read()?;
    let expected = defaults.fill_in(&read(&folder.join("expected.json"))?);
    let (result, _) = player::play(scenario(folder)?, false)?;
    for run in result["runs"].as_array().into_iter().flatten() {
        let events = run["events"].as_array().map(Vec::as_slice).unwrap_or_default();
        check_events(events).map_err(|error| error.message().to_owned())?;
    }
    if let Some(difference) = expected::difference("", &result, &expected) {
        return Err(format!("{difference}\n\nthe whole result:\n{}", expected::text_of(&result)).into());
    }
    // With a loop that is saved and loaded after each action, the result is the same. As text: the order of keys counts, too.
    let (saved, _) = player::play(scenario(folder)?, true)?;
    let texts = [&saved, &result].map(ToString::to_string);
    if texts[0] == texts[1] {
        return Ok(());
    }
    let difference = expected::difference("", &saved, &result).unwrap_or_else(|| "the order of fields".to_owned());
    Err(format!("saved and loaded after each action: {difference}").into())
}

/// The journal changes nothing, holds the conversation, and is enough to go on from wherever it ends.
fn plays_the_same_with_a_session(folder: &Path) -> Result<(), Failed> {
    let expected = expected::without_places(player::play(scenario(folder)?, false)?.0);
    for saves in [false, true] {
        let (played, journal) = player::play_journaled(scenario(folder)?, saves)?;
        if let Some(difference) = expected::difference("", &expected::without_places(played), &expected) {
            return Err(format!("with a session: {difference}").into());
        }
        journal.check_each_end(&player::tools(&scenario(folder)?)?)?;
    }
    Ok(())
}
