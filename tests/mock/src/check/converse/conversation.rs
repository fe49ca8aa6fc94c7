//! The messages: roles in turn, calls and their results, what the last ones must be.

use std::collections::HashSet;

use serde_json::Value;

use super::super::place::{Checked, Place, said};
use super::{Family, Points, Thinking, block};

pub(super) struct Conversation<'a> {
    turns: Vec<Turn<'a>>,
}

struct Turn<'a> {
    user: bool,
    blocks: Vec<(Place<'a>, &'a str)>,
}

impl<'a> Turn<'a> {
    /// The ids in its blocks of this kind, but for those of the service's own tools.
    fn ids(&self, kind: &str) -> Vec<&'a str> {
        let blocks = self.blocks.iter().filter(|(place, own)| *own == kind && place.value[kind].get("type").is_none());
        blocks.filter_map(|(place, kind)| place.value[*kind]["toolUseId"].as_str()).collect()
    }

    fn has(&self, kind: &str) -> bool {
        self.blocks.iter().any(|(_, own)| *own == kind)
    }
}

impl<'a> Conversation<'a> {
    pub(super) fn read(family: Family, messages: &[Place<'a>], points: &mut Points) -> Checked<Conversation<'a>> {
        if messages.is_empty() {
            return said(
                "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
            );
        }
        let mut turns: Vec<Turn<'a>> = Vec::new();
        let mut names = HashSet::new();
        for place in messages {
            let message = place.object(&["role", "content"])?;
            let user = message.require("role")?.one_of(&["user", "assistant"])? == "user";
            match turns.last() {
                None if !user => {
                    return said(
                        "A conversation must start with a user message. Try again with a conversation that starts with a user \
                         message.",
                    );
                }
                Some(before) if before.user == user => {
                    return said(
                        "A conversation must alternate between user and assistant roles. Make sure the conversation alternates \
                         between user and assistant roles and try again.",
                    );
                }
                _ => {}
            }
            let mut turn = Turn { user, blocks: Vec::new() };
            for place in message.require("content")?.filled_array()? {
                let kind = block::check(family, &place, user)?;
                points.look_at(&place, false)?;
                if kind == "cachePoint" {
                    check_before_point(family, turn.blocks.last())?;
                }
                if kind == "document" && !names.insert(place.value["document"]["name"].as_str().unwrap_or_default()) {
                    return said("The model returned the following errors: duplicate document names are not allowed");
                }
                turn.blocks.push((place, kind));
            }
            if turn.has("document") && !turn.has("text") {
                return said("The model returned the following errors: a document must have a text block beside it");
            }
            let is_alone = |kind: &str| matches!(kind, "toolResult" | "cachePoint");
            let takes_others = matches!(family, Family::Claude | Family::Nova);
            if user && turn.has("toolResult") && !takes_others && turn.blocks.iter().any(|(_, kind)| !is_alone(kind)) {
                return said("This model does not support mixing toolResult blocks with other content in one message.");
            }
            turns.push(turn);
        }
        Ok(Conversation { turns })
    }

    /// Each call is answered once, in the next message; no answer is without its call.
    pub(super) fn check_pairs(&self, has_tools: bool) -> Checked {
        if !has_tools && self.turns.iter().any(|turn| !turn.ids("toolUse").is_empty() || !turn.ids("toolResult").is_empty()) {
            return said("The toolConfig field must be defined when using toolUse and toolResult content blocks.");
        }
        let mut open: Vec<&str> = Vec::new();
        for (index, turn) in self.turns.iter().enumerate() {
            let results = turn.ids("toolResult");
            let left: Vec<&str> = open.iter().filter(|id| !results.contains(id)).copied().collect();
            if !left.is_empty() {
                return said(format!(
                    "Expected toolResult blocks at messages.{index}.content for the following Ids: {}",
                    left.join(", ")
                ));
            }
            if results.len() > open.len() {
                return said(format!(
                    "The number of toolResult blocks at messages.{index}.content exceeds the number of toolUse blocks of \
                     previous turn."
                ));
            }
            if let Some(id) = results.iter().find(|id| !open.contains(id)) {
                return said(format!(
                    "The toolUseId {id} at messages.{index}.content has no toolUse block in the previous turn."
                ));
            }
            open = turn.ids("toolUse");
            if (1..open.len()).any(|at| open[..at].contains(&open[at])) {
                return said(format!("The toolUse blocks at messages.{index}.content contain duplicate Ids."));
            }
        }
        match &open[..] {
            [] => Ok(()),
            open => said(format!(
                "Expected toolResult blocks at messages.{}.content for the following Ids: {}",
                self.turns.len(),
                open.join(", ")
            )),
        }
    }

    pub(super) fn check_end(&self, family: Family, thinking: &Thinking) -> Checked {
        let Some(last) = self.turns.last() else { return Ok(()) };
        if !last.user {
            let text = last.blocks.last().and_then(|(place, _)| place.value.get("text")).and_then(Value::as_str);
            if text.is_some_and(|text| text.ends_with(char::is_whitespace)) {
                return said(
                    "The model returned the following errors: messages: final assistant content cannot end with trailing \
                     whitespace",
                );
            }
            if family == Family::Claude && !thinking.on && last.has("reasoningContent") {
                return said(
                    "The model returned the following errors: When thinking is disabled, an `assistant` message in the final \
                     position cannot contain `thinking`.",
                );
            }
        }
        // In a tool loop with a thinking budget, the message that opened the loop must begin with its thinking.
        let mut opener = None;
        for (index, turn) in self.turns.iter().enumerate().rev().filter(|(_, turn)| turn.user) {
            let only_results = turn.blocks.iter().all(|(_, kind)| matches!(*kind, "toolResult" | "cachePoint"));
            if !turn.has("toolResult") || (opener.is_some() && !only_results) {
                break;
            }
            opener = index.checked_sub(1);
            if !only_results {
                break;
            }
        }
        let first = opener.and_then(|index| self.turns[index].blocks.first());
        match first {
            Some((_, kind)) if thinking.enabled && last.user && *kind != "reasoningContent" => said(format!(
                "The model returned the following errors: Expected `thinking` or `redacted_thinking`, but found `{kind}`. When \
                 `thinking` is enabled, a final `assistant` message must start with a thinking block."
            )),
            _ => Ok(()),
        }
    }
}

/// What a cache point may not stand behind: of Nova, results and images; of Claude, documents that are no PDFs.
fn check_before_point(family: Family, before: Option<&(Place<'_>, &str)>) -> Checked {
    match (family, before) {
        (Family::Nova, Some((_, "toolResult" | "image"))) => said(
            "Malformed input request: extraneous key [cachePoint] is not permitted, please reformat your input and try again.",
        ),
        (Family::Claude, Some((document, "document"))) if document.value["document"]["format"] != "pdf" => {
            said("The model returned the following errors: messages.0.content.2.type: Field required")
        }
        _ => Ok(()),
    }
}
