//! `bench-stores`: what sessions cost in each kind of store, as two Markdown tables: that of the journal itself, in one process
//! without a network, and that of a thousand agents over HTTP beside the same without sessions.
//!
//! `bench-stores [agents|journal] [ADDRESS]…`: one of the tables, the stores at these addresses, which should be empty. Without
//! addresses, a Postgres server at `$AGENT_POSTGRES` is measured, too, with its own CPU time (`tests/postgres/with_server.py`).

mod agents;
mod journal;

use std::process::ExitCode;

/// A store that is measured: what it is called, and its address.
pub(crate) type Named = (String, String);

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("kept") => agents::print_kept(arguments.get(1..).unwrap_or_default()),
        Some(table @ ("agents" | "journal")) => {
            let table = table.to_owned();
            arguments.remove(0);
            measured(&[&table], &arguments)
        }
        _ => measured(&["agents", "journal"], &arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn measured(tables: &[&str], addresses: &[String]) -> Result<(), String> {
    let folder = tempfile::tempdir_in(".").map_err(|error| error.to_string())?;
    for table in tables {
        let path = |name: &str| folder.path().join(format!("{table}-{name}")).display().to_string();
        let mut stores: Vec<Named> = addresses.iter().map(|address| (address.clone(), address.clone())).collect();
        if stores.is_empty() {
            stores = vec![
                ("memory".to_owned(), "memory:".to_owned()),
                ("SQLite".to_owned(), path("agents.db")),
                ("JSONL".to_owned(), format!("jsonl:{}", path("sessions"))),
            ];
            stores.extend(std::env::var("AGENT_POSTGRES").map(|address| ("Postgres".to_owned(), address)));
        }
        match *table {
            "agents" => agents::print_table(&stores)?,
            _ => journal::print_table(&stores)?,
        }
        println!();
    }
    Ok(())
}
