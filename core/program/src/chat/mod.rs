//! `chat`: a conversation in the terminal.
//!
//! - `editor`: the line that is edited, on a thread of its own; `typing`: what is typed while the model works
//! - `stop`: Ctrl-Z; `screen`: what is shown, with `markdown` for the answers
//! - `commands`: what begins with a slash; `images`: files in a prompt; `opened`: the session
//! - this file: the conversation itself, from prompt to prompt

mod commands;
mod editor;
mod images;
mod markdown;
mod opened;
mod screen;
mod stop;
mod typing;

use std::collections::VecDeque;
use std::io::{self, IsTerminal};

use agent_loop::message::Prompt;
use agent_loop::session::Info;
use agent_loop::suspension::{Decision, SuspendedCall};
use agent_loop::{Agent, Event, EventData, Outcome, PendingRun, RunResult};
use clap::ArgMatches;
use serde_json::{Map, Value};

use self::editor::{Editor, Read};
use self::opened::Opened;
use self::screen::Screen;
use self::typing::{Typed, Typing};
use crate::advice::with_advice;
use crate::approvals::{self, Answer};
use crate::arguments::text;
use crate::compaction;
use crate::ending::Ending;
use crate::exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::places;
use crate::settings::Settings;
use crate::show::shortened;
use crate::terminal;

/// What the command `chat` goes on with.
pub(crate) struct Chat {
    settings: Settings,
    /// The options before anything was changed in the chat.
    began_with: Map<String, Value>,
    agent: Agent,
    session: Opened,
    screen: Screen,
    editor: Editor,
    interrupt: Interrupt,
    /// Set by `/compact`, for the next run.
    compacts: bool,
    /// Of a run that begins with a summary: the option as it was.
    compacting: Option<Value>,
    /// What was typed during a run and the model has not read.
    steered: VecDeque<String>,
    /// What the last run came to.
    code: u8,
}

/// What is asked about a run that the process before has not ended.
const UNFINISHED: &str = "The last run was not finished. Go on with it? [Y/n] ";

/// What follows a line.
enum Next {
    Prompt,
    Leave(u8),
}

/// Talks until the user leaves.
pub(crate) async fn run(settings: Settings, words: Vec<String>, matches: &ArgMatches) -> Result<u8, Failure> {
    let id = text(matches, "session").map_or_else(new_id, str::to_owned);
    let (session, agent) = Opened::open(&settings, &id).await?;
    let history = places::data_folder(settings.spec.name())?.join("history.txt");
    let edits = terminal::edits();
    let _blocked = edits.then(stop::block);
    let screen = Screen::new(settings.quiet, settings.verbose);
    let mut chat = Chat {
        began_with: settings.options.clone(),
        settings,
        agent,
        session,
        screen,
        editor: Editor::start(history),
        interrupt: if edits { Interrupt::listen_between_runs() } else { Interrupt::listen() },
        compacts: false,
        compacting: None,
        steered: VecDeque::new(),
        code: exit::COMPLETED,
    };
    chat.greet();
    chat.finish_last().await?;
    if !words.is_empty() {
        chat.ask(&words.join(" ")).await?;
    }
    let code = chat.talk().await?;
    chat.close_session().await?;
    Ok(code)
}

/// The id of a new session.
fn new_id() -> String {
    places::new_id("chat")
}

impl Chat {
    fn greet(&mut self) {
        let tools = self.tool_names();
        let tools = if tools.is_empty() { String::new() } else { format!(" · {}", tools.join(", ")) };
        let model = self.agent.model();
        self.screen.note(&format!(
            "{} · {model} · session {}{tools} · /help",
            self.settings.spec.name(),
            self.session.stored.id()
        ));
        let count = self.agent.messages().len();
        if count > 0 {
            self.screen.note(&format!("{count} message{} so far", if count == 1 { "" } else { "s" }));
        }
    }

    async fn close_session(&self) -> Result<(), Failure> {
        self.session.close(self.agent.messages().is_empty()).await
    }

    fn tool_names(&self) -> Vec<String> {
        let (own, builtin) = (self.agent.tools(), self.agent.builtin_tools());
        own.iter().chain(builtin.tools().iter()).map(|tool| tool.spec().name().to_owned()).collect()
    }

    /// Goes on with what the process before has left: calls that wait, or a run that it did not end.
    async fn finish_last(&mut self) -> Result<(), Failure> {
        let pending = self.agent.pending();
        if !pending.is_empty() {
            approvals::check_tools(&self.settings, &self.agent, &pending)?;
            return match self.decide(&pending).await {
                Some(decisions) => self.play(self.agent.resume().decisions(decisions)).await,
                None => Ok(()),
            };
        }
        if self.agent.interrupted().is_some() {
            let Read::Line(answer) = self.question(UNFINISHED).await else { return Ok(()) };
            match answer.trim().to_ascii_lowercase().as_str() {
                "" | "y" | "yes" => return self.play(self.agent.resume()).await,
                "n" | "no" => {}
                // It is what the conversation goes on with.
                _ => self.editor.keep(&answer),
            }
        }
        Ok(())
    }

    /// Asks something. In a pipe, where the editor shows no question, it is shown all the same.
    async fn question(&mut self, question: &str) -> Read {
        if !is_interactive() {
            self.screen.note(question.trim_end());
        }
        self.line(question).await
    }

    /// Has a line edited.
    async fn line(&mut self, prompt: &str) -> Read {
        if self.interrupt.take() {
            return Read::Interrupted;
        }
        let read = self.editor.line(prompt).await;
        // In the editor Ctrl-C is a key, so a signal came from another program. The user has typed on since.
        self.interrupt.take();
        read
    }

    /// Reads lines and does what they say, until the user leaves.
    async fn talk(&mut self) -> Result<u8, Failure> {
        let mut interrupted = false;
        loop {
            match self.line(editor::PROMPT).await {
                // What was piped in counts as one call of the program.
                Read::Closed => return Ok(if is_interactive() { exit::COMPLETED } else { self.code }),
                Read::Failed(why) => return Err(Failure::usage(format!("standard input cannot be read: {why}"))),
                Read::Interrupted if interrupted => return Ok(exit::ABORTED),
                Read::Interrupted => {
                    interrupted = true;
                    self.screen.note("Ctrl-C again, or /quit, leaves");
                }
                Read::Line(line) => {
                    interrupted = false;
                    let line = line.trim();
                    let next = match line.strip_prefix('/').filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic())) {
                        _ if line.is_empty() => Ok(Next::Prompt),
                        // A path is no command.
                        Some(command) if !command.split_whitespace().next().unwrap_or_default().contains('/') => {
                            commands::run(self, command).await
                        }
                        _ => self.ask(line).await.map(|()| Next::Prompt),
                    };
                    match next {
                        Ok(Next::Prompt) => {}
                        Ok(Next::Leave(code)) => return Ok(code),
                        // The conversation goes on.
                        Err(failure) => self.screen.error(&failure.text),
                    }
                }
            }
        }
    }

    /// Prompts the agent.
    async fn ask(&mut self, line: &str) -> Result<(), Failure> {
        let (prompt, files) = images::prompt_of(line)?;
        files.iter().for_each(|file| self.screen.note(file));
        self.ask_with(prompt, line).await
    }

    /// The same with a prompt. A new session gets the title.
    async fn ask_with(&mut self, prompt: Prompt, title: &str) -> Result<(), Failure> {
        if !self.agent.pending().is_empty() {
            self.finish_last().await?;
            if !self.agent.pending().is_empty() {
                return Err(Failure::error("calls wait for a decision; decide first, or begin another session with /new"));
            }
            // Who aborts that run does not want the next one at once.
            if self.code == exit::ABORTED && is_interactive() {
                self.screen.note("your prompt was not sent; it is the next one");
                self.editor.keep(title);
                return Ok(());
            }
        }
        if self.agent.messages().is_empty() {
            self.session.stored.set_info(Info::default().title(shortened(title))).await?;
        }
        let compacts = std::mem::take(&mut self.compacts);
        self.compacting = compacts.then(|| compaction::begin(&self.agent, &self.settings.options)).transpose()?;
        let played = self.play(self.agent.prompt(prompt)).await;
        self.end_compaction();
        played
    }

    /// Later requests are made as ever.
    fn end_compaction(&mut self) {
        if let Some(before) = self.compacting.take()
            && let Err(error) = self.agent.set_json(&before)
        {
            self.screen.error(error.message());
        }
    }

    /// Plays a run to its end, also through calls that wait.
    async fn play(&mut self, first: PendingRun) -> Result<(), Failure> {
        let mut next = first;
        loop {
            let mut ending = Ending::default();
            let result = self.show(next, &mut ending).await?;
            self.report(&result, &ending);
            self.code = exit::of(&result, &self.agent);
            if result.outcome != Outcome::Suspended {
                return Ok(());
            }
            match self.decide(&result.pending).await {
                Some(decisions) => next = self.agent.resume().decisions(decisions),
                None => return Ok(()),
            }
        }
    }

    /// What is to be known of a run that did not complete.
    fn report(&mut self, result: &RunResult, ending: &Ending) {
        if let Some(error) = self.agent.record().failure() {
            self.screen.error(error.message());
        }
        match (&result.error, result.outcome) {
            (_, Outcome::Suspended) => return,
            (_, Outcome::Aborted) => self.screen.note("aborted"),
            (Some(error), _) => self.screen.error(&with_advice(error)),
            (None, _) => ending.report(result, &self.agent).into_iter().for_each(|how| self.screen.note(&how)),
        }
        // Left in the queue, the model would read it before the next prompt, and the user would not know.
        if !self.steered.is_empty() {
            self.agent.clear_steering_queue();
            let unread: Vec<String> = self.steered.drain(..).collect();
            self.screen.note("the model has not read what you typed last; it is your next prompt");
            self.editor.keep_first(&unread.join(" "));
        }
    }

    /// Shows a run while it goes on. What is typed meanwhile steers it.
    async fn show(&mut self, run: PendingRun, ending: &mut Ending) -> Result<RunResult, Failure> {
        let mut run = run.stream()?;
        let running = self.interrupt.running(&self.agent);
        let mut typing = Typing::start();
        let mut tick = tokio::time::interval(screen::TICK);
        self.screen.begin();
        loop {
            tokio::select! {
                event = run.next() => match event {
                    Some(event) => {
                        ending.event(&event);
                        self.notice_read(&event);
                        if compaction::is_over(&event) {
                            self.end_compaction();
                        }
                        self.screen.event(&event);
                    }
                    None => break,
                },
                typed = typing.next() => {
                    // It was typed without echo.
                    let Typed { lines, begun } = typed;
                    for line in lines {
                        self.screen.note(&format!("{}{line}", editor::STEER));
                        self.steer(Read::Line(line));
                    }
                    if begun.is_empty() {
                        typing.restart();
                    } else {
                        drop(typing.stop());
                        self.screen.hold();
                        self.editor.ask(editor::STEER, &begun);
                    }
                }
                line = self.editor.answer() => {
                    self.screen.release();
                    self.steer(line);
                    typing.restart();
                }
                _ = tick.tick() => self.screen.tick(),
            }
        }
        // The run was faster. What is typed becomes the next prompt.
        if let Some(Typed { lines, begun }) = typing.stop() {
            lines.iter().chain([&begun]).for_each(|line| self.editor.keep(line));
        }
        if self.editor.is_asked() {
            if let Read::Line(line) = self.editor.answer().await {
                self.editor.keep(&line);
            }
            self.screen.release();
        }
        self.screen.end();
        let result = run.ended().await?;
        drop(running);
        Ok(result)
    }

    /// The model reads what was typed, when it is a message.
    fn notice_read(&mut self, event: &Event) {
        if let EventData::MessageEnd { message } = &event.data
            && message.role() == "user"
            && self.steered.front().is_some_and(|line| *line == message.text())
        {
            self.steered.pop_front();
        }
    }

    /// A line that was typed during a run.
    fn steer(&mut self, line: Read) {
        match line {
            Read::Line(line) if line.trim().is_empty() => {}
            Read::Line(line) if commands::is_one(line.trim()) => {
                self.screen.note(&format!("{}: commands are done when the run has ended; Ctrl-C aborts it", line.trim()));
            }
            Read::Line(line) => match self.agent.steer(line.trim()) {
                Ok(_) => self.steered.push_back(line.trim().to_owned()),
                Err(error) => self.screen.error(error.message()),
            },
            Read::Interrupted => self.interrupt.handle(),
            Read::Closed | Read::Failed(_) => {}
        }
    }

    /// Asks about each of the calls that wait; `None` when the input has ended, so that they go on waiting in the session.
    async fn decide(&mut self, pending: &[SuspendedCall]) -> Option<Vec<(String, Decision)>> {
        let mut decisions = Vec::new();
        let mut all = self.settings.yes;
        for call in pending {
            let decision = if all { Decision::Approve } else { self.ask_about(call, &mut all).await? };
            decisions.push((call.tool_call_id.to_string(), decision));
        }
        Some(decisions)
    }

    async fn ask_about(&mut self, call: &SuspendedCall, all: &mut bool) -> Option<Decision> {
        self.screen.answer(&approvals::asked(call));
        loop {
            let answer = match self.question(approvals::QUESTION).await {
                Read::Line(line) if commands::is_one(line.trim()) => {
                    self.screen.note(&format!("{}: commands are done when this is decided; Ctrl-C decides later", line.trim()));
                    continue;
                }
                Read::Line(line) => Answer::read(&line),
                // It goes on waiting, and is asked about before the next prompt.
                Read::Interrupted | Read::Closed | Read::Failed(_) => return None,
            };
            match answer {
                Answer::Decided(decision) => return Some(decision),
                Answer::All => {
                    *all = true;
                    return Some(Decision::Approve);
                }
                Answer::Show => self.screen.answer(&approvals::whole(call)),
                Answer::Nothing => {}
            }
        }
    }
}

/// Whether somebody can type.
fn is_interactive() -> bool {
    io::stdin().is_terminal()
}
