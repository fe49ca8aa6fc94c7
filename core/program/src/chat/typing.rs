//! What is typed while the model works: it is noticed without echo, and becomes a line that steers the run.

use tokio::sync::mpsc::UnboundedReceiver;
#[cfg(unix)]
use tokio::sync::mpsc::unbounded_channel;

/// What was typed.
pub(super) struct Typed {
    /// Whole lines.
    pub(super) lines: Vec<String>,
    /// The beginning of another one, which is to be edited.
    pub(super) begun: String,
}

/// Watches the terminal, until something was typed or it is dropped; then the terminal is as it was before.
#[derive(Default)]
pub(super) struct Typing {
    typed: Option<UnboundedReceiver<Typed>>,
    #[cfg(unix)]
    watch: Option<watch::Watch>,
}

impl Typing {
    /// Watches, if somebody can type.
    pub(super) fn start() -> Typing {
        #[cfg(unix)]
        if super::is_interactive() {
            let (send, typed) = unbounded_channel();
            return Typing { typed: Some(typed), watch: watch::Watch::start(send) };
        }
        Typing::default()
    }

    /// Watches again. Not before the terminal is as it was.
    pub(super) fn restart(&mut self) {
        drop(self.stop());
        *self = Typing::start();
    }

    /// Gives what was typed, and `next` has not given.
    pub(super) fn stop(&mut self) -> Option<Typed> {
        let old = std::mem::take(self);
        // It may be reading.
        #[cfg(unix)]
        drop(old.watch);
        old.typed?.try_recv().ok()
    }

    /// Waits for something to be typed. Never ends without a terminal, and once something was.
    pub(super) async fn next(&mut self) -> Typed {
        let typed = match &mut self.typed {
            Some(typed) => typed.recv().await,
            None => None,
        };
        match typed {
            Some(typed) => typed,
            None => std::future::pending().await,
        }
    }
}

#[cfg(unix)]
mod watch {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::JoinHandle;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::stdio::stdin;
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
    use tokio::sync::mpsc::UnboundedSender;

    use super::super::stop;
    use super::Typed;

    /// How long the thread does not notice that it is to end.
    const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

    /// The value of a control character that is disabled: `_POSIX_VDISABLE`.
    const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

    /// A thread that waits for a key.
    pub(super) struct Watch {
        before: Termios,
        ends: Arc<AtomicBool>,
        thread: Option<JoinHandle<()>>,
    }

    impl Watch {
        pub(super) fn start(typed: UnboundedSender<Typed>) -> Option<Watch> {
            let before = tcgetattr(stdin()).ok()?;
            let mut quiet = before.clone();
            // Ctrl-C stays a signal. Ctrl-Z is a key: who is stopped has to put the terminal back before.
            quiet.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
            quiet.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
            tcsetattr(stdin(), OptionalActions::Now, &quiet).ok()?;
            let ends = Arc::new(AtomicBool::new(false));
            let of_thread = Arc::clone(&ends);
            let modes = (before.clone(), quiet);
            let thread = std::thread::spawn(move || wait(&of_thread, &typed, &modes));
            Some(Watch { before, ends, thread: Some(thread) })
        }
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            self.ends.store(true, Ordering::Release);
            if let Some(thread) = self.thread.take() {
                let _ = thread.join();
            }
            let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
        }
    }

    fn wait(ends: &AtomicBool, typed: &UnboundedSender<Typed>, (before, quiet): &(Termios, Termios)) {
        let stops = Some(before.special_codes[SpecialCodeIndex::VSUSP]).filter(|key| *key != NO_KEY);
        let mut bytes = Vec::new();
        while !ends.load(Ordering::Acquire) {
            let (input, mut buffer) = (stdin(), [0; 4096]);
            let mut descriptors = [PollFd::new(&input, PollFlags::IN)];
            if !poll(&mut descriptors, Some(&PATIENCE)).is_ok_and(|ready| ready > 0) {
                continue;
            }
            // They are the editor's.
            if ends.load(Ordering::Acquire) {
                return;
            }
            let Ok(count @ 1..) = rustix::io::read(stdin(), &mut buffer) else { return };
            bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
            // The rest of a character is still to come.
            if str::from_utf8(&bytes).is_err_and(|why| why.error_len().is_none()) {
                continue;
            }
            if stops.is_some_and(|key| bytes.contains(&key)) {
                let _ = tcsetattr(stdin(), OptionalActions::Now, before);
                stop::now();
                let _ = tcsetattr(stdin(), OptionalActions::Now, quiet);
            }
            if let Some(read) = super::read(&String::from_utf8_lossy(&bytes)) {
                // Whoever watches has it, also when the run is over.
                let _ = typed.send(read);
                return;
            }
            bytes.clear();
        }
    }
}

/// What the bytes of keys say; `None` for those that type nothing, such as arrows.
#[cfg_attr(not(unix), allow(dead_code))]
fn read(keys: &str) -> Option<Typed> {
    if keys.starts_with('\x1b') {
        return None;
    }
    let text = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>();
    let mut lines: Vec<String> = keys.split(['\r', '\n']).map(text).collect();
    let begun = lines.pop().unwrap_or_default();
    lines.retain(|line| !line.is_empty());
    (!lines.is_empty() || !begun.is_empty()).then_some(Typed { lines, begun })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[tokio::test]
    async fn what_is_typed_at_the_end_of_a_run_is_not_lost() {
        let (send, typed) = unbounded_channel();
        let mut typing = Typing { typed: Some(typed), watch: None };
        send.send(Typed { lines: Vec::new(), begun: "next".to_owned() }).ok().unwrap();
        assert!(typing.stop().is_some_and(|typed| typed.begun == "next"));
        assert!(typing.stop().is_none());
    }

    #[test]
    fn keys_are_lines_and_the_beginning_of_another() {
        let read = |keys: &str| read(keys).map(|typed| (typed.lines.join("|"), typed.begun));
        assert_eq!(read("In Celsius\r"), Some(("In Celsius".to_owned(), String::new())));
        assert_eq!(read("I"), Some((String::new(), "I".to_owned())));
        assert_eq!(read("one\r\ntwo\nth"), Some(("one|two".to_owned(), "th".to_owned())));
        assert_eq!([read("\x1b[A"), read("\r"), read("\x04")], [None, None, None]);
    }
}
