//! `agent-mock SCRIPT.json [--port N] [--strict] [--forever]`: plays a script until standard input closes, or for ever.
//!
//! Prints its address on one line once it listens. How to use it is in `tests/mock/README.md`, the script format in the library's
//! documentation.

use std::io::{self, Write};
use std::process::ExitCode;

use agent_mock::{Mock, Script};

const USAGE: &str = "usage: agent-mock SCRIPT.json [--port N] [--strict] [--forever]
Plays the script's answers on 127.0.0.1 (a free port unless given), prints the address, ends when standard input closes.
With --strict it refuses what the real services would refuse. With --forever it does not read standard input, and goes on until
it is killed.";

struct Options {
    script: String,
    port: u16,
    strict: bool,
    forever: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let options = match read_arguments(&arguments) {
        Ok(read) => read,
        Err(problem) => {
            eprintln!("agent-mock: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match play(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("agent-mock: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn read_arguments(arguments: &[String]) -> Result<Options, String> {
    let mut script = None;
    let (mut port, mut strict, mut forever) = (0, false, false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--port" {
            let number = rest.next().ok_or("--port needs a number")?;
            port = number.parse().map_err(|_| format!("--port {number}: not a port; use 0 to 65535"))?;
        } else if argument == "--strict" {
            strict = true;
        } else if argument == "--forever" {
            forever = true;
        } else if argument.starts_with('-') {
            return Err(format!("unknown option {argument}"));
        } else if script.replace(argument.clone()).is_some() {
            return Err(format!("one script at a time; what is {argument}?"));
        }
    }
    Ok(Options { script: script.ok_or("which script?")?, port, strict, forever })
}

fn play(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let script = Script::load(&options.script)?.print_refusals();
    let mock = Mock::start_on(if options.strict { script.strict() } else { script }, options.port)?;
    let mut out = io::stdout();
    writeln!(out, "{}", mock.url())?;
    out.flush()?;
    // Not even read: a job in the background would be stopped for that.
    if options.forever {
        loop {
            std::thread::park();
        }
    }
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    // Who closes it after asking meant it. Before that, it was likely never open: `agent-mock … &` in a shell script.
    if !mock.was_asked() {
        eprintln!("agent-mock: standard input closed before any request came, and so this ends; with --forever it goes on");
    }
    Ok(())
}
