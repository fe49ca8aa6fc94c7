//! The setters of an agent's hooks.

use std::future::Future;
use std::sync::Arc;

use agent_loop_proto::hook::{HookKind, HookOutput, IntoHookOutput, Question, ToolDecision, ToolOverride, TurnChange};
use serde_json::{Map, Value};

use super::handle::Agent;
use crate::hook::inputs::*;
use crate::hook::{Hook, HookContext};
use crate::message::Message;
use crate::result::RunResult;

macro_rules! hook_setters {
    ($($(#[$doc:meta])* $kind:ident $name:ident: $input:ty => $output:ty,)+) => {
        /// Hooks. Each replaces the one before; [`Agent::set_json_hook`] removes one.
        impl Agent {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name<F, Fut, E>(self, hook: F) -> Agent
                where
                    F: Fn($input, HookContext) -> Fut + Send + Sync + 'static,
                    Fut: Future<Output = Result<$output, E>> + Send + 'static,
                    E: std::fmt::Display + Send + 'static,
                {
                    let hook: Hook = Arc::new(move |question, context| match question {
                        Question::$kind(input) => {
                            let answer = hook(input, context);
                            Box::pin(async move {
                                answer.await.map(IntoHookOutput::into_output).map_err(|error| error.to_string())
                            })
                        }
                        // The loop asks each hook its own question.
                        _ => Box::pin(std::future::ready(Ok(HookOutput::Nothing))),
                    });
                    self.change_hooks(|hooks| hooks.set(HookKind::$kind, Some(hook)));
                    self
                }
            )+
        }
    };
}

agent_loop_proto::for_each_hook!(hook_setters);
