//! The engine through its public API, with a scripted model.

mod agent;
mod calls;
mod fallbacks;
mod held_up;
mod model;
mod properties;
mod rules;
mod run;
mod support;
mod tools;

use support::*;
