//! What cases leave behind: tasks of their runtimes; threads and descriptors of the process, which Linux counts.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

/// How long something may take to end that nobody needs any more: longer than a server waits for a client.
const LONGEST: Duration = Duration::from_secs(30);

/// Waits until a runtime has no task.
pub(crate) fn no_task(runtime: &Runtime) -> Result<(), String> {
    let began = Instant::now();
    let metrics = runtime.metrics();
    runtime.block_on(async {
        while metrics.num_alive_tasks() > 0 {
            if began.elapsed() > LONGEST {
                return Err(format!("{} tasks are left", metrics.num_alive_tasks()));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    })
}

/// How much of both the process has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    threads: usize,
    descriptors: usize,
}

impl Counts {
    /// Nothing where the system does not say it.
    pub(crate) fn now() -> Counts {
        let count = |folder: &str| std::fs::read_dir(folder).map_or(0, Iterator::count);
        Counts { threads: count("/proc/self/task"), descriptors: count("/proc/self/fd") }
    }

    /// Waits until the process has no more than that again.
    pub(crate) fn come_back(self) -> Result<(), String> {
        let began = Instant::now();
        loop {
            let now = Counts::now();
            if now.threads <= self.threads && now.descriptors <= self.descriptors {
                return Ok(());
            }
            if began.elapsed() > LONGEST {
                return Err(format!("{now:?} where there were {self:?}: {}", open().join(", ")));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The names of the threads, and what the descriptors are.
fn open() -> Vec<String> {
    let entries = |folder: &str| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let threads = entries("/proc/self/task").filter_map(|path| std::fs::read_to_string(path.join("comm")).ok());
    let files = entries("/proc/self/fd").filter_map(|path| std::fs::read_link(path).ok());
    threads.map(|name| name.trim().to_owned()).chain(files.map(|path| path.display().to_string())).collect()
}
