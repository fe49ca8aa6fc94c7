//! The engine through its public API, with a scripted model.

mod agent;
mod builder;
mod calls;
mod cancel;
mod causes;
mod complete;
mod drops;
mod fallbacks;
mod guide;
mod held_up;
mod limits_of_services;
mod logs;
mod model;
mod panics;
mod properties;
mod recordings;
mod rules;
mod run;
mod silent_listeners;
mod support;
mod tools;
#[cfg(feature = "schema")]
mod typed_tools;

use support::*;
