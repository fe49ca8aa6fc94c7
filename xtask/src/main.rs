//! `cargo xtask generate` writes the marked regions, `cargo xtask check` reports those that differ from the table.

use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match std::env::args().nth(1).as_deref() {
        Some("generate") => xtask::generate(),
        Some("check") => xtask::check(),
        _ => Err("usage: cargo xtask generate | check".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
