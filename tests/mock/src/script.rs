//! A script: the answers in order, and reading one from a file.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::check::{Strict, Strictness};
use crate::{Answer, Body, Error};

/// The answers a [`Mock`](crate::Mock) has. The crate's documentation says which of them a request gets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// What the script is for; only for readers.
    #[serde(default, rename = "about")]
    _about: String,
    #[serde(default)]
    pub(crate) strict: Strictness,
    #[serde(deserialize_with = "numbered")]
    pub(crate) answers: Vec<Answer>,
    /// Where it was read; begins the messages about it.
    #[serde(skip)]
    pub(crate) source: Option<PathBuf>,
    /// Whether refusals are printed on standard error.
    #[serde(skip)]
    pub(crate) prints_refusals: bool,
}

/// Answers, one by one: a mistake in one is reported with its number, from 1. serde_json finds its line and column at the end of
/// the text.
fn numbered<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Answer>, D::Error> {
    struct Answers;

    impl<'de> Visitor<'de> for Answers {
        type Value = Vec<Answer>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of answers")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Answer>, A::Error> {
            let mut answers = Vec::new();
            loop {
                let number = answers.len() + 1;
                match list.next_element() {
                    Ok(Some(answer)) => answers.push(answer),
                    Ok(None) => return Ok(answers),
                    Err(error) => return Err(A::Error::custom(format!("answer {number}: {error}"))),
                }
            }
        }
    }

    deserializer.deserialize_seq(Answers)
}

impl Script {
    /// A script without answers.
    pub fn new() -> Script {
        Script::default()
    }

    /// Adds an answer after those that are there.
    pub fn answer(mut self, answer: Answer) -> Script {
        self.answers.push(answer);
        self
    }

    /// Checks every request in one of the four formats as the format's own service would, and answers the wrong ones as it would.
    pub fn strict(self) -> Script {
        self.strict_as(Strict::new())
    }

    /// Checks every request in one of the four formats in this way.
    pub fn strict_as(mut self, strict: Strict) -> Script {
        self.strict = Strictness(Some(strict));
        self
    }

    /// Reports on standard error what is refused, each reason once. The program does.
    pub fn print_refusals(mut self) -> Script {
        self.prints_refusals = true;
        self
    }

    /// Reads a script file.
    pub fn load(path: impl AsRef<Path>) -> Result<Script, Error> {
        let path = path.as_ref();
        let text =
            std::fs::read_to_string(path).map_err(|e| Error::Script(format!("{}: cannot be read: {e}", path.display())))?;
        let mut script = Script::parse(&text).map_err(|e| Error::Script(format!("{}: {e}", path.display())))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for answer in &mut script.answers {
            if let Body::File(file) = &mut answer.body {
                *file = folder.join(&*file);
            }
        }
        script.source = Some(path.to_owned());
        Ok(script)
    }

    /// Reads a script from JSON text. Files in it are relative to the working directory.
    pub fn parse(text: &str) -> Result<Script, Error> {
        serde_json::from_str(text).map_err(|e| Error::Script(format!("not a script: {e}")))
    }

    /// How messages call answer number `index`: by place (from 1), and by name if it has one.
    pub(crate) fn label(&self, index: usize) -> String {
        match self.answers.get(index).and_then(|answer| answer.name.as_deref()) {
            Some(name) => format!("answer {} ({name})", index + 1),
            None => format!("answer {}", index + 1),
        }
    }
}
