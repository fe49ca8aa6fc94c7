//! What tools report: their updates and answers, until the batch takes them in.

use crate::table::codes;
use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::emitter::Emitter;

/// What a tool reports.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Reply {
    Update(Value),
    Done(Result<Value, String>),
}

/// The calls that were launched in a run, and their replies.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Replies {
    /// Id and tool of each call, by its number.
    launched: Vec<(Arc<str>, Arc<str>)>,
    waiting: VecDeque<(u32, Reply)>,
}

impl Replies {
    /// The number of a call that is launched.
    pub(super) fn launch(&mut self, id: &Arc<str>, name: &Arc<str>) -> u32 {
        let number = u32::try_from(self.launched.len()).unwrap_or(u32::MAX);
        self.launched.push((Arc::clone(id), Arc::clone(name)));
        number
    }

    pub(super) fn take_in(&mut self, call: u32, reply: Reply) {
        self.waiting.push_back((call, reply));
    }

    pub(super) fn next(&mut self) -> Option<(u32, Reply)> {
        self.waiting.pop_front()
    }

    /// The turn is over: what waits came too late.
    pub(super) fn drop_late(&mut self, emitter: &mut Emitter) {
        while let Some((call, reply)) = self.next() {
            self.report_late(call, &reply, emitter);
        }
    }

    /// What a tool reports after its end is dropped, with a diagnostic.
    pub(super) fn report_late(&self, call: u32, reply: &Reply, emitter: &mut Emitter) {
        if let Reply::Update(_) = reply {
            let (id, name) = self.launched.get(call as usize).cloned().unwrap_or_default();
            let message = format!("the tool {name} sent an update after the end of its call {id}; it was dropped");
            emitter.diagnostic(codes::LATE_UPDATE, message, json!({ "tool_call_id": &*id, "tool_name": &*name }));
        }
    }
}
