//! The names of hooks.

use agent_loop::hook::HookKind;
use napi_derive::napi;

use crate::error::{Result, invalid_argument};

/// The canonical names of all hooks, for the test that compares `lib/hook.ts` with them.
#[napi(catch_unwind)]
pub fn hook_names() -> Vec<&'static str> {
    HookKind::ALL.iter().map(|kind| kind.as_str()).collect()
}

/// The hook with this canonical name.
pub(crate) fn kind(name: &str) -> Result<HookKind> {
    HookKind::parse(name).ok_or_else(|| invalid_argument(format!("there is no hook {name:?}")))
}
