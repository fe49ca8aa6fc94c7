//! Observes a loop and writes the lines of its recording.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;

use super::line::{Check, Head, Line, RECORDING_VERSION, storable};
use super::output::{RequestLine, output};
use crate::machine::{Action, Config, EndCause, Input, Observed, Observer, Start, TimeCheck};

/// The recording of one run while it goes on. Clones are the same recording.
#[derive(Debug, Clone)]
pub struct Recorder {
    lines: Arc<Mutex<Lines>>,
    has_frames: bool,
}

/// The lines of a run.
#[derive(Debug, Default)]
struct Lines {
    text: Vec<u8>,
    count: usize,
    /// The polls at one time, which are one line, and the lines of what they gave.
    polls: Option<(u64, u64)>,
    given: Vec<u8>,
    given_count: usize,
    /// The last line, if it is the time: the same again changes nothing.
    time: Option<(u64, Check)>,
    /// Whether the run is over, and what still comes is not recorded.
    is_over: bool,
}

impl Recorder {
    /// A recording without any line; with the frames of the models' answers, if `has_frames`.
    pub fn new(has_frames: bool) -> Recorder {
        Recorder { lines: Arc::default(), has_frames }
    }

    /// What records the loop that begins with it: for [`Start::observed`].
    pub fn observed(&self) -> Observed {
        let recorder = self.clone();
        Observed::by(move |config, start| {
            recorder.begin(config, start);
            Box::new(recorder.clone())
        })
    }

    /// Whether the recording is to have the frames of the models' answers.
    pub fn has_frames(&self) -> bool {
        self.has_frames
    }

    /// A frame of a model's answer, as the provider has sent it.
    pub fn frame(&self, call: u32, data: &Value) {
        // Before what its deltas lead to.
        let mut lines = self.lines();
        lines.close_polls();
        lines.push(&Frame { frame: FrameLine { call, data } });
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.lines().count == 0
    }

    /// The lines so far, with one that says that the run is over. Nothing is left, and what follows is not recorded.
    pub fn take_text(&self) -> Vec<u8> {
        let mut lines = self.lines();
        if lines.count == 0 {
            return Vec::new();
        }
        lines.close_polls();
        let count = lines.count;
        lines.push(&Line::End { lines: count });
        std::mem::replace(&mut *lines, Lines { is_over: true, ..Lines::default() }).text
    }

    fn begin(&self, config: &Config, start: &Start) {
        let head = Head {
            agent_loop_recording: RECORDING_VERSION,
            library: env!("CARGO_PKG_VERSION").to_owned(),
            config: Cow::Borrowed(config),
            start: Cow::Borrowed(start),
        };
        self.lines().push(&head);
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// [`Line::Frame`], [`Line::Request`] and [`Line::Input`] without copies of what they hold.
#[derive(Serialize)]
struct Frame<'a> {
    frame: FrameLine<'a>,
}

#[derive(Serialize)]
struct FrameLine<'a> {
    call: u32,
    data: &'a Value,
}

#[derive(Serialize)]
struct Request<'a> {
    request: RequestLine<'a>,
}

#[derive(Serialize)]
struct Given<'a> {
    input: &'a Input,
}

impl Lines {
    /// A line after what the polls before it gave.
    fn push(&mut self, line: &impl Serialize) {
        if self.is_over {
            return;
        }
        self.time = None;
        write(&mut self.text, line);
        self.count += 1;
    }

    /// A line of what the last poll gave.
    fn push_given(&mut self, line: &impl Serialize) {
        if self.is_over {
            return;
        }
        write(&mut self.given, line);
        self.given_count += 1;
    }

    fn close_polls(&mut self) {
        if let Some((at, times)) = self.polls.take() {
            self.push(&Line::Poll { at, times });
            self.text.append(&mut self.given);
            self.count += std::mem::take(&mut self.given_count);
        }
    }

    fn poll(&mut self, now_ms: u64) {
        match &mut self.polls {
            Some((at, times)) if *at == now_ms => *times += 1,
            _ => {
                self.close_polls();
                self.polls = Some((now_ms, 1));
            }
        }
    }
}

fn write(text: &mut Vec<u8>, line: &impl Serialize) {
    let before = text.len();
    // What a loop takes in and gives can be written: all map keys are texts.
    match serde_json::to_writer(&mut *text, line) {
        Ok(()) => text.push(b'\n'),
        Err(_) => text.truncate(before),
    }
}

impl Observer for Recorder {
    fn input(&mut self, input: &Input) {
        let mut lines = self.lines();
        lines.close_polls();
        lines.push(&Given { input: &storable(input) });
    }

    fn polled(&mut self, now_ms: u64, action: Option<&Action>) {
        let mut lines = self.lines();
        lines.poll(now_ms);
        match action {
            None => {}
            // Not through a value: the body is written byte for byte.
            Some(Action::CallModel(call)) => lines.push_given(&Request { request: RequestLine::of(call) }),
            Some(action) => {
                if let Some((name, value)) = output(action) {
                    lines.push_given(&std::collections::BTreeMap::from([(name, value)]));
                }
            }
        }
    }

    fn checked(&mut self, check: TimeCheck, now_ms: u64) {
        let time = (now_ms, Check::from(check));
        let mut lines = self.lines();
        if lines.polls.is_some() || lines.time != Some(time) {
            lines.close_polls();
            lines.push(&Line::Time { at: time.0, check: time.1 });
            lines.time = Some(time);
        }
    }

    fn forced(&mut self, cause: &EndCause) {
        let mut lines = self.lines();
        lines.close_polls();
        lines.push(&Line::ForceEnd(cause.clone()));
    }
}
