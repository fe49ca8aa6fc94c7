//! Log records on their way to the function that an environment has given to `setLog`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use agent_loop::Runtime;
use agent_loop::host::{LogLevel, LogRecord, RunLogFunction};

use crate::bridge::Link;

/// The environments that want records. Not those of all agents: each gets those of its own, and those of no run.
static LISTENING: Mutex<Vec<Weak<Link>>> = Mutex::new(Vec::new());

fn listening() -> MutexGuard<'static, Vec<Weak<Link>>> {
    LISTENING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The level of this name.
pub(crate) fn level(name: &str) -> Option<LogLevel> {
    LogLevel::ALL.iter().copied().find(|level| level.as_str() == name)
}

/// Sets what an environment wants, and what all of them want of a runtime that is there.
pub(crate) fn listen(link: &Arc<Link>, level: Option<LogLevel>, runtime: Option<&Runtime>) {
    link.set_log_level(level);
    let mut links = listening();
    links.retain(|other| other.upgrade().is_some_and(|other| !Arc::ptr_eq(&other, link)));
    if level.is_some() {
        links.push(Arc::downgrade(link));
    }
    drop(links);
    if let Some(runtime) = runtime {
        set_of_runtime(runtime);
    }
}

/// Has a runtime give the records of no run to all who want them.
pub(crate) fn set_of_runtime(runtime: &Runtime) {
    let level = listening().iter().filter_map(|link| link.upgrade()?.log_level()).max();
    match level {
        Some(level) => runtime.set_log(level, Some(Arc::new(give_to_all))),
        None => runtime.set_log(LogLevel::Error, None),
    }
}

#[allow(clippy::needless_pass_by_value)] // the type of such functions
fn give_to_all(record: LogRecord) {
    let links: Vec<_> = listening().iter().filter_map(Weak::upgrade).collect();
    for link in links.iter().filter(|link| link.log_level().is_some_and(|level| record.level() <= level)) {
        link.log(None, &record);
    }
}

/// Takes the records of an agent's run, which belong to its environment alone.
pub(crate) fn of_run(link: &Arc<Link>, agent: u32) -> RunLogFunction {
    let link = Arc::downgrade(link);
    Arc::new(move |record| {
        if let Some(link) = link.upgrade() {
            link.log(Some(agent), &record);
        }
        None
    })
}
