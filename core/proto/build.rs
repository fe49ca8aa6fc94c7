//! Writes the catalogue of models in the form that the library contains: without its first line, and compact.

#[path = "src/provider/compact.rs"]
#[allow(dead_code)] // Only the library expands it.
mod compact;

use std::path::Path;
use std::{env, fs};

#[allow(clippy::disallowed_methods)] // A build script reads files and its environment.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    const SOURCE: &str = "src/provider/catalogue.jsonl";
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=src/provider/compact.rs");
    let text = fs::read_to_string(SOURCE)?;
    let mut lines: Vec<String> = text.lines().skip(1).map(compact::compact).collect();
    // In the order of what is searched for, the beginning of a compact line.
    lines.sort();
    fs::write(Path::new(&env::var("OUT_DIR")?).join("catalogue"), lines.join("\n"))?;
    Ok(())
}
