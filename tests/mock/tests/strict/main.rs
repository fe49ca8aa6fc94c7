//! The strict checks: what passes, and what each rule refuses.

mod anthropic;
mod chat;
mod converse;
mod gemini;
mod keys;
mod recorded;
mod responses;
mod table;
