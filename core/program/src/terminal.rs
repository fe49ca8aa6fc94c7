//! The terminal: as it was when the program began, whatever happens; and texts that do nothing to it but show.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
#[cfg(unix)]
use std::sync::OnceLock;
use std::sync::{Mutex, PoisonError};

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

/// What the terminal gets before the process ends.
static LAST: Mutex<&str> = Mutex::new("");

/// Says what the terminal gets, if the process ends now: what it shows is not complete.
pub(crate) fn leave_with(last: &'static str) {
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = last;
}

/// Ends the process, with the terminal as it was.
pub(crate) fn exit(code: u8) -> ! {
    #[cfg(unix)]
    if let Some(Some(before)) = BEFORE.get()
        && is_ours()
    {
        let last = *LAST.lock().unwrap_or_else(PoisonError::into_inner);
        // Not through the standard library, whose lock may be held by who waits for the terminal.
        let _ = rustix::io::write(stdout(), last.as_bytes());
        let _ = tcsetattr(stdin(), OptionalActions::Now, before);
    }
    std::process::exit(code.into())
}

/// Whether the process is in the foreground: the terminal is another program's otherwise.
#[cfg(unix)]
fn is_ours() -> bool {
    tcgetpgrp(stdin()).is_ok_and(|foreground| foreground == getpgrp())
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
