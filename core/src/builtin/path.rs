//! Paths as models give them, put into one spelling: relative to the root, with `/`, without `.` and `..`. Nothing here touches
//! the disk.

use std::path::{Component, Path};

/// The root itself.
pub(super) const ROOT: &str = ".";

/// The path in its one spelling. An absolute path within the root is taken as the relative one.
///
/// # Errors
/// A text for the model: the path cannot be one of the root.
pub(super) fn normal(given: &str, root: &Path) -> Result<String, String> {
    let wrong = |why: &str| Err(format!("the path {given:?} {why}"));
    if given.is_empty() {
        return wrong("is empty: give one relative to the root, such as src/main.rs, or . for the root itself");
    }
    if given.contains('\0') {
        return wrong("contains a NUL character, which no path may");
    }
    if given == "~" || given.starts_with("~/") {
        return wrong("begins with ~, which is not expanded: give a path relative to the root");
    }
    if given.split_once("://").is_some_and(|(scheme, _)| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
        return wrong("is a URL: give a path relative to the root");
    }
    let path = Path::new(given);
    if path.has_root() || matches!(path.components().next(), Some(Component::Prefix(_))) {
        let inside = parts(path).and_then(|found| {
            let root = parts(root)?;
            found.strip_prefix(root.as_slice()).map(<[&str]>::to_vec)
        });
        return match inside {
            Some(inside) => Ok(joined(&inside)),
            None => wrong("is outside of the root: only what is in the root can be used, by its path relative to it"),
        };
    }
    match parts(path) {
        Some(parts) => Ok(joined(&parts)),
        None => wrong("leads out of the root through `..`: only what is in the root can be used"),
    }
}

/// The names that a path consists of; `None` if it leads to above of where it begins.
fn parts(path: &Path) -> Option<Vec<&str>> {
    let is_absolute = path.has_root();
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir if parts.pop().is_none() && !is_absolute => return None,
            Component::ParentDir | Component::CurDir | Component::RootDir => {}
            Component::Prefix(prefix) => parts.push(prefix.as_os_str().to_str()?),
        }
    }
    Some(parts)
}

fn joined(parts: &[&str]) -> String {
    if parts.is_empty() { ROOT.to_owned() } else { parts.join("/") }
}

/// The names of a path in its one spelling.
pub(super) fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| *name != ROOT)
}

/// The folder of a path in its one spelling, and its last name; `None` for the root.
pub(super) fn split(path: &str) -> Option<(&str, &str)> {
    match path.rsplit_once('/') {
        Some(split) => Some(split),
        None if path == ROOT => None,
        None => Some((ROOT, path)),
    }
}

/// The path of what a folder has by that name.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder == ROOT { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Whether a path is that of a folder or of what is in it. As the file systems have it that are usual on this system, upper case
/// and lower case are the same or not.
pub(super) fn is_in(path: &str, folder: &str) -> bool {
    let is_same = |one: &str, other: &str| {
        if cfg!(any(windows, target_os = "macos")) { one.eq_ignore_ascii_case(other) } else { one == other }
    };
    let mut inner = names(path);
    names(folder).all(|name| inner.next().is_some_and(|inner| is_same(inner, name)))
}

/// A name or path as it is shown in a line of its own: no character of it begins another line.
pub(super) fn shown(path: &str) -> String {
    if path.chars().any(char::is_control) { path.escape_debug().to_string() } else { path.to_owned() }
}
