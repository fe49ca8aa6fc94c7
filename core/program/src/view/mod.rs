//! `view`: a page that shows the runs of a session or a file as a timeline, with their messages.
//!
//! - `source`: what is read; `journal`, `recording` and `events` read its formats, and report to `builder`, which
//!   makes runs (`run`) of it
//! - `page`: the page with these, one file; its style and scripts are in the folder `page`
//! - `server`: serves it on this machine while runs go on

mod builder;
mod events;
mod journal;
mod page;
mod recording;
mod run;
mod server;
mod source;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clap::ArgMatches;
use serde_json::Value;
use tokio::sync::watch;

use self::server::{Server, Shown};
use self::source::Source;
use crate::exit;
use crate::failure::Failure;
use crate::interrupt::CtrlC;
use crate::settings::Settings;

/// How often it is checked whether there is more.
const CHECK_EVERY: Duration = Duration::from_millis(300);

/// The command: writes the page to a file, or serves it until it is interrupted.
pub(crate) async fn show(settings: &Settings, matches: &ArgMatches, out: &mut dyn Write) -> Result<u8, Failure> {
    let names: Vec<&String> = matches.get_many("of").into_iter().flatten().collect();
    let mut sources = Vec::new();
    for name in names.iter().map(|name| Some(name.as_str())).chain(names.is_empty().then_some(None)) {
        sources.push(Followed { source: Source::of(settings, name).await?, documents: Vec::new() });
    }
    let mut shown = Shown { version: 1, ..Shown::default() };
    update(&mut sources).await?;
    shown.documents = documents(&sources);
    if let Some(path) = matches.get_one::<PathBuf>("export") {
        return export(path, &shown.documents);
    }
    let (news, receiver) = watch::channel(Arc::new(shown));
    let server = Server::listen(matches.get_one::<u16>("port").copied().unwrap_or_default(), receiver).await?;
    // Before anybody knows the address: whoever reads it may end this at once.
    let mut ctrl_c = CtrlC::listen();
    let address = server.address();
    writeln!(out, "{address}")?;
    out.flush()?;
    if matches.get_flag("open") {
        open(&server.address_for_once(), &address)?;
    }
    say!("The page shows what is there and what comes. Ctrl-C ends this.");
    tokio::select! {
        () = server.serve() => {}
        () = follow(sources, news) => {}
        () = ctrl_c.next() => {}
    }
    Ok(exit::COMPLETED)
}

/// A source, and what was read of it last.
struct Followed {
    source: Source,
    documents: Vec<Value>,
}

/// Reads all sources. Whether there was something new.
async fn update(sources: &mut [Followed]) -> Result<bool, Failure> {
    let mut is_new = false;
    for followed in sources {
        if let Some(documents) = followed.source.read().await?
            && documents != followed.documents
        {
            (followed.documents, is_new) = (documents, true);
        }
    }
    Ok(is_new)
}

/// What is shown: two at most.
fn documents(sources: &[Followed]) -> Vec<Value> {
    sources.iter().flat_map(|followed| &followed.documents).take(2).cloned().collect()
}

/// Reads what comes, for ever.
async fn follow(mut sources: Vec<Followed>, news: watch::Sender<Arc<Shown>>) {
    loop {
        tokio::time::sleep(CHECK_EVERY).await;
        let before = Arc::clone(&news.borrow());
        let failure = match update(&mut sources).await {
            Ok(true) => None,
            Ok(false) if before.failure.is_none() => continue,
            Ok(false) => None,
            Err(failure) if before.failure.as_ref() == Some(&failure.text) => continue,
            Err(failure) => Some(failure.text),
        };
        let shown = Shown { version: before.version + 1, documents: documents(&sources), failure };
        news.send_replace(Arc::new(shown));
    }
}

/// What a page begins with.
const BEGIN: &[u8] = b"<!doctype html";

fn export(path: &Path, documents: &[Value]) -> Result<u8, Failure> {
    // Nothing but an older page is overwritten: the runs themselves may be named by mistake.
    let is_page = |text: Vec<u8>| text.get(..BEGIN.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(BEGIN));
    if std::fs::read(path).is_ok_and(|text| !text.is_empty() && !is_page(text)) {
        return Err(Failure::usage(format!("--export: {} is there already and is no page; name another file", path.display())));
    }
    let written = std::fs::write(path, page::page(documents, None)?);
    written.map_err(|why| Failure::usage(format!("{} cannot be written: {why}", path.display())))?;
    say!("{} is written", path.display());
    Ok(exit::COMPLETED)
}

/// Opens the page in the user's browser, by an address that works once: it is in the list of processes.
fn open(for_once: &str, address: &str) -> Result<(), Failure> {
    let program = match () {
        () if cfg!(target_os = "macos") => "open",
        () if cfg!(windows) => "explorer",
        () => "xdg-open",
    };
    let started = Command::new(program).arg(for_once).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let failed = |why| Failure::error(format!("--open: {program} cannot be started ({why}); open {address} yourself"));
    started.map(drop).map_err(failed)
}
