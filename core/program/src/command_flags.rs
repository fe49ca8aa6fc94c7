//! Which of a prompt's flags each command takes. The others are refused, and are not in its help.

use std::iter::successors;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, Error, error::ErrorKind};

/// Of all commands: whose they are, and how much they say.
const ALL: &[&str] = &["spec", "verbose", "quiet"];

/// Of commands that run the agent.
const AGENT: &[&str] =
    &["model", "base-url", "system", "tools", "root", "mcp", "plugin", "max-turns", "max-cost", "thinking", "record", "yes"];

/// Of each command, beside those of all.
const FLAGS: &[(&str, &[&[&str]])] = &[
    ("chat", &[AGENT, &["session"]]),
    ("acp", &[AGENT]),
    ("sessions", &[&["json"]]),
    ("sessions show", &[&["json"]]),
    ("models", &[&["json"]]),
    ("auth login", &[&["base-url"]]),
    ("auth status", &[&["json"]]),
    ("transcript check", &[&["model", "json"]]),
    ("replay", &[&["json", "output"]]),
    ("mcp list", &[&["mcp", "plugin", "json"]]),
];

/// Whether a command has a flag. Its path is its name with those of the commands around it.
fn has(path: &str, flag: &str) -> bool {
    let own = FLAGS.iter().find(|(of, _)| *of == path).map(|(_, flags)| *flags).unwrap_or_default();
    own.iter().chain([&ALL]).any(|flags| flags.contains(&flag))
}

/// Leaves the flags that a command does not have out of its help and its manual page. They are still read, wherever they stand.
pub(crate) fn hide_others(command: Command) -> Command {
    let flags = flags_of(&command);
    let own = |flag: &Arg, has: bool| Some(flag.clone().hide(!has));
    command.mut_subcommands(|command| with_flags(command, "", &flags, &own))
}

/// Removes them, for completions, which would also offer hidden flags.
pub(crate) fn without_others(command: Command) -> Command {
    let flags = flags_of(&command);
    let own = |flag: &Arg, has: bool| has.then(|| flag.clone().global(false));
    let command = command.mut_args(|flag| flag.global(false));
    command.mut_subcommands(|command| with_flags(command, "", &flags, &own))
}

/// The flags of a prompt.
fn flags_of(command: &Command) -> Vec<Arg> {
    command.get_arguments().filter(|flag| flag.is_global_set()).cloned().collect()
}

/// A command with what is made of each of the flags, by whether the command has it.
fn with_flags(command: Command, around: &str, flags: &[Arg], own: &dyn Fn(&Arg, bool) -> Option<Arg>) -> Command {
    let path = format!("{around}{}", command.get_name());
    let command = command.args(flags.iter().filter_map(|flag| own(flag, has(&path, flag.get_id().as_str()))));
    command.mut_subcommands(|command| with_flags(command, &format!("{path} "), flags, own))
}

/// Checks that the command has all flags that were given.
///
/// # Errors
/// It does not have one: that would do nothing.
pub(crate) fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), Error> {
    let names: Vec<&str> = successors(matches.subcommand(), |(_, matches)| matches.subcommand()).map(|(name, _)| name).collect();
    if names.is_empty() {
        return Ok(());
    }
    let path = names.join(" ");
    let is_wrong = |flag: &&str| matches.value_source(flag) == Some(ValueSource::CommandLine) && !has(&path, flag);
    let flags = || command.get_arguments().filter(|flag| !flag.is_positional()).map(|flag| flag.get_id().as_str());
    let Some(wrong) = flags().find(is_wrong).map(str::to_owned) else { return Ok(()) };
    let text = format!("{path} has no flag --{wrong}; {} {path} --help lists those it has", command.get_name());
    // With its own usage.
    let innermost = names.iter().try_fold(command, |command, name| command.find_subcommand_mut(name).ok_or(()));
    innermost.map_or(Ok(()), |command| Err(command.error(ErrorKind::UnknownArgument, text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments;
    use crate::spec::AgentSpec;

    #[test]
    fn the_table_has_commands_and_flags() {
        let command = arguments::command(&AgentSpec::agent());
        let known = flags_of(&command);
        // That one has a program which loads plugins.
        let is_flag = |flag: &&str| *flag == "plugin" || known.iter().any(|known| known.get_id() == *flag);
        for (path, flags) in FLAGS {
            let found = path.split(' ').try_fold(&command, |command, name| command.find_subcommand(name));
            assert!(found.is_some(), "{path}");
            assert!(flags.iter().copied().flatten().all(is_flag), "{path}");
        }
        assert!(ALL.iter().all(is_flag));
    }
}
