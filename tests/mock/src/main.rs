//! `agent-mock SCRIPT.json [--port N] [--strict]`: plays a script until standard input closes.
//!
//! Prints its address on one line once it listens. The script format is in the library's documentation.

use std::io::{self, Write};
use std::process::ExitCode;

use agent_mock::{Mock, Script};

const USAGE: &str = "usage: agent-mock SCRIPT.json [--port N] [--strict]
Plays the script's answers on 127.0.0.1 (a free port unless given), prints the address, ends when standard input closes.
With --strict it refuses what the real services would refuse.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let (script, port, strict) = match read_arguments(&arguments) {
        Ok(read) => read,
        Err(problem) => {
            eprintln!("agent-mock: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match play(&script, port, strict) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("agent-mock: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn read_arguments(arguments: &[String]) -> Result<(String, u16, bool), String> {
    let mut script = None;
    let mut port = 0;
    let mut strict = false;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--port" {
            let number = rest.next().ok_or("--port needs a number")?;
            port = number.parse().map_err(|_| format!("--port {number}: not a port; use 0 to 65535"))?;
        } else if argument == "--strict" {
            strict = true;
        } else if argument.starts_with('-') {
            return Err(format!("unknown option {argument}"));
        } else if script.replace(argument.clone()).is_some() {
            return Err(format!("one script at a time; what is {argument}?"));
        }
    }
    Ok((script.ok_or("which script?")?, port, strict))
}

fn play(script: &str, port: u16, strict: bool) -> Result<(), Box<dyn std::error::Error>> {
    let script = Script::load(script)?;
    let mock = Mock::start_on(if strict { script.strict() } else { script }, port)?;
    let mut out = io::stdout();
    writeln!(out, "{}", mock.url())?;
    out.flush()?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(())
}
