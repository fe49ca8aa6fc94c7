//! The options of a runtime.

use std::sync::Arc;

#[cfg(feature = "__bindings")]
use serde_json::{Map, Value};

use super::Runtime;
use crate::credentials::Access;
#[cfg(feature = "sign-in")]
use crate::credentials::KeyStore;
#[cfg(feature = "__bindings")]
use crate::did_you_mean::{Spelling, canonical_names};
use crate::error::Error;
use crate::threads::{Pool, ThreadOptions};
#[cfg(feature = "__bindings")]
use agent_loop_proto::table::options::{self, Type};

/// More workers than any machine has a use for: a larger number is a mistake.
const MOST_THREADS: usize = 1024;
/// What the engine may need of a stack: TLS, JSON of any depth, the compilation of a schema.
const LEAST_STACK_BYTES: usize = 1 << 20;
/// What Linux shows of a thread's name.
const LONGEST_NAME: usize = 15;

/// Makes a [`Runtime`] with options.
///
/// ```
/// use agent_loop::Runtime;
///
/// let runtime = Runtime::builder().threads(2).max_tool_threads(64).thread_name("agents").build()?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "build makes the runtime"]
pub struct RuntimeBuilder {
    threads: usize,
    options: ThreadOptions,
    #[cfg(feature = "sign-in")]
    key_store: Option<KeyStore>,
}

impl Runtime {
    /// A runtime with a thread of its own for all runs and connections; tools that block get further ones.
    ///
    /// One is right for up to some thousand runs at once: a run and its connection stay together on it, where passing each
    /// chunk between threads would cost several times as much. [`Runtime::with_threads`] is for more.
    ///
    /// # Errors
    /// `io` when the system gives no threads.
    pub fn new() -> Result<Runtime, Error> {
        Runtime::builder().build()
    }

    /// A runtime with this many worker threads.
    ///
    /// # Errors
    /// `invalid_argument` for 0, and for more than 1,024; `io` when the system gives fewer threads.
    pub fn with_threads(threads: usize) -> Result<Runtime, Error> {
        Runtime::builder().threads(threads).build()
    }

    /// A runtime with further options.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::new()
    }

    /// A runtime with options by name, as hosts of other languages have them: those of [`RuntimeBuilder`]. If it has one worker,
    /// threads that block in [`Run::wait_readable`](crate::Run::wait_readable) may do its work.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown name (with the nearest right one) or a wrong value; `io` as [`Runtime::new`].
    #[cfg(feature = "__bindings")]
    pub fn with_options(options: &Map<String, Value>, spelling: Spelling) -> Result<Runtime, Error> {
        Runtime::builder().read(options, spelling)?.build_borrowable()
    }
}

impl RuntimeBuilder {
    pub(super) fn new() -> RuntimeBuilder {
        RuntimeBuilder {
            threads: 1,
            options: ThreadOptions::default(),
            #[cfg(feature = "sign-in")]
            key_store: None,
        }
    }

    /// How many worker threads all runs and connections share; 1 unless set, at most 1,024.
    pub fn threads(mut self, threads: usize) -> RuntimeBuilder {
        self.threads = threads;
        self
    }

    /// The most tools that block a thread at the same time; 4,096 unless set. A further call of one waits until another has
    /// ended, and its time limit runs meanwhile. Tools that are futures need no thread. A tool that waits for another agent's
    /// tools may wait for itself if they are too few.
    pub fn max_tool_threads(mut self, most: usize) -> RuntimeBuilder {
        self.options.max_tool_threads = most;
        self
    }

    /// The stack of each thread in bytes, those of callbacks included; 2 MiB unless set, at least 1 MiB. The system counts it as
    /// memory only as far as it is used.
    pub fn stack_bytes(mut self, bytes: usize) -> RuntimeBuilder {
        self.options.stack_bytes = bytes;
        self
    }

    /// What the system shows as the threads' name; `agent-loop` unless set, at most 15 bytes.
    pub fn thread_name(mut self, name: &str) -> RuntimeBuilder {
        self.options.thread_name = name.to_owned();
        self
    }

    /// Where models find what a user has stored, if their `api_key` is `"keyring"`; the
    /// [user's own](KeyStore::from_environment) unless set.
    #[cfg(feature = "sign-in")]
    #[cfg_attr(docsrs, doc(cfg(feature = "sign-in")))]
    pub fn key_store(mut self, store: KeyStore) -> RuntimeBuilder {
        self.key_store = Some(store);
        self
    }

    fn stored(&self) -> Access {
        #[cfg(feature = "sign-in")]
        return Access::new(self.key_store.clone());
        #[cfg(not(feature = "sign-in"))]
        Access::default()
    }

    /// Starts the runtime.
    ///
    /// # Errors
    /// `invalid_argument` for a value that is out of bounds; `io` when the system gives fewer threads.
    pub fn build(self) -> Result<Runtime, Error> {
        Runtime::with_workers(self.threads, self.pool()?, self.stored())
    }

    /// Starts the runtime, whose only worker, if there is one, a thread that would block may replace.
    #[cfg(feature = "__bindings")]
    pub(super) fn build_borrowable(self) -> Result<Runtime, Error> {
        if self.threads == 1 { Runtime::borrowable(self.pool()?, self.stored()) } else { self.build() }
    }

    fn pool(&self) -> Result<Arc<Pool>, Error> {
        let ThreadOptions { max_tool_threads, stack_bytes, thread_name } = &self.options;
        let wrong = match () {
            () if self.threads == 0 => "threads: a runtime needs at least 1".to_owned(),
            () if self.threads > MOST_THREADS => {
                format!("threads: at most {MOST_THREADS}, got {}; tools that block have further ones", self.threads)
            }
            () if *max_tool_threads == 0 => "max_tool_threads: tools that block need at least 1".to_owned(),
            () if *stack_bytes < LEAST_STACK_BYTES => {
                format!("stack_bytes: a thread needs at least {LEAST_STACK_BYTES} bytes of stack, got {stack_bytes}")
            }
            () if thread_name.is_empty() || thread_name.len() > LONGEST_NAME || thread_name.contains('\0') => {
                format!("thread_name: expected 1 to {LONGEST_NAME} bytes without a NUL, got {thread_name:?}")
            }
            () => return Ok(Pool::new(self.options.clone())),
        };
        Err(Error::invalid_argument(wrong))
    }

    /// Reads options by name, as hosts of other languages have them.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown name (with the nearest right one) or a value of the wrong type.
    #[cfg(feature = "__bindings")]
    pub(super) fn read(mut self, given: &Map<String, Value>, spelling: Spelling) -> Result<RuntimeBuilder, Error> {
        let names = ["threads", "max_tool_threads", "stack_bytes", "thread_name"];
        for (name, value) in canonical_names("option", given.clone(), &names, spelling)? {
            let default = RuntimeBuilder::new();
            let spelled = &spelling.spell(&name);
            match &*name {
                "threads" => {
                    self.threads = options::read(&value, spelled, Type::Whole("a whole number of threads"), || default.threads)?;
                }
                "max_tool_threads" => {
                    let kind = Type::Whole("a whole number of threads");
                    self.options.max_tool_threads = options::read(&value, spelled, kind, || default.options.max_tool_threads)?;
                }
                "stack_bytes" => {
                    let kind = Type::Whole("a whole number of bytes");
                    self.options.stack_bytes = options::read(&value, spelled, kind, || default.options.stack_bytes)?;
                }
                _ => {
                    self.options.thread_name =
                        options::read(&value, spelled, Type::Text, || default.options.thread_name.clone())?;
                }
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_a11_a_runtime_without_threads_is_refused() {
        // No address space has this much left.
        for threads in [1, 8] {
            let error = Runtime::builder().threads(threads).stack_bytes(1 << 46).build().unwrap_err();
            assert_eq!(error.kind(), crate::error::ErrorKind::Io);
            assert!(error.message().starts_with("the runtime's threads cannot be started: "), "{error}");
        }
    }

    #[test]
    fn found_c8_what_is_out_of_bounds_is_refused_with_its_bound() {
        let error = |builder: RuntimeBuilder| builder.build().unwrap_err().message().to_owned();
        let builder = Runtime::builder;
        assert_eq!(error(builder().threads(0)), "threads: a runtime needs at least 1");
        assert_eq!(error(builder().threads(1025)), "threads: at most 1024, got 1025; tools that block have further ones");
        assert_eq!(error(builder().max_tool_threads(0)), "max_tool_threads: tools that block need at least 1");
        let text = "stack_bytes: a thread needs at least 1048576 bytes of stack, got 65536";
        assert_eq!(error(builder().stack_bytes(65_536)), text);
        for name in ["", "a name that is too long", "nul\0"] {
            assert_eq!(
                error(builder().thread_name(name)),
                format!("thread_name: expected 1 to 15 bytes without a NUL, got {name:?}")
            );
        }
    }
}
