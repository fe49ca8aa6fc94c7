//! Hooks: calls to JavaScript with the input as JSON.

use std::sync::Arc;

use agent_loop::{HookContext, HookInput, HookKind, JsonHook};
use napi_derive::napi;

use crate::bridge::Callback;
use crate::call::Work;
use crate::camel_case;
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

/// A hook that calls JavaScript.
pub(crate) fn of_callback(callback: Callback) -> JsonHook {
    Arc::new(move |input: HookInput, context: HookContext| {
        let callback = callback.clone();
        Box::pin(async move { callback.ask(Work::Hook(context), camel_case::to_json(&input)).await })
    })
}
