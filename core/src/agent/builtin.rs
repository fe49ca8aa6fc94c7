//! The agent's built-in tools.

use std::sync::Arc;

use super::builder::AgentBuilder;
use super::handle::Agent;
use crate::builtin::BuiltinTools;

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
}
