//! `bench-loop`: the cost of the loop itself, without a network: events by the number of listeners, and an abort of a tool that
//! never answers. Prints one line of JSON.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use agent_loop::host::TraceRecord;
use agent_loop::{Agent, Error, FnTool, ModelSpec, Outcome, Subscription};
use agent_loop_benches::measure;
use serde_json::{Value, json};

/// Deltas of the measured answer.
const DELTAS: usize = 2000;

/// Turns of the run with spans.
const TURNS: usize = 500;

/// How long an aborted run waits for its tools, in milliseconds.
const GRACE_MS: u64 = 200;

fn main() -> ExitCode {
    match measured() {
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

fn measured() -> Result<Value, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let mut listeners = Vec::new();
        for count in [0, 1, 10, 100, 1000] {
            // Not measured: the setup.
            events(count).await?;
            let mut cpu_us = Vec::new();
            let mut heard = 0;
            for _ in 0..5 {
                let before = measure::cpu_us()?;
                heard = events(count).await?;
                cpu_us.push(measure::cpu_us()? - before);
            }
            listeners.push(json!({ "listeners": count, "events": heard, "cpu_us": cpu_us }));
        }
        let mut grace_ms = Vec::new();
        for _ in 0..3 {
            grace_ms.push(abort().await?);
        }
        let (mut untraced_us, mut traced_us, mut spans) = (Vec::new(), Vec::new(), 0);
        for _ in 0..6 {
            for (is_traced, cpu_us) in [(false, &mut untraced_us), (true, &mut traced_us)] {
                let before = measure::cpu_us()?;
                spans = turns(is_traced).await?.max(spans);
                cpu_us.push(measure::cpu_us()? - before);
            }
        }
        // The first runs are not measured.
        let least = |times: &[u64]| times.iter().skip(1).min().copied().unwrap_or_default();
        let per_span_ns = least(&traced_us).saturating_sub(least(&untraced_us)) * 1000 / spans.max(1);
        Ok(json!({
            "spans": { "count": spans, "cpu_ns_each": per_span_ns },
            "listeners": listeners,
            "grace": { "limit_ms": GRACE_MS, "real_ms": grace_ms },
        }))
    })
}

fn scripted(script: Value) -> Result<Agent, Error> {
    Agent::builder(ModelSpec::from_json(json!({ "provider": "scripted", "id": "bench", "script": script }))?).build()
}

/// A run with this many listeners; returns how many events one of them received.
async fn events(listeners: usize) -> Result<u64, String> {
    let text = |error: Error| error.to_string();
    let mut steps = vec![json!({ "delta": "word " }); DELTAS];
    steps.push(json!({ "end": {} }));
    let agent = scripted(json!([steps])).map_err(text)?;
    let heard = Arc::new(AtomicU64::new(0));
    let subscriptions: Vec<Subscription> = (0..listeners)
        .map(|_| {
            let heard = Arc::clone(&heard);
            agent.subscribe(move |event| {
                std::hint::black_box(event.seq);
                heard.fetch_add(1, Ordering::Relaxed);
            })
        })
        .collect();
    let result = agent.prompt("go").await.map_err(text)?;
    drop(subscriptions);
    if result.text.len() != DELTAS * 5 {
        return Err(format!("the answer has {} characters", result.text.len()));
    }
    Ok(heard.load(Ordering::Relaxed) / listeners.max(1) as u64)
}

/// A run of many turns with a tool call each, with spans or without; returns how many ended.
async fn turns(is_traced: bool) -> Result<u64, String> {
    let text = |error: Error| error.to_string();
    let call = |turn: usize| {
        let call = json!({ "id": format!("c{turn}"), "name": "tick", "arguments": {} });
        let end = json!({ "stop_reason": "tool_use", "usage": { "input": 9, "output": 9 } });
        json!([{ "delta": { "tool_call": call } }, { "end": end }])
    };
    let mut script: Vec<Value> = (0..TURNS).map(call).collect();
    script.push(json!([{ "delta": "done" }, { "end": {} }]));
    let tick = FnTool::new("tick", "Ticks.", json!({ "type": "object" }), |_, _| async { Ok::<_, String>(json!("tock")) });
    let model = json!({ "provider": "scripted", "id": "bench", "script": script });
    let builder = Agent::builder(ModelSpec::from_json(model).map_err(text)?).tool(tick.map_err(text)?);
    let agent = builder.max_turns(0).traces(is_traced).build().map_err(text)?;
    let ended = Arc::new(AtomicU64::new(0));
    let sink = Arc::clone(&ended);
    let function = move |records: Vec<TraceRecord>| {
        let count = records.iter().filter(|record| matches!(record, TraceRecord::End(_))).count();
        sink.fetch_add(count as u64, Ordering::Relaxed);
    };
    agent.prompt("go").trace_to(Arc::new(function)).await.map_err(text)?;
    Ok(ended.load(Ordering::Relaxed))
}

/// An abort of a tool that never answers, in real time; returns how long the run took to end.
async fn abort() -> Result<u128, String> {
    let text = |error: Error| error.to_string();
    let never = FnTool::new("never", "Never answers.", json!({ "type": "object" }), |_, _| async {
        std::future::pending::<Result<Value, String>>().await
    });
    // A custom provider uses real time.
    let agent = Agent::builder("bench/own")
        .abort_grace_ms(GRACE_MS)
        .provider(|call| {
            // An invalid chunk would be a bug of this program: the run then fails with an error.
            let _ = call.push(&json!({ "tool_call": { "id": "c", "name": "never", "arguments": {} } }));
            call.finish();
        })
        .tool(never.map_err(text)?)
        .build()
        .map_err(text)?;
    let begun: Arc<std::sync::Mutex<Option<Instant>>> = Arc::default();
    let _subscription = {
        let (abort, begun) = (agent.clone(), Arc::clone(&begun));
        agent.subscribe(move |event| {
            if event.kind() == "tool_execution_start" {
                *begun.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(Instant::now());
                // From another thread, while the tool runs.
                let abort = abort.clone();
                tokio::spawn(async move {
                    tokio::task::yield_now().await;
                    abort.abort();
                });
            }
        })
    };
    let result = agent.prompt("go").await.map_err(text)?;
    let begun = begun.lock().unwrap_or_else(std::sync::PoisonError::into_inner).ok_or("the tool was not called")?;
    match result.outcome {
        Outcome::Aborted => Ok(begun.elapsed().as_millis()),
        other => Err(format!("the run ended {}", other.as_str())),
    }
}
