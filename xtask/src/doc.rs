//! The documentation of a row, as the languages have it.

use agent_loop_proto::table::fields::FieldRow;
use agent_loop_proto::table::{events, hooks, options};

use crate::text::{camel, wrap};

/// The first version: what is there since then says nothing about it.
const FIRST: &str = "0.1.0";

/// The lines of a row's comment as one line, with the version in which it appeared.
pub(crate) fn sentence(doc: &[&str], since: &str) -> String {
    let text = doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    match since {
        FIRST => text,
        later => format!("{text} New in {later}."),
    }
}

/// Of a field, which says nothing where it is as old as its row.
pub(crate) fn of_field(field: &FieldRow, row_since: &str) -> String {
    sentence(field.doc, if field.since == row_since { FIRST } else { field.since })
}

/// The text for Node, which has names of the table in camel case.
pub(crate) fn for_node(text: &str) -> String {
    let fields = || events::all().into_iter().flat_map(|row| row.fields).map(|field| field.name);
    let hooks = hooks::all();
    let names = || options::names().chain(fields()).chain(hooks.iter().map(|row| row.word));
    let is_name = |code: &str| names().any(|name| name == code);
    let spelled = text.split('`').enumerate().map(|(at, piece)| match piece {
        code if at % 2 == 1 && is_name(code) => camel(code),
        piece => piece.to_owned(),
    });
    spelled.collect::<Vec<_>>().join("`")
}

/// A comment of TypeScript.
pub(crate) fn of_node(text: &str, indent: &str) -> String {
    let doc = for_node(text);
    match format!("{indent}/** {doc} */\n") {
        line if line.chars().count() <= 131 => line,
        _ => {
            let next = format!("{indent} * ");
            format!("{indent}/**\n{}{indent} */\n", wrap(&doc, &next, &next, 130))
        }
    }
}

/// A comment of Rust.
pub(crate) fn of_rust(text: &str) -> String {
    wrap(text, "/// ", "/// ", 130)
}

/// A comment of the header before a constant.
pub(crate) fn of_c(text: &str) -> String {
    let text = wrap(text, "    /** ", "     *  ", 97);
    format!("{} */\n", text.trim_end())
}

/// The text for Python, which has words of its own for those of JSON.
pub(crate) fn for_python(text: &str) -> String {
    let words = [
        ("an array", "a list"),
        ("block: true", "block: True"),
        ("true or false", "True or False"),
        ("Default: true", "Default: True"),
        ("Default: false", "Default: False"),
    ];
    words.iter().fold(text.to_owned(), |text, (json, python)| text.replace(json, python))
}

/// A documentation string of Python.
pub(crate) fn of_python(text: &str, indent: &str) -> String {
    wrap(&format!("\"\"\"{}\"\"\"", for_python(text)), indent, indent, 130)
}
