//! The command line all measured programs understand, and the line that they print. `README.md` describes both.

use serde::Serialize;

use crate::answers::Format;

/// The task of a measured program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The server's base URL, without a path.
    pub url: String,
    /// The wire format to speak.
    pub format: Format,
    /// Whether single runs are spawned as tasks instead of being what the main thread blocks on. Only the Rust programs
    /// that bring no runtime of their own know this option.
    pub spawned: bool,
    /// A JSON file with messages from which each run of `stream` resumes, instead of its prompt. Only the Rust and the C
    /// program know this option.
    pub history: Option<String>,
    /// What to measure.
    pub task: Task,
}

/// What to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// CPU time of runs in sequence.
    Stream {
        /// The model to ask for.
        model: String,
        /// How many runs to measure, after one that is not.
        repeats: usize,
    },
    /// Memory of many concurrent runs.
    Concurrent {
        /// The model to ask for; each run asks for its name with `-RUNS` behind it.
        model: String,
        /// How many.
        runs: usize,
    },
    /// CPU time of the process from its start to the first delta.
    Start {
        /// The model to ask for.
        model: String,
    },
}

const USAGE: &str = "stream --url URL --format FORMAT --model MODEL --repeats N, \
    or: concurrent --url URL --format FORMAT [--model MODEL] --runs N, \
    or: start --url URL --format FORMAT --model MODEL; FORMAT is anthropic, chat, responses or gemini";

impl Command {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Command, String> {
        let task = arguments.next().ok_or_else(|| format!("nothing asked; {USAGE}"))?;
        let (mut url, mut format, mut history, mut model, mut repeats, mut runs) = (None, None, None, None, None, None);
        let mut spawned = false;
        while let Some(name) = arguments.next() {
            if name == "--spawned" {
                spawned = true;
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("{name} has no value"))?;
            match (name.as_str(), task.as_str()) {
                ("--url", _) => url = Some(value),
                ("--history", "stream") => history = Some(value),
                ("--format", _) => format = Some(value.parse::<Format>()?),
                ("--model", "stream" | "concurrent" | "start") => model = Some(value),
                ("--repeats", "stream") => repeats = Some(count(&name, &value)?),
                ("--runs", "concurrent") => runs = Some(count(&name, &value)?),
                _ => return Err(format!("{task} has no option {name}; {USAGE}")),
            }
        }
        let missing = |name: &str| format!("{task} needs {name}; {USAGE}");
        let task = match task.as_str() {
            "stream" => Task::Stream {
                model: model.ok_or_else(|| missing("--model"))?,
                repeats: repeats.ok_or_else(|| missing("--repeats"))?,
            },
            "concurrent" => Task::Concurrent {
                model: model.unwrap_or_else(|| "calc".to_owned()),
                runs: runs.ok_or_else(|| missing("--runs"))?,
            },
            "start" => Task::Start { model: model.ok_or_else(|| missing("--model"))? },
            other => return Err(format!("no task {other:?}; {USAGE}")),
        };
        Ok(Command {
            url: url.ok_or_else(|| missing("--url"))?,
            format: format.ok_or_else(|| missing("--format"))?,
            spawned,
            history,
            task,
        })
    }
}

fn count(name: &str, value: &str) -> Result<usize, String> {
    value.parse().ok().filter(|&n| n > 0).ok_or_else(|| format!("{name} takes a number from 1, not {value:?}"))
}

/// What one run received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Tally {
    /// A program that does not parse: `data:` lines.
    Lines {
        /// How many.
        lines: u64,
    },
    /// A program that does: deltas of text and of tool arguments.
    Deltas {
        /// How many, empty ones left out.
        deltas: u64,
        /// Their length, in bytes.
        bytes: u64,
    },
}

/// The answer to `stream`.
#[derive(Debug, Serialize)]
pub struct StreamReport {
    /// CPU time of each measured run, in microseconds.
    pub cpu_us: Vec<u64>,
    /// CPU time of each turn of the last measured run, in microseconds; empty where the program does not measure turns.
    pub turn_us: Vec<u64>,
    /// What each of them received.
    #[serde(flatten)]
    pub tally: Tally,
}

/// The answer to `start`.
#[derive(Debug, Serialize)]
pub struct StartReport {
    /// CPU time of the process until the first delta, in microseconds.
    pub first_us: u64,
}

/// The answer to `concurrent`.
#[derive(Debug, Serialize)]
pub struct ConcurrentReport {
    /// CPU time of all of them, in microseconds.
    pub cpu_us: u64,
    /// Memory after the warm-up.
    pub idle_kb: u64,
    /// The most memory while all ran.
    pub peak_kb: u64,
    /// How many ran.
    pub runs: usize,
    /// How many of them did not end as they should.
    pub failures: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, String> {
        Command::parse(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn reads_both_tasks() {
        let stream = parse("stream --url http://h --spawned --format chat --model text-9 --repeats 3").unwrap();
        assert_eq!(stream.task, Task::Stream { model: "text-9".to_owned(), repeats: 3 });
        assert_eq!((stream.url.as_str(), stream.format), ("http://h", Format::Chat));
        let concurrent = parse("concurrent --format anthropic --runs 1000 --url http://h").unwrap();
        assert_eq!(concurrent.task, Task::Concurrent { model: "calc".to_owned(), runs: 1000 });
    }

    #[test]
    fn says_what_is_wrong() {
        for (line, problem) in [
            ("stream --url http://h --format chat --model text-9", "stream needs --repeats"),
            ("stream --runs 3", "stream has no option --runs"),
            ("stream --repeats 0", "--repeats takes a number from 1, not \"0\""),
            ("stream --format soap", "no format \"soap\"; there are anthropic, chat, responses, gemini"),
            ("concurrent --runs", "--runs has no value"),
            ("walk", "no task \"walk\""),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.starts_with(problem), "{line}: {error}");
        }
    }
}
