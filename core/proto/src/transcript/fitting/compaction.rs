//! Summaries in a request: what they stand for, and what one is needed of.

use std::sync::Arc;

use super::{Fitting, Group};
use crate::message::{Message, ToolResultMessage};
use crate::transcript::results::READ_RESULT;
use crate::transcript::summary::{Summarized, Summary};
use crate::transcript::tokens;

impl Fitting {
    pub(super) fn add_summary(&mut self, at: usize, summary: &Summary<'_>) {
        match &summary.of {
            Summarized::Before { keeps } => {
                let before = at.saturating_sub(*keeps);
                for group in self.groups_before(before) {
                    self.leave_out(group);
                }
                let message = Arc::new(summary.message());
                let tokens = tokens::of_message(&message, u64::MAX);
                let earlier = self.summary.replace((before, message, tokens)).map_or(0, |(_, _, tokens)| tokens);
                self.request = (self.request + tokens).saturating_sub(earlier);
            }
            Summarized::Result { tool_call_id } => {
                let Some((result, group)) = self.result_of(tool_call_id) else { return };
                let Some(Message::ToolResult(whole)) = self.messages.get(result).map(Arc::as_ref) else { return };
                let reads_on = self.to.as_ref().is_some_and(|to| to.reads_on);
                let short = Arc::new(summary.of_result(whole, reads_on));
                let (was, is) = (self.tokens_of(result), tokens::of_message(&short, u64::MAX));
                self.in_place.insert(result, short);
                for count in [&mut self.all, &mut self.request] {
                    *count = (*count + is).saturating_sub(was);
                }
                if let Some(group) = self.groups.get_mut(group) {
                    group.tokens = (group.tokens + is).saturating_sub(was);
                }
            }
        }
        self.is_stale = true;
    }

    /// The tokens of a message as a request has it.
    fn tokens_of(&self, at: usize) -> u64 {
        let message = self.in_place.get(&at).or_else(|| self.messages.get(at));
        message.map_or(0, |message| tokens::of_message(message, self.most_of_result()))
    }

    /// Where the result of a call stands, and its group.
    fn result_of(&self, id: &str) -> Option<(usize, usize)> {
        let is_result = |at: &usize| match self.messages.get(*at).map(Arc::as_ref) {
            Some(Message::ToolResult(result)) => result.tool_call_id == id,
            _ => false,
        };
        let groups = self.groups.iter().enumerate().rev();
        groups.filter_map(|(index, group)| Some((*group.rest.iter().find(|at| is_result(at))?, index))).next()
    }

    /// What a summary of all before a message stands for: not the user's messages of the current exchange.
    fn groups_before(&self, before: usize) -> Vec<usize> {
        let is_current = |group: &Group| group.is_input && group.exchange == self.exchange;
        let groups = self.candidates().take_while(|(_, group)| group.first < before);
        groups.filter(|(_, group)| !is_current(group)).map(|(index, _)| index).collect()
    }

    /// What a summary is needed of, if the request is over its limit: how many messages it leaves, and those that it stands for.
    pub(crate) fn to_compact(&self) -> Option<(usize, Vec<Arc<Message>>)> {
        let last = *self.to_leave_out(self.limit_of_request()).last()?;
        let before = self.groups.get(last + 1).map_or(self.messages.len(), |group| group.first);
        let mut places: Vec<usize> = self
            .groups_before(before)
            .into_iter()
            .filter_map(|index| self.groups.get(index))
            .flat_map(|group| std::iter::once(group.first).chain(group.rest.iter().copied()))
            .collect();
        places.sort_unstable();
        let earlier = self.summary.iter().map(|(_, message, _)| Arc::clone(message));
        let messages = places.iter().filter_map(|at| self.in_place.get(at).or_else(|| self.messages.get(*at)).cloned());
        Some((self.messages.len() - before, earlier.chain(messages).collect()))
    }

    /// The results that the model has not got yet and that are too long for it, without a summary: with the ids of their calls.
    pub(crate) fn long_results(&self) -> impl Iterator<Item = &ToolResultMessage> {
        // A user's message may have come since.
        let last = self.groups.iter().rev().find(|group| !group.is_input);
        let places = last.into_iter().flat_map(|group| &group.rest).filter(|at| !self.in_place.contains_key(at));
        let results = places.filter_map(|at| match self.messages.get(*at).map(Arc::as_ref) {
            Some(Message::ToolResult(result)) => Some(result),
            _ => None,
        });
        results.filter(|result| result.tool_name != READ_RESULT && tokens::of_text(&result.model_text()) > self.most_of_result())
    }
}
