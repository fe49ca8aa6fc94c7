//! The messages: roles, pairing of calls and results, what the last ones must be.

use std::collections::HashSet;

use serde_json::Value;

use super::super::Strict;
use super::super::place::{Checked, Place, said, wrong_at};
use super::{Markers, Thinking, block};

/// The messages, those of one role in a row joined as the service joins them.
pub(super) struct Conversation<'a> {
    turns: Vec<Turn<'a>>,
}

struct Turn<'a> {
    user: bool,
    /// Of its first message.
    path: String,
    blocks: Vec<(Place<'a>, &'a str)>,
    /// Text that was given as a string: only its end matters.
    ends_with_text: Option<&'a str>,
}

impl<'a> Conversation<'a> {
    pub(super) fn read(strict: &Strict, messages: &[Place<'a>], markers: &mut Markers) -> Checked<Conversation<'a>> {
        if messages.is_empty() {
            return said("messages: at least one message is required");
        }
        let mut turns: Vec<Turn<'a>> = Vec::new();
        for (index, place) in messages.iter().enumerate() {
            let message = place.object(&["role", "content"])?;
            let user = message.require("role")?.one_of(&["user", "assistant"])? == "user";
            if index == 0 && !user {
                return said("messages: first message must use the \"user\" role");
            }
            let content = message.require("content")?;
            let last = index + 1 == messages.len();
            let mut turn = Turn { user, path: place.path.clone(), blocks: Vec::new(), ends_with_text: None };
            if let Some(text) = content.value.as_str() {
                if text.is_empty() && (user || !last) {
                    return place
                        .wrong("all messages must have non-empty content except for the optional final assistant message");
                }
                if !text.is_empty() && text.trim().is_empty() {
                    return said("messages: text content blocks must contain non-whitespace text");
                }
                turn.ends_with_text = Some(text);
            } else {
                let blocks = content.array()?;
                if blocks.is_empty() && (user || !last) {
                    return place
                        .wrong("all messages must have non-empty content except for the optional final assistant message");
                }
                for block in blocks {
                    let kind = block::check(strict, place, &block, user)?;
                    markers.look_at(&block)?;
                    if kind == "tool_result" {
                        markers.look_at_list(block.open_object()?.get("content"))?;
                    }
                    turn.ends_with_text = block.value.get("text").and_then(Value::as_str).filter(|_| kind == "text");
                    turn.blocks.push((block, kind));
                }
            }
            match turns.last_mut().filter(|before| before.user == user) {
                Some(_) if strict.alternation => {
                    let role = if user { "user" } else { "assistant" };
                    return said(format!(
                        "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"{role}\" roles \
                         in a row"
                    ));
                }
                Some(before) => {
                    before.blocks.append(&mut turn.blocks);
                    before.ends_with_text = turn.ends_with_text;
                }
                None => turns.push(turn),
            }
        }
        Ok(Conversation { turns })
    }

    /// Each call is answered once, at the beginning of the next message; no answer is without its call.
    pub(super) fn check_pairs(&self) -> Checked {
        let mut seen = HashSet::new();
        let mut open: Vec<&str> = Vec::new();
        let mut caller = String::new();
        for turn in &self.turns {
            let mut results: Vec<&str> = Vec::new();
            // Results after something else do not count as "immediately after".
            let mut in_front = true;
            for (place, kind) in &turn.blocks {
                if *kind != "tool_result" {
                    in_front = false;
                    continue;
                }
                let id = place.value.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
                if !open.contains(&id) {
                    return place.wrong(format!(
                        "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a \
                         corresponding `tool_use` block in the previous message."
                    ));
                }
                if results.contains(&id) {
                    return place.wrong(format!(
                        "each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
                    ));
                }
                if in_front {
                    results.push(id);
                }
            }
            unanswered(&caller, &open, &results)?;
            open = turn
                .blocks
                .iter()
                .filter(|(_, kind)| *kind == "tool_use")
                .filter_map(|(place, _)| place.value["id"].as_str())
                .collect();
            if open.iter().any(|id| !seen.insert(*id)) {
                return wrong_at(&turn.path, "`tool_use` ids must be unique");
            }
            caller.clone_from(&turn.path);
        }
        unanswered(&caller, &open, &[])
    }

    pub(super) fn check_end(&self, thinking: &Thinking) -> Checked {
        let Some(last) = self.turns.last() else { return Ok(()) };
        if !last.user {
            if last.ends_with_text.is_some_and(|text| text.ends_with(char::is_whitespace)) {
                return said("messages: final assistant content cannot end with trailing whitespace");
            }
            let thought = last.blocks.iter().find(|(_, kind)| matches!(*kind, "thinking" | "redacted_thinking"));
            if let (false, Some((place, kind))) = (thinking.on, thought) {
                return place.wrong(format!(
                    "When thinking is disabled, an `assistant` message in the final position cannot contain `{kind}`. To use \
                     thinking blocks, enable `thinking` in your request."
                ));
            }
        }
        // In a tool loop with a thinking budget, the message that opened the loop must begin with its thinking.
        let mut opener = None;
        for (index, turn) in self.turns.iter().enumerate().rev().filter(|(_, turn)| turn.user) {
            let results = turn.blocks.iter().filter(|(_, kind)| *kind == "tool_result").count();
            let only_results = results > 0 && results == turn.blocks.len();
            if results == 0 || (opener.is_some() && !only_results) {
                break;
            }
            opener = index.checked_sub(1);
            if !only_results {
                break;
            }
        }
        let first = opener.and_then(|index| self.turns[index].blocks.first());
        match first {
            Some((place, kind)) if thinking.enabled && last.user && !matches!(*kind, "thinking" | "redacted_thinking") => {
                place.tagged("type").wrong(format!(
                    "Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is enabled, a final \
                     `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and \
                     `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this \
                     requirement, disable `thinking`."
                ))
            }
            _ => Ok(()),
        }
    }
}

fn unanswered(caller: &str, open: &[&str], results: &[&str]) -> Checked {
    let left: Vec<&str> = open.iter().filter(|id| !results.contains(id)).copied().collect();
    if left.is_empty() {
        return Ok(());
    }
    wrong_at(
        caller,
        format!(
            "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a \
         corresponding `tool_result` block in the next message.",
            left.join(", ")
        ),
    )
}
