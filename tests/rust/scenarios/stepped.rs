//! Plays the tapes of the scenarios, `steps.jsonl`, through loops that are stepped from outside, as hosts of other languages do:
//! the events are those that the scenarios expect. Each is played twice: the second time the loop is saved and loaded after each
//! action, which may change none of them.

use agent_loop::host::{HostLoop, Spelling};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::expected::{Defaults, difference};

/// A test for each tape.
pub(crate) fn trials() -> Vec<Trial> {
    let text = std::fs::read_to_string(crate::root().join("steps.jsonl")).expect("steps.jsonl");
    let tapes = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a tape"));
    tapes
        .map(|tape| {
            let skipped = !tape["skipped"].is_null();
            let name = format!("stepped::{}", tape["scenario"].as_str().unwrap_or_default());
            Trial::test(name, move || Ok(test(&tape)?)).with_ignored_flag(skipped)
        })
        .collect()
}

fn test(tape: &Value) -> Result<(), String> {
    let folder = crate::root().join(tape["scenario"].as_str().unwrap_or_default());
    let expected = Defaults::read()?.fill_in(&crate::read(&folder.join("expected.json"))?);
    for (place, run) in tape["runs"].as_array().into_iter().flatten().enumerate() {
        let played = Stepper::play(run, false).map_err(|why| format!("run {place}: {why}"))?;
        let expected = &expected["runs"][place]["events"];
        if let Some(difference) = difference("", &Value::Array(played.events), expected) {
            return Err(format!("run {place}: {difference}\n\n{}", played.actions.join("\n")));
        }
        let saved = Stepper::play(run, true).map_err(|why| format!("run {place}, saved and loaded: {why}"))?;
        let mut pairs = saved.actions.iter().zip(&played.actions);
        if let Some((saved, played)) = pairs.find(|(saved, played)| saved != played) {
            return Err(format!("run {place}: saved and loaded: {saved}, otherwise: {played}"));
        }
        if saved.actions.len() != played.actions.len() {
            return Err(format!("run {place}: saved and loaded, it has another number of actions"));
        }
    }
    Ok(())
}

struct Stepper {
    run: HostLoop,
    saves: bool,
    now_ms: u64,
    timer_ms: Option<u64>,
    is_over: bool,
    actions: Vec<String>,
    events: Vec<Value>,
}

impl Stepper {
    fn play(tape: &Value, saves: bool) -> Result<Stepper, String> {
        let error = |error: agent_loop::Error| error.message().to_owned();
        let options = tape["options"].as_object().cloned().unwrap_or_default();
        let run = HostLoop::new(options, Spelling::Snake).map_err(error)?;
        let now_ms = tape["at_ms"].as_u64().unwrap_or_default();
        let (actions, events) = (Vec::new(), Vec::new());
        let mut stepper = Stepper { run, saves, now_ms, timer_ms: None, is_over: false, actions, events };
        for entry in tape["inputs"].as_array().into_iter().flatten() {
            let events = entry["events"].as_u64().unwrap_or_default() as usize;
            let at_once = entry["at_once"] == true;
            stepper.poll_until(entry["at_ms"].as_u64(), |stepper| at_once && stepper.events.len() == events)?;
            if stepper.events.len() != events {
                return Err(format!("{entry} comes after {events} events, not {}", stepper.events.len()));
            }
            stepper.run.handle(&entry["input"], Spelling::Snake).map_err(error)?;
        }
        stepper.poll_until(None, |stepper| stepper.is_over)?;
        Ok(stepper)
    }

    /// Lets the loop go on until this time, or until it is enough.
    fn poll_until(&mut self, at_ms: Option<u64>, is_enough: impl Fn(&Stepper) -> bool) -> Result<(), String> {
        while !is_enough(self) {
            if self.poll()? {
                continue;
            }
            if at_ms == Some(self.now_ms) {
                break;
            }
            let timer_ms = self.timer_ms.filter(|timer_ms| *timer_ms > self.now_ms);
            let next = timer_ms.into_iter().chain(at_ms).min();
            self.now_ms = next.ok_or_else(|| format!("it waits:\n{}", self.actions.join("\n")))?;
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<bool, String> {
        let Some(action) = self.run.poll(self.now_ms) else {
            return Ok(false);
        };
        let action = serde_json::to_value(&action).map_err(|error| error.to_string())?;
        match action["type"].as_str() {
            Some("event") => self.events.push(action["event"].clone()),
            Some("set_timer") => self.timer_ms = action["at_ms"].as_u64(),
            Some("done") => self.is_over = true,
            _ => {}
        }
        self.actions.push(action.to_string());
        if self.saves {
            let saved = self.run.save().map_err(|error| error.to_string())?;
            self.run = HostLoop::load(&saved).map_err(|error| error.to_string())?;
        }
        Ok(true)
    }
}
