//! [`McpServer`]: a server, for a host.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::connection::Connection;
use super::description::{Description, McpApproval, McpOffer, Place};
use super::oauth::McpOAuth;

/// A server of tools. Cheap to clone: clones share one connection, from the first run of an agent that has one. The setters make
/// another server of the description.
///
/// ```
/// use agent_loop::mcp::{McpApproval, McpOffer, McpServer};
///
/// let server = McpServer::command("python3")
///     .args(["server.py"])
///     .env("LEVEL", "debug")
///     .name("notes")
///     .offer([McpOffer::Tools, McpOffer::Resources])
///     .exclude(["drop_all"])
///     .approval(McpApproval::Destructive);
/// # drop(server);
/// ```
#[derive(Clone)]
pub struct McpServer(Arc<Connection>);

impl McpServer {
    pub(super) fn new(description: Description) -> McpServer {
        McpServer(Arc::new(Connection::new(description)))
    }

    pub(super) fn from_connection(connection: Arc<Connection>) -> McpServer {
        McpServer(connection)
    }

    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.0
    }

    fn with(&self, change: impl FnOnce(&mut Description)) -> McpServer {
        let mut description = self.0.description().clone();
        change(&mut description);
        McpServer::new(description)
    }

    /// A server that is a process of its own, which is started for it and reads its standard input. Of this process's environment
    /// it gets `HOME`, `LANG`, `LC_ALL`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `TMPDIR`, `TZ` and `USER` (on Windows what
    /// programs there need), and no keys.
    pub fn command(command: impl Into<String>) -> McpServer {
        let (args, env) = (Vec::new(), BTreeMap::new());
        McpServer::new(Description::new(Place::Process { command: command.into(), args, env, cwd: None }))
    }

    /// A server that is reached over HTTP (streamable HTTP), with the agent's `network`.
    pub fn url(url: impl Into<String>) -> McpServer {
        McpServer::new(Description::new(Place::Address { url: url.into(), headers: BTreeMap::new(), oauth: None }))
    }

    /// The arguments of the command. Without effect on an address.
    #[must_use]
    pub fn args(&self, given: impl IntoIterator<Item = impl Into<String>>) -> McpServer {
        self.with(|description| {
            if let Place::Process { args, .. } = &mut description.place {
                *args = given.into_iter().map(Into::into).collect();
            }
        })
    }

    /// A further environment variable of the command. Without effect on an address.
    #[must_use]
    pub fn env(&self, name: impl Into<String>, value: impl Into<String>) -> McpServer {
        self.with(|description| {
            if let Place::Process { env, .. } = &mut description.place {
                env.insert(name.into(), value.into());
            }
        })
    }

    /// The folder in which the command is started. Without effect on an address.
    #[must_use]
    pub fn cwd(&self, folder: impl Into<PathBuf>) -> McpServer {
        self.with(|description| {
            if let Place::Process { cwd, .. } = &mut description.place {
                *cwd = Some(folder.into());
            }
        })
    }

    /// A header of each request, `authorization` for example. Without effect on a command.
    #[must_use]
    pub fn header(&self, name: impl Into<String>, value: impl Into<String>) -> McpServer {
        self.with(|description| {
            if let Place::Address { headers, .. } = &mut description.place {
                headers.insert(name.into().to_ascii_lowercase(), value.into());
            }
        })
    }

    /// How access is had, if the server wants a sign-in. Without effect on a command. Default: with its headers, or not at all.
    #[must_use]
    pub fn oauth(&self, given: McpOAuth) -> McpServer {
        self.with(|description| {
            if let Place::Address { oauth, .. } = &mut description.place {
                *oauth = Some(given);
            }
        })
    }

    /// The server's name, in messages and where its tools need a prefix. Default: in messages its program or host, as a prefix
    /// what it calls itself.
    #[must_use]
    pub fn name(&self, name: impl Into<String>) -> McpServer {
        self.with(|description| description.name = Some(name.into()))
    }

    /// What the names of all its tools begin with.
    #[must_use]
    pub fn prefix(&self, prefix: impl Into<String>) -> McpServer {
        self.with(|description| description.prefix = prefix.into())
    }

    /// Only these of its tools, by the names that the server has for them.
    #[must_use]
    pub fn include(&self, tools: impl IntoIterator<Item = impl Into<String>>) -> McpServer {
        self.with(|description| description.include = Some(tools.into_iter().map(Into::into).collect()))
    }

    /// Not these of its tools, by the names that the server has for them.
    #[must_use]
    pub fn exclude(&self, tools: impl IntoIterator<Item = impl Into<String>>) -> McpServer {
        self.with(|description| description.exclude = tools.into_iter().map(Into::into).collect())
    }

    /// What the agent gets of it. Default: its tools.
    #[must_use]
    pub fn offer(&self, what: impl IntoIterator<Item = McpOffer>) -> McpServer {
        self.with(|description| description.offer = what.into_iter().collect())
    }

    /// Which calls wait for a decision. Default: none.
    #[must_use]
    pub fn approval(&self, approval: McpApproval) -> McpServer {
        self.with(|description| description.approval = approval)
    }

    /// The time limit of a call, in milliseconds; 0 for the agent's `tool_timeout_ms` alone, which is the default.
    #[must_use]
    pub fn timeout_ms(&self, ms: u64) -> McpServer {
        self.with(|description| description.timeout_ms = ms)
    }

    /// The time limit for starting it, connecting and listing its tools, in milliseconds; 0 for none. Default: 30,000, as `npx`
    /// may have to download it first.
    #[must_use]
    pub fn connect_timeout_ms(&self, ms: u64) -> McpServer {
        self.with(|description| description.connect_timeout_ms = ms)
    }

    /// Whether a run goes on without its tools when it cannot be reached. The run's log says so. Otherwise the run fails.
    #[must_use]
    pub fn optional(&self, optional: bool) -> McpServer {
        self.with(|description| description.optional = optional)
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not arguments, environment and headers: they may have keys.
        f.debug_tuple("McpServer").field(&self.0.description().shown()).finish()
    }
}

impl PartialEq for McpServer {
    fn eq(&self, other: &McpServer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
