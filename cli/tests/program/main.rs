//! The program `agent`, called as a user calls it: each flag, each command, each exit code.

mod acp;
mod auth;
mod chat;
mod commands;
mod exit_codes;
mod flags;
#[cfg(target_os = "linux")]
mod keyring;
#[cfg(unix)]
mod plugins;
mod projects;
mod sessions;
mod specs;
mod view;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder in which the program is called, with a home of its own and nothing of our environment but the path.
struct Place(TempDir);

/// What a call has come to.
#[derive(Debug)]
struct Called {
    code: i32,
    out: String,
    err: String,
}

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// An agent.toml whose model answers from a script, with more lines.
    fn spec(&self, script: &Value, more: &str) -> PathBuf {
        self.write("model.json", &script.to_string());
        let script = toml(script);
        let model = format!("model = {{ provider = \"scripted\", id = \"s\", script = {script} }}");
        self.write("agent.toml", &format!("name = \"tester\"\n{model}\n{more}\n"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent"));
        command.args(arguments).current_dir(self.0.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.0.path()).env("AGENT_HOME", self.path("home"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn call(&self, arguments: &[&str]) -> Called {
        called(self.command(arguments), "")
    }

    /// The same with standard input.
    fn call_with(&self, arguments: &[&str], input: &str) -> Called {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped());
        called(command, input)
    }
}

fn called(mut command: Command, input: &str) -> Called {
    let mut child = command.spawn().unwrap();
    if let Some(mut stdin) = child.stdin.take() {
        // It may refuse the command line before it reads.
        let written = stdin.write_all(input.as_bytes());
        assert!(written.is_ok() || written.is_err_and(|why| why.kind() == std::io::ErrorKind::BrokenPipe));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Called { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// A value of JSON in TOML.
fn toml(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let fields = map.iter().map(|(name, value)| format!("{} = {}", json!(name), toml(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Answers of a scripted model that are texts.
fn says(texts: &[&str]) -> Value {
    texts.iter().map(|text| json!([{ "delta": text }, { "end": "stop" }])).collect()
}

/// An answer that calls a tool.
fn calls(name: &str, arguments: Value) -> Value {
    json!([{ "delta": { "tool_call": { "id": "c1", "name": name, "arguments": arguments } } }, { "end": "tool_use" }])
}

/// The lines of a text, as JSON.
fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}
