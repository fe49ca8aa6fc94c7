//! What a server is described by: how it is reached, and what of it an agent gets.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::oauth::McpOAuth;

/// Which calls wait for a decision before they run: the calls of the server's tools
/// [need approval](crate::suspension).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum McpApproval {
    /// None: you have chosen the server. What it says about its tools is only its word, and no protection from it.
    #[default]
    Never,
    /// Those of tools that the server does not declare to be harmless (`readOnlyHint: true`, or `destructiveHint: false`).
    /// Resources and prompts are only read: they do not wait.
    Destructive,
    /// All.
    Always,
    /// Those of the tools with these names, as the server has them; those for its resources and prompts are `list_resources`,
    /// `read_resource`, `list_prompts` and `get_prompt`. A name that it does not have is an error.
    Tools(Vec<String>),
}

/// What a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum McpOffer {
    /// Its tools.
    Tools,
    /// Its resources, through the tools `…_list_resources` and `…_read_resource`, which begin with the server's name.
    Resources,
    /// Its prompts, through the tools `…_list_prompts` and `…_get_prompt`.
    Prompts,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Process { command: String, args: Vec<String>, env: BTreeMap<String, String>, cwd: Option<PathBuf> },
    Address { url: String, headers: BTreeMap<String, String>, oauth: Option<McpOAuth> },
}

/// What a server is described by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Description {
    pub(super) place: Place,
    pub(super) name: Option<String>,
    pub(super) prefix: String,
    pub(super) include: Option<Vec<String>>,
    pub(super) exclude: Vec<String>,
    pub(super) offer: Vec<McpOffer>,
    pub(super) approval: McpApproval,
    pub(super) timeout_ms: u64,
    pub(super) connect_timeout_ms: u64,
    pub(super) optional: bool,
    /// Whether agents of a runtime whose servers are described alike have one together.
    pub(super) shared: bool,
}

impl Description {
    pub(super) fn new(place: Place) -> Description {
        Description {
            place,
            name: None,
            prefix: String::new(),
            include: None,
            exclude: Vec::new(),
            offer: vec![McpOffer::Tools],
            approval: McpApproval::default(),
            timeout_ms: 0,
            connect_timeout_ms: 30_000,
            optional: false,
            shared: false,
        }
    }

    /// For messages. Not the arguments, nor what follows the path of an address: they may have a key.
    pub(super) fn shown(&self) -> String {
        match (&self.name, &self.place) {
            (Some(name), _) => name.clone(),
            (None, Place::Process { command, .. }) => command.clone(),
            (None, Place::Address { url, .. }) => url.split(['?', '#']).next().unwrap_or_default().to_owned(),
        }
    }
}
