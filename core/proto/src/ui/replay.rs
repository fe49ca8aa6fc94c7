//! Frames with ids: where a browser goes on that has lost its connection.

/// The end of a frame.
const END: &str = "\n\n";

/// Gives frames their ids: the run's id, and a number that counts from 1.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// Not that of a subagent, whose events come between.
    run: String,
    given: u64,
}

impl Numbers {
    /// Appends frames of an event of this run, or of one under it.
    pub(super) fn add(&mut self, frames: &str, run: &str, out: &mut String) {
        if self.given == 0 {
            self.run = run.to_owned();
        }
        for frame in frames.split_inclusive(END) {
            self.given += 1;
            out.push_str("id: ");
            out.push_str(&self.run);
            out.push('-');
            out.push_str(&self.given.to_string());
            out.push('\n');
            out.push_str(frame);
        }
    }
}

/// What of the frames that were sent follows the one with this id: the header `Last-Event-ID` of a browser that comes back.
/// `None` if none of them has it: it is of another run, or of a later frame.
///
/// ```
/// use agent_loop_proto::ui::frames_after;
///
/// let sent = "id: run-1\ndata: {}\n\nid: run-2\ndata: [DONE]\n\n";
/// assert_eq!(frames_after(sent, "run-1"), Some("id: run-2\ndata: [DONE]\n\n"));
/// assert_eq!(frames_after(sent, "run-2"), Some(""));
/// assert_eq!(frames_after(sent, "another-1"), None);
/// ```
pub fn frames_after<'a>(sent: &'a str, last_event_id: &str) -> Option<&'a str> {
    let mut rest = sent;
    while !rest.is_empty() {
        let (frame, behind) = rest.split_at(rest.find(END).map_or(rest.len(), |at| at + END.len()));
        let id = frame.strip_prefix("id: ").and_then(|frame| frame.split_once('\n')).map(|(id, _)| id);
        if id == Some(last_event_id) {
            return Some(behind);
        }
        rest = behind;
    }
    None
}
