//! Every row of the table is documented, and exported in Python and Node.

use std::path::Path;

use agent_loop_proto::did_you_mean::Spelling;
use agent_loop_proto::table::{codes, errors, events, hooks, logs, options};

/// Checks that each file has each of the texts.
fn expect(rows: &[(&str, Vec<String>)]) {
    let mut missing = Vec::new();
    for (path, texts) in rows {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
        let file = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{path}: {e}"));
        missing.extend(texts.iter().filter(|text| !file.contains(*text)).map(|text| format!("{path}: {text}")));
    }
    assert!(missing.is_empty(), "missing:\n{}", missing.join("\n"));
}

fn camel(name: &str) -> String {
    Spelling::Camel.spell(name)
}

#[test]
fn options() {
    let each = |write: fn(&str) -> String| options::names().map(write).collect();
    // Python and Node name the model in other places.
    let but_the_model = |write: fn(&str) -> String| options::names().filter(|name| *name != "model").map(write).collect();
    expect(&[
        ("docs/options.md", each(|name| format!("- `{name}`"))),
        ("include/agent.h", each(|name| format!(" *     {name} "))),
        ("bindings/python/python/agent_loop/options.py", but_the_model(|name| format!("\n    {name}: "))),
        ("bindings/python/python/agent_loop/agent.py", but_the_model(|name| format!("\n    - `{name}`: "))),
        ("bindings/node/lib/options.ts", but_the_model(|name| format!("\n  {}?: ", camel(name)))),
    ]);
}

#[test]
fn each_limit_stands_in_the_page_of_limits() {
    let of_runtimes = ["threads", "max_tool_threads", "stack_bytes"];
    let limits = options::all().filter(|row| row.group == options::Group::Limits || row.name.starts_with("max_"));
    let names = limits.map(|row| row.name).filter(|name| *name != "max_tokens").chain(of_runtimes);
    expect(&[("docs/limits.md", names.map(|name| format!("`{name}`")).collect())]);
}

#[test]
fn events() {
    let each = |write: fn(&events::EventRow) -> String| events::all().into_iter().map(write).collect();
    let constant = |row: &events::EventRow| format!("AGENT_EVENT_{} = {},", row.word.to_ascii_uppercase(), row.value);
    expect(&[
        ("docs/events.md", each(|row| format!("\n- `{}`: ", row.word))),
        ("docs/contract.md", each(|row| format!("\n| `{}` | ", row.word))),
        ("include/agent.h", each(constant)),
        ("bindings/python/python/agent_loop/__init__.py", each(|row| format!("    \"{}\",\n", row.variant))),
        ("bindings/python/python/agent_loop/_native.pyi", each(|row| format!("\nclass {}(", row.variant))),
        ("bindings/node/lib/event.ts", each(|row| format!("export interface {}Event ", row.variant))),
        ("bindings/node/lib/event.ts", each(|row| format!("\n  | {}Event\n", row.variant))),
    ]);
}

#[test]
fn hooks() {
    let each = |write: fn(&hooks::HookRow) -> String| hooks::all().iter().map(write).collect();
    let classes = |write: fn(&hooks::InputRow) -> String| hooks::objects().iter().map(write).collect();
    let constant = |row: &hooks::HookRow| format!("AGENT_HOOK_{} = {},", row.word.to_ascii_uppercase(), row.value);
    expect(&[
        ("docs/hooks.md", each(|row| format!("\n- `{}`: ", row.word))),
        ("docs/abi.md", each(|row| format!("\n- `AGENT_HOOK_{}`: ", row.word.to_ascii_uppercase()))),
        ("docs/loop.md", each(|row| format!("`{}`", row.word))),
        ("include/agent.h", each(constant)),
        ("bindings/python/python/agent_loop/options.py", each(|row| format!("\n    {}: ", row.word))),
        ("bindings/python/python/agent_loop/agent.py", each(|row| format!("\n    - `{}(", row.word))),
        ("bindings/python/python/agent_loop/__init__.py", classes(|input| format!("    \"{}\",\n", input.rust))),
        ("bindings/python/python/agent_loop/_native.pyi", classes(|input| format!("\nclass {}:", input.rust))),
        ("bindings/node/lib/hook.ts", each(|row| format!("\n  {}: (", camel(row.word)))),
        ("bindings/node/lib/hook.ts", classes(|input| format!("export interface {} ", input.rust))),
        ("bindings/node/lib/index.ts", classes(|input| format!("\n  {},\n", input.rust))),
    ]);
}

#[test]
fn error_kinds() {
    let each = |write: fn(&errors::ErrorKindRow) -> String| errors::ERROR_KINDS.iter().map(write).collect();
    let python_class = |row: &errors::ErrorKindRow| match row.python.strip_prefix('=') {
        Some(class) => format!("    \"{class}\",\n"),
        None => format!("    \"{}Error\",\n", row.variant),
    };
    expect(&[
        ("docs/errors.md", each(|row| format!("\n| `{}` | ", row.word))),
        ("include/agent.h", each(|row| format!("AGENT_{} = {},", row.word.to_ascii_uppercase(), row.status))),
        ("bindings/python/python/agent_loop/__init__.py", each(python_class)),
        ("bindings/python/python/agent_loop/errors.py", each(|row| format!("\n    kind = \"{}\"\n", row.word))),
        ("bindings/node/lib/errors.ts", each(|row| format!("\n  | '{}'\n", row.word))),
        ("bindings/node/lib/errors.ts", each(|row| format!("export class {}Error ", row.variant))),
    ]);
}

#[test]
fn codes() {
    let docs = |rows: &[codes::CodeRow]| rows.iter().map(|row| format!("\n| `{}` | ", row.word)).collect();
    let python = |rows: &[codes::CodeRow]| rows.iter().map(|row| format!("\n    \"{}\",", row.word)).collect();
    let node = |rows: &[codes::CodeRow]| rows.iter().map(|row| format!("\n  | '{}'\n", row.word)).collect();
    expect(&[
        ("docs/errors.md", docs(codes::DIAGNOSTICS)),
        ("docs/transcript.md", docs(codes::REPAIRS)),
        ("docs/transcripts.md", docs(codes::LOSSES)),
        ("bindings/python/python/agent_loop/codes.py", python(codes::DIAGNOSTICS)),
        ("bindings/python/python/agent_loop/codes.py", python(codes::REPAIRS)),
        ("bindings/python/python/agent_loop/codes.py", python(codes::LOSSES)),
        ("bindings/node/lib/event.ts", node(codes::DIAGNOSTICS)),
        ("bindings/node/lib/transcript.ts", node(codes::REPAIRS)),
        ("bindings/node/lib/conversion.ts", node(codes::LOSSES)),
    ]);
}

#[test]
fn log_records() {
    let levels = |write: fn(&str) -> String| logs::LOG_LEVELS.iter().map(|row| write(row.level.as_str())).collect();
    let codes = |write: fn(&str) -> String| logs::LOG_CODES.iter().map(|row| write(row.code.word)).collect();
    expect(&[
        ("include/agent.h", levels(|word| format!("AGENT_LOG_{} = ", word.to_ascii_uppercase()))),
        ("ffi/src/log.rs", levels(|word| format!("c\"{word}\""))),
        ("bindings/node/lib/log.ts", levels(|word| format!("\n  | '{word}'\n"))),
        ("bindings/node/lib/log.ts", levels(|word| format!("\n  '{word}',\n"))),
        ("bindings/node/lib/log.ts", codes(|word| format!("\n  | '{word}'\n"))),
        ("bindings/python/python/agent_loop/codes.py", codes(|word| format!("\n    \"{word}\","))),
        ("docs/logs.md", codes(|word| format!("\n| `{word}` | "))),
    ]);
}

#[test]
fn each_row_has_a_documentation_and_a_version() {
    let rows = options::all().map(|row| (row.name, row.doc, row.since));
    let rows = rows.chain(events::all().into_iter().map(|row| (row.word, row.doc, row.since)));
    let rows = rows.chain(errors::ERROR_KINDS.iter().map(|row| (row.word, row.doc, row.since)));
    let rows = rows
        .chain(codes::DIAGNOSTICS.iter().chain(codes::REPAIRS).chain(codes::LOSSES).map(|row| (row.word, row.doc, row.since)));
    let rows = rows.chain(logs::LOG_LEVELS.iter().map(|row| (row.level.as_str(), row.doc, row.since)));
    let rows = rows.chain(logs::LOG_CODES.iter().map(|row| (row.code.word, row.doc, row.since)));
    let hooks = hooks::all();
    let rows = rows.chain(hooks.iter().map(|row| (row.word, row.doc, row.since)));
    let fields = events::all().into_iter().flat_map(|row| row.fields).chain(hooks.iter().flat_map(|row| row.input.fields));
    for (name, doc, since) in rows.chain(fields.map(|field| (field.name, field.doc, field.since))) {
        assert!(doc.last().is_some_and(|line| line.ends_with('.')), "{name}: its documentation is not a sentence");
        assert_eq!(since.split('.').filter(|part| part.parse::<u32>().is_ok()).count(), 3, "{name}: {since:?} is no version");
    }
}
