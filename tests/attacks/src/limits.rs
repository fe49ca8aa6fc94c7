//! The limits of a process, which it sets and takes back itself.

use std::fs;
use std::io;

use crate::random::Random;

/// What there is little of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    Descriptors,
    Threads,
    /// Addresses: so little is free that the heap has room, and few stacks.
    Memory,
}

/// How much room a limit of memory leaves beside stacks.
const HEAP_BYTES: u64 = 24 << 20;

impl Resource {
    #[cfg(target_env = "gnu")]
    fn number(self) -> libc::__rlimit_resource_t {
        match self {
            Resource::Descriptors => libc::RLIMIT_NOFILE,
            Resource::Threads => libc::RLIMIT_NPROC,
            Resource::Memory => libc::RLIMIT_AS,
        }
    }

    #[cfg(not(target_env = "gnu"))]
    fn number(self) -> libc::c_int {
        match self {
            Resource::Descriptors => libc::RLIMIT_NOFILE,
            Resource::Threads => libc::RLIMIT_NPROC,
            Resource::Memory => libc::RLIMIT_AS,
        }
    }

    /// How much of it the process has.
    fn used(self) -> io::Result<u64> {
        Ok(match self {
            Resource::Descriptors => fs::read_dir("/proc/self/fd")?.count() as u64,
            Resource::Threads => fs::read_dir("/proc/self/task")?.count() as u64,
            Resource::Memory => {
                let status = fs::read_to_string("/proc/self/status")?;
                let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
                let kib: Option<u64> = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
                kib.ok_or_else(|| io::Error::other("/proc/self/status has no VmSize"))? << 10
            }
        })
    }
}

/// A limit that is not set yet.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    pub(crate) resource: Resource,
    /// How many more than the process has then.
    more: u64,
    /// How many fewer.
    fewer: u64,
}

impl Limit {
    /// With this stack of each thread.
    pub(crate) fn draw(random: &mut Random, stack_bytes: u64) -> Limit {
        let resource = *random.pick(&[Resource::Descriptors, Resource::Threads, Resource::Memory]);
        let (more, fewer) = match resource {
            Resource::Descriptors => (random.below(14), random.below(5)),
            Resource::Threads => (random.below(7), 0),
            Resource::Memory => (HEAP_BYTES + random.below(4) * stack_bytes, 0),
        };
        Limit { resource, more, fewer }
    }

    /// From here on there is no more than that.
    pub(crate) fn set(&self) -> io::Result<()> {
        let most = (self.resource.used()? + self.more).saturating_sub(self.fewer);
        set(self.resource, most)
    }

    /// From here on there is as much as at the beginning.
    pub(crate) fn lift(&self) -> io::Result<()> {
        set(self.resource, libc::rlim_t::MAX)
    }
}

/// The limit that may be lifted again.
#[allow(unsafe_code)]
fn set(resource: Resource, most: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is a place for one.
    if unsafe { libc::getrlimit(resource.number(), &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    limit.rlim_cur = limit.rlim_max.min(most);
    // SAFETY: the limit is one.
    match unsafe { libc::setrlimit(resource.number(), &raw const limit) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether the system limits the threads of this process. The superuser has no limit: it becomes a user without other processes.
#[allow(unsafe_code)]
pub(crate) fn may_limit_threads() -> bool {
    const FIRST: u32 = 1 << 20;
    // SAFETY: these calls have no conditions.
    let is_changed = unsafe { libc::geteuid() != 0 || libc::setuid(FIRST + std::process::id()) == 0 };
    if !is_changed || set(Resource::Threads, 1).is_err() {
        return false;
    }
    let is_limited = std::thread::Builder::new().spawn(|| ()).is_err();
    is_limited && set(Resource::Threads, libc::rlim_t::MAX).is_ok()
}
