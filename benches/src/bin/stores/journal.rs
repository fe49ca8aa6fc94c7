//! What a journal itself costs in a store: a turn, a run of an agent beside one without a session, an append behind 100,000
//! records, opening such a session.

use std::sync::Arc;
use std::time::Instant;

use agent_loop::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage};
use agent_loop::model::ModelCall;
use agent_loop::session::{JournalRecord, OpenSession, RunEnd, RunOf, RunStart, Store, SyncMode, ToolAnswer, ToolStart};
use agent_loop::tool::ToolOutput;
use agent_loop::{Agent, Error, FnTool, Outcome, StopReason, Usage};
use agent_loop_benches::measure;
use serde_json::{Map, json};

use crate::Named;

/// Turns of a measured session.
const TURNS: u32 = 1_000;
/// The same where each write waits for a disk.
const SLOW_TURNS: u32 = 50;
/// Runs of an agent, each with one tool call.
const RUNS: u32 = 500;
/// Sessions that are opened and closed.
const NEW: u32 = 200;
/// Records of a long session.
const LONG: u64 = 100_000;
/// Prints the table.
///
/// # Errors
/// What went wrong, in a sentence.
pub(crate) fn print_table(stores: &[Named]) -> Result<(), String> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(|error| error.to_string())?;
    println!(
        "| store | sync | a turn: CPU µs | turns/s | a run of two turns, CPU µs more than without a session | opening a new \
         session and closing it: CPU µs | an append at the beginning: CPU µs | behind {LONG} records: CPU µs | opening them: \
         CPU ms |"
    );
    println!("| --- | --- |{}", " ---: |".repeat(7));
    for (name, address) in stores {
        for sync in [SyncMode::Off, SyncMode::Normal, SyncMode::Full] {
            let row = runtime.block_on(row(address, sync)).map_err(|error| error.to_string())?;
            println!("| {name} | {sync:?} | {row} |");
            if address == "memory:" {
                break;
            }
        }
    }
    Ok(())
}

/// What is measured with a store at this address, which should be empty.
async fn row(address: &str, sync: SyncMode) -> Result<String, Error> {
    let store = Store::builder(address).sync(sync).open()?;
    let turns = if sync == SyncMode::Full { SLOW_TURNS } else { TURNS };
    let session = open(&store, &format!("{sync:?}")).await?;
    // Not measured: the setup.
    turn(&session).await?;
    let (cpu, seconds) = timed(async {
        for _ in 0..turns {
            turn(&session).await?;
        }
        Ok(())
    })
    .await?;
    session.close().await?;
    let turns = f64::from(turns);

    let runs_of_agent = if sync == SyncMode::Full { SLOW_TURNS } else { RUNS };
    let without = runs(None, runs_of_agent).await?;
    let with = runs(Some(open(&store, &format!("{sync:?} agent")).await?), runs_of_agent).await?;

    let (new, _) = timed(async {
        for n in 0..NEW {
            open(&store, &format!("{sync:?} new {n}")).await?.close().await?;
        }
        Ok(())
    })
    .await?;

    let long = open(&store, &format!("{sync:?} long")).await?;
    let mut number = long.last();
    while number < LONG {
        let records = (0..1_000).map(|n| JournalRecord::message(message(number + n))).collect();
        number = long.append(records).await?;
    }
    // What copies the records into the file is not of the appends that follow.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let behind = appends(&long, sync).await?;
    long.close().await?;
    let short = open(&store, &format!("{sync:?} short")).await?;
    let beginning = appends(&short, sync).await?;
    short.close().await?;
    let (opening, _) = timed(async {
        let again = open(&store, &format!("{sync:?} long")).await?;
        assert!(again.rebuilt().messages.len() as u64 >= LONG, "the session is whole");
        again.close().await
    })
    .await?;

    Ok(format!(
        "{:.0} | {:.0} | {:.0} | {:.0} | {beginning:.1} | {behind:.1} | {:.0}",
        cpu / turns,
        turns / seconds,
        with - without,
        new / f64::from(NEW),
        opening / 1e3,
    ))
}

/// CPU time in microseconds of an agent's run with one tool call. Each agent has the same transcript.
async fn runs(session: Option<OpenSession>, count: u32) -> Result<f64, Error> {
    let calculator = FnTool::new("calculator", "Calculates.", json!({ "type": "object" }), |_, _| async {
        Ok::<_, String>(json!("{\"result\":345}"))
    })?;
    let mut builder = Agent::builder("bench/model").provider(answer).tool(calculator);
    if let Some(session) = session {
        builder = builder.session(session);
    }
    let agent = builder.build()?;
    agent.prompt("What is 15 * 23?").await?;
    let (cpu, _) = timed(async {
        for _ in 0..count {
            agent.prompt("What is 15 * 23?").await?;
        }
        Ok(())
    })
    .await?;
    Ok(cpu / f64::from(count))
}

/// A model that calls the tool, and answers its result.
fn answer(call: ModelCall) {
    let has_result = call.request().request.messages.last().is_some_and(|message| message.role() == "tool_result");
    let arguments = json!({ "operation": "multiply", "a": 15, "b": 23 });
    let (chunk, reason) = match has_result {
        true => (json!({ "text": "It is 345." }), "stop"),
        false => (json!({ "tool_call": { "id": "call_1", "name": "calculator", "arguments": arguments } }), "tool_use"),
    };
    let end = json!({ "end": { "stop_reason": reason } });
    match call.push(&chunk).and_then(|()| call.push(&end)) {
        Ok(()) => call.finish(),
        Err(error) => call.fail(error),
    }
}

/// CPU time of an append in microseconds.
async fn appends(session: &OpenSession, sync: SyncMode) -> Result<f64, Error> {
    let count = if sync == SyncMode::Full { 100 } else { 2_000 };
    let (cpu, _) = timed(async {
        for n in 0..count {
            session.append(vec![JournalRecord::message(message(n))]).await?;
        }
        Ok(())
    })
    .await?;
    Ok(cpu / count as f64)
}

/// CPU time in microseconds, and the time in seconds.
async fn timed(work: impl Future<Output = Result<(), Error>>) -> Result<(f64, f64), Error> {
    let cpu = || measure::cpu_us().map(|us| us as f64).map_err(Error::invalid_argument);
    let (before, began) = (cpu()?, Instant::now());
    work.await?;
    Ok((cpu()? - before, began.elapsed().as_secs_f64()))
}

async fn open(store: &Store, id: &str) -> Result<OpenSession, Error> {
    store.session(id)?.open().await
}

/// A message of some 300 bytes.
fn message(n: u64) -> Message {
    let text = format!("Message {n}: {}", "the quick brown fox jumps over the lazy dog ".repeat(5));
    if n.is_multiple_of(2) {
        return Message::user(text, n);
    }
    let mut answer = AssistantMessage::new(vec![ContentBlock::text(text)]);
    answer.stop_reason = Some(StopReason::Stop);
    Message::Assistant(answer)
}

/// What a run with one tool call writes: two model answers, a call, its result; each record before its effect.
async fn turn(session: &OpenSession) -> Result<(), Error> {
    let arguments: Arc<Map<_, _>> =
        Arc::new(json!({ "operation": "multiply", "a": 15, "b": 23 }).as_object().cloned().unwrap_or_default());
    let call = ToolCall::new("call_1", "calculator", Map::clone(&arguments));
    let mut asks = AssistantMessage::new(vec![ContentBlock::text("Let me work it out."), ContentBlock::ToolCall(call)]);
    asks.stop_reason = Some(StopReason::ToolUse);
    let content = vec![ContentBlock::text("{\"result\":345}")];
    let result = ToolResultMessage::new("call_1", "calculator", content.clone());
    let start = JournalRecord::RunStart(RunStart::new("run_0123456789abcdef", RunOf::Prompt));
    session.append(vec![start, JournalRecord::message(message(0))]).await?;
    session.append(vec![JournalRecord::message(Message::Assistant(asks))]).await?;
    session.append(vec![JournalRecord::ToolStart(ToolStart::new("call_1", "calculator", arguments, "s/1/call_1"))]).await?;
    session.append(vec![JournalRecord::ToolAnswer(ToolAnswer::new("call_1", ToolOutput::new(content), false))]).await?;
    session.append(vec![JournalRecord::message(Message::ToolResult(result))]).await?;
    session.append(vec![JournalRecord::message(message(1))]).await?;
    session
        .append(vec![JournalRecord::RunEnd(RunEnd::new("run_0123456789abcdef", Outcome::Completed, Usage::new(100, 50), 2))])
        .await?;
    Ok(())
}
