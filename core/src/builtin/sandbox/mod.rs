//! The sandbox of commands: what they reach beside the root. Linux has one: Landlock and a view of its own for files, seccomp for
//! system calls. Rules and programs are made before a process is there; [`Jail::enter`] makes the calls.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod jail;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod none;
mod temporary;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::options::{BuiltinOptions, SandboxMode};
use crate::error::Error;

#[cfg(target_os = "linux")]
pub(crate) use self::jail::Jail;
#[cfg(not(target_os = "linux"))]
pub(crate) use self::none::Jail;
pub(crate) use self::temporary::Temporary;

/// What the commands of a set of tools may reach.
pub(crate) struct Sandbox {
    pub(super) mode: SandboxMode,
    pub(super) network: bool,
    pub(super) readable: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
    /// Whether the system gives a process a view of its own; found out at the first command.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(super) has_view: OnceLock<bool>,
}

/// A sandbox for one process. The default is none.
#[derive(Default)]
pub(crate) struct Confined {
    /// None where there is none.
    pub(super) jail: Option<Jail>,
    /// The folder for its temporary files; without a sandbox it uses everybody's.
    pub(super) temporary: Option<Temporary>,
    /// What is not protected, in whole sentences.
    pub(super) missing: Vec<&'static str>,
}

impl Confined {
    /// What the process enters, once.
    pub(crate) fn take_jail(&mut self) -> Option<Jail> {
        self.jail.take()
    }

    /// The folder for temporary files, in a sandbox.
    pub(crate) fn temporary(&self) -> Option<&Path> {
        self.temporary.as_ref().map(Temporary::path)
    }

    pub(crate) fn is_on(&self) -> bool {
        self.temporary.is_some()
    }
}

const NO_SANDBOX: &str = "Commands ran without a sandbox, which this system does not have (Linux has, from 6.2 on, with Landlock \
    switched on): they reach all files and the network.";

impl Sandbox {
    /// The sandbox that the options describe.
    ///
    /// # Errors
    /// `invalid_argument`: a folder that is not there.
    pub(crate) fn new(options: &BuiltinOptions) -> Result<Sandbox, Error> {
        let found = |field: &str, paths: &[PathBuf]| {
            let wrong = |path: &Path, error| Error::invalid_argument(format!("{field}: {:?}: {error}", path.display()));
            let found = paths.iter().map(|path| path.canonicalize().map_err(|error| wrong(path, error)));
            found.collect::<Result<Vec<_>, _>>()
        };
        if options.writable.len() > MOST_WRITABLE {
            return Err(Error::invalid_argument(format!("writable: more than {MOST_WRITABLE} paths; name a folder of several")));
        }
        Ok(Sandbox {
            mode: options.sandbox,
            network: options.network,
            readable: found("readable", &options.readable)?,
            writable: found("writable", &options.writable)?,
            has_view: OnceLock::new(),
        })
    }

    /// A sandbox for a process that works in this folder, within this root.
    ///
    /// # Errors
    /// A text for the model: there is none, and it is required; or it cannot be made.
    pub(crate) fn confine(&self, root: &Path, folder: &Path) -> Result<Confined, String> {
        if self.mode == SandboxMode::Off {
            return Ok(Confined::default());
        }
        match self.system_jail(root, folder)? {
            Some(confined) => Ok(confined),
            None if self.mode == SandboxMode::Required => {
                let why =
                    "the option sandbox is \"required\", and this system has none: it takes Linux 6.2 or newer with Landlock";
                Err(format!("the command was not run: {why} and seccomp. Only the user can change that"))
            }
            None => Ok(Confined { missing: vec![NO_SANDBOX], ..Confined::default() }),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn system_jail(&self, _root: &Path, _folder: &Path) -> Result<Option<Confined>, String> {
        Ok(None)
    }

    /// The same, without a network.
    pub(crate) fn without_network(mut self) -> Sandbox {
        self.network = false;
        self
    }

    /// The same, in which these are read, too.
    pub(crate) fn reading(&self, also: impl IntoIterator<Item = PathBuf>) -> Sandbox {
        Sandbox {
            mode: self.mode,
            network: self.network,
            readable: self.readable.iter().cloned().chain(also).collect(),
            writable: self.writable.clone(),
            has_view: self.has_view.clone(),
        }
    }

    /// The folders of the option `writable`.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &Path> {
        self.writable.iter().map(PathBuf::as_path)
    }

    /// Whether the option `writable` has this place.
    pub(crate) fn is_writable(&self, place: &Path) -> bool {
        self.writable.iter().any(|folder| place.starts_with(folder))
    }

    /// Whether programs in this folder can be run in the sandbox.
    pub(crate) fn has_programs(&self, root: &Path, folder: &Path) -> bool {
        let mut own = self.readable.iter().chain(&self.writable).map(PathBuf::as_path).chain([root]);
        // With links followed: /bin often is one.
        folder.canonicalize().is_ok_and(|folder| {
            own.any(|own| folder.starts_with(own)) || PROGRAMS.iter().any(|programs| folder.starts_with(programs))
        })
    }
}

/// The most folders of the option `writable`.
const MOST_WRITABLE: usize = 30;

/// Where programs and what they need are.
const PROGRAMS: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix"];
