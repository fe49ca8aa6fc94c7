//! Resource usage of the process: CPU time of all its threads, and memory.

use std::sync::{Mutex, OnceLock, PoisonError};

/// User and system CPU time of the process so far, in microseconds.
///
/// # Errors
/// Where the system has no `getrusage`.
#[cfg(unix)]
pub fn cpu_us() -> Result<u64, String> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a writable rusage, as getrusage asks; it keeps no pointer.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) } != 0 {
        return Err(format!("getrusage: {}", std::io::Error::last_os_error()));
    }
    // SAFETY: all zeroes is a valid rusage, and the call has filled it.
    let usage = unsafe { usage.assume_init() };
    let us = |time: libc::timeval| u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_usec).unwrap_or(0);
    Ok(us(usage.ru_utime) + us(usage.ru_stime))
}

/// User and system CPU time of the process so far, in microseconds.
///
/// # Errors
/// Always, on this system: it has no `getrusage`.
#[cfg(not(unix))]
pub fn cpu_us() -> Result<u64, String> {
    Err("CPU time is read with getrusage, which this system does not have".to_owned())
}

/// User and system CPU time of another process and its children so far, in microseconds, as exactly as the system counts it: in
/// hundredths of a second. Of its children, those that have ended count if it has waited for them.
///
/// # Errors
/// Where there is no `/proc/PID/stat`.
pub fn family_cpu_us(pid: &str) -> Result<u64, String> {
    const TICK_US: u64 = 10_000;
    let processes = std::fs::read_dir("/proc").map_err(|error| format!("CPU time is read from /proc: {error}"))?;
    let mut ticks = 0;
    for process in processes.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        // Others end meanwhile.
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { continue };
        // A name in parentheses may have spaces: the third field is the first behind it.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let number = |at: usize| fields.get(at - 3).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        if process == pid {
            ticks += (14..=17).map(number).sum::<u64>();
        } else if number(4).to_string() == pid {
            ticks += number(14) + number(15);
        }
    }
    Ok(ticks * TICK_US)
}

/// CPU times of the process: at its first delta, and at the end of each turn.
#[derive(Debug, Default)]
pub struct Marks {
    first: OnceLock<u64>,
    turns: Mutex<Vec<u64>>,
}

impl Marks {
    /// Marks a delta; only the first counts.
    pub fn delta(&self) {
        self.first.get_or_init(|| cpu_us().unwrap_or(0));
    }

    /// Marks the end of a turn.
    pub fn turn(&self) {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).push(cpu_us().unwrap_or(0));
    }

    /// The time of the first delta.
    pub fn first(&self) -> Option<u64> {
        self.first.get().copied()
    }

    /// The times of the turns since the last call.
    pub fn take_turns(&self) -> Vec<u64> {
        std::mem::take(&mut self.turns.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Memory of the process now, in kilobytes (`VmRSS`).
///
/// # Errors
/// Where there is no `/proc/self/status`.
pub fn rss_kb() -> Result<u64, String> {
    status("VmRSS:")
}

/// The most memory the process had since [`reset_peak`], in kilobytes (`VmHWM`).
///
/// # Errors
/// Where there is no `/proc/self/status`.
pub fn peak_kb() -> Result<u64, String> {
    status("VmHWM:")
}

/// Resets the peak to the current memory. If that is not allowed, the peak includes the time before.
pub fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn status(name: &str) -> Result<u64, String> {
    let text = std::fs::read_to_string("/proc/self/status")
        .map_err(|error| format!("memory is read from /proc/self/status: {error}"))?;
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok())
        .ok_or_else(|| format!("/proc/self/status has no {name} line with a number"))
}
