//! Options: the list in the header, the types of Python and Node, the page of the documentation.

use agent_loop_proto::run_options::RunOptions;
use agent_loop_proto::table::options::{self, Group, OptionRow, Type};

use crate::doc;
use crate::text::{camel, wrap};

/// Types that have a name in Python and Node, with the option whose words they are.
const NAMED: &[(&str, &[&str])] = &[
    ("ThinkingLevel", &["thinking_level"]),
    ("QueueMode", &["steering_mode", "follow_up_mode"]),
    ("SteeringPolicy", &["steering_policy"]),
    ("ExecutionMode", &["tool_execution"]),
];

const GROUPS: [(Group, &str); 4] = [
    (Group::Conversation, "the conversation"),
    (Group::Model, "the model and its requests"),
    (Group::Loop, "the loop and its tools"),
    (Group::Limits, "limits and retries"),
];

/// Options that only agents have: stateless runs have a context instead.
fn is_of_agents(row: &OptionRow) -> bool {
    matches!(row.name, "system_prompt" | "messages")
}

fn of_group(group: Group) -> impl Iterator<Item = &'static OptionRow> {
    options::all().filter(move |row| row.group == group)
}

/// The default for readers: a word, a number, or what the table says.
fn default(row: &OptionRow) -> String {
    let is_number = row.default.chars().all(|c| c.is_ascii_digit() || c == '_');
    if is_number { grouped(&row.default.replace('_', "")) } else { row.default.to_owned() }
}

/// `50000` as `50,000`.
fn grouped(digits: &str) -> String {
    let from_the_end = digits.chars().rev().enumerate();
    let reversed: String =
        from_the_end.flat_map(|(at, c)| [c, ','].into_iter().rev().skip(usize::from(at == 0 || at % 3 != 0))).collect();
    reversed.chars().rev().collect()
}

/// What the option is, with its words and its default, in Markdown.
fn described(row: &OptionRow) -> String {
    let mut text = doc::sentence(row.doc, row.since);
    if let Type::Words(words) = row.kind {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        text = format!("{text} One of {}.", words.join(", "));
    }
    match row.default {
        "required" => text,
        _ => format!("{text} Default: {}.", default(row)),
    }
}

/// Code in quotation marks, unless it is quoted or JSON already.
fn quoted(text: &str) -> String {
    let pieces = text.split('`').enumerate().map(|(at, piece)| match piece {
        code if at % 2 == 1 && !code.contains('"') => format!("\"{code}\""),
        piece => piece.to_owned(),
    });
    pieces.collect()
}

pub(crate) fn header() -> String {
    let mut out = String::new();
    for (group, title) in GROUPS {
        out.push_str(&format!(" *\n *   {title}\n"));
        for row in of_group(group) {
            let first = format!(" *     {:<22} ", row.name);
            out.push_str(&wrap(&quoted(&described(row)), &first, &format!(" * {:27}", ""), 100));
        }
    }
    out.push_str(" *\n");
    out
}

fn docs(group: Group) -> String {
    let mut out = String::from("\n");
    for row in of_group(group) {
        let kind = match row.kind {
            Type::Text => "text",
            Type::Texts => "a list of texts",
            Type::Number => "a number",
            Type::Flag => "true or false",
            Type::Whole(_) => "a whole number",
            // The text names the unit and the words.
            Type::Milliseconds | Type::TimeLimit | Type::Words(_) | Type::Special { .. } => "",
        };
        let kind = if kind.is_empty() { String::new() } else { format!(" ({kind})") };
        out.push_str(&wrap(&format!("`{}`{kind}: {}", row.name, described(row)), "- ", "  ", 118));
    }
    out.push('\n');
    out
}

pub(crate) fn docs_conversation() -> String {
    docs(Group::Conversation)
}

pub(crate) fn docs_model() -> String {
    docs(Group::Model)
}

pub(crate) fn docs_loop() -> String {
    docs(Group::Loop)
}

pub(crate) fn docs_limits() -> String {
    docs(Group::Limits)
}

fn named(row: &OptionRow) -> Option<&'static str> {
    NAMED.iter().find(|(_, options)| options.contains(&row.name)).map(|(name, _)| *name)
}

fn words_of(option: &str) -> &'static [&'static str] {
    match options::all().find(|row| row.name == option).map(|row| row.kind) {
        Some(Type::Words(words)) => words,
        _ => &[],
    }
}

fn listed(words: &[&str], quote: char, separator: &str) -> String {
    words.iter().map(|word| format!("{quote}{word}{quote}")).collect::<Vec<_>>().join(separator)
}

pub(crate) fn python_words() -> String {
    let alias = |(name, options): &(&str, &[&str])| {
        format!("    _{name}: TypeAlias = Literal[{}]\n", listed(words_of(options[0]), '"', ", "))
    };
    NAMED.iter().map(alias).collect()
}

fn python_type(row: &OptionRow) -> String {
    match (row.kind, named(row)) {
        (_, Some(name)) => format!("_{name}"),
        (Type::Text, _) => "str".to_owned(),
        (Type::Texts, _) => "Sequence[str]".to_owned(),
        (Type::Number, _) => "float".to_owned(),
        (Type::Flag, _) => "bool".to_owned(),
        (Type::Whole(_) | Type::Milliseconds | Type::TimeLimit, _) => "int".to_owned(),
        (Type::Words(words), _) => format!("Literal[{}]", listed(words, '"', ", ")),
        (Type::Special { python, .. }, _) => python.to_owned(),
    }
}

fn python(rows: impl Iterator<Item = &'static OptionRow>) -> String {
    let field =
        |row: &OptionRow| format!("    {}: {} | None\n{}", row.name, python_type(row), doc::of_python(&described(row), "    "));
    rows.map(field).collect()
}

/// Options that one model call has no use for.
fn is_of_the_loop(row: &OptionRow) -> bool {
    options::OF_THE_LOOP.contains(&row.name)
}

pub(crate) fn python_calls() -> String {
    python(options::all().filter(|row| row.name != "model" && !is_of_agents(row) && !is_of_the_loop(row)))
}

pub(crate) fn python_runs() -> String {
    python(options::all().filter(|row| is_of_the_loop(row)))
}

/// Options that one run may have. The type of its answer is in the signatures, as it is that of the result; its system prompt is
/// text alone.
pub(crate) fn python_prompts() -> String {
    let is_of_a_run =
        |row: &&OptionRow| !["output", "system_prompt"].contains(&row.name) && RunOptions::names().any(|name| name == row.name);
    python(options::all().filter(is_of_a_run))
}

pub(crate) fn python_agents() -> String {
    python(options::all().filter(|row| is_of_agents(row)))
}

pub(crate) fn python_docstring() -> String {
    let mut out = String::new();
    for (group, title) in GROUPS {
        out.push_str(&format!("\n    Options of {title}\n"));
        for row in of_group(group).filter(|row| row.name != "model") {
            let text = doc::for_python(&format!("`{}`: {}", row.name, described(row)));
            out.push_str(&wrap(&text, "    - ", "      ", 130));
        }
    }
    out.push('\n');
    out
}

pub(crate) fn node_words() -> String {
    let alias = |(name, options): &(&str, &[&str])| {
        let options: Vec<String> = options.iter().map(|option| format!("`{}`", camel(option))).collect();
        let names = match options.as_slice() {
            [one] => format!("The values of the option {one}."),
            several => format!("The values of the options {}.", several.join(" and ")),
        };
        let words = words_of(NAMED.iter().find(|(other, _)| other == name).map_or("", |(_, options)| options[0]));
        format!("\n/** {names} */\nexport type {name} = {}\n", listed(words, '\'', " | "))
    };
    let own = NAMED.iter().filter(|(name, _)| *name != "ExecutionMode").map(alias).collect::<String>();
    format!("{own}\n")
}

fn node_type(row: &OptionRow) -> String {
    match (row.kind, named(row)) {
        (_, Some(name)) => name.to_owned(),
        (Type::Text, _) => "string".to_owned(),
        (Type::Texts, _) => "readonly string[]".to_owned(),
        (Type::Number | Type::Whole(_) | Type::Milliseconds | Type::TimeLimit, _) => "number".to_owned(),
        (Type::Flag, _) => "boolean".to_owned(),
        (Type::Words(words), _) => listed(words, '\'', " | "),
        (Type::Special { node, .. }, _) => node.to_owned(),
    }
}

fn node(rows: impl Iterator<Item = &'static OptionRow>) -> String {
    let field = |row: &OptionRow| {
        // With `undefined`: under `exactOptionalPropertyTypes` an option could not be passed on otherwise.
        let (optional, or) = if row.name == "model" { ("", "") } else { ("?", " | undefined") };
        let text = doc::of_node(&described(row), "  ");
        format!("{text}  {}{optional}: {}{or}\n", camel(row.name), node_type(row))
    };
    rows.map(field).collect()
}

pub(crate) fn node_calls() -> String {
    node(options::all().filter(|row| !is_of_agents(row) && !is_of_the_loop(row)))
}

pub(crate) fn node_runs() -> String {
    node(options::all().filter(|row| is_of_the_loop(row)))
}

pub(crate) fn node_agents() -> String {
    node(options::all().filter(|row| is_of_agents(row)))
}
