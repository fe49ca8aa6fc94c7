//! Events: everything a run emits, in order. Canonical JSON has `type`, `run_id`, `seq`, `turn`, then the fields
//! of the type in the order given here.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::json_reader::from_value;
use crate::message::{AssistantMessage, ContentBlock, Message, joined_text};
use crate::partial::Partial;
use crate::suspension::SuspendedCall;
use crate::table::events::find;
use crate::tool::ToolOutput;
use crate::usage::{Outcome, Usage};

/// One event of a run.
#[derive(Debug, Clone)]
pub struct Event {
    /// The run's id.
    pub run_id: Arc<str>,
    /// 0, 1, 2 … without gaps.
    pub seq: u64,
    /// 1-based; 0 in `agent_start`.
    pub turn: u32,
    /// What happened.
    pub data: EventData,
    /// The assistant's message at this event, for the events of its stream.
    pub(crate) partial: Option<Partial>,
}

macro_rules! event_data {
    ($(
        $(#[doc = $doc:literal])* $variant:ident = $word:literal, $value:literal, $since:literal
        $([$($positional:ident),*] {
            $($(#[doc = $field_doc:literal])* $(@$optional:ident)? $field:ident: $type:ty $(as $exact:ident)?
            $(= $field_since:literal)?,)*
        })?;
    )+) => {
        /// What happened, by type. Large parts stand behind pointers: most events are deltas, and all are moved about.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
        pub enum EventData {
            /// A piece of the assistant's message.
            MessageUpdate(MessageUpdate),
            $($(#[doc = $doc])* $variant $({ $($(#[doc = $field_doc])* $field: $type,)* })?,)+
        }

        impl EventData {
            /// The type's word, for example `text_delta`.
            pub fn kind(&self) -> &'static str {
                match self {
                    EventData::MessageUpdate(update) => update.kind(),
                    $(EventData::$variant { .. } => $word,)+
                }
            }

            fn serialize_fields<S: SerializeStruct>(&self, fields: &mut S) -> Result<(), S::Error> {
                match self {
                    EventData::MessageUpdate(update) => update.serialize_fields(fields)?,
                    $(EventData::$variant $({ $($field),* })? => {
                        $($(serialize_field!(fields, $($optional)? $field);)*)?
                    })+
                }
                Ok(())
            }
        }
    };
}

macro_rules! serialize_field {
    ($fields:ident, optional $field:ident) => {
        if let Some($field) = $field {
            $fields.serialize_field(stringify!($field), $field)?;
        }
    };
    ($fields:ident, $field:ident) => {
        $fields.serialize_field(stringify!($field), $field)?;
    };
}

macro_rules! message_update {
    ($(
        $(#[doc = $doc:literal])* $variant:ident = $word:literal, $value:literal, $since:literal [$($positional:ident),*]
        { $($(#[doc = $field_doc:literal])* $field:ident: $type:ty $(as $exact:ident)? $(= $field_since:literal)?,)* }
    )+) => {
        /// A piece of the assistant's message. `content_index` counts the blocks in the order they started.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
        pub enum MessageUpdate {
            $($(#[doc = $doc])* $variant {
                /// Which block.
                content_index: u32,
                $($(#[doc = $field_doc])* $field: $type,)*
            },)+
        }

        impl MessageUpdate {
            /// The type's word, for example `text_delta`.
            pub fn kind(&self) -> &'static str {
                match self { $(MessageUpdate::$variant { .. } => $word,)+ }
            }

            /// The text that a delta adds; `None` for the start and the end of a block.
            pub fn delta(&self) -> Option<&str> {
                match self {
                    $(MessageUpdate::$variant { $($field,)* .. } => delta_of!($($field)* ; $($field)*),)+
                }
            }

            /// Which block of the message.
            pub fn content_index(&self) -> u32 {
                match self { $(MessageUpdate::$variant { content_index, .. } => *content_index,)+ }
            }

            fn serialize_fields<S: SerializeStruct>(&self, fields: &mut S) -> Result<(), S::Error> {
                match self {
                    $(MessageUpdate::$variant { content_index, $($field),* } => {
                        fields.serialize_field("content_index", content_index)?;
                        $(fields.serialize_field(stringify!($field), $field)?;)*
                    })+
                }
                Ok(())
            }
        }
    };
}

/// Of the fields of an update, given twice: the first names are compared, the second ones are variables.
macro_rules! delta_of {
    (delta ; $delta:ident) => {
        Some($delta)
    };
    ($($name:ident)* ; $($other:ident)*) => {{
        $(let _ = $other;)*
        None
    }};
}

crate::events_of!(other, event_data);
crate::events_of!(update, message_update);

/// What a tool says before its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct PartialResult {
    /// `text`, `image`, `document` and `audio` blocks.
    pub content: Vec<ContentBlock>,
    /// Anything for the application.
    pub details: Value,
}

impl PartialResult {
    /// All text, joined with nothing between the blocks.
    pub fn text(&self) -> String {
        joined_text(&self.content)
    }
}

impl Event {
    /// An event of a run; `partial` is the assistant's message at this event, for the events of its stream.
    #[doc(hidden)]
    pub fn new(run_id: Arc<str>, seq: u64, turn: u32, data: EventData, partial: Option<Partial>) -> Event {
        Event { run_id, seq, turn, data, partial }
    }

    /// The type's word, for example `text_delta`.
    pub fn kind(&self) -> &'static str {
        self.data.kind()
    }

    /// The assistant's message as it stood after this event; `None` for events that are not part of its stream.
    pub fn partial(&self) -> Option<AssistantMessage> {
        match &self.data {
            EventData::MessageEnd { message } => message.as_assistant().cloned(),
            _ => self.partial.as_ref().map(Partial::message),
        }
    }

    /// The typed final answer as far as it is written, of events of an assistant's stream: see [`Partial::output`].
    pub fn partial_output(&self) -> Option<Value> {
        self.partial.as_ref()?.output()
    }

    /// The handle behind [`Event::partial`], for hosts that keep one for a whole message.
    #[doc(hidden)]
    pub fn partial_handle(&self) -> Option<&Partial> {
        self.partial.as_ref()
    }

    /// The text that a delta adds; `None` for all other events.
    pub fn delta(&self) -> Option<&str> {
        match &self.data {
            EventData::MessageUpdate(update) => update.delta(),
            _ => None,
        }
    }

    /// The event in canonical JSON, on one line.
    pub fn to_json(&self) -> String {
        // Nothing in an event can fail to serialise: all map keys are strings.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A struct, not a map: a binding may spell the names of fields its language's way, and leaves the keys of maps alone.
        // The number of fields is a hint; there are four or more.
        let mut fields = serializer.serialize_struct("Event", 4)?;
        fields.serialize_field("type", self.kind())?;
        fields.serialize_field("run_id", &*self.run_id)?;
        fields.serialize_field("seq", &self.seq)?;
        fields.serialize_field("turn", &self.turn)?;
        self.data.serialize_fields(&mut fields)?;
        fields.end()
    }
}

/// As it is serialized; without the message so far.
impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Event, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let mut take = |name: &str| fields.shift_remove(name).unwrap_or_default();
        let (word, run_id, seq, turn) = (take("type"), take("run_id"), take("seq"), take("turn"));
        let row =
            word.as_str().and_then(find).ok_or_else(|| D::Error::custom(format!("there is no event of the type {word}")))?;
        // As an enum of Rust is written.
        let tagged = |name: &str, value| Value::Object(Map::from_iter([(name.to_owned(), value)]));
        let data = match (row.is_update, row.fields.is_empty()) {
            (true, _) => tagged("MessageUpdate", tagged(row.variant, Value::Object(fields))),
            (false, true) => row.variant.into(),
            (false, false) => tagged(row.variant, Value::Object(fields)),
        };
        Ok(Event {
            run_id: from_value(&run_id).map_err(D::Error::custom)?,
            seq: from_value(&seq).map_err(D::Error::custom)?,
            turn: from_value(&turn).map_err(D::Error::custom)?,
            data: from_value(&data).map_err(D::Error::custom)?,
            partial: None,
        })
    }
}
