//! Observers that read the changed pages of each step, in two ways: in a version, and in a copy of
//! the whole buffer. Producer and observers compute the same steps from their numbers.

mod board;
mod watcher;

pub use board::{Board, now_ns};
pub use watcher::Watcher;

use crate::workload::{PAGE, Random, random_pages};

/// Size of the buffer, in bytes.
pub const BYTES: usize = 64 << 20;

/// A way to show a step to observers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The producer publishes a version.
    Version,
    /// The producer copies the buffer into shared memory.
    Copy,
}

/// Returns the ways in the order in which this step is shown. The order alternates.
pub fn ways(step: u64) -> [Way; 2] {
    match step % 2 {
        0 => [Way::Version, Way::Copy],
        _ => [Way::Copy, Way::Version],
    }
}

/// Returns the random pages that a step writes.
pub fn pages_of(step: u64, percent: usize) -> Vec<usize> {
    // The source of random numbers needs a start that is not 0.
    let start = step.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    random_pages(&mut Random(start), BYTES / PAGE, percent)
}

/// Reads a byte of each of these pages. Returns the number of pages that `step` has not written.
fn wrong_pages(bytes: &[u8], pages: &[usize], step: u64) -> usize {
    let wrong = |page: &&usize| bytes.get(**page * PAGE) != Some(&(step as u8));
    pages.iter().filter(wrong).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::touch;

    #[test]
    fn steps_write_their_share_of_different_pages() {
        let pages = pages_of(7, 10);
        assert_eq!(pages.len(), BYTES / PAGE / 10);
        assert_eq!(pages, pages_of(7, 10));
        assert_ne!(pages, pages_of(8, 10));
    }

    #[test]
    fn page_of_an_older_step_is_wrong() {
        let mut memory = vec![0; 4 * PAGE];
        touch(&mut memory, &[0, 1, 3], 6);
        touch(&mut memory, &[0, 3], 7);
        assert_eq!(wrong_pages(&memory, &[0, 3], 7), 0);
        assert_eq!(wrong_pages(&memory, &[3, 1, 0], 7), 1);
        assert_eq!(wrong_pages(&memory[..PAGE], &[0, 3], 7), 1);
    }

    #[test]
    fn every_step_is_shown_in_both_ways() {
        for step in 0..4 {
            let [first, second] = ways(step);
            assert_ne!(first, second);
            assert_ne!(first, ways(step + 1)[0]);
        }
    }
}
