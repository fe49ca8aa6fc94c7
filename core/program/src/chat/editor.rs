//! The line that the user edits. The editor blocks, so it has a thread of its own.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{commands, stop};
use crate::terminal;

/// In front of a prompt for the agent.
pub(super) const PROMPT: &str = "> ";

/// In front of a message to the model that works.
pub(super) const STEER: &str = "steer> ";

/// What the user gave.
pub(super) enum Read {
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// The input has ended.
    Closed,
    /// It cannot be read.
    Failed(String),
}

struct Asked {
    prompt: String,
    initial: String,
}

/// The editor's other side.
pub(super) struct Editor {
    asks: Sender<Asked>,
    answers: UnboundedReceiver<Read>,
    is_asked: bool,
    /// What was typed too late to steer: the beginning of the next prompt.
    kept: String,
}

impl Editor {
    /// Begins with the lines of the file, to which prompts are added.
    pub(super) fn start(history: PathBuf) -> Editor {
        let (asks, asked) = channel();
        let (answer, answers) = unbounded_channel();
        // It ends with the process, wherever it is.
        std::thread::spawn(move || work(&asked, &answer, history));
        Editor { asks, answers, is_asked: false, kept: String::new() }
    }

    /// Has a line edited. The answer is `answer`'s.
    pub(super) fn ask(&mut self, prompt: &str, initial: &str) {
        let asked = Asked { prompt: prompt.to_owned(), initial: initial.to_owned() };
        self.is_asked = self.asks.send(asked).is_ok();
    }

    /// The line that was asked for; without one, this never ends.
    pub(super) async fn answer(&mut self) -> Read {
        if !self.is_asked {
            return std::future::pending().await;
        }
        let read = self.answers.recv().await.unwrap_or(Read::Closed);
        self.is_asked = false;
        read
    }

    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Has a line edited, and gives it.
    pub(super) async fn line(&mut self, prompt: &str) -> Read {
        // A question is answered by what is typed after it.
        let kept = if prompt == PROMPT { std::mem::take(&mut self.kept) } else { String::new() };
        // Nobody edits what comes from a pipe.
        if !kept.is_empty() && !io::stdin().is_terminal() {
            return Read::Line(kept);
        }
        self.ask(prompt, &kept);
        if !self.is_asked {
            return Read::Closed;
        }
        self.answer().await
    }

    /// Keeps what was typed for the next prompt, behind what is kept.
    pub(super) fn keep(&mut self, line: &str) {
        self.kept = [&*self.kept, line].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    }

    /// Keeps what was typed earlier, in front of what is kept.
    pub(super) fn keep_first(&mut self, line: &str) {
        let later = std::mem::replace(&mut self.kept, line.to_owned());
        self.keep(&later);
    }
}

type LineEditor = rustyline::Editor<Completions, FileHistory>;

/// Turns off bracketed paste, which the editor has turned on, and ends the line.
const LEFT: &str = "\x1b[?2004l\r\n";

fn work(asked: &Receiver<Asked>, answer: &UnboundedSender<Read>, history: PathBuf) {
    let Ok(mut editor) = LineEditor::new() else { return };
    editor.set_helper(Some(Completions));
    // There is none at first.
    let _ = editor.load_history(&history);
    while let Ok(Asked { prompt, initial }) = asked.recv() {
        let is_prompt = prompt == PROMPT;
        terminal::leave_with(if terminal::edits() { LEFT } else { "" });
        let line = stop::unblocked(|| match is_prompt {
            true => editor.readline_with_initial(&prompt, (&initial, "")),
            // With an editor of its own: what was typed ahead is for the prompt, and answers no question. What is typed behind
            // such a line in the same moment is lost.
            false => LineEditor::new().and_then(|mut editor| editor.readline_with_initial(&prompt, (&initial, ""))),
        });
        terminal::leave_with("");
        let read = match line {
            Ok(line) => {
                if is_prompt && !line.trim().is_empty() && editor.add_history_entry(&line).unwrap_or(false) {
                    // Without it, the conversation still goes on.
                    let _ = editor.append_history(&history);
                }
                Read::Line(line)
            }
            Err(ReadlineError::Interrupted) => Read::Interrupted,
            Err(ReadlineError::Eof) => Read::Closed,
            Err(why) => Read::Failed(why.to_string()),
        };
        if answer.send(read).is_err() {
            return;
        }
    }
}

/// Completes the names of commands.
struct Completions;

impl Completer for Completions {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..pos).unwrap_or_default();
        let known = commands::names().map(|name| format!("/{name}"));
        Ok((0, known.filter(|name| typed.starts_with('/') && name.starts_with(typed)).collect()))
    }
}

impl Hinter for Completions {
    type Hint = String;
}

impl Highlighter for Completions {}
impl Validator for Completions {}
impl Helper for Completions {}
