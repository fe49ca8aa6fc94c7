//! A call's arguments from the pieces in which Vertex streams them: a JSON path and a value each, in the order of the arguments'
//! own text. <https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc>.

use serde_json::{Map, Value};

use super::wire::PartialArg;

/// The deepest path that is followed, as deep as JSON is read.
const MAX_DEPTH: usize = 128;

/// The most text that one call's pieces may have, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// The arguments so far.
pub(super) struct Arguments {
    object: Value,
    bytes: usize,
}

#[derive(Debug, PartialEq)]
enum Step {
    Name(String),
    Index(usize),
}

impl Arguments {
    /// Pieces on top of what was given whole.
    pub(super) fn new(given: Map<String, Value>) -> Arguments {
        Arguments { object: Value::Object(given), bytes: 0 }
    }

    /// Takes a piece in: a text goes on with the text at its path, any other value stands there.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn put(&mut self, piece: PartialArg) -> Result<(), String> {
        self.bytes += piece.json_path.len() + piece.string_value.as_ref().map_or(0, String::len);
        if self.bytes > MAX_BYTES {
            return Err(format!("they grew over {} MiB", MAX_BYTES >> 20));
        }
        let path = &piece.json_path;
        let steps = steps(path).ok_or_else(|| format!("the path {path:?} cannot be read"))?;
        let slot = slot(&mut self.object, steps).ok_or_else(|| format!("the path {path:?} does not fit what came before"))?;
        match (piece.string_value, piece.number_value, piece.bool_value) {
            (Some(text), _, _) => match slot {
                Value::String(begun) => begun.push_str(&text),
                slot => *slot = Value::String(text),
            },
            (None, Some(number), _) => *slot = Value::Number(number),
            (None, None, Some(flag)) => *slot = Value::Bool(flag),
            // `nullValue`, or only the sign that the text at this path is whole: a new place is null already.
            (None, None, None) => {}
        }
        Ok(())
    }

    /// The arguments as JSON.
    pub(super) fn text(&self) -> String {
        self.object.to_string()
    }
}

/// `$.a[0]['b c']` as its steps; at least one.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut steps = Vec::new();
    while !rest.is_empty() && steps.len() < MAX_DEPTH {
        let (step, after) = if let Some(inner) = rest.strip_prefix('[') {
            match inner.chars().next()? {
                quote @ ('\'' | '"') => {
                    let (name, after) = inner.get(1..)?.split_once(quote)?;
                    (Step::Name(name.to_owned()), after.strip_prefix(']')?)
                }
                _ => {
                    let (index, after) = inner.split_once(']')?;
                    (Step::Index(index.parse().ok()?), after)
                }
            }
        } else {
            let named = rest.strip_prefix('.').unwrap_or(rest);
            let (name, after) = named.split_at(named.find(['.', '[']).unwrap_or(named.len()));
            (Some(name).filter(|name| !name.is_empty()).map(|name| Step::Name(name.to_owned()))?, after)
        };
        steps.push(step);
        rest = after;
    }
    (rest.is_empty() && !steps.is_empty()).then_some(steps)
}

/// The place at the end of a path, made where it is new. A list grows by one at a time.
fn slot(root: &mut Value, steps: Vec<Step>) -> Option<&mut Value> {
    steps.into_iter().try_fold(root, |at, step| match step {
        Step::Name(name) => {
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
            Some(at.as_object_mut()?.entry(name).or_insert(Value::Null))
        }
        Step::Index(index) => {
            if at.is_null() {
                *at = Value::Array(Vec::new());
            }
            let list = at.as_array_mut()?;
            if list.len() == index {
                list.push(Value::Null);
            }
            list.get_mut(index)
        }
    })
}
