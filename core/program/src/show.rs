//! What is shown of a run: the answer on standard output as it comes, what tools do on standard error.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use agent_loop::{Event, EventData, MessageUpdate, RunResult};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::{plain, visible};

/// How a run is shown.
enum How {
    /// Events, as JSON lines.
    Json,
    /// The answer as it comes, and what tools do.
    Text,
    /// The last answer, when it is there.
    Answer,
}

/// Shows runs.
pub(crate) struct Show {
    how: How,
    out: Box<dyn Write + Send>,
    /// Whether texts reach a terminal, which must not act on what is in them.
    is_terminal: bool,
    /// What tools do, and what is unusual.
    notes: bool,
    /// Whether repairs and the like are shown, too.
    verbose: bool,
    /// Whether what was written last ends in the middle of a line.
    in_line: bool,
    /// Whether an answer has been written.
    has_text: bool,
    /// The calls that were shown: one that was approved begins again.
    listed: HashSet<String>,
    /// Whether events have the time at which they come.
    is_timed: bool,
}

/// The most characters of a call's arguments or of an error that are shown.
const LONGEST: usize = 120;

impl Show {
    /// As the command line says. `output` is the file of `--output`.
    pub(crate) fn new(settings: &Settings, output: Option<&Path>) -> Result<Show, Failure> {
        let out: Box<dyn Write + Send> = match output {
            None => Box::new(io::stdout()),
            Some(path) if settings.as_json => {
                let made = File::create(path);
                Box::new(made.map_err(|why| Failure::usage(format!("{} cannot be written: {why}", path.display())))?)
            }
            Some(path) => Box::new(AnswerFile::open(path)?),
        };
        let how = match (settings.as_json, settings.quiet || output.is_some()) {
            (true, _) => How::Json,
            (false, true) => How::Answer,
            (false, false) => How::Text,
        };
        let is_terminal = output.is_none() && io::stdout().is_terminal();
        let notes = !settings.quiet && !settings.as_json;
        Ok(Show {
            how,
            out,
            is_terminal,
            notes,
            verbose: settings.verbose,
            in_line: false,
            has_text: false,
            listed: HashSet::new(),
            is_timed: true,
        })
    }

    /// The same for a run that is played: the time is not that of its events.
    pub(crate) fn untimed(mut self) -> Show {
        self.is_timed = false;
        self
    }

    /// Shows an event.
    pub(crate) fn event(&mut self, event: &Event) -> io::Result<()> {
        if let How::Json = self.how {
            let line = event.to_json();
            let line = if self.is_timed { timed(&line, SystemTime::now()) } else { line };
            return writeln!(self.out, "{line}");
        }
        match &event.data {
            EventData::MessageUpdate(MessageUpdate::TextStart { .. }) if self.has_text => self.separate(),
            EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) => self.text(delta),
            EventData::ToolExecutionStart { tool_call_id, tool_name, arguments, .. }
                if self.listed.insert(tool_call_id.to_string()) =>
            {
                let arguments = brief(arguments);
                self.note(&format!("- {tool_name} {arguments}"))
            }
            EventData::ToolExecutionEnd { tool_name, result, is_error: true, .. } => {
                self.note(&format!("  {tool_name} failed: {}", shortened(&result.text())))
            }
            EventData::Retry { delay_ms, error, .. } => self.note(&format!("  again in {delay_ms} ms: {}", error.message())),
            EventData::Diagnostic { message, data, .. } if self.verbose || is_loss(data) => self.note(&format!("  {message}")),
            _ => Ok(()),
        }
    }

    /// The run is over.
    pub(crate) fn end(&mut self, result: &RunResult) -> io::Result<()> {
        let answer = result.output.as_ref().map_or_else(|| result.text.clone(), Value::to_string);
        match self.how {
            How::Answer if !answer.is_empty() => writeln!(self.out, "{answer}")?,
            // A typed answer may be no text of the model's, but the arguments of a call.
            How::Text if result.output.is_some() && !self.has_text => writeln!(self.out, "{answer}")?,
            How::Text => self.end_line()?,
            How::Answer | How::Json => {}
        }
        self.out.flush()
    }

    fn text(&mut self, delta: &str) -> io::Result<()> {
        if let How::Text = self.how {
            let shown = if self.is_terminal { plain(delta) } else { delta.into() };
            self.out.write_all(shown.as_bytes())?;
            self.out.flush()?;
            (self.in_line, self.has_text) = (!delta.ends_with('\n'), true);
        }
        Ok(())
    }

    /// An empty line between two answers.
    fn separate(&mut self) -> io::Result<()> {
        if let How::Text = self.how {
            self.end_line()?;
            writeln!(self.out)?;
        }
        Ok(())
    }

    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.in_line) {
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// A line on standard error.
    pub(crate) fn note(&mut self, line: &str) -> io::Result<()> {
        if self.notes {
            self.end_line()?;
            self.out.flush()?;
            // Without standard error, the answer is still wanted.
            say!("{}", plain(line));
        }
        Ok(())
    }
}

/// Whether a diagnostic is about a file that the model does not get.
pub(crate) fn is_loss(data: &Value) -> bool {
    let repairs = data.get("repairs").and_then(Value::as_array).into_iter().flatten();
    let mut codes = repairs.filter_map(|repair| repair.get("code").and_then(Value::as_str));
    codes.any(|code| matches!(code, "file_replaced" | "image_replaced" | "image_dropped"))
}

/// The file of `--output`. What was in it before stays until there is an answer.
struct AnswerFile {
    path: PathBuf,
    answer: Vec<u8>,
}

impl AnswerFile {
    /// # Errors
    /// The file could not be written.
    fn open(path: &Path) -> Result<AnswerFile, Failure> {
        // Nothing is asked that could not be kept. A new file is one without an answer, as long as there is none.
        let opened = File::options().create(true).append(true).open(path);
        opened.map_err(|why| Failure::usage(format!("{} cannot be written: {why}", path.display())))?;
        Ok(AnswerFile { path: path.to_owned(), answer: Vec::new() })
    }
}

impl Write for AnswerFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.answer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.answer.is_empty() { Ok(()) } else { std::fs::write(&self.path, &self.answer) }
    }
}

/// An event with the time at which it came, in milliseconds since the epoch: `agent view` shows a timeline of it.
fn timed(event: &str, now: SystemTime) -> String {
    let ms = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    format!("{},\"time\":{ms}}}", event.trim_end_matches('\n').strip_suffix('}').unwrap_or(event))
}

/// Arguments in one line.
pub(crate) fn brief(arguments: &Map<String, Value>) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match arguments.len() {
        0 => String::new(),
        1 => shortened(&arguments.values().map(text).collect::<String>()),
        _ => shortened(&arguments.iter().map(|(name, value)| format!("{name}={}", text(value))).collect::<Vec<_>>().join(" ")),
    }
}

/// The beginning of a text, in one line and without what a terminal would act on.
pub(crate) fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = visible(&line);
    let mut characters = line.chars();
    let begin: String = characters.by_ref().take(LONGEST).collect();
    if characters.next().is_some() { format!("{begin}…") } else { begin }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_one_line() {
        let brief = |value: Value| brief(value.as_object().unwrap());
        assert_eq!(brief(json!({})), "");
        assert_eq!(brief(json!({ "command": "ls\n\x1b[31m -la" })), "ls <U+001B>[31m -la");
        assert_eq!(brief(json!({ "path": "a.txt", "limit": 3 })), "path=a.txt limit=3");
        assert_eq!(brief(json!({ "text": "x".repeat(500) })).chars().count(), LONGEST + 1);
    }
}
