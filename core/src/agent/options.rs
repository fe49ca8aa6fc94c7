//! Builder setters, setters and getters of the options that are plain values, made from the table,
//! `agent_loop_proto::table::options`.

use std::sync::Arc;

use agent_loop_proto::options_of;
use serde_json::{Map, Value};

use super::builder::AgentBuilder;
use super::handle::Agent;
use super::pending_run::PendingRun;
use crate::context::ContextPolicy;
use crate::gate::Gate;
use crate::limiter::Limiter;
use crate::model::{CacheRetention, ThinkingBudgets, ThinkingLevel, ToolChoice};
use crate::output::OutputSpec;
use crate::queues::{QueueMode, SteeringPolicy};
use crate::recording::{Record, Replay};
use crate::tool::{ExecutionMode, Validation};
use crate::trace::option::Traces;
use crate::transport::network::Network;
use agent_loop_proto::settings::Settings;

/// An argument of a setter as the field of its option has it.
trait IntoField<F> {
    fn into_field(self) -> F;
}

impl<T> IntoField<T> for T {
    fn into_field(self) -> T {
        self
    }
}

impl<T> IntoField<Option<T>> for T {
    fn into_field(self) -> Option<T> {
        Some(self)
    }
}

impl IntoField<String> for &str {
    fn into_field(self) -> String {
        self.to_owned()
    }
}

impl IntoField<Option<String>> for &str {
    fn into_field(self) -> Option<String> {
        Some(self.to_owned())
    }
}

impl IntoField<Option<String>> for Option<&str> {
    fn into_field(self) -> Option<String> {
        self.map(str::to_owned)
    }
}

/// The functions of each option of a block, whose values are the given part of the settings.
macro_rules! option_functions {
    (
        [$title:literal, $part:expr]
        $(
            $(#[doc = $doc:literal])* $(#[serde($($serde:tt)*)])*
            $name:ident: $field:ty = $default:expr, $(words $words:literal,)? $(at_least $least:literal,)?
            fn $set:ident $(($argument:ty))? $([$optional:ty])?, $kind:expr, $group:ident, $since:literal;
        )+
    ) => {
        #[doc = $title]
        impl AgentBuilder {
            $(
                $(#[doc = $doc])*
                ///
                #[doc = concat!("Default: ", option_functions!(@default $($words)? ; $default), ".")]
                pub fn $name(mut self, $name: $($argument)? $($optional)?) -> AgentBuilder {
                    $(let $name = $name.max($least);)?
                    let part: fn(&mut Settings) -> &mut _ = $part;
                    part(&mut self.settings).$name = $name.into_field();
                    self
                }
            )+
        }

        #[doc = $title]
        ///
        /// For this run alone, in place of those of the agent; a change of the agent's has no effect on it.
        impl PendingRun {
            $(
                option_functions! { @run $name
                    $(#[doc = $doc])*
                    pub fn $name(self, $name: $($argument)? $($optional)?) -> PendingRun {
                        $(let $name = $name.max($least);)?
                        let field: $field = $name.into_field();
                        // Nothing in an option can fail to serialize.
                        self.set(stringify!($name), serde_json::to_value(field).unwrap_or_default())
                    }
                }
            )+
        }

        #[doc = $title]
        ///
        /// A setter takes effect at the next turn of a run.
        impl Agent {
            $(
                $(#[doc = $doc])*
                #[allow(clippy::clone_on_copy)] // of most, but not of all
                pub fn $name(&self) -> $field {
                    let part: fn(&mut Settings) -> &mut _ = $part;
                    part(&mut self.state().settings).$name.clone()
                }

                #[doc = concat!("Sets [`", stringify!($name), "`](Agent::", stringify!($name), ").")]
                pub fn $set(&self, $name: $($argument)? $(Option<$optional>)?) {
                    $(let $name = $name.max($least);)?
                    let part: fn(&mut Settings) -> &mut _ = $part;
                    part(&mut self.change().settings).$name = $name.into_field();
                }
            )+
        }
    };
    // The same for all runs of a conversation.
    (@run origin $($function:tt)*) => {};
    (@run $name:ident $($function:tt)*) => { $($function)* };
    (@default $words:literal ; $default:expr) => { $words };
    (@default ; $default:expr) => { concat!("`", stringify!($default), "`") };
}

options_of!(settings, option_functions["Options of the loop and its tools.", |settings| settings]);
options_of!(model, option_functions ["Options of a model's requests.", |settings| &mut settings.model]);
options_of!(limits, option_functions ["Time limits.", |settings| &mut settings.limits]);
options_of!(retry, option_functions ["Retries.", |settings| &mut settings.retry]);
options_of!(budget, option_functions ["What a run may use.", |settings| &mut settings.budget]);

/// The functions of those options of all requests that the table names a setter for.
macro_rules! connection_functions {
    ($(
        $(#[doc = $doc:literal])* $name:ident: $type:ty, words $words:literal, $(fn $set:ident,)? $kind:expr, $group:ident,
        $since:literal;
    )+) => {
        $(connection_functions!(@ [$($set)?] [$(#[doc = $doc])*] $name: $type, $words);)+
    };
    (@ [] $($by_hand:tt)+) => {};
    (@ [$set:ident] [$(#[doc = $doc:literal])*] $name:ident: $type:ty, $words:literal) => {
        impl AgentBuilder {
            $(#[doc = $doc])*
            ///
            #[doc = concat!("Default: ", $words, ".")]
            pub fn $name(mut self, $name: impl Into<$type>) -> AgentBuilder {
                self.connection.$name = Arc::new($name.into());
                self
            }
        }

        impl Agent {
            $(#[doc = $doc])*
            pub fn $name(&self) -> $type {
                <$type>::clone(&self.state().models.connection.$name)
            }

            #[doc = concat!("Sets [`", stringify!($name), "`](Agent::", stringify!($name), ").")]
            pub fn $set(&self, $name: impl Into<$type>) {
                let value = Arc::new($name.into());
                self.change().models.connection.$name = value;
            }
        }
    };
}

options_of!(connection, connection_functions);
