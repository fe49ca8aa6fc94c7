//! `replay`: a recorded run, shown as it was.

use std::path::PathBuf;

use agent_loop::{Replay, replay};
use clap::ArgMatches;

use crate::ending::Ending;
use crate::exit;
use crate::failure::Failure;
use crate::file;
use crate::settings::Settings;
use crate::show::Show;

/// Plays a run of a recording, and exits as the run did.
pub(crate) async fn play(settings: &Settings, matches: &ArgMatches, output: Option<&PathBuf>) -> Result<u8, Failure> {
    let Some(path) = matches.get_one::<PathBuf>("file") else { return Err(Failure::usage("which recording?")) };
    if !path.is_file() {
        return Err(Failure::usage(format!("{} is no file", path.display())));
    }
    file::check_different(&[("the recording", Some(path.clone())), ("--output", output.cloned())])?;
    let mut recording = Replay::of(path);
    if let Some(run) = matches.get_one::<u64>("run") {
        recording = recording.run(usize::try_from(*run).unwrap_or(usize::MAX));
    }
    let mut show = Show::new(settings, output.map(PathBuf::as_path))?.untimed();
    let mut run = replay(recording).stream()?;
    let mut ending = Ending::default();
    while let Some(event) = run.next().await {
        ending.event(&event);
        show.event(&event)?;
    }
    let result = run.ended().await?;
    show.end(&result)?;
    if let Some(error) = &result.error {
        say!("{}: {}", settings.spec.name(), error.message());
    } else if let Some(how) = ending.report(&result, run.agent()) {
        show.note(&how)?;
    }
    Ok(exit::of(&result, run.agent()))
}
