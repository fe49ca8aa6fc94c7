//! Writes what other languages and the documentation have of the table in `core/proto/src/table`.
//!
//! A region begins after a line with `<generated: NAME>` and ends before the next line with `</generated>`, both in comments of
//! the file's syntax. [`FILES`] lists the files and the functions that write their regions. What is between the marks is
//! replaced; everything else is written by hand.

mod codes;
mod doc;
mod errors;
mod events;
mod hooks;
mod logs;
mod options;
mod outcomes;
mod steps;
mod text;
mod types;

use std::path::{Path, PathBuf};

/// Writes a region: all lines between its marks, each with its newline.
type Writer = fn() -> String;

/// The files with regions.
const FILES: &[(&str, &[(&str, Writer)])] = &[
    (
        "include/agent.h",
        &[
            ("options", options::header),
            ("error kinds", errors::header),
            ("events", events::header),
            ("hooks", hooks::header),
            ("inputs and answers of hooks", hooks::header_inputs),
            ("failures of hooks", hooks::header_failures),
            ("log levels", logs::header),
            ("outcomes", outcomes::header),
            ("actions", steps::header_actions),
            ("inputs", steps::header_inputs),
        ],
    ),
    ("ffi/src/log.rs", &[("constants", logs::ffi_constants), ("numbers", logs::ffi_numbers), ("words", logs::ffi_words)]),
    (
        "bindings/node/lib/log.ts",
        &[("levels", logs::node_levels), ("codes", logs::node_codes), ("list of levels", logs::node_list_of_levels)],
    ),
    (
        "ffi/src/run/result.rs",
        &[("constants", outcomes::ffi_constants), ("numbers", outcomes::ffi_numbers), ("words", outcomes::ffi_words)],
    ),
    ("bindings/node/lib/message.ts", &[("stop reasons", outcomes::node_stop_reasons)]),
    ("docs/logs.md", &[("codes", logs::docs_codes)]),
    ("ffi/src/hook.rs", &[("constants", hooks::ffi_constants), ("numbers", hooks::ffi_numbers), ("words", hooks::ffi_words)]),
    ("bindings/python/python/agent_loop/hooks.py", &[("hooks without input", hooks::python_without_input)]),
    (
        "bindings/node/lib/hook.ts",
        &[
            ("inputs", hooks::node_inputs),
            ("hooks", hooks::node_hooks),
            ("forms", hooks::node_forms),
            ("names of calls", hooks::node_hooks_of_calls),
        ],
    ),
    ("bindings/node/lib/index.ts", &[("error classes", errors::node_exports), ("types of hooks", hooks::node_exports)]),
    ("docs/hooks.md", &[("hooks", hooks::docs_hooks), ("inputs", hooks::docs_inputs)]),
    ("docs/abi.md", &[("hooks", hooks::docs_abi)]),
    ("docs/loop.md", &[("failures of hooks", hooks::docs_failures), ("outcomes", outcomes::docs_outcomes)]),
    (
        "docs/options.md",
        &[
            ("options: conversation", options::docs_conversation),
            ("options: model", options::docs_model),
            ("options: loop and tools", options::docs_loop),
            ("options: limits and retries", options::docs_limits),
        ],
    ),
    (
        "bindings/python/python/agent_loop/options.py",
        &[
            ("words", options::python_words),
            ("options of calls", options::python_calls),
            ("options of runs", options::python_runs),
            ("options of agents", options::python_agents),
            ("options of prompts", options::python_prompts),
            ("names of hooks", hooks::python_names),
            ("inputs of hooks", hooks::python_option_imports),
            ("hooks of calls", hooks::python_options_of_calls),
            ("hooks of runs", hooks::python_options_of_runs),
        ],
    ),
    ("bindings/python/python/agent_loop/agent.py", &[("options", options::python_docstring), ("hooks", hooks::python_docstring)]),
    (
        "bindings/node/lib/options.ts",
        &[
            ("words", options::node_words),
            ("options of calls", options::node_calls),
            ("options of runs", options::node_runs),
            ("options of agents", options::node_agents),
        ],
    ),
    (
        "ffi/src/error.rs",
        &[("constants", errors::ffi_constants), ("statuses", errors::ffi_statuses), ("words", errors::ffi_words)],
    ),
    ("bindings/python/src/error.rs", &[("classes", errors::native_python_classes)]),
    ("bindings/node/src/error.rs", &[("classes", errors::native_node_classes)]),
    ("bindings/python/python/agent_loop/errors.py", &[("exports", errors::python_exports), ("classes", errors::python_classes)]),
    (
        "bindings/python/python/agent_loop/__init__.py",
        &[
            ("imports of errors", errors::python_imports),
            ("imports of hook inputs", hooks::python_imports),
            ("exports of hook inputs", hooks::python_exports),
            ("imports of events", events::python_imports),
            ("exports of events", events::python_exports),
            ("exports of errors", errors::python_exports),
        ],
    ),
    (
        "bindings/node/lib/errors.ts",
        &[("kinds", errors::node_kinds), ("classes", errors::node_classes), ("table of classes", errors::node_table)],
    ),
    ("bindings/node/lib/esm.mts", &[("error classes", errors::node_exports)]),
    (
        "docs/errors.md",
        &[
            ("runtime failures", errors::docs_runtime),
            ("usage errors", errors::docs_usage),
            ("diagnostics", codes::docs_diagnostics),
        ],
    ),
    ("docs/transcript.md", &[("repairs", codes::docs_repairs)]),
    ("docs/transcripts.md", &[("losses", codes::docs_losses)]),
    (
        "docs/contract.md",
        &[
            ("stop reasons", outcomes::docs_stop_reasons),
            ("events", events::docs_fields),
            ("outcomes", outcomes::docs_outcomes),
            ("failures of hooks", hooks::docs_failures),
        ],
    ),
    ("docs/events.md", &[("events", events::docs_reference)]),
    (
        "bindings/python/python/agent_loop/codes.py",
        &[
            ("diagnostics", codes::python_diagnostics),
            ("repairs", codes::python_repairs),
            ("losses", codes::python_losses),
            ("log records", logs::python_codes),
        ],
    ),
    (
        "ffi/src/event/kind.rs",
        &[("constants", events::ffi_constants), ("kinds", events::ffi_kinds), ("words", events::ffi_words)],
    ),
    (
        "bindings/python/python/agent_loop/_native.pyi",
        &[
            ("exports of hook inputs", hooks::python_exports),
            ("exports of events", events::python_exports),
            ("stop reasons", outcomes::python_stop_reasons),
            ("outcomes", outcomes::python_outcomes),
            ("events", events::python_stubs),
            ("union of events", events::python_union),
            ("inputs of hooks", hooks::python_stubs),
        ],
    ),
    (
        "bindings/node/lib/event.ts",
        &[
            ("outcomes", outcomes::node_outcomes),
            ("diagnostics", codes::node_diagnostics),
            ("interfaces", events::node_interfaces),
            ("updates", events::node_updates),
            ("events", events::node_union),
        ],
    ),
    ("bindings/node/lib/transcript.ts", &[("repairs", codes::node_repairs)]),
    ("bindings/node/lib/conversion.ts", &[("losses", codes::node_losses)]),
    (
        "bindings/node/lib/steps.ts",
        &[
            ("actions", steps::node_actions),
            ("union of actions", steps::node_action_union),
            ("inputs", steps::node_inputs),
            ("union of inputs", steps::node_input_union),
        ],
    ),
    (
        "bindings/python/python/agent_loop/steps.py",
        &[
            ("actions", steps::python_actions),
            ("union of actions", steps::python_action_union),
            ("inputs", steps::python_inputs),
            ("union of inputs", steps::python_input_union),
        ],
    ),
    ("docs/stepping.md", &[("actions", steps::docs_actions), ("inputs", steps::docs_inputs)]),
];

/// Writes all regions.
///
/// # Errors
/// A file cannot be read or written, or lacks a region.
pub fn generate() -> Result<(), String> {
    for (path, now, new) in files()? {
        if now != new {
            std::fs::write(root().join(path), new).map_err(|e| format!("{path}: {e}"))?;
            println!("{path}");
        }
    }
    Ok(())
}

/// Compares all regions with the table.
///
/// # Errors
/// A region differs, or is missing.
pub fn check() -> Result<(), String> {
    let mut stale = Vec::new();
    for (path, now, new) in files()? {
        if now != new {
            let line = now.lines().zip(new.lines()).take_while(|(now, new)| now == new).count() + 1;
            stale.push(format!("{path}:{line}: differs from the table in core/proto/src/table"));
        }
    }
    if stale.is_empty() { Ok(()) } else { Err(format!("{}\nrun: cargo xtask generate", stale.join("\n"))) }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files, as they are and as they should be.
fn files() -> Result<Vec<(&'static str, String, String)>, String> {
    types::check()?;
    steps::check()?;
    let file = |(path, regions): &(&'static str, &[(&str, Writer)])| {
        let now = std::fs::read_to_string(root().join(path)).map_err(|e| format!("{path}: {e}"))?;
        let mut new = now.clone();
        for (name, write) in *regions {
            new = replaced(&new, name, &write()).ok_or_else(|| format!("{path}: there is no region <generated: {name}>"))?;
        }
        Ok((*path, now, new))
    };
    FILES.iter().map(file).collect()
}

/// The text with another content of the region.
fn replaced(text: &str, name: &str, content: &str) -> Option<String> {
    let mark = text.find(&format!("<generated: {name}>"))?;
    let start = mark + text[mark..].find('\n')? + 1;
    let end = start + text[start..].find("</generated>")?;
    let end = text[..end].rfind('\n')? + 1;
    Some(format!("{}{content}{}", &text[..start], &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_d2_the_regions_are_those_that_the_table_makes() {
        if let Err(message) = check() {
            panic!("{message}");
        }
    }

    /// Their snippets are run by tests/snippets.py, bindings/python/tests-servers and tests/node.
    #[test]
    fn found_d3_each_topic_has_a_recipe_with_snippets() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let topics = [
            ("recipes.md", "Save and load a conversation", &["rust", "c", "python", "js"][..]),
            ("recipes.md", "Approval before a tool runs", &["rust", "c", "python", "js"]),
            ("subagents.md", "An agent as a tool", &["rust", "c", "python", "js"]),
            ("subagents.md", "Handoffs", &["rust", "c", "python", "js"]),
            ("recipes.md", "An answer of a given shape", &["rust", "c", "python", "js"]),
            ("recipes.md", "Log what a run does", &["rust", "c", "python", "js"]),
            ("integrations.md", "A web server with FastAPI", &["python"]),
            ("integrations.md", "A web server with Express", &["js"]),
            ("integrations.md", "Traces with OpenTelemetry", &["python", "js"]),
            ("integrations.md", "Tools of an MCP server", &["python", "js"]),
            ("web-approvals.md", "In the browser, with FastAPI", &["python"]),
            ("web-approvals.md", "In the browser, with Express", &["js"]),
            ("web-approvals.md", "In a database, with FastAPI", &["python"]),
            ("web-approvals.md", "In a database, with Express", &["js"]),
            ("bundlers.md", "esbuild", &["sh"]),
        ];
        for (page, topic, languages) in topics {
            let text = std::fs::read_to_string(docs.join(page)).unwrap();
            let section = text.split("\n## ").find(|section| section.starts_with(&format!("{topic}\n")));
            let section = section.unwrap_or_else(|| panic!("{page} has no section {topic:?}"));
            for language in languages {
                assert!(section.contains(&format!("\n```{language}\n")), "{page}: {topic}: no snippet in {language}");
            }
        }
    }

    #[test]
    fn a_region_is_replaced_between_its_marks() {
        let text = "a\n# <generated: x>\nold\n# </generated>\nb\n# <generated: y>\n# </generated>\n";
        assert_eq!(replaced(text, "x", "1\n2\n").unwrap(), text.replace("old\n", "1\n2\n"));
        assert_eq!(replaced(text, "y", "new\n").unwrap(), text.replace("y>\n", "y>\nnew\n"));
        assert_eq!(replaced(text, "z", ""), None);
    }
}
