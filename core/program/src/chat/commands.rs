//! What begins with a slash.

use agent_loop::Usage;
use agent_loop::message::ContentBlock;
use agent_loop::session::ListQuery;
use serde_json::json;

use super::opened::Opened;
use super::{Chat, Next, images, new_id};
use crate::exit;
use crate::failure::Failure;
use crate::models;
use crate::sessions::line;
use crate::settings::tool_names;
use crate::spec_file::set_builtin;

/// The commands: name, what follows it, what it does.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("model", "[PROVIDER/ID]", "shows the model, or changes it"),
    ("tools", "[NAMES]", "lists the tools, or changes the built-in ones: /tools read_file,todo"),
    ("sessions", "[ID]", "lists the last sessions, or goes on with another one"),
    ("new", "", "begins another session"),
    ("fork", "[ID]", "goes on in a copy of this session"),
    ("compact", "", "has the next prompt answered from a summary of the conversation"),
    ("undo", "[N]", "takes back the last write of a built-in tool, or the last N"),
    ("cost", "", "shows the tokens of this conversation, and what they cost"),
    ("image", "PATH…", "asks about files: images and PDF documents"),
    ("paste", "[TEXT]", "asks about the image in the clipboard"),
    ("help", "", "lists the commands"),
    ("quit", "", "leaves; so does Ctrl-D"),
];

/// How many sessions are listed.
const SESSIONS: usize = 20;

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(name, ..)| *name)
}

/// Whether a line is a command that is known.
pub(super) fn is_one(line: &str) -> bool {
    let name = line.strip_prefix('/').and_then(|line| line.split_whitespace().next());
    name.is_some_and(|name| name == "exit" || names().any(|known| known == name))
}

/// Does what a line says, without its slash.
pub(super) async fn run(chat: &mut Chat, line: &str) -> Result<Next, Failure> {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match name {
        "model" => model(chat, rest)?,
        "tools" => tools(chat, rest)?,
        "sessions" if rest.is_empty() => sessions(chat).await?,
        "sessions" => {
            if chat.settings.store()?.session(rest)?.info().await?.is_none() {
                return Err(Failure::usage(format!("there is no session {rest:?}; /sessions lists them, /new begins one")));
            }
            go_to(chat, rest).await?;
        }
        "new" => go_to(chat, &new_id()).await?,
        "fork" => fork(chat, rest).await?,
        "compact" => {
            chat.compacts = true;
            chat.screen.note("the next prompt is answered from a summary of what is there now");
        }
        "undo" => undo(chat, rest)?,
        "cost" => cost(chat),
        "image" if rest.is_empty() => return Err(Failure::usage("/image: which file?")),
        "image" => {
            images::check(rest)?;
            chat.ask(rest).await?;
        }
        "paste" => paste(chat, rest).await?,
        "help" => help(chat),
        "quit" | "exit" => return Ok(Next::Leave(exit::COMPLETED)),
        other => return Err(Failure::usage(format!("there is no command /{other}; /help lists them"))),
    }
    Ok(Next::Prompt)
}

fn help(chat: &mut Chat) {
    for (name, what, does) in COMMANDS {
        chat.screen.answer(&format!("/{:<24} {does}", format!("{name} {what}")));
    }
    chat.screen.answer("The path of an image in a prompt is the image. What is typed while the model works steers it.");
    chat.screen.answer("Ctrl-C aborts a run, twice it leaves.");
}

fn model(chat: &mut Chat, name: &str) -> Result<(), Failure> {
    if !name.is_empty() {
        let options = models::with_model(&chat.began_with, name.into());
        models::change(&chat.agent, &chat.settings.options, &options)?;
        for of_model in ["model", "api_key", "headers"] {
            match options.get(of_model) {
                Some(value) => drop(chat.settings.options.insert(of_model.to_owned(), value.clone())),
                None => drop(chat.settings.options.remove(of_model)),
            }
        }
    }
    let model = chat.agent.model();
    chat.screen.answer(&model);
    Ok(())
}

fn tools(chat: &mut Chat, names: &str) -> Result<(), Failure> {
    if !names.is_empty() {
        let mut options = chat.settings.options.clone();
        set_builtin(&mut options, "tools", json!(tool_names(names)));
        chat.agent.set_json(&json!({ "builtin_tools": chat.settings.spec.builtin_in(&options) }))?;
        chat.settings.options = options;
    }
    let names = chat.tool_names();
    chat.screen.answer(&if names.is_empty() { "no tools".to_owned() } else { names.join("\n") });
    Ok(())
}

async fn sessions(chat: &mut Chat) -> Result<(), Failure> {
    let page = chat.settings.store()?.list(ListQuery::default().limit(SESSIONS)).await?;
    for session in page.sessions {
        let here = if session.id == chat.session.stored.id() { "*" } else { " " };
        chat.screen.answer(&format!("{here} {}", line(&session)));
    }
    Ok(())
}

/// Goes on with another session.
async fn go_to(chat: &mut Chat, id: &str) -> Result<(), Failure> {
    if id == chat.session.stored.id() {
        return Ok(());
    }
    let (session, agent) = Opened::open(&chat.settings, id).await?;
    chat.close_session().await?;
    (chat.agent, chat.session) = (agent, session);
    chat.greet();
    chat.finish_last().await
}

async fn fork(chat: &mut Chat, id: &str) -> Result<(), Failure> {
    let id = if id.is_empty() { new_id() } else { id.to_owned() };
    chat.settings.store()?.session(chat.session.stored.id())?.fork(None, &id).await?;
    Box::pin(go_to(chat, &id)).await
}

async fn paste(chat: &mut Chat, text: &str) -> Result<(), Failure> {
    let text = if text.is_empty() { "What is in this image?" } else { text };
    let blocks = vec![ContentBlock::text(text), images::pasted()?];
    chat.ask_with(blocks.into(), text).await
}

fn undo(chat: &mut Chat, count: &str) -> Result<(), Failure> {
    let count = if count.is_empty() { Ok(1) } else { count.parse::<usize>() };
    let count = count.ok().filter(|count| *count > 0);
    let count = count.ok_or_else(|| Failure::usage("/undo: expected how many writes, such as 2"))?;
    if !chat.agent.pending().is_empty() {
        return Err(Failure::usage("calls wait for a decision, which comes first: the next prompt asks about them"));
    }
    let undone = chat.agent.undo_writes(count)?;
    for write in &undone.undone {
        chat.screen.answer(&format!("{}: {}", write.path, write.action));
    }
    match &undone.refused {
        Some(refused) => chat.screen.error(&format!("{}: {}", refused.path, refused.reason)),
        None if undone.undone.is_empty() => chat.screen.answer("nothing was written that could be taken back"),
        None => {}
    }
    Ok(())
}

/// The sum over the model's messages.
fn cost(chat: &mut Chat) {
    let messages = chat.agent.messages();
    let parts: Vec<&Usage> = messages.iter().filter_map(|message| Some(&message.as_assistant()?.usage)).collect();
    let (priced, unpriced): (Vec<&Usage>, Vec<&Usage>) = parts.iter().partition(|usage| usage.cost.is_some());
    let (usage, unknown) = (Usage::sum(parts), unpriced.len());
    let dollars = Usage::sum(priced).cost.map_or(0.0, |cost| cost.total);
    let input = usage.total.saturating_sub(usage.output);
    let price = match unknown {
        0 => format!("${dollars:.4}"),
        _ if dollars == 0.0 => "the price of the model is not known".to_owned(),
        1 => format!("${dollars:.4}, without an answer whose price is not known"),
        _ => format!("${dollars:.4}, without {unknown} answers whose price is not known"),
    };
    chat.screen.answer(&format!("{input} tokens read, {} written: {price}", usage.output));
}
