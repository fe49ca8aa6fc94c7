//! The end of a long transcript, cut where it may be cut.

use std::sync::Arc;

use crate::message::Message;

/// The last `count` messages, or fewer: they begin with a user's message, so that no result is cut from its call. If the last
/// user's message is farther back than `count`: all from there on. Without any user's message: all.
///
/// For `transform_context`, where what is left out stays in the transcript.
///
/// ```
/// # use std::sync::Arc;
/// use agent_loop_proto::{message::Message, transcript};
/// let messages: Vec<_> = ["one", "two", "three"].map(|text| Arc::new(Message::user(text, 0))).into();
/// assert_eq!(transcript::recent(&messages, 2)[0].text(), "two");
/// ```
pub fn recent(transcript: &[Arc<Message>], count: usize) -> &[Arc<Message>] {
    let roles: Vec<_> = transcript.iter().map(|message| message.role()).collect();
    transcript.get(recent_start(&roles, count)..).unwrap_or_default()
}

/// The index at which [`recent`] begins, from the messages' roles: for bindings, which keep their own objects.
#[doc(hidden)]
pub fn recent_start(roles: &[&str], count: usize) -> usize {
    let first = roles.len().saturating_sub(count);
    let users = || roles.iter().enumerate().filter(|(_, role)| **role == "user").map(|(index, _)| index);
    users().find(|index| *index >= first).or_else(|| users().next_back()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::recent_start;

    #[test]
    fn found_d1_a_call_is_never_cut_from_its_result() {
        let roles =
            ["user", "assistant", "tool_result", "assistant", "user", "assistant", "tool_result", "tool_result", "assistant"];
        let starts: Vec<_> = (0..=10).map(|count| recent_start(&roles, count)).collect();
        assert_eq!(starts, [4, 4, 4, 4, 4, 4, 4, 4, 4, 0, 0]);
        assert_eq!(recent_start(&["assistant", "user", "note", "user"], 2), 3);
        assert_eq!(recent_start(&["assistant", "tool_result"], 1), 0);
        assert_eq!(recent_start(&[], 5), 0);
    }
}
