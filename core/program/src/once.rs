//! One prompt: the run is shown, and decides what the program exits with.

use std::io::IsTerminal;
use std::path::PathBuf;

use agent_loop::message::{ContentBlock, Prompt};
use agent_loop::session::Info;
use agent_loop::{Agent, ErrorKind, PendingRun, RunResult};
use clap::ArgMatches;
use serde_json::Value;

use crate::advice::with_advice;
use crate::approvals::{check_tools, decide, waiting};
use crate::arguments::text;
use crate::ending::Ending;
use crate::exit;
use crate::failure::Failure;
use crate::file::{self, Given};
use crate::history::Appended;
use crate::interrupt::Interrupt;
use crate::settings::{Conversation, Settings};
use crate::show::{Show, shortened};
use crate::terminal::plain;

/// Asks, and shows the answer.
pub(crate) async fn run(settings: &Settings, words: Vec<String>, matches: &ArgMatches) -> Result<u8, Failure> {
    let path = |flag: &str| matches.get_one::<PathBuf>(flag).cloned();
    file::check_different(&[
        ("the spec", settings.spec.file().map(PathBuf::from)),
        ("--history", path("history")),
        ("the recording", settings.options.get("record").and_then(Value::as_str).map(PathBuf::from)),
        ("--output", path("output")),
    ])?;
    let prompt = prompt(words, matches)?;
    let conversation = Conversation::of(settings, matches).await?;
    if let (Conversation::Session(session), Some(prompt)) = (&conversation, &prompt)
        && session.rebuilt().messages.is_empty()
    {
        // For the list of sessions.
        let title = prompt.0.first().map(|message| shortened(&message.text())).unwrap_or_default();
        session.set_info(Info::default().title(title)).await?;
    }
    let agent = settings.agent(conversation)?;
    if prompt.is_none() && agent.pending().is_empty() && agent.interrupted().is_none() {
        return Err(Failure::usage("there is nothing to ask; give a prompt, - for standard input, or --help"));
    }
    let history = matches.get_one::<PathBuf>("history").map(|path| Appended::open(path)).transpose()?;
    let show = Show::new(settings, matches.get_one::<PathBuf>("output").map(PathBuf::as_path))?;
    let mut runs = Runs { settings, agent, show, history, interrupt: Interrupt::listen(), code: exit::COMPLETED, is_lost: false };
    let session = text(matches, "session");
    if !runs.finish_last(session, prompt.is_some()).await? {
        return Ok(runs.code);
    }
    if let Some(prompt) = prompt {
        runs.play(runs.agent.prompt(prompt), session).await?;
    }
    Ok(if runs.is_lost && runs.code == exit::COMPLETED { exit::ERROR } else { runs.code })
}

/// The runs of one call of the program.
struct Runs<'a> {
    settings: &'a Settings,
    agent: Agent,
    show: Show,
    history: Option<Appended>,
    interrupt: Interrupt,
    /// What the last one came to.
    code: u8,
    /// Whether the recording of one could not be written.
    is_lost: bool,
}

impl Runs<'_> {
    /// Goes on with what a session was left in: calls that wait, or a run that its process did not end. Whether the next prompt
    /// may follow.
    async fn finish_last(&mut self, session: Option<&str>, has_prompt: bool) -> Result<bool, Failure> {
        let pending = self.agent.pending();
        let resumed = if !pending.is_empty() {
            check_tools(self.settings, &self.agent, &pending)?;
            match decide(self.settings, &pending) {
                Some(decisions) => self.agent.resume().decisions(decisions),
                None => {
                    let unsent = if has_prompt { "\nthe prompt was not sent" } else { "" };
                    return Err(Failure { text: waiting(&pending, session) + unsent, code: exit::SUSPENDED });
                }
            }
        } else if self.agent.interrupted().is_some() {
            self.agent.resume()
        } else {
            return Ok(true);
        };
        self.play(resumed, session).await
    }

    /// Plays a run to its end, also through calls that wait. Whether it has completed.
    async fn play(&mut self, first: PendingRun, session: Option<&str>) -> Result<bool, Failure> {
        let mut next = first;
        loop {
            let result = self.show(next).await?;
            self.code = exit::of(&result, &self.agent);
            if self.code == exit::SUSPENDED {
                match decide(self.settings, &result.pending) {
                    Some(decisions) => {
                        next = self.agent.resume().decisions(decisions);
                        continue;
                    }
                    None => self.show.note(&waiting(&result.pending, session))?,
                }
            }
            return Ok(self.code == exit::COMPLETED);
        }
    }

    async fn show(&mut self, run: PendingRun) -> Result<RunResult, Failure> {
        let mut run = run.stream()?;
        let running = self.interrupt.running(&self.agent);
        let mut written = Ok(());
        let mut ending = Ending::default();
        while let Some(event) = run.next().await {
            ending.event(&event);
            if written.is_ok() {
                written = self.show.event(&event);
                if written.is_err() {
                    self.agent.abort();
                }
            }
        }
        let result = run.ended().await?;
        drop(running);
        if let Some(history) = &mut self.history {
            history.append(&result.messages)?;
        }
        written?;
        self.show.end(&result)?;
        if let Some(error) = &result.error {
            if error.kind() != ErrorKind::Aborted {
                say!("{}: {}", self.settings.spec.name(), plain(&with_advice(error)));
            }
        } else if let Some(how) = ending.report(&result, &self.agent) {
            self.show.note(&how)?;
        }
        if let Some(error) = self.agent.record().failure() {
            say!("{}: {}", self.settings.spec.name(), plain(error.message()));
            self.is_lost = true;
        }
        Ok(result)
    }
}

/// What is asked: the words of the command line, standard input where one of them is `-`, and the files of `--input`.
fn prompt(words: Vec<String>, matches: &ArgMatches) -> Result<Option<Prompt>, Failure> {
    let (dashes, words): (Vec<String>, Vec<String>) = words.into_iter().partition(|word| word == "-");
    let files: Vec<&PathBuf> = matches.get_many("input").into_iter().flatten().collect();
    let mut texts = vec![words.join(" ")];
    let mut blocks = Vec::new();
    let is_piped = || words.is_empty() && files.is_empty() && !std::io::stdin().is_terminal();
    if !dashes.is_empty() || is_piped() {
        let bytes = file::bytes_of(Ok(std::io::stdin()), "standard input")?;
        let wrong = |_| Failure::usage("standard input is no text; a file that is none is given with --input");
        texts.push(String::from_utf8(bytes).map_err(wrong)?);
    }
    for path in files {
        match file::read(path)? {
            Given::Text(text) => texts.push(text),
            Given::Block(block) => blocks.push(block),
        }
    }
    texts.retain(|text| !text.trim().is_empty());
    if !texts.is_empty() {
        blocks.insert(0, ContentBlock::text(texts.join("\n\n")));
    }
    Ok((!blocks.is_empty()).then(|| blocks.into()))
}
