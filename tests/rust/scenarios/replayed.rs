//! The recorded runs of a scenario emit the same events when they are played again.

use std::path::Path;

use agent_loop::{Error, Replay, replay};
use serde_json::{Value, json};

use crate::scenario::rename_runs;

/// Plays each run of the file, and compares its events, byte for byte, with those of the scenario's result.
pub(crate) async fn check(result: &Value, file: &Path) -> Result<(), String> {
    let runs: Vec<&Value> = result["runs"].as_array().into_iter().flatten().collect();
    for (number, run) in (1..).zip(&runs) {
        let expected: Vec<String> = run["events"].as_array().into_iter().flatten().map(Value::to_string).collect();
        let events = events(Replay::of(file).run(number)).await.map_err(|error| format!("replay of run {number}: {error}"))?;
        if let Some(at) = (0..expected.len().max(events.len())).find(|at| events.get(*at) != expected.get(*at)) {
            let (now, before) = (events.get(at), expected.get(at));
            return Err(format!("replay of run {number}: event {at} is\n  {now:?}\nand was\n  {before:?}"));
        }
    }
    if runs.is_empty() {
        return Ok(());
    }
    match replay(Replay::of(file).run(runs.len() + 1)).stream() {
        Ok(_) => Err("a run was recorded that the scenario does not have".to_owned()),
        Err(_) => Ok(()),
    }
}

async fn events(recording: Replay) -> Result<Vec<String>, Error> {
    let mut run = replay(recording).stream()?;
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        let mut event = json!(event);
        event["run_id"] = "run".into();
        if event["type"] == "subagent_event" {
            event["event"]["run_id"] = "run".into();
        }
        rename_runs(&mut event);
        events.push(event.to_string());
    }
    Ok(events)
}
