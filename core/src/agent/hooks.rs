//! The setters of an agent's hooks.

use std::future::Future;
use std::sync::Arc;

use agent_loop_proto::api_key::ApiKey;
use agent_loop_proto::hook::HookKind;
use agent_loop_proto::hook_answers::*;
use agent_loop_proto::mcp_answers::{McpElicited, McpSampled};
use serde_json::{Map, Value};

use super::builder::AgentBuilder;
use super::handle::Agent;
use super::state::State;
use crate::error::BoxError;
use crate::hook::inputs::*;
use crate::hook::{Hook, HookContext, Hooks};
use crate::message::Message;
use crate::result::RunResult;
use crate::suspension::Decision;

macro_rules! hook_setters {
    ($($(#[$doc:meta])* $kind:ident $name:ident: $input:ty => $output:ty,)+) => {
        /// Hooks. Each replaces one of the same kind.
        impl AgentBuilder {
            $(
                $(#[$doc])*
                pub fn $name<F, Fut, E>(self, hook: F) -> AgentBuilder
                where
                    F: Fn($input, HookContext) -> Fut + Send + Sync + 'static,
                    Fut: Future<Output = Result<$output, E>> + Send + 'static,
                    E: Into<BoxError> + Send + 'static,
                {
                    self.hook(Hook::$name(hook))
                }
            )+
        }
    };
}

agent_loop_proto::for_each_hook!(hook_setters);

impl Agent {
    /// Sets a hook, in place of one of the same kind.
    pub fn set_hook(&self, hook: Hook) {
        self.change_hooks(|own, _| own.set(hook));
    }

    /// Whether it has a hook of this kind.
    pub fn has_hook(&self, kind: HookKind) -> bool {
        self.state().all_hooks().kinds().has(kind)
    }

    /// Removes the hook of this kind, also that of a plugin; says whether there was one.
    pub fn remove_hook(&self, kind: HookKind) -> bool {
        let mut was_there = false;
        self.change_hooks(|own, of_plugins| {
            let (own, of_plugin) = (own.remove(kind), of_plugins.remove(kind));
            was_there = own || of_plugin;
        });
        was_there
    }

    fn change_hooks(&self, change: impl FnOnce(&mut Hooks, &mut Hooks)) {
        let before = {
            let mut state = self.change();
            let before = (Arc::clone(&state.hooks), Arc::clone(&state.plugins.hooks));
            let State { hooks, plugins, .. } = &mut *state;
            change(Arc::make_mut(hooks), Arc::make_mut(&mut plugins.hooks));
            before
        };
        // Not under the lock: what a hook owns may call this agent when it goes.
        drop(before);
    }
}
