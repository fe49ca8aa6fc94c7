//! Where a program begins: the command line is read, and its command runs.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agent_loop::{Error, ErrorKind, Runtime};
use clap::{Arg, ArgMatches, Command};

use crate::failure::Failure;
use crate::settings::Settings;
use crate::spec::AgentSpec;
use crate::terminal::plain;
use crate::{acp, auth, chat, demo, exit, mcp, models, new, once, replay, sessions, transcript, view};
use crate::{arguments, command_flags};

/// How long what still runs has at the end.
const GRACE: Duration = Duration::from_millis(500);

/// The whole program of an agent: reads the command line of the process, does what it says, and gives what `main` exits with.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// use agent_loop_program::{AgentSpec, agent_main};
///
/// fn main() -> ExitCode {
///     agent_main(AgentSpec::new("poet").system_prompt("Answer in verse."))
/// }
/// ```
pub fn agent_main(spec: AgentSpec) -> ExitCode {
    agent_main_from(spec, std::env::args_os()).into()
}

/// The same with this command line, of which the first part is the program's name. Gives the exit code, from 0 to 255.
pub fn agent_main_from(spec: AgentSpec, arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let name = spec.name().to_owned();
    match run(spec, arguments.into_iter().collect()) {
        Ok(code) => code,
        Err(failure) => {
            if !failure.text.is_empty() {
                // It may have the words of a server.
                let _ = writeln!(io::stderr(), "{name}: {}", plain(&failure.text));
            }
            failure.code
        }
    }
}

/// The same on a thread of its own, for a caller whose own thread has to stay free: for its event loop, for example.
///
/// # Errors
/// `io` when the system gives no thread.
pub async fn agent_main_on_thread(
    spec: AgentSpec,
    arguments: impl IntoIterator<Item = OsString> + Send + 'static,
) -> Result<u8, Error> {
    let (done, code) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("program".to_owned());
    let started = thread.spawn(move || {
        // The caller may have gone.
        let _ = done.send(agent_main_from(spec, arguments));
    });
    let refused = |why: io::Error| Error::new(ErrorKind::Io, format!("the system gives no thread: {why}")).with_source(why);
    drop(started.map_err(refused)?);
    // Without an answer it panicked, and the panic is on standard error.
    Ok(code.await.unwrap_or(exit::ERROR))
}

fn run(spec: AgentSpec, mut arguments: Vec<OsString>) -> Result<u8, Failure> {
    let mut known = arguments::command(&spec);
    let mut read = known.try_get_matches_from_mut(&arguments);
    if let Some(at) = spec_before_command(&known, &read, &arguments) {
        arguments.insert(at, "--spec".into());
        read = known.try_get_matches_from_mut(&arguments);
    }
    let checked = read.and_then(|matches| command_flags::check(&mut known, &matches).map(|()| matches));
    let matches = match checked {
        Ok(matches) => matches,
        // Also for --help and --version, which are no mistakes.
        Err(stopped) => {
            let stopped = match spec_beside(&arguments).filter(|_| !stopped.use_stderr()) {
                // They are those of the agent that the file describes.
                Some(path) => {
                    let own = arguments::command(&read_spec(&path)?).try_get_matches_from_mut(&arguments);
                    own.err().unwrap_or(stopped)
                }
                None => stopped,
            };
            let _ = stopped.print();
            return Ok(u8::try_from(stopped.exit_code()).unwrap_or(exit::USAGE));
        }
    };
    // Those of a prompt, which `chat` may begin with, too.
    let of_prompt = matches.subcommand_matches("chat").unwrap_or(&matches);
    let mut words: Vec<String> = of_prompt.get_many("prompt").into_iter().flatten().cloned().collect();
    let file = match matches.get_one::<PathBuf>("spec") {
        Some(path) => Some(path.clone()),
        None => spec_among(&mut words)?,
    };
    let spec = match file {
        Some(path) => read_spec(&path)?.with_code_of(&spec),
        None => spec,
    };
    spec.check_name()?;
    if let [word] = words.as_slice()
        && matches.subcommand().is_none()
        && !arguments.iter().any(|argument| argument == "--")
    {
        check_no_command(&spec, word)?;
    }
    if matches.get_flag("demo") {
        let settings = Settings::of(demo::spec(), &matches)?;
        if !words.is_empty() && !settings.quiet {
            say!("the demo has a prompt of its own: yours is not sent");
        }
        return in_runtime(once::run(&settings, vec![demo::PROMPT.to_owned()], &matches));
    }
    command(spec, words, &matches)
}

/// Whether these two words are the path of an agent.toml and a command.
fn is_spec_of_command(known: &Command, path: &str, command: &str) -> bool {
    // A prompt may well begin with this one.
    let is_command = || command != "new" && known.find_subcommand(command).is_some();
    is_spec(path) && Path::new(path).is_file() && is_command()
}

/// Where in a command line the path of an agent.toml stands before a command, as in `./reviewer.toml chat`. It was read as a
/// prompt, or not at all, as the command has flags of its own.
fn spec_before_command(known: &Command, read: &Result<ArgMatches, clap::Error>, arguments: &[OsString]) -> Option<usize> {
    // What stands behind -- is a prompt.
    let own: Vec<&str> = arguments.iter().map_while(|word| word.to_str().filter(|word| *word != "--")).collect();
    let Ok(matches) = read else {
        let is_pair = |words: &[&str]| match words {
            [before, path, command] => !takes_value(known, before) && is_spec_of_command(known, path, command),
            _ => false,
        };
        return own.windows(3).position(is_pair).map(|at| at + 1);
    };
    let words: Vec<&String> = matches.try_get_many("prompt").ok()??.collect();
    let first = words.first()?;
    // Behind a flag it was read as the command.
    let command = words.get(1).map(|word| word.as_str()).or_else(|| matches.subcommand_name())?;
    is_spec_of_command(known, first, command).then(|| own.iter().position(|word| word == first))?
}

/// Whether the word behind this one is the value of a flag.
fn takes_value(known: &Command, word: &str) -> bool {
    let is_it = |flag: &Arg| {
        let long = flag.get_long().is_some_and(|name| word.strip_prefix("--") == Some(name));
        long || flag.get_short().is_some_and(|name| word.strip_prefix('-') == Some(name.encode_utf8(&mut [0; 4])))
    };
    known.get_opts().any(is_it)
}

/// The shortest word that is taken for a command with a mistake in it.
const SHORTEST: usize = 4;

/// Refuses a prompt that is one word, and nearly a command: it would be sent to the model, and cost.
fn check_no_command(spec: &AgentSpec, word: &str) -> Result<(), Failure> {
    let command = arguments::command(spec);
    let is_near = |name: &&str| word.len() >= SHORTEST && strsim::damerau_levenshtein(name, word) == 1;
    match command.get_subcommands().map(Command::get_name).find(is_near) {
        Some(name) => {
            Err(Failure::usage(format!("there is no command {word}; did you mean {name}? As a prompt, put -- before it")))
        }
        None => Ok(()),
    }
}

/// The path of an agent.toml that stands in front of the prompt, as in `#!/usr/bin/env agent`.
///
/// # Errors
/// It is that of no file.
fn spec_among(words: &mut Vec<String>) -> Result<Option<PathBuf>, Failure> {
    let Some(first) = words.first().filter(|word| is_spec(word)) else { return Ok(None) };
    let path = PathBuf::from(first);
    if !path.is_file() {
        let text = format!("{first}: there is no such file; a prompt that begins so stands in quotes, with its other words");
        return Err(Failure::usage(text));
    }
    words.remove(0);
    Ok(Some(path))
}

/// Whether a word is the path of an agent.toml.
fn is_spec(word: &str) -> bool {
    word.ends_with(".toml") && !word.contains(char::is_whitespace)
}

/// The path of an agent.toml in a command line that was not read to its end.
fn spec_beside(arguments: &[OsString]) -> Option<PathBuf> {
    let mut words = arguments.iter().skip(1).filter_map(|word| word.to_str());
    let word = words.find(|word| is_spec(word) || word.starts_with("--spec"))?;
    let path = match word.strip_prefix("--spec") {
        Some("") => words.next()?,
        Some(value) => value.strip_prefix('=')?,
        None => word,
    };
    Some(PathBuf::from(path)).filter(|path| path.is_file())
}

/// # Errors
/// The file cannot be read, or describes no agent: the command line is wrong.
fn read_spec(path: &Path) -> Result<AgentSpec, Failure> {
    AgentSpec::from_file(path).map_err(|error| Failure::usage(error.message()))
}

/// Prints the page of the program, or that of the command that is named by its words.
///
/// # Errors
/// There is no such command.
fn manual(spec: &AgentSpec, matches: &ArgMatches, out: &mut impl Write) -> Result<(), Failure> {
    let mut command = arguments::command(spec);
    // Commands get their whole names.
    command.build();
    let mut page = &command;
    for word in matches.get_many::<String>("of").into_iter().flatten() {
        let missing = || {
            let of = page.get_bin_name().unwrap_or(page.get_name());
            Failure::usage(format!("man: there is no command {word:?} in {of}; {} man lists them", spec.name()))
        };
        page = page.find_subcommand(word).ok_or_else(missing)?;
    }
    let source = format!("{} {}", command.get_name(), command.get_version().unwrap_or_default());
    Ok(clap_mangen::Man::new(page.clone()).source(source).render(out)?)
}

fn command(spec: AgentSpec, words: Vec<String>, matches: &ArgMatches) -> Result<u8, Failure> {
    let out = &mut io::stdout();
    let Some((name, matches)) = matches.subcommand() else {
        let settings = Settings::of(spec, matches)?.with_model(matches)?;
        return in_runtime(once::run(&settings, words, matches));
    };
    match (name, matches.subcommand()) {
        ("chat", _) => {
            let settings = Settings::of(spec, matches)?.with_model(matches)?;
            in_runtime(chat::run(settings, words, matches))
        }
        ("new", _) => new::write(matches, out),
        ("acp", _) => {
            let settings = Settings::of(spec, matches)?;
            in_runtime(acp::run(settings, matches))
        }
        ("auth", _) => auth::run(&Settings::of(spec, matches)?, matches, out),
        ("models", _) => models::list(matches, matches.get_flag("json"), out),
        ("completions", _) => {
            let (mut command, mut text) = (arguments::completed(&spec), Vec::new());
            if let Some(shell) = matches.get_one::<clap_complete::Shell>("shell") {
                clap_complete::generate(*shell, &mut command, spec.name().to_owned(), &mut text);
            }
            out.write_all(&text)?;
            Ok(exit::COMPLETED)
        }
        ("man", _) => {
            manual(&spec, matches, out)?;
            Ok(exit::COMPLETED)
        }
        ("transcript", Some((_, matches))) => transcript::check(&Settings::of(spec, matches)?, matches, out),
        ("replay", _) => {
            let settings = Settings::of(spec, matches)?;
            in_runtime(replay::play(&settings, matches, matches.get_one("output")))
        }
        ("view", _) => {
            let settings = Settings::of(spec, matches)?;
            in_runtime(view::show(&settings, matches, out))
        }
        ("mcp", Some((_, matches))) => {
            let settings = Settings::of(spec, matches)?;
            in_runtime(mcp::list(&settings, out))
        }
        ("sessions", _) => {
            let settings = Settings::of(spec, matches)?;
            in_runtime(sessions::command(&settings, matches, out))
        }
        _ => Err(Failure::usage(format!("{name}: there is no such command"))),
    }
}

/// Does work where runs live, and waits for what they leave.
pub(crate) fn in_runtime<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = Runtime::new()?;
    let result = runtime.block_on(work);
    runtime.shutdown(GRACE);
    result
}
