//! The sandbox of Linux, put together.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::jail::{Jail, View};
use super::{Confined, Sandbox, Temporary, calls, files};

const NO_VIEW: &str = "Modes, owners and times of files outside of the root are not protected: this system does not let the \
    sandbox have a user namespace or a mount namespace.";
const NO_SCOPE: &str = "Other processes of this user are not protected from signals: Linux has that from 6.12 on.";

impl Sandbox {
    /// None where the system cannot protect the contents of files.
    pub(super) fn system_jail(&self, root: &Path, folder: &Path) -> Result<Option<Confined>, String> {
        let Some(has_scopes) = files::supported() else { return Ok(None) };
        let failed = |what: &str, why: &dyn std::fmt::Display| format!("the command was not run: {what}: {why}");
        let temporary = Temporary::new().map_err(|error| failed("no folder for temporary files", &error))?;
        let writable: Vec<&Path> = [root, temporary.path()].into_iter().chain(self.writable.iter().map(|path| &**path)).collect();
        let rules = files::rules(&writable, &self.readable, self.network);
        let Some(rules) = rules.map_err(|error| failed("the rules of its sandbox cannot be made", &error))? else {
            return Ok(None);
        };
        let view = || {
            let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).ok();
            let writable: Option<Vec<CString>> = writable.iter().map(|path| text(path)).collect();
            Some(View::new(writable?, text(folder)?))
        };
        let has_view = *self.has_view.get_or_init(|| view().is_some_and(View::works));
        let Some(filters) = calls::filters(self.network, has_view) else { return Ok(None) };
        let missing = [(has_view, NO_VIEW), (has_scopes, NO_SCOPE)].into_iter().filter(|(is_there, _)| !is_there);
        Ok(Some(Confined {
            missing: missing.map(|(_, text)| text).collect(),
            jail: Some(Jail { view: if has_view { view() } else { None }, rules, filters }),
            temporary: Some(temporary),
        }))
    }
}
