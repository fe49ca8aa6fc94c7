//! Commands of a shell. No shell is understood here: what could be more than one plain command is not granted, and what could be
//! the forbidden one, anywhere in the text, is forbidden.

use super::glob::{Glob, Style};

/// What makes more than one plain command of a text.
const OPERATORS: &str = ";&|<>()$`";

/// Programs and words of the shell that run what stands behind them.
const WRAPPERS: &[&str] = &[
    "sudo",
    "doas",
    "env",
    "command",
    "exec",
    "builtin",
    "eval",
    "nohup",
    "nice",
    "ionice",
    "setsid",
    "stdbuf",
    "time",
    "timeout",
    "xargs",
    "busybox",
    "sh",
    "bash",
    "dash",
    "ksh",
    "zsh",
    "fish",
    "cmd",
    "cmd.exe",
    "powershell",
    "pwsh",
    "if",
    "then",
    "elif",
    "else",
    "while",
    "until",
    "do",
    "!",
];

/// Whether a rule that grants something grants this. Its wildcards stand for no operator of a shell, no substitution, no comment
/// and no further line, quoted or not; beside an operator of the rule's own they do not open or close quotes either.
pub(super) fn grants(pattern: &str, command: &str) -> bool {
    let glob = Glob::new(pattern.trim(), Style::Words);
    let has_operators = glob.has_any(OPERATORS);
    glob.is_match_with(command.trim(), |c| {
        let is_special = OPERATORS.contains(c) || c == '#' || (c.is_control() && c != '\t');
        !(is_special || has_operators && matches!(c, '\'' | '"' | '\\'))
    })
}

/// Whether a rule that forbids something is about this, or about a part of it.
pub(super) fn covers(pattern: &str, command: &str) -> bool {
    let glob = Glob::new(&spaced(&pattern.to_lowercase()), Style::Words);
    let command = command.to_lowercase().replace("\\\r\n", "").replace("\\\n", "");
    let separates = |c: char| OPERATORS.contains(c) || matches!(c, '\n' | '\r' | '{' | '}');
    let is_about = |part: &str| {
        let part = spaced(part);
        glob.is_match_from(&part, &starts(&part))
    };
    is_about(&command) || command.split(separates).any(|part| is_about(part) || is_about(&part.replace(['\'', '"', '\\'], "")))
}

/// With one space in place of several.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where the program of a command may stand: at its beginning, and behind assignments and what runs the rest. Also its name
/// without its folder.
fn starts(command: &str) -> Vec<usize> {
    let (mut starts, mut at, mut is_any) = (Vec::new(), 0, false);
    for word in command.split(' ') {
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
        starts.extend([at, at + word.len() - name.len()]);
        is_any |= WRAPPERS.contains(&name.trim_matches(['\'', '"']));
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
        // Where its value ends is the shell's matter.
        is_any |= is_assignment && word.contains(['\'', '"', '\\']);
        if !is_any && !is_assignment {
            break;
        }
        at += word.len() + 1;
    }
    starts
}
