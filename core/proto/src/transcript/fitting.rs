//! Which messages of a long transcript a request has, so that it stays within a number of tokens.
//!
//! A request is over its limit: then so much is left out at once that three quarters of the limit are left, and the requests
//! that follow only grow, until they are over it again. Their common beginning is what providers cache. What is left out,
//! oldest first:
//!
//! 1. whole exchanges, but for the last ones;
//! 2. if the request is still over its limit: of what is left, the model's messages with the results of their calls, but for the
//!    last one.
//!
//! Never left out are the first user's message, messages whose `metadata` has `"keep": true`, the last call of some tools, and a
//! result without its call.
//!
//! With `compact`, a model writes a summary of what is left out, which joins the transcript ([`super::summary`]) and takes the
//! place of what comes before it.
//!
//! What is left out depends on the transcript alone: each of its answers was a request, so that the decisions of earlier requests
//! are made once more, with what was known then. A saved transcript therefore needs nothing beside it.

mod compaction;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::summary::Summary;
use super::tokens;
use crate::context_policy::ContextPolicy;
use crate::message::{AssistantMessage, Message};

/// How many tokens a provider may count for a thousand estimated ones.
const PLAUSIBLE: std::ops::RangeInclusive<u64> = 500..=4_000;

/// From how many tokens on a request says something about the next ones: of a small one, most is what providers add.
const TELLING: u64 = 2_000;

/// What a request is made for.
#[derive(Debug, Clone, PartialEq)]
pub struct FitTo {
    /// The option `context`.
    pub policy: ContextPolicy,
    /// Of the model: each has its own window, and its own way to count.
    pub provider: String,
    /// The model's id.
    pub model: String,
    /// The most tokens of a request.
    pub limit: u64,
    /// The tokens of what stands before the messages: of the system prompt and the tools.
    pub fixed: u64,
    /// Whether the model has a tool to read results.
    pub reads_on: bool,
    /// Another limit of this request, as the provider has refused it.
    pub refused: Option<u64>,
}

/// The metadata of a message whose request was refused as too large at first: the limit of that one and of those that follow.
pub(crate) const CONTEXT_LIMIT: &str = "context_limit";

/// A request that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fitted {
    /// The most tokens that it may have.
    pub limit: u64,
    /// How many messages it leaves out.
    pub left_out: usize,
    /// The tokens of all that the transcript has.
    pub of_all: u64,
    /// Those of the request alone.
    pub of_request: u64,
    /// Whether a smaller limit would leave out more.
    pub can_shrink: bool,
}

/// Fits a transcript, message by message: what it has fitted is not looked at again.
#[derive(Debug, Default)]
pub struct Fitting {
    to: Option<FitTo>,
    /// The messages that were taken in.
    messages: Vec<Arc<Message>>,
    /// Those of the request.
    kept: Vec<Arc<Message>>,
    /// What the request has in place of a message: summaries of results.
    in_place: BTreeMap<usize, Arc<Message>>,
    /// The messages that are summaries.
    summaries: BTreeSet<usize>,
    /// The last summary of what comes before a message, and its tokens.
    summary: Option<(usize, Arc<Message>, u64)>,
    /// They are left out and kept as one.
    groups: Vec<Group>,
    /// Before this one none may be left out any more.
    first_candidate: usize,
    /// Those that the last request left out: it may fail, and then the transcript does not say that it was made.
    of_one_request: Vec<usize>,
    /// Whether `kept` is another list than before, and not a longer one.
    is_stale: bool,
    /// The number of the current exchange.
    exchange: u32,
    /// Whether there is a user's message.
    has_user: bool,
    /// The group with the last call of each tool whose last call is kept.
    last_calls: BTreeMap<String, usize>,
    /// How many messages are left out.
    left_out: usize,
    /// The tokens of all messages, and of those of the request.
    all: u64,
    request: u64,
    /// The smallest limit that a message of the transcript has, in estimated tokens.
    learned: Option<u64>,
    /// How many tokens a provider counts for a thousand estimated ones.
    per_thousand: u64,
}

/// A user's message, or an assistant's with the results of its calls.
#[derive(Debug)]
struct Group {
    first: usize,
    /// The messages behind the first one: mostly they follow it.
    rest: Vec<usize>,
    tokens: u64,
    exchange: u32,
    is_input: bool,
    /// Whether it is kept whatever comes.
    is_pinned: bool,
    is_left_out: bool,
}

impl Fitting {
    /// The messages of a request over this transcript.
    pub fn fit(&mut self, transcript: &[Arc<Message>], to: FitTo) -> Fitted {
        self.take_in(transcript, to);
        let limit = self.limit_of_request();
        self.of_one_request = self.shrink(limit);
        self.set_kept();
        Fitted {
            limit,
            left_out: self.left_out,
            of_all: self.corrected(self.fixed() + self.all),
            of_request: self.corrected(self.fixed() + self.request),
            can_shrink: self.old_exchanges().next().is_some() || self.old_answers().next().is_some(),
        }
    }

    /// Looks at the messages that came since the last time; at all, if it is another transcript or made for something else.
    pub(crate) fn take_in(&mut self, transcript: &[Arc<Message>], to: FitTo) {
        let known = &self.messages;
        let grew = transcript.len() >= known.len() && known.iter().zip(transcript).all(|(a, b)| Arc::ptr_eq(a, b));
        let is_same = self.to.as_ref().is_some_and(|was| *was == FitTo { refused: was.refused, ..to.clone() });
        if !grew || !is_same {
            *self = Fitting { per_thousand: 1_000, ..Fitting::default() };
        }
        self.to = Some(to);
        for group in std::mem::take(&mut self.of_one_request) {
            self.put_back(group);
        }
        for message in transcript.get(self.messages.len()..).unwrap_or_default() {
            self.add(message);
        }
        self.set_kept();
    }

    /// The messages of the request.
    pub(crate) fn kept(&self) -> &[Arc<Message>] {
        &self.kept
    }

    fn fixed(&self) -> u64 {
        self.to.as_ref().map_or(0, |to| to.fixed)
    }

    /// The limit of a request with the messages so far.
    fn limit(&self) -> u64 {
        let limit = self.to.as_ref().map_or(u64::MAX, |to| to.limit);
        self.learned.map_or(limit, |learned| self.corrected(learned).min(limit))
    }

    /// The limit of the current request, which the provider may have refused once.
    fn limit_of_request(&self) -> u64 {
        let refused = self.to.as_ref().and_then(|to| to.refused);
        refused.map_or(self.limit(), |refused| refused.min(self.limit()))
    }

    /// A request was taken with this limit, as the provider would count it, but not with a larger one.
    fn learn(&mut self, limit: u64) {
        let estimated = limit.saturating_mul(1_000).div_ceil(self.per_thousand.max(1));
        self.learned = Some(self.learned.map_or(estimated, |learned| learned.min(estimated)));
    }

    /// As a provider would count it.
    fn corrected(&self, estimate: u64) -> u64 {
        estimate.saturating_mul(self.per_thousand) / 1_000
    }

    fn is_over(&self, limit: u64) -> bool {
        self.corrected(self.fixed() + self.request) > limit
    }

    fn add(&mut self, message: &Arc<Message>) {
        let answer = message.as_assistant().filter(|assistant| !assistant.has_failed());
        if let Some(answer) = answer {
            let is_model_s = self.to.as_ref().is_some_and(|to| to.provider == answer.provider && to.model == answer.model);
            // The request that it answers.
            let limit = message.metadata().and_then(|metadata| metadata.get(CONTEXT_LIMIT)).and_then(Value::as_u64);
            if let Some(limit) = limit.filter(|_| is_model_s) {
                self.learn(limit);
            }
            // With summaries it had one, or what was left out had none.
            if !self.compacts() {
                self.shrink(self.limit());
            }
            // One that was over it was answered with less than what is kept here.
            if is_model_s && !self.is_over(self.limit()) {
                self.correct_by(answer);
            }
        }
        let at = self.messages.len();
        self.messages.push(Arc::clone(message));
        if let Some(summary) = Summary::read(message) {
            self.summaries.insert(at);
            return self.add_summary(at, &summary);
        }
        self.kept.push(Arc::clone(message));
        // The application's own: no model gets it, but hooks may make something of it.
        if matches!(&**message, Message::Custom(_)) {
            return;
        }
        let tokens = tokens::of_message(message, self.most_of_result());
        (self.all, self.request) = (self.all + tokens, self.request + tokens);
        // As the application wants it.
        let is_pinned = message.metadata().and_then(|metadata| metadata.get("keep")).is_some_and(|keep| *keep == true);
        // What is wrong with a final answer stays with that answer.
        let is_user = matches!(&**message, Message::User(_)) && !message.is_correction();
        if is_user && self.groups.last().is_some_and(|last| !last.is_input) {
            self.exchange = self.exchange.saturating_add(1);
        }
        let owner = match &**message {
            Message::User(_) if is_user => None,
            Message::Assistant(_) if answer.is_some() => None,
            Message::ToolResult(result) => self.group_of_call(&result.tool_call_id),
            Message::User(_) | Message::Assistant(_) | Message::Custom(_) => self.groups.len().checked_sub(1),
        };
        if let Some(group) = owner.and_then(|owner| self.groups.get_mut(owner)) {
            group.rest.push(at);
            group.tokens += tokens;
            group.is_pinned |= is_pinned;
            if group.is_left_out {
                // A late result of a call that is no longer there.
                self.kept.pop();
                self.left_out += 1;
                self.request = self.request.saturating_sub(tokens);
            }
            return;
        }
        // The conversation is about the first one.
        let is_first = is_user && !self.has_user;
        self.has_user |= is_user;
        for call in answer.into_iter().flat_map(AssistantMessage::tool_calls) {
            if self.to.as_ref().is_some_and(|to| to.policy.keep_tools.contains(&call.name)) {
                self.last_calls.insert(call.name.clone(), self.groups.len());
            }
        }
        self.groups.push(Group {
            first: at,
            rest: Vec::new(),
            tokens,
            exchange: self.exchange,
            is_input: is_user,
            is_pinned: is_pinned || is_first,
            is_left_out: false,
        });
    }

    /// The most tokens of a result that go to the model.
    fn most_of_result(&self) -> u64 {
        match self.to.as_ref().map_or(0, |to| to.policy.max_result_tokens) {
            0 => u64::MAX,
            most => most,
        }
    }

    fn compacts(&self) -> bool {
        self.to.as_ref().is_some_and(|to| to.policy.compact)
    }

    /// The group of the message that has made the call: nearly always the last one.
    fn group_of_call(&self, id: &str) -> Option<usize> {
        let has_call = |group: &Group| {
            let message = self.messages.get(group.first).and_then(|message| message.as_assistant());
            message.is_some_and(|message| message.tool_calls().any(|call| call.id == id))
        };
        self.groups.iter().rposition(has_call).or(self.groups.len().checked_sub(1))
    }

    /// The provider has counted the request. It had the messages that are kept; or all, if it was made without a policy: what is
    /// nearer to what was known before.
    fn correct_by(&mut self, answer: &AssistantMessage) {
        let usage = &answer.usage;
        let counted = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        if counted == 0 || self.fixed() + self.request < TELLING {
            return;
        }
        let ratio = |estimate: u64| counted.saturating_mul(1_000).checked_div(self.fixed() + estimate).unwrap_or(1_000);
        let distance = |ratio: &u64| ratio.abs_diff(self.per_thousand);
        let nearest = [ratio(self.request), ratio(self.all)].into_iter().min_by_key(distance);
        // What is farther off than any tokenizer is of another request, or made up.
        self.per_thousand = nearest.filter(|ratio| PLAUSIBLE.contains(ratio)).unwrap_or(self.per_thousand);
    }

    /// Leaves out what is over the limit. Returns which groups.
    fn shrink(&mut self, limit: u64) -> Vec<usize> {
        let groups = self.to_leave_out(limit);
        groups.iter().for_each(|group| self.leave_out(*group));
        groups
    }

    /// The groups that have to go, so that a request which is over this limit is within three quarters of it; oldest first.
    fn to_leave_out(&self, limit: u64) -> Vec<usize> {
        let is_over = |request: u64, limit: u64| self.corrected(self.fixed() + request) > limit;
        let (target, mut request, mut chosen) = (limit / 4 * 3, self.request, Vec::new());
        if !is_over(request, limit) {
            return chosen;
        }
        let mut last = None;
        for (index, group) in self.old_exchanges() {
            // Whole ones: an answer without its question is of no use.
            if last != Some(group.exchange) && !is_over(request, target) {
                break;
            }
            last = Some(group.exchange);
            request = request.saturating_sub(group.tokens);
            chosen.push(index);
        }
        if is_over(request, limit) {
            let after = chosen.last().map_or(0, |last| last + 1);
            for (index, group) in self.old_answers().filter(|(index, _)| *index >= after) {
                request = request.saturating_sub(group.tokens);
                chosen.push(index);
                if !is_over(request, target) {
                    break;
                }
            }
        }
        chosen
    }

    /// The messages of the request, if something else than the last one has changed.
    fn set_kept(&mut self) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        let mut is_kept = vec![true; self.messages.len()];
        let left_out = self.groups.iter().filter(|group| group.is_left_out);
        let left_out = left_out.flat_map(|group| std::iter::once(&group.first).chain(&group.rest));
        for at in left_out.chain(&self.summaries) {
            if let Some(is_kept) = is_kept.get_mut(*at) {
                *is_kept = false;
            }
        }
        self.kept.clear();
        for (at, message) in self.messages.iter().enumerate() {
            if let Some((_, summary, _)) = self.summary.as_ref().filter(|(before, ..)| *before == at) {
                self.kept.push(Arc::clone(summary));
            }
            if is_kept.get(at) == Some(&true) {
                self.kept.push(Arc::clone(self.in_place.get(&at).unwrap_or(message)));
            }
        }
    }

    fn leave_out(&mut self, group: usize) {
        if let Some(group) = self.groups.get_mut(group) {
            group.is_left_out = true;
            self.left_out += 1 + group.rest.len();
            self.request = self.request.saturating_sub(group.tokens);
            self.is_stale = true;
        }
        let is_settled = |group: &Group| group.is_left_out || group.is_pinned;
        while self.groups.get(self.first_candidate).is_some_and(is_settled) {
            self.first_candidate += 1;
        }
    }

    fn put_back(&mut self, index: usize) {
        if let Some(group) = self.groups.get_mut(index) {
            group.is_left_out = false;
            self.left_out = self.left_out.saturating_sub(1 + group.rest.len());
            self.request += group.tokens;
            self.is_stale = true;
            self.first_candidate = self.first_candidate.min(index);
        }
    }

    /// What may be left out, oldest first.
    fn candidates(&self) -> impl Iterator<Item = (usize, &Group)> {
        let is_last_call = |index: &usize| self.last_calls.values().any(|last| last == index);
        let groups = self.groups.iter().enumerate().skip(self.first_candidate);
        groups.filter(move |(index, group)| !group.is_left_out && !group.is_pinned && !is_last_call(index))
    }

    /// The groups of exchanges that are older than the last ones.
    fn old_exchanges(&self) -> impl Iterator<Item = (usize, &Group)> {
        let keep_last = self.to.as_ref().map_or(0, |to| to.policy.keep_last);
        let first_kept = self.exchange.saturating_sub(keep_last);
        self.candidates().take_while(move |(_, group)| group.exchange < first_kept)
    }

    /// The groups of the model's messages, but for the last one, to which it may have to answer.
    fn old_answers(&self) -> impl Iterator<Item = (usize, &Group)> {
        let last = self.groups.iter().rposition(|group| !group.is_input);
        self.candidates().filter(move |(index, group)| !group.is_input && Some(*index) != last)
    }
}
