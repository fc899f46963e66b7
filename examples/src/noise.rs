//! Noise that is a pure function of (seed, step, cell).
//!
//! A generator with a state would have to be saved in checkpoints and divided among threads. A hash
//! needs neither: any thread can compute any cell, and a run that is continued at step n gets the
//! same noise as an uninterrupted one.

/// The noise of one step.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    key: u64,
}

impl Noise {
    /// Creates the noise of step `step` in the run seeded with `seed`.
    pub fn new(seed: u64, step: u64) -> Self {
        Noise {
            key: mix(mix(seed.wrapping_add(WEYL)).wrapping_add(step)),
        }
    }

    /// Returns a number, uniform in [-1, 1), for the cell with index `cell`.
    #[inline(always)]
    pub fn at(self, cell: u64) -> f64 {
        let bits = mix(self.key.wrapping_add(cell.wrapping_mul(WEYL)));
        // The upper 53 bits, as a signed integer, are exact in an f64. 2^52 of them make one.
        (bits as i64 >> 11) as f64 * (1.0 / (1u64 << 52) as f64)
    }
}

/// 2^64 divided by the golden ratio, rounded to an odd number. Its multiples are spread evenly.
const WEYL: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of splitmix64: every bit of the result depends on every bit of `x`.
#[inline(always)]
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
