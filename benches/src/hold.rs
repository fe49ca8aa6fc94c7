//! Keeps concurrent answers in flight together: each waits in its middle until all have come equally far.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

/// How long an answer waits for the others before it goes on without them.
const PATIENCE: Duration = Duration::from_secs(20);

/// Meeting points, one for each key.
#[derive(Debug)]
pub struct Holds<K> {
    points: Mutex<HashMap<K, Arc<Point>>>,
    stats: Mutex<Stats>,
}

/// Statistics of the meeting points.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Stats {
    /// The most answers that were held at one point at the same time.
    pub most_held: usize,
    /// Answers that went on because the others did not come in time.
    pub gave_up: usize,
}

#[derive(Debug)]
struct Point {
    waiting: Mutex<usize>,
    /// Counts the meetings.
    met: watch::Sender<u64>,
}

impl<K: Eq + Hash> Holds<K> {
    /// No meeting points yet: they are created by the first answer.
    #[must_use]
    pub fn new() -> Holds<K> {
        Holds { points: Mutex::new(HashMap::new()), stats: Mutex::new(Stats::default()) }
    }

    /// Waits at `key` until `together` have come, or the time limit elapses.
    pub async fn meet(&self, key: K, together: usize) {
        let point = Arc::clone(
            lock(&self.points)
                .entry(key)
                .or_insert_with(|| Arc::new(Point { waiting: Mutex::new(0), met: watch::Sender::new(0) })),
        );
        let mut met = point.met.subscribe();
        met.mark_unchanged();
        {
            let mut waiting = lock(&point.waiting);
            *waiting += 1;
            let mut stats = lock(&self.stats);
            stats.most_held = stats.most_held.max(*waiting);
            if *waiting >= together {
                *waiting = 0;
                point.met.send_modify(|meetings| *meetings += 1);
                return;
            }
        }
        if tokio::time::timeout(PATIENCE, met.changed()).await.is_err() {
            lock(&self.stats).gave_up += 1;
            let mut waiting = lock(&point.waiting);
            *waiting = waiting.saturating_sub(1);
        }
    }

    /// The statistics since the last call.
    pub fn take_stats(&self) -> Stats {
        std::mem::take(&mut lock(&self.stats))
    }
}

impl<K: Eq + Hash> Default for Holds<K> {
    fn default() -> Holds<K> {
        Holds::new()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_go_on_when_the_last_has_come_and_the_point_serves_again() {
        let holds = Arc::new(Holds::new());
        for _ in 0..2 {
            let others: Vec<_> = (0..4)
                .map(|_| {
                    let holds = Arc::clone(&holds);
                    tokio::spawn(async move { holds.meet("here", 5).await })
                })
                .collect();
            tokio::task::yield_now().await;
            assert!(others.iter().all(|other| !other.is_finished()));
            holds.meet("elsewhere", 1).await;
            holds.meet("here", 5).await;
            for other in others {
                other.await.unwrap();
            }
            let stats = holds.take_stats();
            assert_eq!((stats.most_held, stats.gave_up), (5, 0));
        }
    }
}
