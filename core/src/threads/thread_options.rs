//! What the threads of a runtime are like.

/// The stack of a thread, as the standard library gives it.
const DEFAULT_STACK_BYTES: usize = 2 << 20;

/// Of all threads of a runtime.
#[derive(Debug, Clone)]
pub(crate) struct ThreadOptions {
    /// The most tools that have a thread at a time.
    pub(crate) max_tool_threads: usize,
    /// The stack of each thread.
    pub(crate) stack_bytes: usize,
    /// What the system shows as their name.
    pub(crate) thread_name: String,
}

impl Default for ThreadOptions {
    fn default() -> ThreadOptions {
        ThreadOptions { max_tool_threads: 4096, stack_bytes: DEFAULT_STACK_BYTES, thread_name: "agent-loop".to_owned() }
    }
}
