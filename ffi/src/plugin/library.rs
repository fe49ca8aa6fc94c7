//! A file becomes a loaded library that says it is a plugin of this ABI.
//!
//! A library stays loaded until the process ends, also one that was refused: threads of its own may run in it, and what it has
//! registered may be called as long as an agent has it.

use std::mem::ManuallyDrop;
use std::path::Path;

use agent_loop::{Error, ErrorKind};

use super::Register;
use super::object;
use super::table::Host;
use crate::AGENT_ABI_VERSION;

/// A plugin that is loaded, and has not run any code but what a library runs when it is loaded.
pub(super) struct Library {
    pub(super) register: Register,
}

/// What a plugin says of itself: `agent_plugin_info_t` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
struct Info {
    abi_version: u32,
    host_size: u32,
}

impl Library {
    /// # Errors
    /// It cannot be loaded, or is no plugin for this version.
    pub(super) fn load(path: &Path) -> Result<Library, Error> {
        check_path(path)?;
        object::check(path)?;
        let library = ManuallyDrop::new(open(path)?);
        // SAFETY: the header says that this symbol is such a struct, which is never changed.
        let info = unsafe { library.get::<*const Info>(b"agent_plugin_info\0") }.map_err(|_| missing("agent_plugin_info"))?;
        // SAFETY: as above; a symbol's address is not null.
        let info = unsafe { info.read_unaligned() };
        check_version(info)?;
        // SAFETY: the header says that this symbol is such a function, and the ABI is the same.
        let register = unsafe { library.get::<Register>(b"agent_plugin_register\0") };
        let register = *register.map_err(|_| missing("agent_plugin_register"))?;
        Ok(Library { register })
    }
}

/// Plugins are not searched for: whoever may write into a folder of libraries must not get code into this process.
fn check_path(path: &Path) -> Result<(), Error> {
    if path.components().count() < 2 {
        let text = "a path with a folder is needed, such as ./plugin.so; plugins are not searched for";
        return Err(Error::invalid_argument(text));
    }
    match path.metadata() {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => Err(Error::invalid_argument("it is no file; name the shared library itself")),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => Err(Error::new(ErrorKind::NotFound, "there is no such file")),
        Err(why) => Err(Error::new(ErrorKind::Io, format!("it cannot be read: {why}")).with_source(why)),
    }
}

#[cfg(unix)]
fn open(path: &Path) -> Result<libloading::Library, Error> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // Now, not lazily: a function that is missing is then an error here, and not the end of the process later.
    // SAFETY: what a library does when it is loaded is the trust that is put into a plugin (docs/plugins.md).
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map(Into::into).map_err(refused)
}

#[cfg(not(unix))]
fn open(path: &Path) -> Result<libloading::Library, Error> {
    // SAFETY: what a library does when it is loaded is the trust that is put into a plugin (docs/plugins.md).
    unsafe { libloading::Library::new(path) }.map_err(refused)
}

fn refused(why: libloading::Error) -> Error {
    let refused = std::error::Error::source(&why).map_or_else(|| why.to_string(), ToString::to_string);
    let hint = match refused.contains("undefined symbol: agent_") || refused.contains("symbol not found") {
        true => "; a plugin links nothing of agent-loop: include agent_plugin.h, whose names are those of the table",
        false => "",
    };
    Error::new(ErrorKind::Io, format!("the system's loader refuses it: {refused}{hint}"))
}

fn missing(symbol: &str) -> Error {
    Error::invalid_argument(format!("it is a shared library but no plugin: it does not export {symbol} (see agent_plugin.h)"))
}

/// # Errors
/// It was built for another ABI, or needs functions that this version does not have.
fn check_version(plugin: Info) -> Result<(), Error> {
    let (own, own_size) = (AGENT_ABI_VERSION, Host::SIZE);
    let Info { abi_version, host_size } = plugin;
    let version = agent_loop::VERSION;
    if abi_version != own {
        let (kind, what) = match abi_version > own {
            true => (ErrorKind::NewerVersion, "update agent-loop, or build the plugin with the header of this version"),
            false => (ErrorKind::InvalidArgument, "build the plugin again, with the header of this version"),
        };
        let text = format!("it was built for ABI {abi_version}, and agent-loop {version} has ABI {own}; {what}");
        return Err(Error::new(kind, text));
    }
    if host_size > own_size {
        let text = format!(
            "it was built with the header of a newer version: it needs a table of {host_size} bytes, and that of agent-loop \
             {version} has {own_size}; update agent-loop, or build the plugin with the header of this version"
        );
        return Err(Error::new(ErrorKind::NewerVersion, text));
    }
    Ok(())
}
