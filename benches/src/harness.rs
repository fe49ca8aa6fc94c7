//! A measured Rust program around its client: command line, warm-up, repeats, report.

use std::{future::Future, process::ExitCode, sync::Arc};

use tokio::{runtime::Runtime, task::JoinSet};

use crate::{
    cli::{Command, ConcurrentReport, StartReport, StreamReport, Tally, Task},
    measure::{self, Marks},
};

/// What is measured: something that can run a prompt to its end, tools included.
pub trait Client: Send + Sync + 'static {
    /// Runs one prompt against `model`.
    ///
    /// It marks each delta and the end of each turn. An error is anything but the end the model's script has; a client that
    /// parses holds `calc` and `turns` to their text.
    fn run(&self, model: &str, marks: &Marks) -> impl Future<Output = Result<Tally, String>> + Send;
}

/// The `main` of a measured program, whose client `make` makes from the command line.
pub fn main<C: Client>(make: impl FnOnce(&Command) -> Result<C, String>) -> ExitCode {
    match measured(make) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn measured<C: Client>(make: impl FnOnce(&Command) -> Result<C, String>) -> Result<String, String> {
    let command = Command::parse(std::env::args().skip(1))?;
    // One thread: the cost of the client, without tokio's wakeups between threads.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| format!("no runtime: {error}"))?;
    let client = {
        let _inside = runtime.enter();
        Arc::new(make(&command)?)
    };
    let report = match command.task {
        Task::Stream { model, repeats } => serde_json::to_string(&stream(&runtime, &client, &model, repeats, command.spawned)?),
        Task::Concurrent { model, runs } => serde_json::to_string(&concurrent(&runtime, &client, &model, runs)?),
        Task::Start { model } => serde_json::to_string(&start(&runtime, &client, &model)?),
    };
    report.map_err(|error| format!("the report as JSON: {error}"))
}

fn stream<C: Client>(
    runtime: &Runtime,
    client: &Arc<C>,
    model: &str,
    repeats: usize,
    spawned: bool,
) -> Result<StreamReport, String> {
    let marks = Arc::new(Marks::default());
    let run = || {
        if !spawned {
            return runtime.block_on(client.run(model, &marks));
        }
        let (client, model, marks) = (Arc::clone(client), model.to_owned(), Arc::clone(&marks));
        let task = runtime.spawn(async move { client.run(&model, &marks).await });
        runtime.block_on(task).map_err(|error| error.to_string())?
    };
    let tally = run()?;
    let mut cpu_us = Vec::with_capacity(repeats);
    let mut turn_us = Vec::new();
    for _ in 0..repeats {
        marks.take_turns();
        let before = measure::cpu_us()?;
        let again = run()?;
        cpu_us.push(measure::cpu_us()? - before);
        let ends = marks.take_turns();
        turn_us = std::iter::once(&before).chain(&ends).zip(&ends).map(|(start, end)| end - start).collect();
        if again != tally {
            return Err(format!("one run received {tally:?}, another {again:?}"));
        }
    }
    Ok(StreamReport { cpu_us, turn_us, tally })
}

fn start<C: Client>(runtime: &Runtime, client: &Arc<C>, model: &str) -> Result<StartReport, String> {
    let marks = Marks::default();
    runtime.block_on(client.run(model, &marks))?;
    Ok(StartReport { first_us: marks.first().ok_or("there was no delta")? })
}

fn concurrent<C: Client>(runtime: &Runtime, client: &Arc<C>, model: &str, runs: usize) -> Result<ConcurrentReport, String> {
    runtime.block_on(async {
        let marks = Arc::new(Marks::default());
        client.run(model, &marks).await?;
        let idle_kb = measure::rss_kb()?;
        measure::reset_peak();
        let before = measure::cpu_us()?;
        let model: Arc<str> = format!("{model}-{runs}").into();
        let mut all = JoinSet::new();
        for _ in 0..runs {
            let (client, model, marks) = (Arc::clone(client), Arc::clone(&model), Arc::clone(&marks));
            all.spawn(async move { client.run(&model, &marks).await });
        }
        let mut failures = 0;
        while let Some(ended) = all.join_next().await {
            let problem = match ended {
                Ok(Ok(_)) => continue,
                Ok(Err(problem)) => problem,
                Err(error) => error.to_string(),
            };
            if failures == 0 {
                eprintln!("the first failure: {problem}");
            }
            failures += 1;
        }
        let cpu_us = measure::cpu_us()? - before;
        Ok(ConcurrentReport { cpu_us, idle_kb, peak_kb: measure::peak_kb()?, runs, failures })
    })
}
