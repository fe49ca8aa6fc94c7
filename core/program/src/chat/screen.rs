//! What is shown of a conversation: answers as Markdown on standard output, and what tools do; with a line that moves while
//! something is awaited, if this is a terminal.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, ErrorKind, Write};
use std::time::{Duration, Instant};

use agent_loop::{Event, EventData, MessageUpdate};

use super::markdown::Markdown;
use crate::exit;
use crate::show::{brief, is_loss, shortened};
use crate::terminal::{self, plain};

/// How often the line moves.
pub(super) const TICK: Duration = Duration::from_millis(120);

const FRAMES: [char; 4] = ['|', '/', '-', '\\'];

/// Erases the line that moves.
const ERASE: &str = "\r\x1b[K";

/// The terminal, or a pipe.
pub(super) struct Screen {
    quiet: bool,
    /// Whether repairs and the like are shown, too.
    verbose: bool,
    colours: bool,
    /// Whether the last line can be written anew.
    moves: bool,
    markdown: Markdown,
    /// What is awaited, since when; shown in the last line.
    awaited: Option<(String, Instant)>,
    is_drawn: bool,
    frame: usize,
    /// Whether the last character that was shown ended no line.
    in_line: bool,
    /// What is shown later, as a line is being edited.
    held: Option<String>,
    /// The calls that were shown: one that was approved begins again.
    listed: HashSet<String>,
}

impl Screen {
    pub(super) fn new(quiet: bool, verbose: bool) -> Screen {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let moves = terminal::moves();
        let colours = moves && variable("NO_COLOR").is_none();
        Screen {
            quiet,
            verbose,
            colours,
            moves,
            markdown: Markdown::new(colours),
            awaited: None,
            is_drawn: false,
            frame: 0,
            in_line: false,
            held: None,
            listed: HashSet::new(),
        }
    }

    /// A run begins.
    pub(super) fn begin(&mut self) {
        self.awaiting("thinking".to_owned());
    }

    /// A run is over.
    pub(super) fn end(&mut self) {
        self.awaited = None;
        let rest = self.markdown.end();
        self.write(&rest);
        self.end_line();
    }

    pub(super) fn event(&mut self, event: &Event) {
        match &event.data {
            EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) => {
                self.awaited = None;
                let shown = self.markdown.feed(&self.plain(delta));
                self.write(&shown);
                if !delta.is_empty() {
                    self.in_line = !delta.ends_with('\n');
                }
            }
            EventData::MessageUpdate(MessageUpdate::TextEnd { .. }) => {
                let rest = self.markdown.end();
                self.write(&rest);
                self.end_line();
            }
            EventData::MessageEnd { message } if message.role() == "assistant" => self.end_line(),
            EventData::TurnStart => self.awaiting("thinking".to_owned()),
            EventData::ToolExecutionStart { tool_call_id, tool_name, arguments, .. } => {
                let what = format!("{tool_name} {}", brief(arguments));
                if self.listed.insert(tool_call_id.to_string()) {
                    self.note(&format!("- {what}"));
                }
                self.awaiting(what);
            }
            EventData::ToolExecutionEnd { tool_name, result, is_error, .. } => {
                self.awaited = None;
                if *is_error {
                    self.note(&format!("  {tool_name} failed: {}", shortened(&result.text())));
                }
            }
            EventData::Retry { delay_ms, error, .. } => self.note(&format!("  again in {delay_ms} ms: {}", error.message())),
            EventData::Diagnostic { message, data, .. } if self.verbose || is_loss(data) => self.note(&format!("  {message}")),
            _ => {}
        }
    }

    /// A line that is no part of the answer.
    pub(super) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.line(text, "\x1b[2m");
        }
    }

    pub(super) fn error(&mut self, text: &str) {
        self.line(text, "\x1b[31m");
    }

    /// What the user has asked to see.
    pub(super) fn answer(&mut self, text: &str) {
        self.line(text, "");
    }

    /// As the terminal gets it. In a pipe a text stays as it is.
    fn plain<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.moves { plain(text) } else { text.into() }
    }

    fn line(&mut self, text: &str, style: &str) {
        self.end_line();
        let text = &self.plain(text);
        let styled = self.colours && !style.is_empty();
        self.write(&if styled { format!("{style}{text}\x1b[0m\n") } else { format!("{text}\n") });
        self.in_line = false;
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.in_line) {
            self.write("\n");
        }
    }

    /// A line is being edited: nothing else is written until it is done.
    pub(super) fn hold(&mut self) {
        self.end_line();
        self.erase();
        self.held = Some(String::new());
    }

    /// The line was edited.
    pub(super) fn release(&mut self) {
        if let Some(held) = self.held.take() {
            self.write(&held);
        }
    }

    fn awaiting(&mut self, what: String) {
        self.awaited = Some((what, Instant::now()));
    }

    /// Moves the line of what is awaited.
    pub(super) fn tick(&mut self) {
        if !self.moves || self.quiet || self.held.is_some() || self.in_line {
            return;
        }
        let Some((what, since)) = &self.awaited else { return };
        self.frame = (self.frame + 1) % FRAMES.len();
        let frame = FRAMES.get(self.frame).copied().unwrap_or_default();
        let passed = format!(" {} s", since.elapsed().as_secs());
        // A line that wraps could not be erased.
        let room = terminal::width().map_or(usize::MAX, |width| width.saturating_sub(passed.len() + 3));
        let what: String = shortened(what).chars().take(room).collect();
        let line = format!("{ERASE}{frame} {what}{passed}");
        let _ = io::stdout().write_all(line.as_bytes());
        let _ = io::stdout().flush();
        self.is_drawn = true;
        terminal::leave_with(ERASE);
    }

    fn erase(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            let _ = io::stdout().write_all(ERASE.as_bytes());
            terminal::leave_with("");
        }
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match &mut self.held {
            Some(held) => held.push_str(text),
            None => {
                self.erase();
                let written = io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush());
                // The reader of a pipe has gone. That a terminal has gone is noticed where keys are read.
                if written.is_err_and(|why| why.kind() == ErrorKind::BrokenPipe) {
                    terminal::exit(exit::BROKEN_PIPE);
                }
            }
        }
    }
}
