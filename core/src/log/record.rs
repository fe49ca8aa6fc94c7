//! A log record: what it says, as JSON and to `tracing`.

use std::sync::Arc;

use agent_loop_proto::table::logs::{LogCode, LogLevel};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::usage::Usage;

/// The data of all codes, with their types: the fields of an event of `tracing` are a part of the program's text.
macro_rules! with_data_fields {
    ($macro:ident $($argument:ident)?) => {
        $macro!(
            $($argument)? [hook event tool_call_id tool_name outcome server model]
            [listener missed attempt delay_ms turns count latency_ms input_tokens output_tokens] [cost]
        )
    };
}

/// A log record. Canonical JSON: `{level, code, message, run_id?, conversation_id?, turn?, data, error?}`.
#[derive(Debug, Clone)]
pub struct LogRecord {
    code: LogCode,
    what: String,
    /// The run it is about; `None` where it is about several.
    pub run_id: Option<Arc<str>>,
    /// The conversation of the run.
    pub conversation_id: Option<Arc<str>>,
    /// The turn of the run, from 1.
    pub turn: Option<u32>,
    /// What belongs to its code.
    pub data: Map<String, Value>,
    /// What is the cause, with its source.
    pub error: Option<Error>,
}

impl LogRecord {
    pub(crate) fn new(code: LogCode, what: impl Into<String>) -> LogRecord {
        LogRecord { code, what: what.into(), run_id: None, conversation_id: None, turn: None, data: Map::new(), error: None }
    }

    pub(crate) fn with(mut self, field: &str, value: impl Into<Value>) -> LogRecord {
        self.data.insert(field.to_owned(), value.into());
        self
    }

    /// The tokens and the price of a call or a run, as far as they are known.
    pub(crate) fn with_usage(self, usage: &Usage) -> LogRecord {
        let input = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        let record = self.with("input_tokens", input).with("output_tokens", usage.output);
        match &usage.cost {
            Some(cost) => record.with("cost", cost.total),
            None => record,
        }
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

    /// It in one line, for a terminal: the level, the code, the message, and what else is known.
    pub(super) fn line(&self) -> String {
        let mut line = format!("agent-loop {} {}: {}", self.level().as_str(), self.code(), self.message());
        let mut add = |name: &str, value: &dyn std::fmt::Display| line.push_str(&format!(" {name}={value}"));
        if let Some(id) = &self.run_id {
            add("run_id", id);
        }
        if let Some(id) = &self.conversation_id {
            add("conversation_id", id);
        }
        if let Some(turn) = &self.turn {
            add("turn", turn);
        }
        for (name, value) in &self.data {
            add(name, value);
        }
        line
    }

    /// Writes it to `tracing`, with the data of all codes as fields.
    pub(super) fn trace(&self) {
        let text = |field: &str| self.data.get(field).and_then(Value::as_str);
        let number = |field: &str| self.data.get(field).and_then(Value::as_u64);
        let decimal = |field: &str| self.data.get(field).and_then(Value::as_f64);
        macro_rules! event {
            ($level:ident [$($text:ident)+] [$($number:ident)+] [$($decimal:ident)+]) => {
                tracing::$level!(
                    code = self.code.word,
                    run_id = self.run_id.as_deref(),
                    conversation_id = self.conversation_id.as_deref(),
                    turn = self.turn,
                    $($text = text(stringify!($text)),)+
                    $($number = number(stringify!($number)),)+
                    $($decimal = decimal(stringify!($decimal)),)+
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
        let optional = [self.run_id.is_some(), self.conversation_id.is_some(), self.turn.is_some(), self.error.is_some()];
        let count = 4 + optional.into_iter().filter(|is_there| *is_there).count();
        let mut fields = serializer.serialize_struct("LogRecord", count)?;
        fields.serialize_field("level", self.level().as_str())?;
        fields.serialize_field("code", self.code())?;
        fields.serialize_field("message", &self.message())?;
        if let Some(id) = &self.run_id {
            fields.serialize_field("run_id", id)?;
        }
        if let Some(id) = &self.conversation_id {
            fields.serialize_field("conversation_id", id)?;
        }
        if let Some(turn) = &self.turn {
            fields.serialize_field("turn", turn)?;
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
    fn a_line_has_all_that_is_known() {
        let usage = Usage { input: 3, cache_read: 4, output: 5, ..Usage::default() };
        let mut record = LogRecord::new(logs::MODEL_CALL, "a model call ended").with("model", "m\n").with_usage(&usage);
        (record.run_id, record.conversation_id, record.turn) = (Some("r".into()), Some("c".into()), Some(2));
        let expected =
            r#"agent-loop debug model_call: a model call ended run_id=r conversation_id=c turn=2 model="m\n" input_tokens=7"#;
        assert_eq!(record.line(), format!("{expected} output_tokens=5"));
    }

    #[test]
    fn the_data_of_each_code_is_a_field_for_tracing() {
        macro_rules! names {
            ([$($text:ident)+] [$($number:ident)+] [$($decimal:ident)+]) => {
                [$(stringify!($text),)+ $(stringify!($number),)+ $(stringify!($decimal),)+]
            };
        }
        let known = with_data_fields!(names);
        let fields = logs::LOG_CODES.iter().flat_map(|row| row.data.split('`').skip(1).step_by(2));
        let fields: BTreeSet<&str> = fields.map(|field| field.trim_end_matches('?')).collect();
        assert_eq!(fields, BTreeSet::from(known));
    }
}
