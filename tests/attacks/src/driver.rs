//! Every scenario of `tests/scenarios` through the engine itself, and at each poll of its run or each of its events: an abort,
//! the handle of the run dropped, all handles dropped, the runtime shut down, also from inside, or gone. The run ends then, in
//! its proper form, and nothing of it is left.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use agent_loop::event::Listener;
use agent_loop::{Agent, Run, Runtime, Subscription};
use agent_loop_proto::testing::Checker;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::random::Random;
use crate::{check, scenarios, watch};

#[allow(dead_code)] // Its tests call more of it.
#[path = "../../rust/scenarios/player.rs"]
mod player;

use player::Player;

/// How many scenarios a case has, and the most places of each.
const SCENARIOS: usize = 4;
const MOST_PLACES: u64 = 24;

/// How many plays there are at the same time: those that wait for a silent callback sleep.
const THREADS: usize = 24;

/// How long a run may take to end: far longer than any grace.
const LONGEST: Duration = Duration::from_secs(30);

/// What happens at a place.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// Nothing: the places are counted.
    None,
    Abort,
    DropRun,
    /// The agent, too.
    DropAll,
    /// From inside, on the thread of the run: it waits for nothing.
    ShutDownInside,
    /// Of a runtime with a thread of its own, from another one: it waits for the run.
    ShutDown,
    /// Without a word to the library.
    EndRuntime,
}

const FAULTS: &[Fault] =
    &[Fault::Abort, Fault::DropRun, Fault::DropAll, Fault::ShutDownInside, Fault::ShutDown, Fault::EndRuntime];

/// Where it happens: after a poll of the run, or in a listener that gets an event. Without a listener, the engine gathers events.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Places {
    Polls,
    PollsOfSilence,
    Events,
    /// In a runtime with a thread of its own.
    EventsElsewhere,
}

impl Places {
    fn listens(self) -> bool {
        self != Places::PollsOfSilence
    }
}

/// What the listener, which comes before those of the scenario, and the polls see; and what they do.
struct Observer {
    fault: Fault,
    /// The number of the place.
    at: u64,
    places: Places,
    seen: AtomicU64,
    events: Mutex<Vec<Value>>,
    /// How many events there were when it happened.
    before: Mutex<Option<usize>>,
    has_happened: Notify,
    runtime: Runtime,
    player: Mutex<Weak<Player>>,
    /// Whether the runs had ended when the shutdown was over.
    was_shut_down: Mutex<Option<JoinHandle<bool>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer {
    /// A place.
    fn pass(&self) {
        if self.seen.fetch_add(1, Ordering::SeqCst) != self.at || self.fault == Fault::None {
            return;
        }
        *locked(&self.before) = Some(locked(&self.events).len());
        match self.fault {
            Fault::Abort => {
                let Some(player) = locked(&self.player).upgrade() else { return };
                player.agent.abort();
                // Of a stateless run, too.
                let (started, reading) = (locked(&player.started), locked(&player.reading));
                started.iter().chain(&reading.0).for_each(Run::abort);
            }
            Fault::ShutDownInside => drop(self.runtime.shutdown(Duration::ZERO)),
            Fault::ShutDown => {
                let runtime = self.runtime.clone();
                *locked(&self.was_shut_down) = Some(std::thread::spawn(move || runtime.shutdown(LONGEST)));
            }
            Fault::None | Fault::DropRun | Fault::DropAll | Fault::EndRuntime => {}
        }
        self.has_happened.notify_one();
    }

    fn listen(self: &Arc<Self>, agent: &Agent) -> Subscription {
        let observer = Arc::clone(self);
        let function = move |event: &agent_loop::Event| {
            locked(&observer.events).push(json!(event));
            if matches!(observer.places, Places::Events | Places::EventsElsewhere) {
                observer.pass();
            }
            Ok(())
        };
        agent.add_listener(Listener::Function { function: Arc::new(function), blocking: false })
    }

    /// The events of each run that began.
    fn runs(&self) -> Vec<Vec<Value>> {
        let events = locked(&self.events);
        let ids: BTreeSet<&str> = events.iter().filter_map(|event| event["run_id"].as_str()).collect();
        ids.into_iter().map(|id| events.iter().filter(|event| event["run_id"] == id).cloned().collect()).collect()
    }

    fn have_ended(&self) -> bool {
        self.runs().iter().all(|events| events.last().is_some_and(|event| event["type"] == "agent_end"))
    }
}

/// A run, and what is read of it.
struct Reading {
    run: Option<Run>,
    events: Vec<Value>,
}

impl Reading {
    /// The run that the player reads or has started.
    fn take(player: &Player) -> Reading {
        let (run, events) = std::mem::take(&mut *locked(&player.reading));
        Reading { run: run.or_else(|| locked(&player.started).take()), events }
    }

    /// Reads what waits; whether that was all.
    fn has_ended(&mut self) -> bool {
        let Some(run) = &self.run else { return true };
        while let Some(events) = run.drain(usize::MAX, None) {
            if events.is_empty() {
                return false;
            }
            self.events.extend(events.into_iter().map(|event| {
                let mut event = json!(event);
                event["run_id"] = "run".into();
                event
            }));
        }
        run.finished().is_some()
    }
}

/// Waits, in real time, while the engine goes on.
async fn until(what: &str, mut is: impl FnMut() -> bool) -> Result<(), String> {
    let began = Instant::now();
    while !is() {
        if began.elapsed() > LONGEST {
            return Err(format!("still not: {what}"));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// Plays a scenario with a fault at a place; gives how many places there were.
fn play_at(folder: &Path, fault: Fault, places: Places, at: u64) -> Result<u64, String> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().event_interval(1).build().expect("a runtime");
    let runtime = match places {
        Places::EventsElsewhere => Runtime::with_threads(1),
        _ => tokio.block_on(async { Runtime::current() }),
    };
    let runtime = runtime.map_err(|error| error.to_string())?;
    let observer = Arc::new(Observer {
        fault,
        at,
        places,
        seen: AtomicU64::default(),
        events: Mutex::default(),
        before: Mutex::default(),
        has_happened: Notify::new(),
        runtime: runtime.clone(),
        player: Mutex::default(),
        was_shut_down: Mutex::default(),
    });
    let first = |agent: &Agent| {
        agent.set_runtime(&runtime);
        if places.listens() {
            observer.listen(agent).detach();
        }
    };
    let player = Player::new(scenarios::read(folder), first).map_err(|error| error.to_string())?;
    *locked(&observer.player) = Arc::downgrade(&player);
    let polls = matches!(places, Places::Polls | Places::PollsOfSilence).then(|| {
        let observer = Arc::clone(&observer);
        watch::after_polls(move || observer.pass())
    });
    let has_happened = tokio.block_on(async {
        tokio::select! {
            biased;
            () = observer.has_happened.notified() => true,
            _ = player.play() => false,
        }
    });
    if has_happened {
        follow(&observer, player, tokio, polls)?;
    } else {
        drop(polls);
        tokio.shutdown_background();
    }
    if places == Places::EventsElsewhere {
        runtime.shutdown(Duration::ZERO);
    }
    Ok(observer.seen.load(Ordering::SeqCst))
}

/// What is to come of a fault.
fn follow(
    observer: &Arc<Observer>,
    player: Arc<Player>,
    tokio: tokio::runtime::Runtime,
    polls: Option<watch::AfterPolls>,
) -> Result<(), String> {
    let fault = observer.fault;
    let mut reading = Reading::take(&player);
    let (agent, tasks, player_is) = (player.agent.clone(), Arc::clone(&player.tasks), Arc::downgrade(&player));
    // What the engine forces to its end has an end for its reader alone.
    let is_forced = fault == Fault::EndRuntime || (fault, observer.places) == (Fault::ShutDownInside, Places::EventsElsewhere);
    let listens = observer.places.listens();
    let mut agent = Some(agent);
    if matches!(fault, Fault::DropRun | Fault::DropAll | Fault::EndRuntime) {
        // Until here it went on.
        *locked(&observer.before) = Some(locked(&observer.events).len());
    }
    match fault {
        Fault::DropRun | Fault::DropAll => {
            drop(reading.run.take());
            reading.events.clear();
            if fault == Fault::DropAll {
                drop((agent.take(), player));
                return tokio.block_on(async {
                    until("the runs have ended", || !listens || observer.have_ended()).await?;
                    check(observer, is_forced)?;
                    nothing_is_left(observer, &tasks, &player_is, polls).await
                });
            }
        }
        Fault::EndRuntime => {
            tokio.shutdown_background();
            drop(polls);
            if !reading.has_ended() {
                return Err("the run has not ended with its runtime".to_owned());
            }
            let is_streaming = player.agent.is_streaming();
            check(observer, is_forced)?;
            check_read(&reading, &player)?;
            return if is_streaming { Err("the agent is busy after its runtime's end".to_owned()) } else { Ok(()) };
        }
        _ => {}
    }
    tokio.block_on(async {
        until("the run is read to its end", || reading.has_ended()).await?;
        until("the agent is idle", || !player.agent.is_streaming()).await?;
        if !is_forced {
            until("the runs have ended", || !listens || observer.have_ended()).await?;
        }
        let shutdown = locked(&observer.was_shut_down).take();
        if let Some(shutdown) = shutdown {
            until("the shutdown is over", || shutdown.is_finished()).await?;
            if !shutdown.join().map_err(|_| "the shutdown panicked")? {
                return Err("the shutdown did not wait for the runs".to_owned());
            }
        }
        check(observer, is_forced)?;
        check_read(&reading, &player)?;
        drop((reading, agent, player));
        nothing_is_left(observer, &tasks, &player_is, polls).await
    })
}

/// The events of the listener.
fn check(observer: &Observer, is_forced: bool) -> Result<(), String> {
    for events in observer.runs() {
        let last = events.last().ok_or("a run without events")?;
        if last["type"] == "agent_end" {
            check::events(&events)?;
        } else if is_forced {
            let mut checker = Checker::new();
            events.iter().try_for_each(|event| checker.event(event)).map_err(|error| error.message().to_owned())?;
        } else {
            return Err("a run has no end".to_owned());
        }
    }
    // What happens on another thread comes after some of what the run does meanwhile.
    let is_elsewhere = observer.places == Places::EventsElsewhere && observer.fault != Fault::Abort;
    if is_elsewhere || observer.fault == Fault::ShutDown {
        return Ok(());
    }
    let before = locked(&observer.before).unwrap_or_default();
    let events = locked(&observer.events);
    let mut is_one = true;
    for (at, event) in events.iter().enumerate().skip(before) {
        let kind = event["type"].as_str().unwrap_or_default();
        let is_update = ["_delta", "_update", "retry"].iter().any(|end| kind.ends_with(end));
        // What a first content brings with it is one: the message's start, the block's, the content.
        is_one = is_one && follows(&events[..at], event);
        let goes_on = (is_update && !is_one) || (kind == "turn_start" && event["turn"] != 1);
        // Of an abort and the run's time limit, the earlier one counts.
        let has_timed_out = event["error"]["message"].as_str().is_some_and(|text| text.contains("run_timeout_ms"));
        // What comes behind a batch with calls that wait comes too late: they have no result.
        let was_suspended = event["outcome"] == "suspended" && has_no_open_call(&events[..before]);
        // Of an abort and a budget, too.
        let was_spent = event["outcome"] == "budget" && events[..before].iter().any(|event| event["code"] == "budget");
        let is_over = has_timed_out || was_suspended || was_spent;
        let is_other = kind == "agent_end" && event["outcome"] != "aborted" && !is_over;
        if goes_on || is_other {
            return Err(format!("after it comes {}", check::clipped(&event.to_string())));
        }
    }
    Ok(())
}

/// Whether all calls that were begun have a result, or wait for a decision.
fn has_no_open_call(events: &[Value]) -> bool {
    let calls =
        |kind: &str| events.iter().filter(|event| event["type"] == kind).map(|event| &event["tool_call_id"]).collect::<Vec<_>>();
    let over = [calls("tool_execution_end"), calls("tool_call_suspended")].concat();
    calls("tool_execution_start").iter().all(|id| over.contains(id))
}

/// Whether an event belongs to the start before it.
fn follows(before: &[Value], event: &Value) -> bool {
    let of = |event: &Value, end: &str| event["type"].as_str().and_then(|kind| kind.strip_suffix(end).map(str::to_owned));
    let Some(start) = before.iter().rfind(|event| event["type"] != "diagnostic") else { return false };
    match of(start, "_start") {
        Some(message) if message == "message" => of(event, "_start").is_some() && start["message"]["role"] == "assistant",
        Some(family) => of(event, "_delta") == Some(family) && start["content_index"] == event["content_index"],
        None => false,
    }
}

/// The events of the reader, the result, and the transcript.
fn check_read(reading: &Reading, player: &Player) -> Result<(), String> {
    if let Some(run) = &reading.run {
        check::events(&reading.events)?;
        let result = run.finished().ok_or("the run has no result")?;
        let end = reading.events.last().ok_or("no event")?;
        if end["outcome"] != result.outcome.as_str() {
            return Err(format!("the result is {}, the end {end}", result.outcome.as_str()));
        }
    }
    let messages = player.agent.messages();
    check::read_back(&messages)?;
    check::sendable(&messages)
}

/// Without its handles, no task of the engine is left, and the agent is gone but for what the application's tasks have of it.
async fn nothing_is_left(
    observer: &Arc<Observer>,
    tasks: &Arc<()>,
    player: &Weak<Player>,
    polls: Option<watch::AfterPolls>,
) -> Result<(), String> {
    drop(polls);
    let metrics = tokio::runtime::Handle::current().metrics();
    let own = || Arc::strong_count(tasks) - 1 - usize::from(player.strong_count() > 0);
    // A callback that was left behind has one, for what it may still answer.
    until("no task of the engine is left", || metrics.num_alive_tasks() <= 2 * own()).await?;
    until("the agent is gone", || own() > 0 || Arc::strong_count(observer) == 1).await
}

/// A scenario, a fault and one of its places.
struct Play<'a> {
    folder: &'a Path,
    fault: Fault,
    places: Places,
    at: u64,
}

impl Play<'_> {
    fn named(&self, why: &str) -> String {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        format!("{name}, {:?} at {} of {:?}: {why}", self.fault, self.at, self.places)
    }
}

/// Draws a scenario, a fault and the kind of its places.
fn draw(random: &mut Random) -> (Play<'static>, Random) {
    let folder = random.pick(&scenarios::FOLDERS).as_path();
    let fault = *random.pick(FAULTS);
    let places = match random.below(6) {
        // Where only its shutdown ends the runtime.
        0 if fault != Fault::EndRuntime => Places::EventsElsewhere,
        1 | 2 => Places::Events,
        3 => Places::PollsOfSilence,
        _ => Places::Polls,
    };
    (Play { folder, fault, places, at: 0 }, Random::of_case(random.next(), "places", 0))
}

/// Counts the places, and draws some if there are many.
fn all_places((play, mut random): (Play<'static>, Random)) -> Result<Vec<Play<'static>>, String> {
    let Play { folder, fault, places, .. } = play;
    let count = play_at(folder, Fault::None, places, 0).map_err(|why| play.named(&why))?;
    let step = count.div_ceil(MOST_PLACES).max(1);
    let first = random.below(step);
    Ok((first..count).step_by(usize::try_from(step).unwrap_or(1)).map(|at| Play { folder, fault, places, at }).collect())
}

/// Some scenarios, each with one fault, at each of its places.
pub(crate) fn play(random: &mut Random) -> Result<u64, String> {
    let drawn: Vec<_> = (0..SCENARIOS).map(|_| draw(random)).collect();
    let counted = std::thread::scope(|scope| {
        let threads: Vec<_> = drawn.into_iter().map(|drawn| scope.spawn(|| all_places(drawn))).collect();
        let counted = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("it panicked".to_owned())));
        counted.collect::<Result<Vec<_>, String>>()
    })?;
    let plays: Vec<Play<'_>> = counted.into_iter().flatten().collect();
    let next = Mutex::new(plays.iter());
    let wrong = Mutex::new(Vec::new());
    let work = || {
        loop {
            let taken = locked(&next).next();
            let Some(play) = taken else { return };
            if let Err(why) = play_at(play.folder, play.fault, play.places, play.at) {
                locked(&wrong).push(play.named(&why));
            }
        }
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    if wrong.is_empty() { Ok(plays.len() as u64) } else { Err(wrong.join("\n")) }
}
