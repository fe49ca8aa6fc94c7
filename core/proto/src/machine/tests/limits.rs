//! Time: backoff, limits and the grace time of an abort.

use super::drive::{Drive, call, config, fails, says};
use crate::machine::Input;
use crate::settings::Settings;
use crate::usage::Outcome;

#[test]
fn the_backoff_doubles_up_to_its_cap() {
    let settings = config(&[], |settings| {
        settings.retry.max_retries = 3;
        settings.retry.max_retry_delay_ms = 1500;
    });
    let mut drive = Drive::new(settings, &[(); 3].map(|()| fails("overloaded", true)));
    let mut waits = Vec::new();
    for _ in 0..3 {
        drive.rest();
        let at_ms = drive.timer_ms.unwrap();
        waits.push(at_ms - drive.now_ms);
        drive.now_ms = at_ms;
    }
    assert_eq!(waits, [500, 1000, 1500]);
}

type Limit = (&'static str, fn(&mut Settings));

#[test]
fn each_limit_of_a_silent_model_ends_the_run() {
    let limits: [Limit; 3] = [
        ("first_byte_timeout_ms (40)", |settings| settings.limits.first_byte_timeout_ms = 40),
        ("request_timeout_ms (40)", |settings| settings.limits.request_timeout_ms = 40),
        ("run_timeout_ms (40)", |settings| settings.limits.run_timeout_ms = 40),
    ];
    for (name, set) in limits {
        let settings = config(&[], |settings| {
            set(settings);
            settings.retry.max_retries = 0;
        });
        let mut drive = Drive::new(settings, &[]);
        drive.rest();
        assert_eq!(drive.timer_ms, Some(40), "{name}");
        let (result, _) = drive.end();
        assert_eq!(result.outcome, Outcome::Error);
        assert!(result.error.unwrap().message().contains(name), "{name}");
    }
}

#[test]
fn a_silent_tool_is_abandoned_after_its_limit() {
    let mut drive = Drive::new(config(&[], |settings| settings.limits.tool_timeout_ms = 30), &[call("a"), says("Done.")]);
    drive.answers_tools = false;
    let (result, seen) = drive.end();
    assert_eq!(result.outcome, Outcome::Completed);
    assert!(seen.contains(&"cancel tool, abandoned: true".to_owned()), "{seen:?}");
}

#[test]
fn an_abort_gives_tools_the_grace_time() {
    let mut drive = Drive::new(config(&[], |settings| settings.abort_grace_ms = 70), &[call("a")]);
    (drive.answers_tools, drive.now_ms) = (false, 5);
    drive.rest();
    drive.run.handle(Input::Abort);
    drive.rest();
    assert_eq!(drive.timer_ms, Some(75));
    let (result, seen) = drive.end();
    assert_eq!(result.outcome, Outcome::Aborted);
    let cancels: Vec<&String> = seen.iter().filter(|step| step.starts_with("cancel")).collect();
    assert_eq!(cancels, ["cancel tool, abandoned: false", "cancel tool, abandoned: true"]);
}
