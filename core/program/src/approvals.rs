//! Calls that wait for approval: how they are shown, what is answered, and who is asked.

use std::io::{self, BufRead, IsTerminal, Write};

use agent_loop::Agent;
use agent_loop::suspension::{Decision, SuspendedCall};
use serde_json::Value;

use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::{self, visible};

/// What the user is asked.
pub(crate) const QUESTION: &str = "Run it? [y]es, [n]o, [a]ll of these, al[w]ays, [s]how all of it, or why not: ";

/// What a line says about a call.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    Decided(Decision),
    /// This one, and all that wait with it.
    All,
    /// All of its arguments are to be shown.
    Show,
    /// Nothing: nothing runs by a line that was sent by mistake.
    Nothing,
}

/// Why a call was denied, for the model, where the user says no more.
pub(crate) const DENIED: &str = "the user has denied it";

impl Answer {
    pub(crate) fn read(line: &str) -> Answer {
        match line.trim() {
            "y" | "Y" | "yes" => Answer::Decided(Decision::Approve),
            "n" | "N" | "no" => Answer::no(),
            "a" | "all" => Answer::All,
            "w" | "always" => Answer::Decided(Decision::ApproveAlways),
            "s" | "show" => Answer::Show,
            "" => Answer::Nothing,
            why => Answer::Decided(Decision::deny(why)),
        }
    }

    pub(crate) fn no() -> Answer {
        Answer::Decided(Decision::deny(DENIED))
    }
}

/// The most characters of an argument that are shown with the question.
const LONGEST: usize = 1_000;

/// The call as the user decides about it.
pub(crate) fn asked(call: &SuspendedCall) -> String {
    let mut shown = described(call, LONGEST, ", which s shows");
    // The rule of a tool without a subject is the call itself, which is shown already.
    if !call.rule.is_empty() && !call.rule.starts_with(&format!("{}({{", call.tool_name)) {
        shown.push_str(&format!("\n  w approves from now on: {}", indented(&call.rule)));
    }
    shown
}

/// A call with each argument on lines of its own, in the model's order. Those of more than `longest` characters are cut, and come
/// last, so that a path is not behind the contents of its file. `how`: how to see what is left out.
fn described(call: &SuspendedCall, longest: usize, how: &str) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut arguments: Vec<(&String, String)> = call.arguments.iter().map(|(name, value)| (name, text(value))).collect();
    arguments.sort_by_key(|(_, text)| text.chars().nth(longest).is_some());
    let mut shown = format!("{}: {}", call.tool_name, indented(&call.reason));
    for (name, text) in arguments {
        let (begin, rest) = match text.char_indices().nth(longest) {
            Some((at, _)) => (text.get(..at).unwrap_or_default(), text.chars().count() - longest),
            None => (text.as_str(), 0),
        };
        shown.push_str(&format!("\n  {}: {}", indented(name), indented(begin)));
        if rest > 0 {
            shown.push_str(&format!("\n  … and {rest} characters more{how}"));
        }
    }
    shown
}

/// A text within others: its lines differ from theirs.
fn indented(text: &str) -> String {
    visible(text).replace('\n', "\n    ")
}

/// The call with all of its arguments.
pub(crate) fn whole(call: &SuspendedCall) -> String {
    described(call, usize::MAX, "")
}

/// Refuses to decide about a call whose tool the agent does not have: its result would be that.
///
/// # Errors
/// It names the tool.
pub(crate) fn check_tools(settings: &Settings, agent: &Agent, pending: &[SuspendedCall]) -> Result<(), Failure> {
    // Those of servers are known when a run begins.
    if settings.options.contains_key("mcp") {
        return Ok(());
    }
    let (own, builtin) = (agent.tools(), agent.builtin_tools());
    let has = |name: &str| own.iter().chain(builtin.tools().iter()).any(|tool| tool.spec().name() == name);
    match pending.iter().find(|call| !has(&call.tool_name)) {
        None => Ok(()),
        Some(call) => Err(Failure::usage(format!(
            "a call of the tool {} waits for approval, and the agent does not have that tool now: give --tools, --spec, --mcp or \
             --plugin as before",
            call.tool_name
        ))),
    }
}

/// Decisions about the calls that wait, or `None` without a terminal to ask in.
pub(crate) fn decide(settings: &Settings, pending: &[SuspendedCall]) -> Option<Vec<(String, Decision)>> {
    let mut all = settings.yes;
    let mut answers: Option<Box<dyn BufRead>> = None;
    if !all {
        answers = Some(terminal::answers().filter(|_| !settings.as_json && io::stderr().is_terminal())?);
    }
    let decided = pending.iter().map(|call| Some((call.tool_call_id.to_string(), ask(call, &mut all, answers.as_mut())?)));
    decided.collect()
}

/// `None` when the terminal is closed.
fn ask(call: &SuspendedCall, all: &mut bool, answers: Option<&mut Box<dyn BufRead>>) -> Option<Decision> {
    if *all {
        return Some(Decision::Approve);
    }
    let answers = answers?;
    say!("{}", asked(call));
    loop {
        let _ = write!(io::stderr(), "{QUESTION}").and_then(|()| io::stderr().flush());
        let mut line = String::new();
        if answers.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match Answer::read(&line) {
            Answer::Decided(decision) => return Some(decision),
            Answer::All => {
                *all = true;
                return Some(Decision::Approve);
            }
            Answer::Show => say!("{}", whole(call)),
            Answer::Nothing => {}
        }
    }
}

/// What is reported of calls that wait where there is no terminal to ask in.
pub(crate) fn waiting(pending: &[SuspendedCall], session: Option<&str>) -> String {
    let mut text = String::from("these calls wait for approval:");
    for call in pending {
        text.push_str(&format!("\n  {}", described(call, LONGEST, "").replace('\n', "\n  ")));
    }
    match session {
        Some(id) => text.push_str(&format!(
            "\ndecide with --session {id} in a terminal, or approve them all with --session {id} --yes, and with the tools as now"
        )),
        None => text.push_str("\napprove all calls with --yes, or keep the conversation with --session ID and decide later"),
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_approved_is_shown() {
        let arguments = json!({ "content": format!("a\n{}", "x".repeat(2_000)), "path": "notes\u{202e}.txt" });
        let call: SuspendedCall = serde_json::from_value(json!({ "tool_call_id": "1", "tool_name": "write_file",
            "arguments": arguments, "reason": "it writes", "idempotency_key": "k", "rule": "write_file(notes)" }))
        .unwrap();
        let shown = asked(&call);
        assert!(shown.starts_with("write_file: it writes\n  path: notes<U+202E>.txt\n  content: a\n    xxx"), "{shown}");
        let end = "\n  … and 1002 characters more, which s shows\n  w approves from now on: write_file(notes)";
        assert!(shown.ends_with(end), "{shown}");
        let whole = whole(&call);
        assert!(whole.contains(&format!("\n  content: a\n    {}\n  path: notes", "x".repeat(2_000))), "{whole}");
    }

    #[test]
    fn a_line_decides() {
        assert_eq!(Answer::read(" y\n"), Answer::Decided(Decision::Approve));
        assert_eq!(Answer::read("w"), Answer::Decided(Decision::ApproveAlways));
        assert_eq!(Answer::read("too dear"), Answer::Decided(Decision::deny("too dear")));
        assert_eq!([Answer::read(""), Answer::read("a"), Answer::read("s")], [Answer::Nothing, Answer::All, Answer::Show]);
    }
}
