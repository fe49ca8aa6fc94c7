//! A thousand agents, a hundred of them at a time, each with a run of six turns over HTTP: without sessions, and each with one of
//! a store. Rounds alternate, so that what else the machine does falls on all of them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use agent_loop::session::Store;
use agent_loop::{Agent, ModelSpec, Tool};
use agent_loop_benches::{measure, tools};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::Named;

const AGENTS: usize = 1_000;
const AT_A_TIME: usize = 100;
const TURNS: usize = 6;
/// The figures are the medians.
const ROUNDS: usize = 5;

/// Prints the table.
///
/// # Errors
/// What went wrong, in a sentence.
pub(crate) fn print_table(stores: &[Named]) -> Result<(), String> {
    let server = Server::start()?;
    let work = Work::new(&server.url)?;
    let runtime = runtime()?;
    let mut kinds = vec![("without sessions", None, None)];
    for (name, address) in stores {
        kinds.push((name, Some(Store::open(address).map_err(text)?), Some(address.as_str())));
    }
    let mut rounds: Vec<Vec<Round>> = vec![Vec::new(); kinds.len()];
    // Not measured: the first use of each.
    for number in 0..=ROUNDS {
        for ((name, store, _), rounds) in kinds.iter().zip(&mut rounds) {
            let server = if *name == "Postgres" { std::env::var("AGENT_POSTGRES_PID").ok() } else { None };
            let round = runtime.block_on(round(&work, store.as_ref(), server.as_deref(), &format!("round {number}")))?;
            if number > 0 {
                rounds.push(round);
            }
        }
    }
    println!(
        "| {AGENTS} agents of {TURNS} turns, {AT_A_TIME} at a time | CPU µs a turn | times that without sessions | turns/s | the \
         server's CPU µs a turn | memory of one that is kept open, KB |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let without = rounds.first().cloned().unwrap_or_default();
    for ((name, _, address), rounds) in kinds.iter().zip(&rounds) {
        let median = |of: fn(&Round) -> f64| middle(rounds.iter().map(of).collect());
        let times = middle(rounds.iter().zip(&without).map(|(with, without)| with.cpu_us / without.cpu_us).collect());
        let of_server = rounds.iter().filter_map(|round| round.server_us).collect::<Vec<f64>>();
        let of_server = if of_server.is_empty() { String::new() } else { format!("{:.0}", middle(of_server)) };
        let kept = kept(&server, *address)?;
        println!(
            "| {name} | {:.0} | {times:.2} | {:.0} | {of_server} | {kept:.1} |",
            median(|round| round.cpu_us),
            median(|round| round.turns_a_second)
        );
    }
    Ok(())
}

/// What a thousand agents cost.
#[derive(Debug, Clone)]
struct Round {
    /// A turn, of this process.
    cpu_us: f64,
    /// A turn, of the store's server.
    server_us: Option<f64>,
    turns_a_second: f64,
}

async fn round(work: &Arc<Work>, store: Option<&Store>, server: Option<&str>, name: &str) -> Result<Round, String> {
    let of_server = || server.map(measure::family_cpu_us).transpose();
    let (before, before_server, began) = (measure::cpu_us()?, of_server()?, Instant::now());
    at_a_time(work, store, name, After::Close).await?;
    let turns = (AGENTS * TURNS) as f64;
    let server_us = of_server()?.zip(before_server).map(|(after, before)| (after - before) as f64 / turns);
    let seconds = began.elapsed().as_secs_f64();
    Ok(Round { cpu_us: (measure::cpu_us()? - before) as f64 / turns, server_us, turns_a_second: turns / seconds })
}

/// How many kilobytes an agent takes that has had its run and is kept: in a process of its own, as what others have freed would
/// serve it.
fn kept(server: &Server, address: Option<&str>) -> Result<f64, String> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
    let output = command.args(["kept", &server.url]).args(address).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| error.to_string())?;
    let kb = String::from_utf8_lossy(&output.stdout).trim().parse();
    kb.map_err(|error| format!("{:?} is no number of kilobytes: {error}", String::from_utf8_lossy(&output.stdout)))
}

/// Prints that number. The arguments: the server's URL, and the address of a store if the agents have sessions.
///
/// # Errors
/// What went wrong, in a sentence.
pub(crate) fn print_kept(arguments: &[String]) -> Result<(), String> {
    let work = Work::new(arguments.first().ok_or("kept URL [ADDRESS]")?)?;
    let store = arguments.get(1).map(|address| Store::open(address)).transpose().map_err(text)?;
    let runtime = runtime()?;
    let kb = runtime.block_on(async {
        let kept = async |name| at_a_time(&work, store.as_ref(), name, After::Keep).await;
        // Not measured: what the first ones set up for all.
        let first = kept("first").await?;
        let before = measure::rss_kb()?;
        let agents = kept("kept").await?;
        let after = measure::rss_kb()?;
        let kb = after.saturating_sub(before) as f64 / agents.len() as f64;
        close(first).await?;
        close(agents).await?;
        Ok::<f64, String>(kb)
    })?;
    println!("{kb}");
    Ok(())
}

/// One thread, as in the programs that `run.py` measures: the cost of the engine, without wakeups between threads.
fn runtime() -> Result<Runtime, String> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())
}

async fn close(agents: Vec<Agent>) -> Result<(), String> {
    for session in agents.iter().filter_map(Agent::session) {
        session.close().await.map_err(text)?;
    }
    Ok(())
}

/// What happens to an agent after its run.
#[derive(Clone, Copy, PartialEq)]
enum After {
    Close,
    Keep,
}

/// Runs all agents, and returns those that are kept.
async fn at_a_time(work: &Arc<Work>, store: Option<&Store>, name: &str, after: After) -> Result<Vec<Agent>, String> {
    let places = Arc::new(Semaphore::new(AT_A_TIME));
    let mut all = JoinSet::new();
    for number in 0..AGENTS {
        let (work, store, places) = (Arc::clone(work), store.cloned(), Arc::clone(&places));
        let id = format!("{name} {number}");
        all.spawn(async move {
            let _place = places.acquire_owned().await;
            let agent = work.run(store.as_ref(), &id).await?;
            match after {
                After::Close => close(vec![agent]).await.map(|()| None),
                After::Keep => Ok(Some(agent)),
            }
        });
    }
    let mut kept = Vec::new();
    while let Some(ended) = all.join_next().await {
        kept.extend(ended.map_err(|error| error.to_string())??);
    }
    Ok(kept)
}

/// What all agents do.
struct Work {
    url: String,
    calculator: Arc<dyn Tool>,
}

impl Work {
    fn new(url: &str) -> Result<Arc<Work>, String> {
        Ok(Arc::new(Work { url: url.to_owned(), calculator: Arc::new(tools::calculator().map_err(text)?) }))
    }

    /// One run in a new session.
    async fn run(&self, store: Option<&Store>, id: &str) -> Result<Agent, String> {
        let model = ModelSpec::parse(&format!("anthropic/turns-{TURNS}")).map_err(text)?;
        let mut builder = Agent::builder(model).base_url(&self.url).max_turns(0);
        if let Some(store) = store {
            builder = builder.session(store.session(id).map_err(text)?.open().await.map_err(text)?);
        }
        let agent = builder.build().map_err(text)?;
        agent.add_tool(Arc::clone(&self.calculator)).map_err(text)?;
        let result = agent.prompt("What is 15 multiplied by 23?").await.map_err(text)?;
        if result.text != "15 multiplied by 23 equals 345." {
            return Err(format!("the answer is {:?}", result.text));
        }
        Ok(agent)
    }
}

/// `bench-server`, which stands beside this program.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start() -> Result<Server, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("bench-server");
        let started = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = started.map_err(|error| format!("{}: {error}; build it first", program.display()))?;
        let mut url = String::new();
        let printed = process.stdout.take().map(|output| BufReader::new(output).read_line(&mut url));
        printed.ok_or("bench-server prints nothing")?.map_err(|error| error.to_string())?;
        Ok(Server { process, url: url.trim().to_owned() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn text(error: agent_loop::Error) -> String {
    error.to_string()
}

fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
