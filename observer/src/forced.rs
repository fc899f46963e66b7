//! Copies that are made for lack of mappings, whatever the budget of copies is.
//!
//! They are made only if they help: if the window then has few enough mappings, and if there is
//! memory for them. Otherwise the version is refused, and nothing is copied beyond the budget.

use crate::error::ViewError;
use tcasm_core::sys::mem::max_map_count;
use tcasm_core::sys::room::Room;

/// The bounds on the number of mappings of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Chunks are copied until the window has no more mappings than this, or no copy saves any.
    pub(crate) wanted: usize,
    /// A version for which the window needs more mappings is refused.
    pub(crate) most: usize,
}

impl Bounds {
    /// As few mappings as possible. Only the kernel decides whether the process may have them.
    pub(crate) const FEWEST: Bounds = Bounds {
        wanted: 0,
        most: usize::MAX,
    };

    /// Returns the error for a window that needs `needed` mappings although all is copied that
    /// saves some, if these are too many.
    pub(crate) fn check(self, needed: usize) -> Result<(), ViewError> {
        match needed <= self.most {
            true => Ok(()),
            false => Err(ViewError::TooManyMappings {
                needed,
                most: self.most,
                limit: max_map_count(),
            }),
        }
    }
}

/// The memory of copies that are made for lack of mappings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forced {
    /// The bytes of the copies.
    pub(crate) bytes: u64,
    /// The bytes that must be allocated for them. Where a chunk is a copy already, the copy has
    /// some.
    pub(crate) fresh: u64,
}

impl Forced {
    /// Adds a copy of `bytes` bytes of a chunk whose copy has `has` bytes already.
    pub(crate) fn add(&mut self, bytes: u64, has: u64) {
        self.bytes += bytes;
        self.fresh += bytes.saturating_sub(has);
    }

    /// Returns the error for copies for which there is no memory, as `shortage` says.
    pub(crate) fn check(self, shortage: impl FnOnce(u64) -> Option<Room>) -> Result<(), ViewError> {
        let bytes = self.fresh;
        let room = (bytes > 0).then(|| shortage(bytes)).flatten();
        room.map_or(Ok(()), |room| {
            Err(ViewError::CopyMemory {
                bytes,
                room: room.bytes,
                limit: room.limit,
                of: room.of,
            })
        })
    }
}

/// Returns the fewest chunks that together save at least `excess` mappings, or all that save any.
/// `saves` is what each chunk saves.
pub(crate) fn most_scattered(saves: &[usize], excess: usize) -> Vec<usize> {
    let mut chunks: Vec<usize> = (0..saves.len()).filter(|c| saves[*c] > 0).collect();
    chunks.sort_unstable_by_key(|c| std::cmp::Reverse(saves[*c]));
    let mut saved = 0;
    let enough = chunks.iter().position(|c| {
        let enough = saved >= excess;
        saved += saves[*c];
        enough
    });
    chunks.truncate(enough.unwrap_or(chunks.len()));
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_scattered_chunks_are_copied_and_no_more_than_needed() {
        let saves = [10, 0, 500, 2, 300];
        assert_eq!(most_scattered(&saves, 0), []);
        assert_eq!(most_scattered(&saves, 1), [2]);
        assert_eq!(most_scattered(&saves, 500), [2]);
        assert_eq!(most_scattered(&saves, 501), [2, 4]);
        assert_eq!(most_scattered(&saves, 813), [2, 4, 0, 3]);
    }

    #[test]
    fn memory_is_asked_for_only_if_it_must_be_allocated() {
        let mut forced = Forced::default();
        forced.add(100, 100);
        forced.check(|_| panic!("nothing is allocated")).unwrap();
        forced.add(50, 20);
        assert_eq!(forced.bytes, 150);
        let mut asked = 0;
        let room = |bytes: u64| {
            asked = bytes;
            None
        };
        forced.check(room).unwrap();
        assert_eq!(asked, 30);
    }
}
