//! What holds for all wire formats: recorded streams, the rules of the real services, and prefixes that stay cached.

mod counts;
mod empty_answers;
mod files;
pub(crate) mod fixture;
mod incremental;
mod model_switch;
mod mutations;
mod output_format;
pub(super) mod recorded;
mod response_model;
mod service_rules;
mod sources;
mod stable_prefix;
mod transcripts;
