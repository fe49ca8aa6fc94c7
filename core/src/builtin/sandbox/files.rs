//! Which files a command reaches: Landlock's rules.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    Scope, path_beneath_rules,
};

use super::PROGRAMS;

/// What programs read of /etc: the loader, names of hosts, time zones and certificates. Not users, groups and settings.
const SETTINGS: &[&str] = &[
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld-musl-aarch64.path",
    "/etc/ld-musl-x86_64.path",
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates/extracted",
];

const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The newest version of Landlock that this was tried with.
const NEWEST: ABI = ABI::V7;

/// Whether the system protects the contents of files, also from being cut to a length; if so, whether signals are scoped.
pub(super) fn supported() -> Option<bool> {
    let whole = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    whole().handle_access(AccessFs::from_all(ABI::V3)).ok()?;
    Some(whole().scope(Scope::Signal).is_ok())
}

/// The rules: all that is not named is refused. What is not there is left out.
pub(super) fn rules(writable: &[&Path], readable: &[PathBuf], network: bool) -> Result<Option<OwnedFd>, RulesetError> {
    let read = AccessFs::from_read(NEWEST);
    let write = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    let use_device: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    let mut rules = Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?.scope(Scope::from_all(NEWEST))?;
    if !network {
        rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let created = rules
        .create()?
        .add_rules(path_beneath_rules(writable, write))?
        .add_rules(path_beneath_rules(readable, read))?
        .add_rules(path_beneath_rules(PROGRAMS.iter().chain(SETTINGS), read))?
        .add_rules(path_beneath_rules(DEVICES, use_device))?;
    // Without Landlock, there are none.
    Ok(created.into())
}
