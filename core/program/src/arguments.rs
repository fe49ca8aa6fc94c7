//! The command line.

use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};

use crate::spec::AgentSpec;
use crate::{command_flags, new};

const AFTER: &str = "\
Exit codes: 0 completed, 1 error, 2 wrong usage, 3 a limit or a budget ended the run, 4 calls wait for approval,
5 the model refused, 130 aborted.

A prompt that begins with the name of a command stands behind --, as in: agent -- models of the world";

/// The values of `--thinking`.
pub(crate) const THINKING: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh"];

/// The whole command.
pub(crate) fn command(spec: &AgentSpec) -> Command {
    command_flags::hide_others(unhidden(spec))
}

/// The same for the completions of a shell.
pub(crate) fn completed(spec: &AgentSpec) -> Command {
    command_flags::without_others(unhidden(spec))
}

fn unhidden(spec: &AgentSpec) -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).help(help).action(ArgAction::SetTrue).global(true).display_order(50)
    };
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help).global(true).display_order(10)
    };
    let command = Command::new(spec.name().to_owned())
        .about(spec.about().to_owned())
        .version(spec.own_version().to_owned())
        .after_help(AFTER)
        .subcommand_help_heading("Commands")
        .subcommand_value_name("COMMAND")
        .arg(
            Arg::new("prompt").value_name("PROMPT").num_args(0..).help(
                "What to ask; - reads it from standard input. A path of an agent.toml in front of it makes that agent answer",
            ),
        )
        .arg(
            option("input", "FILE", "Adds a file to the prompt: text as it is, images and PDF documents as such")
                .action(ArgAction::Append)
                .value_hint(ValueHint::FilePath)
                .value_parser(value_parser!(std::path::PathBuf)),
        )
        .arg(
            option("output", "FILE", "Writes the answer to a file, with --json the events")
                .value_hint(ValueHint::FilePath)
                .value_parser(value_parser!(std::path::PathBuf)),
        )
        .arg(option("model", "PROVIDER/ID", "The model; the command models lists the known ones").short('m'))
        .arg(option("base-url", "URL", "The server's address, in place of the provider's").value_hint(ValueHint::Url))
        .arg(option("system", "TEXT", "The system prompt; @FILE reads it from a file").short('s'))
        .arg(option("tools", "NAMES", "Built-in tools, by their names with commas between them; all for all of them").short('t'))
        .arg(
            option("root", "FOLDER", "The folder in which the built-in tools stay; the current one unless this names another")
                .value_hint(ValueHint::DirPath)
                .value_parser(value_parser!(std::path::PathBuf)),
        )
        .arg(
            option(
                "mcp",
                "SERVER",
                "A server of the Model Context Protocol: a command line, an address, or a JSON file of servers",
            )
            .action(ArgAction::Append),
        )
        .args(spec.loads_plugins().then(|| {
            option("plugin", "PATH", "A plugin: a shared library that adds tools, hooks or providers, such as ./dice.so")
                .action(ArgAction::Append)
                .value_hint(ValueHint::FilePath)
                .value_parser(value_parser!(std::path::PathBuf))
        }))
        .arg(option("max-turns", "N", "The most turns of a run; 0 for no limit").value_parser(value_parser!(u32)))
        .arg(option("max-cost", "DOLLARS", "What a run may cost before it makes no further call").value_parser(dollars))
        .arg(
            option("thinking", "LEVEL", "How much the model thinks")
                .value_parser(clap::builder::PossibleValuesParser::new(THINKING)),
        )
        .arg(option("session", "ID", "Goes on with a session, or begins one of this name"))
        .arg(
            option("history", "FILE.jsonl", "A conversation to go on with, a message a line, to which the run is added")
                .value_hint(ValueHint::FilePath)
                .value_parser(value_parser!(std::path::PathBuf))
                .conflicts_with("session"),
        )
        .arg(
            option("record", "FILE.jsonl", "Records the runs, for the command replay")
                .value_hint(ValueHint::FilePath)
                .value_parser(value_parser!(std::path::PathBuf)),
        )
        .arg(
            option("spec", "FILE", "The agent, as an agent.toml describes it")
                .value_hint(ValueHint::FilePath)
                .value_parser(value_parser!(std::path::PathBuf)),
        )
        .arg(flag("json", "Shows events as JSON lines, and lists as JSON"))
        .arg(flag("verbose", "Shows requests and the heads of responses on standard error, without keys").short('v'))
        .arg(flag("quiet", "Shows nothing but the answer").short('q').conflicts_with("verbose"))
        .arg(flag("yes", "Approves all calls that need approval").short('y'))
        .arg(flag("demo", "Plays a conversation of a built-in model, without a server or a key").global(false))
        .subcommand(
            Command::new("chat")
                .about("Talks in the terminal")
                .arg(Arg::new("prompt").value_name("PROMPT").num_args(0..).help("What to ask first")),
        )
        .subcommand(
            Command::new("acp").about("Serves an editor: speaks the Agent Client Protocol over standard input and output"),
        )
        .subcommand(Command::new("sessions").about("Lists the sessions, or shows or deletes one").subcommands([
            Command::new("show").about("Shows a session's conversation").arg(id()),
            Command::new("delete").about("Deletes a session").arg(id()),
        ]))
        .subcommand(
            Command::new("models")
                .about("Lists the known models, with their limits and prices")
                .arg(Arg::new("filter").value_name("TEXT").help("Only those whose name has this text")),
        )
        .subcommand(crate::auth::command())
        .subcommand(
            Command::new("transcript").about("Looks at transcripts").subcommand_required(true).subcommand(
                Command::new("check")
                    .about("Says what has to be repaired before the model can read a transcript")
                    .arg(file("A transcript: messages as a JSON list or as JSON lines")),
            ),
        )
        .subcommand(
            Command::new("replay").about("Plays a recorded run: the same events, without a model").arg(file("A recording")).arg(
                Arg::new("run")
                    .long("run")
                    .value_name("N")
                    .value_parser(value_parser!(u64).range(1..))
                    .help("Which of its runs: 1, the first one, unless given"),
            ),
        )
        .subcommand(view())
        .subcommand(
            Command::new("mcp")
                .about("Looks at MCP servers")
                .subcommand_required(true)
                .subcommand(Command::new("list").about("Connects to the MCP servers and lists their tools")),
        )
        .subcommand(
            Command::new("completions").about("Prints the completions of a shell").arg(
                Arg::new("shell")
                    .value_name("SHELL")
                    .required(true)
                    .value_parser(value_parser!(clap_complete::Shell))
                    .help("bash, elvish, fish, powershell or zsh"),
            ),
        )
        .subcommand(
            Command::new("man")
                .about("Prints the manual page, or that of a command")
                .arg(Arg::new("of").value_name("COMMAND").num_args(0..).help("A command, such as chat or auth login")),
        );
    // Other programs are somebody's agents: what they are asked may begin with this word.
    let new = (spec.name() == AgentSpec::agent().name()).then(new::arguments);
    command.subcommands(new)
}

/// # Errors
/// What is no amount.
fn dollars(given: &str) -> Result<f64, String> {
    let read = given.parse::<f64>().ok().filter(|dollars| dollars.is_finite() && *dollars >= 0.0);
    read.ok_or_else(|| "expected a number of dollars, such as 0.5".to_owned())
}

fn view() -> Command {
    Command::new("view").about("Shows runs on a page: as a timeline, with their messages").args([
        Arg::new("of")
            .value_name("SESSION|FILE")
            .num_args(0..=2)
            .value_hint(ValueHint::FilePath)
            .help("A session, a recording, events of --json, or messages; two are compared; the last session unless given"),
        Arg::new("export")
            .long("export")
            .value_name("FILE.html")
            .value_hint(ValueHint::FilePath)
            .value_parser(value_parser!(std::path::PathBuf))
            .help("Writes the page to a file, in place of serving it"),
        Arg::new("port").long("port").value_name("N").value_parser(value_parser!(u16)).help("The port; a free one unless given"),
        Arg::new("open").long("open").action(ArgAction::SetTrue).help("Opens the page in the browser"),
    ])
}

fn id() -> Arg {
    Arg::new("id").value_name("ID").required(true).help("The session")
}

fn file(help: &'static str) -> Arg {
    let path = value_parser!(std::path::PathBuf);
    Arg::new("file").value_name("FILE").required(true).value_hint(ValueHint::FilePath).value_parser(path).help(help)
}

/// The value of an option that is a text.
pub(crate) fn text<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a str> {
    matches.get_one::<String>(name).map(String::as_str)
}
