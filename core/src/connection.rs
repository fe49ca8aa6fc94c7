//! What an agent's requests are sent with, beside its models: the block `connection` of the table of options.

use std::sync::Arc;

use agent_loop_proto::model_spec::check_headers;
use agent_loop_proto::table::options;
use serde_json::{Map, Value};

use crate::builtin::BuiltinTools;
use crate::did_you_mean::Spelling;
use crate::error::Error;
use crate::limiter::Limiter;
use crate::mcp::McpServers;
use crate::recording::{Record, Replay};
use crate::trace::option::Traces;
use crate::transport::header::check_header;
use crate::transport::network::Network;

/// An option that is no plain value: its type reads it as a host has given it. Null is the default.
pub(crate) trait FromOption: Sized {
    /// `spelled` is the option's name and `spelling` that of names within it, both for errors.
    fn from_option(value: &Value, spelled: &str, spelling: Spelling) -> Result<Self, Error>;
}

impl FromOption for Network {
    fn from_option(value: &Value, _spelled: &str, spelling: Spelling) -> Result<Network, Error> {
        Network::from_json_spelled(value.clone(), spelling)
    }
}

impl FromOption for Option<Limiter> {
    fn from_option(value: &Value, spelled: &str, _spelling: Spelling) -> Result<Option<Limiter>, Error> {
        let read = (!value.is_null()).then(|| Limiter::from_json(value)).transpose();
        read.map_err(|error| error.reworded(|why| format!("option {spelled:?}: {why}")))
    }
}

impl FromOption for Record {
    fn from_option(value: &Value, spelled: &str, spelling: Spelling) -> Result<Record, Error> {
        Record::from_json(value, spelled, spelling)
    }
}

impl FromOption for Replay {
    fn from_option(value: &Value, spelled: &str, spelling: Spelling) -> Result<Replay, Error> {
        Replay::from_json(value, spelled, spelling)
    }
}

impl FromOption for Traces {
    fn from_option(value: &Value, spelled: &str, _spelling: Spelling) -> Result<Traces, Error> {
        Traces::from_json(value, spelled)
    }
}

/// A flag whose default is decided later.
impl FromOption for Option<bool> {
    fn from_option(value: &Value, spelled: &str, _spelling: Spelling) -> Result<Option<bool>, Error> {
        options::read(value, spelled, options::Type::Flag, || None)
    }
}

/// Text.
impl FromOption for String {
    fn from_option(value: &Value, spelled: &str, _spelling: Spelling) -> Result<String, Error> {
        options::read(value, spelled, options::Type::Text, String::new)
    }
}

/// Headers.
impl FromOption for Map<String, Value> {
    fn from_option(value: &Value, spelled: &str, _spelling: Spelling) -> Result<Self, Error> {
        check_headers(&format!("option {spelled:?}"), Some(value))?;
        let headers = value.as_object().cloned().unwrap_or_default();
        check_headers_of_http(&headers)?;
        Ok(headers)
    }
}

/// Whether HTTP has such headers.
///
/// # Errors
/// `invalid_argument`: a name or a value has a character that it must not have.
pub(crate) fn check_headers_of_http(headers: &Map<String, Value>) -> Result<(), Error> {
    headers.iter().try_for_each(|(name, value)| check_header(name, value.as_str().unwrap_or_default()))
}

macro_rules! connection {
    ($(
        $(#[doc = $doc:literal])* $name:ident: $type:ty, words $words:literal, $(fn $set:ident,)? $kind:expr, $group:ident,
        $since:literal;
    )+) => {
        /// The options of the block, shared with the runs. Headers take precedence over the model's and the protocol's own.
        #[derive(Clone, Default)]
        pub(crate) struct Connection {
            $($(#[doc = $doc])* pub(crate) $name: Arc<$type>,)+
        }

        impl Connection {
            /// Reads an option by its canonical name. Returns false if it is none of these.
            ///
            /// # Errors
            /// `invalid_argument`: the value is wrong.
            pub(crate) fn set_option(
                &mut self,
                name: &str,
                value: &Value,
                spelled: &str,
                spelling: Spelling,
            ) -> Result<bool, Error> {
                match name {
                    $(stringify!($name) => self.$name = Arc::new(<$type>::from_option(value, spelled, spelling)?),)+
                    _ => return Ok(false),
                }
                Ok(true)
            }
        }
    };
}

agent_loop_proto::options_of!(connection, connection);

impl Connection {
    /// Adds headers of one run, in the place of others with their names.
    pub(crate) fn add_headers(&mut self, headers: &Map<String, Value>) {
        if headers.is_empty() {
            return;
        }
        let all = Arc::make_mut(&mut self.headers);
        for (name, value) in headers {
            // HTTP takes upper and lower case for the same.
            all.retain(|other, _| !other.eq_ignore_ascii_case(name));
            all.insert(name.clone(), value.clone());
        }
    }
}
