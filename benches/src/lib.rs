//! What the measured programs and the benchmark server share. `README.md` has the protocol they keep.
//!
//! Towards the server: [`answers`] are the bodies it streams, [`hold`] keeps concurrent runs in flight together.
//! Towards the programs: [`cli`] is the command line and the report, [`measure`] reads CPU time and memory,
//! [`harness`] joins the two around a [`harness::Client`], [`http`] is the client that the floor and the
//! hand-written program send with, [`tools`] are those of the engine's.

pub mod answers;
pub mod cli;
pub mod harness;
pub mod hold;
pub mod http;
pub mod measure;
pub mod tools;
