//! The agent's built-in tools.

use std::sync::Arc;

use super::builder::AgentBuilder;
use super::handle::Agent;
use crate::builtin::{BuiltinTools, UndoneWrites, undo};
use crate::error::{Error, ErrorKind};
use crate::message::Message;

impl AgentBuilder {
    /// [Built-in tools](crate::builtin), by their names. Default: none.
    #[cfg_attr(docsrs, doc(cfg(feature = "tools")))]
    pub fn builtin_tools(mut self, tools: BuiltinTools) -> AgentBuilder {
        self.connection.builtin_tools = Arc::new(tools);
        self
    }
}

impl Agent {
    /// Its built-in tools.
    #[cfg_attr(docsrs, doc(cfg(feature = "tools")))]
    pub fn builtin_tools(&self) -> BuiltinTools {
        BuiltinTools::clone(&self.state().models.connection.builtin_tools)
    }

    /// Replaces its built-in tools.
    #[cfg_attr(docsrs, doc(cfg(feature = "tools")))]
    pub fn set_builtin_tools(&self, tools: BuiltinTools) {
        let before = {
            let mut state = self.change();
            state.specs = None;
            std::mem::replace(&mut state.models.connection.builtin_tools, Arc::new(tools))
        };
        // Not under the lock: it closes the folder.
        drop(before);
    }

    /// Takes back the newest writes of `write_file` and `edit_file`, and commits of `git`, in this conversation that were not
    /// taken back: `count` of them, or all if there are fewer, the newest first. It stops at a file that was changed since, and
    /// at a commit that others followed. What was taken back is appended to the transcript as a message of the role
    /// `undo_writes`, so that a session keeps it. Blocks while it writes.
    ///
    /// ```no_run
    /// # fn example(agent: agent_loop::Agent) -> Result<(), agent_loop::Error> {
    /// let undone = agent.undo_writes(2)?;
    /// assert!(undone.refused.is_none());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `busy` during a run; `invalid_state` without built-in tools, and while calls wait for a decision.
    #[cfg_attr(docsrs, doc(cfg(feature = "tools")))]
    pub fn undo_writes(&self, count: usize) -> Result<UndoneWrites, Error> {
        // Under the lock: no run begins before the transcript says what was taken back.
        self.change_conversation(|state| {
            let Some(shared) = &state.models.connection.builtin_tools.shared else {
                let text = "the agent has no built-in tools, whose writes could be taken back: give it the option builtin_tools";
                return Err(Error::new(ErrorKind::InvalidState, text));
            };
            // Refuses what the last step would.
            state.conversation.append(Vec::<Message>::new())?;
            let (undone, message) = undo::undo(shared, state.conversation.messages(), count);
            state.conversation.append(message)?;
            Ok(undone)
        })
    }
}
