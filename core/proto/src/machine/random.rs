//! Where the jitter of the backoff comes from: the same seed gives the same run.

use serde::{Deserialize, Serialize};

/// A sequence of numbers that its seed decides (SplitMix64, <https://doi.org/10.1145/2714064.2660195>).
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
