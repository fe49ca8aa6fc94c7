//! The table: everything that all languages have in common is declared here once. [`options`] has the options, [`errors`] the
//! kinds of errors, [`codes`] the codes of diagnostics and transcript repairs, [`events`] the events, [`hooks`] the hooks and
//! their inputs, [`logs`] the levels and codes of log records, [`outcomes`] why runs and messages end, [`steps`] the actions and
//! inputs of a loop that is stepped.
//!
//! Macros make the Rust types, defaults and readers from the rows. `cargo xtask generate` writes the rest from the same rows:
//! parts of the C header and library, of the Python and Node packages and of the documentation. `CONTRIBUTING.md` shows how to
//! add a row.

pub mod codes;
pub mod errors;
pub mod events;
pub mod fields;
pub mod hooks;
pub mod logs;
mod option_types;
pub mod options;
pub mod outcomes;
pub mod steps;
