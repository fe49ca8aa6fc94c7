//! Hooks: constants of the C library, options and stubs of Python, interfaces of Node, the lists of the documentation.

use std::collections::BTreeSet;

use agent_loop_proto::table::fields::is_same_type;
use agent_loop_proto::table::hooks::{Effect, HookRow, InputRow, all, objects};

use crate::text::{camel, constant, wrap};
use crate::{doc, types};

fn each(write: impl Fn(&HookRow) -> String) -> String {
    all().iter().map(write).collect()
}

fn documented(row: &HookRow) -> String {
    doc::sentence(row.doc, row.since)
}

fn name_in_c(row: &HookRow) -> String {
    format!("AGENT_HOOK_{}", constant(row.word))
}

/// The hooks, the fields of their inputs and their answers, in Markdown.
fn input(row: &HookRow) -> String {
    let fields: Vec<&str> = row.input.fields.iter().map(|field| field.name).collect();
    match (row.input.rust, fields.as_slice()) {
        ("RunResult", _) => "the run's result".to_owned(),
        (_, []) => "nothing".to_owned(),
        (_, fields) => format!("`{{{}}}`", fields.join(", ")),
    }
}

// ---- C

pub(crate) fn header() -> String {
    each(|row| format!("{}    {} = {},\n", doc::of_c(&documented(row)), name_in_c(row), row.value))
}

/// A line of a list in a comment of the header.
fn header_line(name: &str, text: &str) -> String {
    wrap(&text.replace('`', ""), &format!(" *     {name:<24} "), &format!(" * {:31}", ""), 104)
}

pub(crate) fn header_inputs() -> String {
    let line = |row: &HookRow| {
        let answer = if row.answer.is_empty() { "ignored" } else { row.answer };
        header_line(&constant(row.word), &format!("{}; {answer}", input(row)))
    };
    format!(" *\n{}{} *\n", header_line("hook", "input; answer"), each(line))
}

pub(crate) fn header_failures() -> String {
    let line = |row: &HookRow| {
        let effect = match row.effect {
            Effect::Call => "the tool call gets an error result; the run continues",
            Effect::Decision => "the tool call waits for a decision: the run ends suspended",
            Effect::Message => "the assistant message fails with AGENT_CALLBACK, without retry or fallback; so does the run",
            Effect::FirstPoll => {
                "before the first model call: the assistant message fails with AGENT_CALLBACK; later: the run fails so, after \
                 turn_end"
            }
            Effect::Run => "the run fails with AGENT_CALLBACK, after turn_end",
            Effect::Reported => "an AGENT_EVENT_DIAGNOSTIC with the code \"hook_error\"",
            Effect::Logged => "none; a log record with the code \"hook_error\"",
            Effect::Server => "the server gets an error; a log record with the code \"hook_error\"",
            Effect::Unreachable => "the server counts as one that cannot be reached",
        };
        header_line(&constant(row.word), effect)
    };
    format!(" *\n{}{} *\n", header_line("hook", "effect of failure"), each(line))
}

pub(crate) fn ffi_constants() -> String {
    each(|row| format!("{}pub const {}: i32 = {};\n", doc::of_rust(&documented(row)), name_in_c(row), row.value))
}

pub(crate) fn ffi_numbers() -> String {
    each(|row| format!("        HookKind::{} => {},\n", row.variant, name_in_c(row)))
}

pub(crate) fn ffi_words() -> String {
    each(|row| format!("        {} => c\"{}\",\n", name_in_c(row), row.word))
}

// ---- Python

fn classes(line: impl Fn(&str) -> String) -> String {
    let mut names: Vec<&str> = objects().iter().map(|input| input.rust).collect();
    names.sort_unstable();
    names.into_iter().map(line).collect()
}

pub(crate) fn python_imports() -> String {
    classes(|name| format!("    {name},\n"))
}

pub(crate) fn python_option_imports() -> String {
    classes(|name| format!("        {name},\n"))
}

pub(crate) fn python_exports() -> String {
    classes(|name| format!("    \"{name}\",\n"))
}

pub(crate) fn python_stubs() -> String {
    let stub = |input: &InputRow| {
        let properties = input.fields.iter().map(|field| {
            let text = doc::of_python(&doc::of_field(field, input.since), "        ");
            format!("    @property\n    def {}(self) -> {}:\n{text}", field.name, types::names(field).python)
        });
        format!(
            "\n@final\nclass {}:\n{}\n{}    def to_dict(self) -> dict[str, Any]:\n        \"\"\"The object as a dict of JSON \
             values.\"\"\"\n",
            input.rust,
            doc::of_python(&doc::sentence(input.doc, input.since), "    "),
            properties.collect::<String>()
        )
    };
    format!("{}\n", objects().iter().map(stub).collect::<String>())
}

pub(crate) fn python_names() -> String {
    each(|row| format!("        \"{}\",\n", row.word))
}

/// The type of the argument; empty without one.
fn python_input(row: &HookRow) -> &'static str {
    match (row.input.rust, row.input.fields) {
        ("RunResult", _) => "RunResult",
        (_, []) => "",
        // A list, which the hook may change and return.
        (_, [one]) if is_same_type(one.rust, "Vec<Arc<Message>>") => "list[Message]",
        (_, [one]) => types::names(one).python,
        (class, _) => class,
    }
}

pub(crate) fn python_options_of_calls() -> String {
    all().iter().filter(|row| !row.is_of_the_loop()).map(python_option).collect()
}

pub(crate) fn python_options_of_runs() -> String {
    all().iter().filter(|row| row.is_of_the_loop()).map(python_option).collect()
}

fn python_option(row: &HookRow) -> String {
    let answer = types::answer(row.output).python;
    let kind = match python_input(row) {
        "" => format!("_HookWithoutInput[{answer}]"),
        input => format!("_Hook[{input}, {answer}]"),
    };
    format!("    {}: {kind} | None\n{}", row.word, doc::of_python(&documented(row), "    "))
}

pub(crate) fn python_docstring() -> String {
    let line = |row: &HookRow| {
        let class = objects().iter().any(|input| input.rust == row.input.rust);
        let class = if class { format!(", the `{}`", row.input.rust) } else { String::new() };
        let answer = if row.answer.is_empty() { String::new() } else { format!(" Returns {}.", row.answer) };
        let text = format!("`{}({})`{class}: {}{answer}", row.word, row.input.parameter, documented(row));
        wrap(&doc::for_python(&text), "    - ", "      ", 130)
    };
    format!("\n{}\n", each(line))
}

pub(crate) fn python_without_input() -> String {
    all().iter().filter(|row| python_input(row).is_empty()).map(|row| format!("    \"{}\",\n", row.word)).collect()
}

// ---- Node

/// The types of inputs and answers.
pub(crate) fn node_exports() -> String {
    let answers = all().into_iter().map(|row| row.output).filter(|output| types::is_own_type(output));
    let names: BTreeSet<&str> = objects().iter().map(|input| input.rust).chain(answers).collect();
    names.into_iter().map(|name| format!("  {name},\n")).collect()
}

pub(crate) fn node_inputs() -> String {
    let interface = |input: &InputRow| {
        let hooks: Vec<String> =
            all().iter().filter(|row| row.input.rust == input.rust).map(|row| format!("`{}`", camel(row.word))).collect();
        let text = format!("The input of {}. {}", hooks.join(" and "), doc::sentence(input.doc, input.since));
        let fields = input.fields.iter().map(|field| {
            let text = doc::of_node(&doc::of_field(field, input.since), "  ");
            format!("{text}  {}: {}\n", camel(field.name), types::names(field).node)
        });
        format!(
            "\n{}export interface {} extends Canonical {{\n{}}}\n",
            doc::of_node(&text, ""),
            input.rust,
            fields.collect::<String>()
        )
    };
    format!("{}\n", objects().iter().map(interface).collect::<String>())
}

pub(crate) fn node_hooks() -> String {
    each(|row| {
        let parameter = match (row.input.rust, row.input.fields) {
            ("RunResult", _) => "result: RunResult, ".to_owned(),
            (_, []) => String::new(),
            (_, [one]) => format!("{}: {}, ", camel(one.name), types::names(one).node),
            (class, _) => format!("{}: {class}, ", row.input.parameter),
        };
        let answer = match types::answer(row.output).node {
            "" => "unknown".to_owned(),
            node => format!("HookAnswer<{node}>"),
        };
        let text = doc::of_node(&documented(row), "  ");
        format!("{text}  {}: ({parameter}context: HookContext) => {answer}\n", camel(row.word))
    })
}

pub(crate) fn node_hooks_of_calls() -> String {
    let names =
        all().iter().filter(|row| !row.is_of_the_loop()).map(|row| format!("  | '{}'\n", camel(row.word))).collect::<String>();
    format!("export type HookOfCalls =\n{names}")
}

pub(crate) fn node_forms() -> String {
    each(|row| {
        let input = match (row.input.rust, row.input.fields) {
            ("RunResult", _) => "whole".to_owned(),
            (_, []) => "none".to_owned(),
            (_, [one]) => format!("({{ {0} }}) => [{0}]", camel(one.name)),
            _ => "whole".to_owned(),
        };
        format!("  {}: {{ input: {input}, answer: {} }},\n", camel(row.word), types::answer(row.output).form)
    })
}

// ---- documentation

fn docs(name: impl Fn(&HookRow) -> String, text: impl Fn(&HookRow) -> String) -> String {
    let line = |row: &HookRow| {
        let answer = if row.answer.is_empty() { "none; it observes".to_owned() } else { row.answer.to_owned() };
        wrap(&format!("`{}`: {}Input: {}. Answer: {answer}.", name(row), text(row), input(row)), "- ", "  ", 118)
    };
    format!("\n{}\n", each(line))
}

pub(crate) fn docs_hooks() -> String {
    docs(|row| row.word.to_owned(), |row| format!("{} ", documented(row)))
}

pub(crate) fn docs_abi() -> String {
    docs(name_in_c, |_| String::new())
}

/// The inputs of several fields.
pub(crate) fn docs_inputs() -> String {
    let line = |input: &InputRow| {
        let hooks: Vec<String> =
            all().iter().filter(|row| row.input.rust == input.rust).map(|row| format!("`{}`", row.word)).collect();
        let text = format!("{}: {}", hooks.join(", "), doc::sentence(input.doc, input.since));
        let fields = input.fields.iter().map(|field| {
            let text = format!("`{}` ({}): {}", field.name, types::names(field).json, doc::of_field(field, input.since));
            wrap(&text, "  - ", "    ", 118)
        });
        format!("{}{}", wrap(&text, "- ", "  ", 118), fields.collect::<String>())
    };
    format!("\n{}\n", objects().iter().map(line).collect::<String>())
}

pub(crate) fn docs_failures() -> String {
    let effects = [
        (Effect::Call, "the call gets an error result; the run continues"),
        (Effect::Decision, "the call waits for a decision: the run ends with outcome `suspended`"),
        (Effect::Message, "the assistant message ends with error `callback`"),
        (Effect::FirstPoll, "as `on_payload` before the first model call, later as `prepare_next_turn`"),
        (Effect::Run, "the run ends with outcome `error`, after `turn_end`"),
        (Effect::Reported, "a `diagnostic` with code `hook_error`"),
        (Effect::Logged, "a [log record](logs.md) with code `hook_error`"),
        (Effect::Unreachable, "the server counts as one that [cannot be reached](mcp.md#when-it-does-not-work)"),
        (Effect::Server, "the server gets an error; a [log record](logs.md) with code `hook_error`"),
    ];
    let line = |(effect, text): (Effect, &str)| {
        let hooks = all().into_iter().filter(|row| row.effect == effect).map(|row| format!("`{}`", row.word));
        // What is not a hook of the agent, but fails as one.
        let others =
            if effect == Effect::Call { vec!["`prepare_arguments`".to_owned(), "middleware".to_owned()] } else { vec![] };
        let names: Vec<String> = hooks.chain(others).collect();
        // Several lines: no line is too long.
        names.chunks(3).map(|names| format!("| {} | {text} |\n", names.join(", "))).collect::<String>()
    };
    format!("\n| hook | effect of its failure |\n| --- | --- |\n{}\n", effects.into_iter().map(line).collect::<String>())
}
