//! Calls that wait for approval: the terminal is asked, if there is one.

use std::io::{self, BufRead, IsTerminal, Write};

use agent_loop::suspension::{Decision, SuspendedCall};

use crate::settings::Settings;
use crate::show::brief;

/// Decisions about the calls that wait, or `None` when there is nobody to ask.
pub(crate) fn decide(settings: &Settings, pending: &[SuspendedCall]) -> Option<Vec<(String, Decision)>> {
    let decided = |decision: Decision| move |call: &SuspendedCall| (call.tool_call_id.to_string(), decision.clone());
    if settings.yes {
        return Some(pending.iter().map(decided(Decision::Approve)).collect());
    }
    if settings.as_json || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    pending.iter().map(|call| Some((call.tool_call_id.to_string(), ask(call)?))).collect()
}

/// `None` when the terminal is closed.
fn ask(call: &SuspendedCall) -> Option<Decision> {
    loop {
        let _ =
            write!(io::stderr(), "{} {}\n  {}. Run it? [y/N or why not] ", call.tool_name, brief(&call.arguments), call.reason);
        let _ = io::stderr().flush();
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line).ok()? == 0 {
            return None;
        }
        return Some(match line.trim() {
            "y" | "Y" | "yes" => Decision::Approve,
            "" | "n" | "N" | "no" => Decision::deny("the user has denied it"),
            "?" => {
                let _ = writeln!(io::stderr(), "{}", serde_json::to_string_pretty(&*call.arguments).unwrap_or_default());
                continue;
            }
            why => Decision::deny(why),
        });
    }
}

/// What is said of calls that wait where nobody is asked.
pub(crate) fn waiting(pending: &[SuspendedCall], session: Option<&str>) -> String {
    let mut text = String::from("these calls wait for approval:");
    for call in pending {
        text.push_str(&format!("\n  {} {}: {}", call.tool_name, brief(&call.arguments), call.reason));
    }
    match session {
        Some(id) => text.push_str(&format!("\ndecide with --session {id} in a terminal, or approve them all with --yes")),
        None => text.push_str("\napprove all calls with --yes, or keep the conversation with --session ID and decide later"),
    }
    text
}
