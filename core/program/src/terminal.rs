//! The terminal: as it was when the program began, whatever happens; and texts that do nothing to it but show.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
#[cfg(unix)]
use std::sync::OnceLock;
use std::sync::{Mutex, PoisonError};

#[cfg(unix)]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(unix)]
use rustix::process::getpgrp;
#[cfg(unix)]
use rustix::stdio::{stdin, stdout};
#[cfg(unix)]
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// As it was, if there is one.
#[cfg(unix)]
static BEFORE: OnceLock<Option<Termios>> = OnceLock::new();

/// Notes how the terminal is, before anything changes it.
pub(crate) fn remember() {
    #[cfg(unix)]
    BEFORE.get_or_init(|| tcgetattr(stdin()).ok());
}

/// What is written to the terminal before the process ends.
static LAST: Mutex<&str> = Mutex::new("");

/// Sets what is written to the terminal if the process ends now, in the middle of a line.
pub(crate) fn leave_with(last: &'static str) {
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = last;
}

/// Ends the process, with the terminal as it was.
pub(crate) fn exit(code: u8) -> ! {
    #[cfg(unix)]
    if let Some(Some(before)) = BEFORE.get()
        && !is_in_background()
    {
        let (output, last) = (stdout(), *LAST.lock().unwrap_or_else(PoisonError::into_inner));
        let mut descriptors = [PollFd::new(&output, PollFlags::OUT)];
        // A write would block if the terminal is stopped, or if nobody reads it.
        if !last.is_empty() && poll(&mut descriptors, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
            // Not through the standard library: another thread may hold its lock.
            let _ = rustix::io::write(output, last.as_bytes());
        }
        let _ = tcsetattr(stdin(), OptionalActions::Now, before);
    }
    std::process::exit(code.into())
}

/// Whether another program has the terminal.
#[cfg(unix)]
fn is_in_background() -> bool {
    tcgetpgrp(stdin()).is_ok_and(|foreground| foreground != getpgrp())
}

/// Whether standard output is a terminal whose last line can be written anew.
pub(crate) fn moves() -> bool {
    io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether lines are edited, and keys are read as they come.
pub(crate) fn edits() -> bool {
    io::stdin().is_terminal() && moves()
}

/// Where somebody answers questions: standard input, or the terminal of the process where something is piped in.
pub(crate) fn answers() -> Option<Box<dyn BufRead>> {
    if io::stdin().is_terminal() {
        return Some(Box::new(io::stdin().lock()));
    }
    let terminal = if cfg!(unix) { File::open("/dev/tty").ok() } else { None };
    terminal.map(|terminal| Box::new(BufReader::new(terminal)) as Box<dyn BufRead>)
}

/// How many characters a line has, where that is known.
pub(crate) fn width() -> Option<usize> {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(rustix::stdio::stdout()) {
        return Some(usize::from(size.ws_col)).filter(|columns| *columns > 0);
    }
    None
}

/// A text of a model or a tool without what a terminal would act on: colours, titles, the clipboard. Lines and tabs stay.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let acts = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(acts) { text.replace(acts, "\u{fffd}").into() } else { text.into() }
}

/// The same of what the user decides about: nothing in it is invisible, or changes the order in which the rest is read.
pub(crate) fn visible(text: &str) -> String {
    let hides = |c: char| {
        matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
            || (c.is_control() && c != '\n' && c != '\t')
    };
    let shown = text.chars().map(|c| if hides(c) { format!("<U+{:04X}>", u32::from(c)) } else { c.to_string() });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_does_nothing_to_the_terminal() {
        assert_eq!(plain("a\tb\n\u{1b}]52;c;eA==\u{7}"), "a\tb\n\u{fffd}]52;c;eA==\u{fffd}");
        assert_eq!(plain("עברית\u{200f}"), "עברית\u{200f}");
        assert_eq!(visible("rm \u{202e}txt.exe\u{1b}[2J"), "rm <U+202E>txt.exe<U+001B>[2J");
    }
}
