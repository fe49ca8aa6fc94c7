//! The catalogue of known models.

use napi_derive::napi;

use crate::camel_case;

/// The known models, as a JSON array.
#[napi(catch_unwind)]
pub fn models() -> String {
    camel_case::to_json(&agent_loop::models())
}
