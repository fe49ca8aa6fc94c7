//! Commands of a shell. No shell is understood here: what could be more than one plain command is not granted, and what could be
//! the forbidden one, anywhere in the text, is forbidden.

use super::glob::{Glob, Style};

/// What makes more than one plain command of a text.
const OPERATORS: &str = ";&|<>()$`";

/// What a word goes on behind, with spaces in it.
const QUOTES: [char; 3] = ['\'', '"', '\\'];

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
    "trap",
    "coproc",
    "parallel",
    "watch",
    "su",
    "flock",
    "strace",
    // Of find.
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
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
    let is_about = |part: &str, is_any: bool| {
        let is_about = |part: &str| glob.is_match_from(part, &starts(part, is_any));
        is_about(&spaced(part)) || is_about(&spaced(&part.replace(QUOTES, "")))
    };
    if is_about(&command, false) {
        return true;
    }
    let mut is_redirected = false;
    command.split_inclusive(separates).any(|piece| {
        let part = piece.trim_end_matches(separates);
        // Behind a redirection stands a file, and then the rest of the command, which may be all of it.
        let rest = part.trim_start().split_once(char::is_whitespace).filter(|_| is_redirected);
        let found = is_about(part, false) || rest.is_some_and(|(file, rest)| is_about(rest, file.contains(QUOTES)));
        let separator = piece.get(part.len()..).unwrap_or_default();
        // `>&1` and `>|file` are one.
        is_redirected = matches!(separator, "<" | ">") || is_redirected && part.is_empty() && matches!(separator, "&" | "|");
        found
    })
}

/// With one space in place of several.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where the program of a command may stand: at its beginning, and behind assignments and what runs the rest. Also its name
/// without its folder.
/// `is_any`: before each word.
fn starts(command: &str, mut is_any: bool) -> Vec<usize> {
    let (mut starts, mut at) = (Vec::new(), 0);
    // The arguments of find, of which a parenthesis is an operator of the shell.
    let mut is_of_find = command.starts_with('-');
    for word in command.split(' ') {
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
        if is_any || !is_of_find || at == 0 {
            starts.extend([at, at + word.len() - name.len()]);
        }
        let name = name.trim_matches(['\'', '"']);
        is_of_find |= name == "find";
        is_any |= WRAPPERS.contains(&name);
        let is_assignment = is_assignment(word);
        // Where its value ends is the shell's matter.
        is_any |= is_assignment && (word.contains(QUOTES) || word.contains('['));
        if !is_any && !is_assignment && !is_of_find {
            break;
        }
        at += word.len() + 1;
    }
    starts
}

/// Whether it is `a=b`, `a+=b`, or begins as `a[0]=b` does, whose index may have spaces.
fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_plain = word.split_once('=').is_some_and(|(name, _)| is_name(name.strip_suffix('+').unwrap_or(name)));
    is_plain || word.split_once('[').is_some_and(|(name, _)| !name.is_empty() && is_name(name))
}
