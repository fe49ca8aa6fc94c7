//! Attacks on the engine. A family plays cases that it draws from a seed, and checks after each what holds whatever happens:
//! nothing panics or hangs, the events obey the contract, each call has a result, the transcript can be read back and sent, no
//! secret is shown, memory is bounded.
//!
//!     attacks                          the short form: of each family so many cases
//!     attacks --seconds 600            all families in turn, for so long
//!     attacks --seed N --only NAME     other cases, one family
//!     attacks --seed N --only NAME --case N    one case, as a failure names it

// All options in one `json!`.
#![recursion_limit = "256"]

mod answers;
mod callbacks;
mod check;
#[cfg(target_os = "linux")]
mod child;
mod clients;
mod configurations;
mod day;
mod driver;
mod hosts;
mod http1;
mod http2;
mod journal;
mod left;
#[cfg(target_os = "linux")]
mod limits;
mod mutate;
mod proxies;
mod random;
mod recordings;
mod redirects;
#[cfg(target_os = "linux")]
mod scarce;
#[path = "../../rust/scenarios/scenario.rs"]
mod scenario;
mod scenarios;
mod schemas;
mod server;
#[path = "../../../core/proto/tests/scenarios/session.rs"]
#[allow(dead_code)] // What a session has of a scenario is tested where it is from.
mod session;
#[path = "../../../core/proto/tests/scenarios/tape.rs"]
#[allow(dead_code)] // Written where it is from.
mod tape;
mod watch;

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use random::Random;

/// A kind of attack.
struct Family {
    name: &'static str,
    /// How many cases the short form plays.
    short: u64,
    /// The most that it may have allocated at a time, in MiB.
    most_mib: i64,
    /// Plays a case; gives how many things were tried.
    play: fn(&mut Random) -> Result<u64, String>,
}

const FAMILIES: &[Family] = &[
    Family { name: "scenarios", short: 12, most_mib: 64, play: scenarios::play },
    Family { name: "driver", short: 3, most_mib: 128, play: driver::play },
    Family { name: "recordings", short: 400, most_mib: 256, play: recordings::play },
    Family { name: "configurations", short: 400, most_mib: 256, play: configurations::play },
    Family { name: "http1", short: 8, most_mib: 512, play: http1::play },
    Family { name: "http2", short: 4, most_mib: 256, play: http2::play },
    Family { name: "proxies", short: 4, most_mib: 256, play: proxies::play },
    Family { name: "redirects", short: 4, most_mib: 256, play: redirects::play },
    Family { name: "callbacks", short: 2, most_mib: 128, play: callbacks::play },
    // 50 cases have 1,000 journals that were cut or have a changed bit.
    Family { name: "journal-sqlite", short: 50, most_mib: 256, play: journal::sqlite },
    Family { name: "journal-jsonl", short: 50, most_mib: 256, play: journal::jsonl },
    #[cfg(target_os = "linux")]
    Family { name: "scarce", short: 6, most_mib: 64, play: scarce::play },
    Family { name: "hour", short: 3, most_mib: 256, play: day::hour },
    // A day takes its time: only in the long form.
    Family { name: "day", short: 0, most_mib: 512, play: day::day },
];

/// The seed of the short form: what it plays is the same each time.
const SEED: u64 = 10;

/// How many failures of a family are printed before it is left alone.
const MOST_FAILURES: usize = 5;

/// How much more may be allocated after a case than after the first ones: caches, connections that are kept.
const MOST_LEFT: i64 = 16 << 20;

/// What was asked for.
#[derive(Default)]
struct Asked {
    seed: Option<u64>,
    seconds: Option<u64>,
    only: Option<String>,
    case: Option<u64>,
}

impl Asked {
    fn read() -> Result<Asked, String> {
        let mut asked = Asked::default();
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name}: a value is missing"))?;
            let number = || value.parse().map_err(|_| format!("{name}: expected a number, got {value:?}"));
            match name.as_str() {
                "--seed" => asked.seed = Some(number()?),
                "--seconds" => asked.seconds = Some(number()?),
                "--case" => asked.case = Some(number()?),
                "--only" if FAMILIES.iter().any(|family| family.name == value) => asked.only = Some(value),
                _ => {
                    let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
                    return Err(format!("{name} {value}: expected --seed, --seconds, --case or --only, of {}", names.join(", ")));
                }
            }
        }
        Ok(asked)
    }
}

/// How far a family is.
struct Progress<'a> {
    family: &'a Family,
    cases: u64,
    tried: u64,
    spent: Duration,
    /// What was allocated after the first cases.
    bytes: i64,
    peak: i64,
    /// The threads and descriptors before the first case.
    counts: left::Counts,
    failures: Vec<String>,
}

impl Progress<'_> {
    /// Plays a case.
    fn play(&mut self, seed: u64, case: u64) {
        let family = self.family;
        let name = format!("--seed {seed} --only {} --case {case}", family.name);
        watch::begin(name.clone());
        watch::take_peak();
        let (started, before) = (Instant::now(), watch::bytes());
        let mut random = Random::of_case(seed, family.name, case);
        let played = std::panic::catch_unwind(AssertUnwindSafe(|| (family.play)(&mut random)));
        self.cases += 1;
        self.spent += started.elapsed();
        let mut wrong = watch::take_seen();
        match played {
            Ok(Ok(tried)) => self.tried += tried,
            Ok(Err(what)) => wrong.push(what),
            Err(_) => wrong.push("the case panicked".to_owned()),
        }
        wrong.extend(self.counts.come_back().err());
        let (peak, bytes) = (watch::take_peak() - before, watch::bytes());
        self.peak = self.peak.max(peak);
        if peak > family.most_mib << 20 {
            wrong.push(format!("{} MiB were allocated at a time", peak >> 20));
        }
        if self.cases <= 3 {
            self.bytes = self.bytes.max(bytes);
        } else if bytes > self.bytes + MOST_LEFT {
            wrong.push(format!("{} bytes more are allocated than after the first cases", bytes - self.bytes));
            self.bytes = bytes;
        }
        if !wrong.is_empty() {
            println!("FAILED {name}: {}", wrong.join("\n"));
            self.failures.push(name);
        }
    }

    fn print(&self) {
        let Progress { family, cases, tried, spent, peak, failures, .. } = self;
        let (seconds, peak) = (spent.as_secs_f64(), peak >> 20);
        println!("{:16} {cases:7} cases {tried:9} tried {seconds:7.1} s {peak:5} MiB {} failed", family.name, failures.len());
    }
}

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        if arguments.first().is_some_and(|first| first == child::NAME) {
            return child::main(&arguments[1..]);
        }
    }
    let asked = match Asked::read() {
        Ok(asked) => asked,
        Err(why) => {
            println!("{why}");
            return ExitCode::FAILURE;
        }
    };
    // The long form plays other cases each time.
    let of_time = || std::time::UNIX_EPOCH.elapsed().map_or(SEED, |since| since.as_secs());
    let seed = asked.seed.unwrap_or_else(|| if asked.seconds.is_some() { of_time() } else { SEED });
    println!("attacks: --seed {seed}");
    watch::start();
    let families = FAMILIES.iter().filter(|family| asked.only.as_ref().is_none_or(|only| only == family.name));
    // tokio makes one pair of sockets for signals with the first runtime, and keeps it: for the processes of MCP servers.
    drop(tokio::runtime::Builder::new_current_thread().enable_all().build());
    let counts = left::Counts::now();
    let progress =
        |family| Progress { family, cases: 0, tried: 0, spent: Duration::ZERO, bytes: 0, peak: 0, counts, failures: Vec::new() };
    let mut all: Vec<Progress<'_>> = families.map(progress).collect();
    if let Some(case) = asked.case {
        all.iter_mut().for_each(|progress| progress.play(seed, case));
    } else if let Some(seconds) = asked.seconds {
        let started = Instant::now();
        // The one that had the least time is next.
        while started.elapsed() < Duration::from_secs(seconds) {
            let going = all.iter_mut().filter(|progress| progress.failures.len() < MOST_FAILURES);
            let Some(next) = going.min_by_key(|progress| progress.spent) else { break };
            next.play(seed, next.cases);
        }
    } else {
        all.retain(|progress| progress.family.short > 0);
        for progress in &mut all {
            while progress.cases < progress.family.short && progress.failures.len() < MOST_FAILURES {
                progress.play(seed, progress.cases);
            }
        }
    }
    server::clean();
    all.iter().for_each(Progress::print);
    let failed: Vec<&String> = all.iter().flat_map(|progress| &progress.failures).collect();
    failed.iter().for_each(|name| println!("FAILED: target/ci/attacks {name}"));
    let passed = all.iter().filter(|progress| progress.failures.is_empty()).count();
    println!("{passed} passed, {} failed, 0 skipped", all.len() - passed);
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
