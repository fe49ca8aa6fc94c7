//! `transcript check`: what has to be repaired before a model can read a transcript.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use agent_loop::{ModelSpec, transcript};
use clap::ArgMatches;
use serde_json::{Value, json};

use crate::arguments;
use crate::exit;
use crate::failure::Failure;
use crate::history::messages_of;
use crate::settings::Settings;

/// The model that a transcript has to fit where none is named: one that takes what all take.
const STRICT: &str = "anthropic/claude-sonnet-4-5";

/// Checks a file. It fits when nothing is repaired.
pub(crate) fn check(settings: &Settings, matches: &ArgMatches, out: &mut dyn Write) -> Result<u8, Failure> {
    let Some(path) = matches.get_one::<PathBuf>("file") else { return Err(Failure::usage("which transcript?")) };
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|why| Failure::usage(format!("{} cannot be read: {why}", path.display())))?;
    let messages: Vec<Arc<_>> = messages_of(&text, &path.display().to_string())?;
    let named = arguments::text(matches, "model").map(Value::from);
    let model = match named.as_ref().or_else(|| settings.options.get("model")) {
        Some(Value::String(name)) => ModelSpec::parse(name)?,
        Some(spec) => ModelSpec::from_json(spec.clone())?,
        None => ModelSpec::parse(STRICT)?,
    };
    let repairs = transcript::check(&messages, &transcript::constraints(&model)?);
    if settings.as_json {
        writeln!(out, "{}", json!({ "messages": messages.len(), "repairs": repairs }))?;
    } else {
        for repair in &repairs {
            writeln!(out, "{}: {}", repair.code, repair.text)?;
        }
        let name = format!("{}/{}", model.provider, model.id);
        match repairs.len() {
            0 => writeln!(out, "{} messages, which {name} can read", messages.len())?,
            1 => writeln!(out, "{} messages, 1 repair for {name}", messages.len())?,
            count => writeln!(out, "{} messages, {count} repairs for {name}", messages.len())?,
        }
    }
    Ok(if repairs.is_empty() { exit::COMPLETED } else { exit::ERROR })
}
