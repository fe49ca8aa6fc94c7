//! A log record: what it says, as JSON and to `tracing`.

use std::sync::Arc;

use agent_loop_proto::table::logs::{LogCode, LogLevel};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::{Map, Value};

use crate::error::Error;

/// The data of all codes, with their types: the fields of an event of `tracing` are a part of the program's text.
macro_rules! with_data_fields {
    ($macro:ident $($argument:ident)?) => {
        $macro!(
            $($argument)? [hook event tool_call_id tool_name outcome server] [listener missed attempt delay_ms turns count]
        )
    };
}

/// A log record. Canonical JSON: `{level, code, message, run_id?, data, error?}`.
#[derive(Debug, Clone)]
pub struct LogRecord {
    code: LogCode,
    what: String,
    /// The run it is about; `None` where it is about several.
    pub run_id: Option<Arc<str>>,
    /// What belongs to its code.
    pub data: Map<String, Value>,
    /// What is the cause, with its source.
    pub error: Option<Error>,
}

impl LogRecord {
    pub(crate) fn new(code: LogCode, what: impl Into<String>) -> LogRecord {
        LogRecord { code, what: what.into(), run_id: None, data: Map::new(), error: None }
    }

    pub(crate) fn with(mut self, field: &str, value: impl Into<Value>) -> LogRecord {
        self.data.insert(field.to_owned(), value.into());
        self
    }

    pub(crate) fn because(mut self, error: Error) -> LogRecord {
        self.error = Some(error);
        self
    }

    /// How grave it is.
    pub fn level(&self) -> LogLevel {
        self.code.level
    }

    /// The canonical word for what it is about.
    pub fn code(&self) -> &'static str {
        self.code.word
    }

    /// What has happened, in one line, with the message of the error. Control characters are escaped: a text of a model must
    /// not pass for a record.
    pub fn message(&self) -> String {
        let message = match &self.error {
            Some(error) => format!("{}: {}", self.what, error.message()),
            None => self.what.clone(),
        };
        if !message.contains(char::is_control) {
            return message;
        }
        let mut line = String::with_capacity(message.len() + 16);
        for character in message.chars() {
            if character.is_control() {
                line.extend(character.escape_default());
            } else {
                line.push(character);
            }
        }
        line
    }

    /// Writes it to `tracing`, with the data of all codes as fields.
    pub(super) fn trace(&self) {
        let text = |field: &str| self.data.get(field).and_then(Value::as_str);
        let number = |field: &str| self.data.get(field).and_then(Value::as_u64);
        macro_rules! event {
            ($level:ident [$($text:ident)+] [$($number:ident)+]) => {
                tracing::$level!(
                    code = self.code.word,
                    run_id = self.run_id.as_deref(),
                    $($text = text(stringify!($text)),)+
                    $($number = number(stringify!($number)),)+
                    kind = self.error.as_ref().map(|error| error.kind().as_str()),
                    error = self.error.as_ref().map(Error::message),
                    "{}",
                    self.what
                )
            };
        }
        match self.level() {
            LogLevel::Error => with_data_fields!(event error),
            LogLevel::Warn => with_data_fields!(event warn),
            LogLevel::Info => with_data_fields!(event info),
            LogLevel::Debug => with_data_fields!(event debug),
            // Both crates have one version: there is no other level.
            #[cfg(not(feature = "__bindings"))]
            _ => {}
        }
    }
}

impl Serialize for LogRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count = 4 + usize::from(self.run_id.is_some()) + usize::from(self.error.is_some());
        let mut fields = serializer.serialize_struct("LogRecord", count)?;
        fields.serialize_field("level", self.level().as_str())?;
        fields.serialize_field("code", self.code())?;
        fields.serialize_field("message", &self.message())?;
        if let Some(id) = &self.run_id {
            fields.serialize_field("run_id", id)?;
        }
        fields.serialize_field("data", &self.data)?;
        if let Some(error) = &self.error {
            fields.serialize_field("error", error)?;
        }
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use agent_loop_proto::table::logs;

    #[test]
    fn found_e15_a_message_is_one_line() {
        let error = Error::callback("a\"\n2026 ERROR all is lost\u{1b}[31m\u{85}é");
        let record = LogRecord::new(logs::TOOL_ERROR, "the tool x failed").because(error);
        assert_eq!(record.message(), r#"the tool x failed: a"\n2026 ERROR all is lost\u{1b}[31m\u{85}é"#);
    }

    #[test]
    fn the_data_of_each_code_is_a_field_for_tracing() {
        macro_rules! names {
            ([$($text:ident)+] [$($number:ident)+]) => { [$(stringify!($text),)+ $(stringify!($number),)+] };
        }
        let known = with_data_fields!(names);
        let fields = logs::LOG_CODES.iter().flat_map(|row| row.data.split('`').skip(1).step_by(2));
        let fields: BTreeSet<&str> = fields.map(|field| field.trim_end_matches('?')).collect();
        assert_eq!(fields, BTreeSet::from(known));
    }
}
