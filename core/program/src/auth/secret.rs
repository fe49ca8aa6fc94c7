//! A key, from the terminal without showing it, or from standard input.

use std::io::{IsTerminal, Read};

use crate::failure::Failure;

/// The longest key that is read, in bytes.
const LONGEST: u64 = 64 << 10;

/// Reads a key: the whole of standard input, or a line that is typed.
pub(super) fn read(question: &str) -> Result<String, Failure> {
    let unread = |why: std::io::Error| Failure::error(format!("the key cannot be read: {why}"));
    let mut text = String::new();
    if std::io::stdin().is_terminal() {
        let _quiet = quiet::Quiet::begin()?;
        eprint_question(question);
        let read = std::io::stdin().read_line(&mut text);
        // The line break that was typed was not shown either.
        say!("");
        read.map_err(unread)?;
    } else {
        std::io::stdin().take(LONGEST + 1).read_to_string(&mut text).map_err(unread)?;
    }
    let key = text.trim();
    match key {
        "" => Err(Failure::usage("there is no key: type it, or pipe it into standard input")),
        "keyring" => Err(Failure::usage("\"keyring\" is no key: as an api_key it stands for what is stored")),
        _ if u64::try_from(text.len()).is_ok_and(|length| length > LONGEST) => {
            Err(Failure::usage(format!("the key has more than {LONGEST} bytes: is it another file?")))
        }
        _ if key.contains(char::is_control) => Err(Failure::usage("the key has a line break or another control character in it")),
        _ => Ok(key.to_owned()),
    }
}

fn eprint_question(question: &str) {
    use std::io::Write;

    let mut error = std::io::stderr();
    let _ = write!(error, "{question}").and_then(|()| error.flush());
}

#[cfg(unix)]
mod quiet {
    use rustix::stdio::stdin;
    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    use crate::failure::Failure;
    use crate::terminal;

    /// The terminal shows nothing of what is typed, until this is dropped.
    pub(super) struct Quiet(Termios);

    impl Quiet {
        pub(super) fn begin() -> Result<Quiet, Failure> {
            terminal::remember();
            let refused = |why| Failure::error(format!("the terminal would show the key ({why}): pipe it into standard input"));
            let before = tcgetattr(stdin()).map_err(refused)?;
            let mut quiet = before.clone();
            quiet.local_modes -= LocalModes::ECHO | LocalModes::ECHONL;
            tcsetattr(stdin(), OptionalActions::Flush, &quiet).map_err(refused)?;
            Ok(Quiet(before))
        }
    }

    impl Drop for Quiet {
        fn drop(&mut self) {
            let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
        }
    }
}

#[cfg(not(unix))]
mod quiet {
    use crate::failure::Failure;

    /// Without a way to hide what is typed, nothing is asked for.
    pub(super) struct Quiet;

    impl Quiet {
        pub(super) fn begin() -> Result<Quiet, Failure> {
            Err(Failure::usage("the terminal would show the key: pipe it into standard input"))
        }
    }
}
