//! A value and where it stands in the body: what the checks read through, so that each complaint can say which field it is about.

use serde_json::{Map, Value};

/// What is wrong, not yet in any service's words. Paths are written `messages[0].content[1].text`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wrong {
    /// A required field is not there.
    Missing {
        path: String,
    },
    /// The object at `path` has a field that the service does not know.
    Unknown {
        path: String,
        name: String,
    },
    Type {
        path: String,
        expected: &'static str,
        got: &'static str,
    },
    /// One of a closed list of words was expected.
    Choice {
        path: String,
        allowed: &'static [&'static str],
        got: String,
    },
    Low {
        path: String,
        least: f64,
        got: f64,
    },
    High {
        path: String,
        most: f64,
        got: f64,
    },
    Long {
        path: String,
        most: usize,
        got: usize,
    },
    /// An empty string or list.
    Empty {
        path: String,
        what: &'static str,
    },
    Pattern {
        path: String,
        pattern: &'static str,
    },
    /// Something about one field that the service says in its own way.
    Field {
        path: String,
        message: String,
    },
    /// A whole sentence.
    Said(String),
    /// A whole sentence with its own status or code.
    Coded {
        status: u16,
        code: &'static str,
        path: Option<String>,
        message: String,
    },
}

pub(super) type Checked<T = ()> = Result<T, Wrong>;

pub(super) fn said<T>(message: impl Into<String>) -> Checked<T> {
    Err(Wrong::Said(message.into()))
}

/// A complaint about the field at `path`.
pub(super) fn wrong_at<T>(path: impl Into<String>, message: impl Into<String>) -> Checked<T> {
    Err(Wrong::Field { path: path.into(), message: message.into() })
}

/// A value in the body. `null` counts as absent where a field is optional: all four services read it so.
#[derive(Clone, Debug)]
pub(super) struct Place<'a> {
    pub(super) value: &'a Value,
    pub(super) path: String,
    /// Google's services take each name in camel case and in snake case.
    either_case: bool,
}

/// An object whose field names have been looked at.
#[derive(Clone, Debug)]
pub(super) struct Object<'a> {
    pub(super) map: &'a Map<String, Value>,
    pub(super) path: String,
    either_case: bool,
}

impl<'a> Place<'a> {
    pub(super) fn body(value: &'a Value) -> Place<'a> {
        Place { value, path: String::new(), either_case: false }
    }

    pub(super) fn body_in_either_case(value: &'a Value) -> Place<'a> {
        Place { either_case: true, ..Place::body(value) }
    }

    /// The same value under a longer path: Anthropic names the kind of a block in it.
    pub(super) fn tagged(&self, kind: &str) -> Place<'a> {
        Place { path: format!("{}.{kind}", self.path), ..self.clone() }
    }

    /// A value inside this one.
    pub(super) fn inner(&self, value: &'a Value, step: &str) -> Place<'a> {
        Place { value, path: format!("{}{step}", self.path), either_case: self.either_case }
    }

    /// An object with no fields but these.
    pub(super) fn object(&self, known: &[&str]) -> Checked<Object<'a>> {
        let object = self.open_object()?;
        let knows = |name: &str| known.contains(&name) || (self.either_case && known.contains(&camel(name).as_str()));
        match object.map.keys().find(|name| !knows(name)) {
            Some(name) => Err(Wrong::Unknown { path: self.path.clone(), name: name.clone() }),
            None => Ok(object),
        }
    }

    /// An object with any fields.
    pub(super) fn open_object(&self) -> Checked<Object<'a>> {
        match self.value {
            Value::Object(map) => Ok(Object { map, path: self.path.clone(), either_case: self.either_case }),
            _ => self.not("object"),
        }
    }

    pub(super) fn array(&self) -> Checked<Vec<Place<'a>>> {
        let Value::Array(items) = self.value else { return self.not("array") };
        Ok(items.iter().enumerate().map(|(index, value)| self.inner(value, &format!("[{index}]"))).collect())
    }

    pub(super) fn filled_array(&self) -> Checked<Vec<Place<'a>>> {
        let items = self.array()?;
        if items.is_empty() { Err(Wrong::Empty { path: self.path.clone(), what: "array" }) } else { Ok(items) }
    }

    pub(super) fn string(&self) -> Checked<&'a str> {
        self.value.as_str().map_or_else(|| self.not("string"), Ok)
    }

    pub(super) fn filled_string(&self) -> Checked<&'a str> {
        let text = self.string()?;
        if text.is_empty() { Err(Wrong::Empty { path: self.path.clone(), what: "string" }) } else { Ok(text) }
    }

    /// A string of 1 to `most` characters.
    pub(super) fn short_string(&self, most: usize) -> Checked<&'a str> {
        let text = self.filled_string()?;
        let got = text.chars().count();
        if got > most { Err(Wrong::Long { path: self.path.clone(), most, got }) } else { Ok(text) }
    }

    pub(super) fn boolean(&self) -> Checked<bool> {
        self.value.as_bool().map_or_else(|| self.not("boolean"), Ok)
    }

    pub(super) fn integer(&self, least: i64) -> Checked<i64> {
        let number = self.value.as_i64().map_or_else(|| self.not("integer"), Ok)?;
        if number < least {
            return Err(Wrong::Low { path: self.path.clone(), least: least as f64, got: number as f64 });
        }
        Ok(number)
    }

    pub(super) fn number(&self, least: f64, most: f64) -> Checked<f64> {
        let got = self.value.as_f64().map_or_else(|| self.not("number"), Ok)?;
        match got {
            _ if got < least => Err(Wrong::Low { path: self.path.clone(), least, got }),
            _ if got > most => Err(Wrong::High { path: self.path.clone(), most, got }),
            _ => Ok(got),
        }
    }

    pub(super) fn one_of(&self, allowed: &'static [&'static str]) -> Checked<&'a str> {
        let word = self.string()?;
        if allowed.contains(&word) { Ok(word) } else { Err(Wrong::Choice { path: self.path.clone(), allowed, got: word.into() }) }
    }

    /// A complaint about this place.
    pub(super) fn wrong<T>(&self, message: impl Into<String>) -> Checked<T> {
        wrong_at(&self.path, message)
    }

    pub(super) fn pattern<T>(&self, pattern: &'static str) -> Checked<T> {
        Err(Wrong::Pattern { path: self.path.clone(), pattern })
    }

    pub(super) fn not<T>(&self, expected: &'static str) -> Checked<T> {
        Err(Wrong::Type { path: self.path.clone(), expected, got: kind(self.value) })
    }
}

impl<'a> Object<'a> {
    /// A field that is there and not null.
    pub(super) fn get(&self, name: &str) -> Option<Place<'a>> {
        let value = self.map.get(name).or_else(|| if self.either_case { self.map.get(&snake(name)) } else { None })?;
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        (!value.is_null()).then_some(Place { value, path, either_case: self.either_case })
    }

    pub(super) fn require(&self, name: &str) -> Checked<Place<'a>> {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        match self.get(name) {
            Some(place) => Ok(place),
            None if self.map.contains_key(name) => Err(Wrong::Type { path, expected: "value", got: "null" }),
            None => Err(Wrong::Missing { path }),
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Optional switches.
    pub(super) fn booleans(&self, names: &[&str]) -> Checked {
        names.iter().filter_map(|name| self.get(name)).try_for_each(|place| place.boolean().map(drop))
    }

    /// Optional strings.
    pub(super) fn strings(&self, names: &[&str]) -> Checked {
        names.iter().filter_map(|name| self.get(name)).try_for_each(|place| place.string().map(drop))
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "decimal",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |all, word| {
        let mut letters = word.chars();
        let upper = letters.next().map(|letter| letter.to_ascii_uppercase());
        all + &upper.into_iter().chain(letters).collect::<String>()
    })
}

pub(super) fn snake(name: &str) -> String {
    name.chars().fold(String::new(), |mut all, letter| {
        if letter.is_ascii_uppercase() {
            all.push('_');
        }
        all.push(letter.to_ascii_lowercase());
        all
    })
}
