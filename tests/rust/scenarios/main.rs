//! Plays every scenario of `tests/scenarios` and compares the result with its `expected.json`; `docs/scenarios.md` describes
//! both. Each run is recorded, and played again with the same events.
//!
//! `UI_FRAMES=FOLDER` writes what a browser gets of its runs instead, for tests/ui.
//!
//! `RECORD=1` writes `expected.json` instead. Read it before you commit it.

mod expected;
mod player;
mod replayed;
mod scenario;
#[cfg(feature = "store")]
mod session;
mod stepped;
#[cfg(feature = "ui")]
mod ui;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agent_loop::testing::check_events;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

use expected::Defaults;
use scenario::Scenario;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Scenarios are short, and some of them block on a tool that never answers.
    arguments.test_threads.get_or_insert(8);
    let mut trials: Vec<Trial> = folders().into_iter().map(trial).collect();
    #[cfg(feature = "store")]
    trials.extend(folders().into_iter().map(trial_with_session));
    trials.extend(stepped::trials());
    trials.push(Trial::test("comparison", || expected::check_comparison().map_err(Failed::from)));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios")
}

fn folders() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root()).expect("tests/scenarios");
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable entry").path()).collect();
    folders.retain(|path| path.join("scenario.json").exists());
    folders.sort();
    folders
}

fn trial(folder: PathBuf) -> Trial {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let skipped = scenario(&folder).is_ok_and(|scenario| scenario.skip.contains_key("rust"));
    Trial::test(name, move || test(&folder)).with_ignored_flag(skipped)
}

/// The same scenario by an agent that has a session: the same result.
#[cfg(feature = "store")]
fn trial_with_session(folder: PathBuf) -> Trial {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let scenario = scenario(&folder);
    let skipped = scenario.as_ref().is_ok_and(|scenario| scenario.skip.contains_key("rust"));
    let test = move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let result = runtime.block_on(session::play(scenario?))?;
        runtime.shutdown_background();
        let expected = Defaults::read()?.fill_in(&read(&folder.join("expected.json"))?);
        match expected::difference("", &expected::without_places(result), &expected::without_places(expected)) {
            None => Ok(()),
            Some(difference) => Err(difference.into()),
        }
    };
    Trial::test(format!("{name} with a session"), test).with_ignored_flag(skipped)
}

fn scenario(folder: &Path) -> Result<Scenario, String> {
    let path = folder.join("scenario.json");
    serde_json::from_value(read(&path)?).map_err(|error| format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn test(folder: &Path) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let recordings = tempfile::tempdir()?;
    let file = recordings.path().join("runs.jsonl");
    #[cfg(feature = "ui")]
    if let Some(out) = std::env::var_os("UI_FRAMES") {
        let path = Path::new(&out).join(folder.file_name().unwrap_or_default());
        return Ok(runtime.block_on(ui::write_frames(scenario(folder)?, &path))?);
    }
    let result = runtime.block_on(player::play(scenario(folder)?, |agent| agent.set_record(&*file)))?;
    runtime.block_on(check_recording(folder, &file, &result))?;
    runtime.shutdown_background();
    for run in result["runs"].as_array().into_iter().flatten() {
        let events = run["events"].as_array().map(Vec::as_slice).unwrap_or_default();
        check_events(events).map_err(|error| error.message().to_owned())?;
    }
    let (path, defaults) = (folder.join("expected.json"), Defaults::read()?);
    if std::env::var_os("RECORD").is_some() {
        return Ok(std::fs::write(&path, expected::text_of(&defaults.leave_out(&result)?))?);
    }
    match expected::difference("", &result, &defaults.fill_in(&read(&path)?)) {
        None => Ok(()),
        Some(difference) => Err(format!("{difference}\n\nthe whole result:\n{}", expected::text_of(&result)).into()),
    }
}

/// Each recorded run can be played again; and the scenario goes the same with the recorded answers in place of the model's.
async fn check_recording(folder: &Path, file: &Path, result: &Value) -> Result<(), Failed> {
    replayed::check(result, file).await?;
    // With recorded answers nothing waits for a limiter.
    let waits = scenario(folder)?.options.contains_key("limiter");
    if !waits && std::fs::metadata(file).is_ok_and(|file| file.len() > 0) {
        let replayed = player::play(scenario(folder)?, |agent| agent.set_replay(file)).await?;
        if let Some(difference) = expected::difference("", &replayed, result) {
            return Err(format!("with the option replay: {difference}").into());
        }
    }
    Ok(())
}
