//! The fields of the option `builtin_tools`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Which built-in tools an agent has, and how they work.
///
/// ```
/// use agent_loop::builtin::{BuiltinOptions, BuiltinTools};
///
/// let mut options = BuiltinOptions::default();
/// options.tools = vec!["todo".to_owned()];
/// BuiltinTools::with_options(options)?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Clone, Deserialize, Serialize)]
#[serde(default, rename = "strict", deny_unknown_fields)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct BuiltinOptions {
    /// The names of the tools, in the order in which the model has them.
    pub tools: Vec<String>,
    /// The folder they stay in. Default: the current one.
    pub root: PathBuf,
    /// The time limit of a command, in milliseconds, unless its call asks for another one. Default: 120,000.
    pub command_timeout_ms: u64,
    /// Environment variables of commands. They have few of this process, and none that may be a key.
    pub env: BTreeMap<String, String>,
    /// Whether commands run in a sandbox.
    pub sandbox: SandboxMode,
    /// Whether commands in the sandbox have a network. Default: true.
    pub network: bool,
    /// Files and folders outside of the root that commands in the sandbox may read, and run programs of.
    pub readable: Vec<PathBuf>,
    /// Those that they may also change.
    pub writable: Vec<PathBuf>,
    /// Whether `fetch_url` may ask servers in private networks, those of this machine included. Default: false.
    pub private_addresses: bool,
    /// The model that `oracle` asks: `provider/id`, or a model in JSON. Default: that of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oracle: Option<String>,
}

impl fmt::Debug for BuiltinOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the values of `env`, which may be keys, and not the model, whose headers may have one.
        let env: Vec<_> = self.env.keys().collect();
        let mut shown = f.debug_struct("BuiltinOptions");
        shown.field("tools", &self.tools).field("root", &self.root).field("env", &env).field("sandbox", &self.sandbox);
        shown.finish_non_exhaustive()
    }
}

impl Default for BuiltinOptions {
    fn default() -> BuiltinOptions {
        BuiltinOptions {
            tools: Vec::new(),
            root: ".".into(),
            command_timeout_ms: 120_000,
            env: BTreeMap::new(),
            sandbox: SandboxMode::default(),
            network: true,
            readable: Vec::new(),
            writable: Vec::new(),
            private_addresses: false,
            oracle: None,
        }
    }
}

/// Whether commands run in a sandbox. JSON: the words in small letters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum SandboxMode {
    /// Where the system has one; where it has none or only a part, the first result says so.
    #[default]
    Auto,
    /// Where the system has none, commands are refused.
    Required,
    /// They reach what this program reaches.
    Off,
}
