//! What a process is confined with. All of it is made before the process is there: it enters with system calls only.

// The calls of C with which a process gives up rights: no library makes them without allocating.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::io::Error;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::ptr::null;

use libc::{c_int, c_long};
use seccompiler::BpfProgram;

/// A sandbox that a process enters.
pub(crate) struct Jail {
    pub(super) view: Option<View>,
    /// Landlock's rules.
    pub(super) rules: OwnedFd,
    pub(super) filters: Vec<BpfProgram>,
}

/// A view of the file system of its own, in which all is read-only but these folders: Landlock knows no modes, owners and times.
pub(super) struct View {
    writable: Vec<CString>,
    /// The folder that the process works in, which it enters again: what it had is of the view before.
    folder: CString,
    /// The lines for `uid_map` and `gid_map`: a user keeps its number.
    maps: [String; 2],
}

/// The rights of root that remain, where this process has them: to files, as their modes and owners are.
/// `CAP_CHOWN`, `CAP_DAC_OVERRIDE`, `CAP_FOWNER`, `CAP_FSETID`, `CAP_SETGID`, `CAP_SETUID`.
const KEPT_RIGHTS: u32 = 1 | 1 << 1 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7;

/// The highest right that a kernel may have.
const LAST_RIGHT: c_int = 63;

/// linux/capability.h: the version with 64 rights.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

impl Jail {
    /// Enters it, for good. `no_new_privs` is set. Allocates nothing: it is called between `fork` and `exec`.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        self.view.as_ref().map_or(Ok(()), View::enter)?;
        drop_rights()?;
        // SAFETY: the descriptor is open.
        check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.rules.as_raw_fd(), 0) })?;
        for filter in &self.filters {
            seccompiler::apply_filter(filter).map_err(|_| Error::last_os_error())?;
        }
        Ok(())
    }
}

impl View {
    /// One in which these folders can be written, for a process in that folder.
    pub(super) fn new(writable: Vec<CString>, folder: CString) -> View {
        // SAFETY: system calls.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        View { writable, folder, maps: [uid, gid].map(|id| format!("{id} {id} 1")) }
    }

    /// Whether the system lets a process have it: tries that with one.
    pub(super) fn works(self) -> bool {
        let mut process = Command::new("/bin/sh");
        process.args(["-c", ":"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: the function makes system calls only.
        unsafe {
            process.pre_exec(move || self.enter());
        }
        process.status().is_ok_and(|status| status.success())
    }

    fn enter(&self) -> Result<(), Error> {
        // SAFETY: system calls whose texts and structs are valid for the calls.
        unsafe {
            // Also other shared memory and message queues than those of this system: they are no files.
            let own = libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
            if libc::unshare(own) != 0 {
                check(libc::unshare(libc::CLONE_NEWUSER | own).into())?;
                // Before the groups: https://man7.org/linux/man-pages/man7/user_namespaces.7.html
                write(c"/proc/self/setgroups", "deny")?;
                let [uid, gid] = &self.maps;
                write(c"/proc/self/uid_map", uid)?;
                write(c"/proc/self/gid_map", gid)?;
            }
            // Nothing that is mounted here is seen outside.
            let private = libc::MS_REC | libc::MS_PRIVATE;
            check(libc::mount(null(), c"/".as_ptr(), null(), private, null()).into())?;
            // A copy of each, which does not become read-only. At most as many as there are descriptors.
            let mut copies = [-1; MOST_WRITABLE];
            let flags = libc::AT_RECURSIVE | OPEN_TREE_CLONE;
            for (copy, path) in copies.iter_mut().zip(&self.writable) {
                *copy = check(libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags))? as c_int;
            }
            let read_only = MountAttributes { set: libc::MOUNT_ATTR_RDONLY, ..MountAttributes::default() };
            let size = size_of::<MountAttributes>();
            let root = c"/".as_ptr();
            check(libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, root, libc::AT_RECURSIVE, &raw const read_only, size))?;
            for (copy, path) in copies.iter().zip(&self.writable) {
                let (from, to) = (c"".as_ptr(), path.as_ptr());
                check(libc::syscall(libc::SYS_move_mount, *copy, from, libc::AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH))?;
                libc::close(*copy);
            }
            check(libc::chdir(self.folder.as_ptr()).into())?;
        }
        Ok(())
    }
}

/// How many folders a view may have that can be written.
pub(super) const MOST_WRITABLE: usize = 32;

// linux/mount.h; the crate libc has them for some C libraries only.
const OPEN_TREE_CLONE: c_int = 1;
const MOVE_MOUNT_F_EMPTY_PATH: c_int = 4;

/// `struct mount_attr` of linux/mount.h.
#[repr(C)]
#[derive(Default)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

fn write(path: &CStr, text: &str) -> Result<(), Error> {
    // SAFETY: path and text are valid for the calls.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        check(file.into())?;
        let written = check(libc::write(file, text.as_ptr().cast(), text.len()) as c_long);
        libc::close(file);
        written.map(drop)
    }
}

/// Gives up root's rights over the system: they would go past Landlock, which is about files.
fn drop_rights() -> Result<(), Error> {
    let header = [CAPABILITY_VERSION, 0];
    // SAFETY: system calls; header and sets have the sizes of the version.
    unsafe {
        for right in (0..=LAST_RIGHT).filter(|right| *right > 31 || KEPT_RIGHTS >> right & 1 == 0) {
            // Fails for those that there are not, and without the right to it, when there is nothing to give up.
            libc::prctl(libc::PR_CAPBSET_DROP, right, 0, 0, 0);
        }
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        // Effective, permitted, inheritable: the lower halves, then the upper ones.
        let mut held = [0_u32; 6];
        check(libc::syscall(libc::SYS_capget, header.as_ptr(), held.as_mut_ptr()))?;
        let [effective, permitted, ..] = held;
        let kept = [effective & KEPT_RIGHTS, permitted & KEPT_RIGHTS, 0, 0, 0, 0];
        check(libc::syscall(libc::SYS_capset, header.as_ptr(), kept.as_ptr())).map(drop)
    }
}

fn check(result: c_long) -> Result<c_long, Error> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result) }
}
