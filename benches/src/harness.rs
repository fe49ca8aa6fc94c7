//! A measured Rust program around its client: command line, warm-up, repeats, report.

use std::{future::Future, process::ExitCode, sync::Arc};

use tokio::{runtime::Runtime, task::JoinSet};

use crate::{
    answers::Format,
    cli::{Command, ConcurrentReport, StreamReport, Tally, Task},
    measure,
};

/// What is measured: something that can run a prompt to its end, tools included.
pub trait Client: Send + Sync + 'static {
    /// Runs one prompt against `model`.
    ///
    /// An error is anything but the end the model's script has; a client that parses holds `calc` to its text.
    fn run(&self, model: &str) -> impl Future<Output = Result<Tally, String>> + Send;
}

/// The `main` of a measured program, whose client `make` makes from the server's URL and the format.
pub fn main<C: Client>(make: impl FnOnce(&str, Format) -> Result<C, String>) -> ExitCode {
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

fn measured<C: Client>(make: impl FnOnce(&str, Format) -> Result<C, String>) -> Result<String, String> {
    let command = Command::parse(std::env::args().skip(1))?;
    // One thread: the cost of the client, without tokio's wakeups between threads.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| format!("no runtime: {error}"))?;
    let client = {
        let _inside = runtime.enter();
        Arc::new(make(&command.url, command.format)?)
    };
    let report = match command.task {
        Task::Stream { model, repeats } => serde_json::to_string(&stream(&runtime, &client, &model, repeats, command.spawned)?),
        Task::Concurrent { runs } => serde_json::to_string(&concurrent(&runtime, &client, runs)?),
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
    let run = || {
        if !spawned {
            return runtime.block_on(client.run(model));
        }
        let (client, model) = (Arc::clone(client), model.to_owned());
        let task = runtime.spawn(async move { client.run(&model).await });
        runtime.block_on(task).map_err(|error| error.to_string())?
    };
    let tally = run()?;
    let mut cpu_us = Vec::with_capacity(repeats);
    for _ in 0..repeats {
        let before = measure::cpu_us()?;
        let again = run()?;
        cpu_us.push(measure::cpu_us()? - before);
        if again != tally {
            return Err(format!("one run received {tally:?}, another {again:?}"));
        }
    }
    Ok(StreamReport { cpu_us, tally })
}

fn concurrent<C: Client>(runtime: &Runtime, client: &Arc<C>, runs: usize) -> Result<ConcurrentReport, String> {
    runtime.block_on(async {
        client.run("calc").await?;
        let idle_kb = measure::rss_kb()?;
        measure::reset_peak();
        let model: Arc<str> = format!("calc-{runs}").into();
        let mut all = JoinSet::new();
        for _ in 0..runs {
            let (client, model) = (Arc::clone(client), Arc::clone(&model));
            all.spawn(async move { client.run(&model).await });
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
        Ok(ConcurrentReport { idle_kb, peak_kb: measure::peak_kb()?, runs, failures })
    })
}
