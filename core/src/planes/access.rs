//! The accessible parts of the producer's mapping of a plane.
//!
//! `mlockall` allocates every page that a process can access, even in planes that no version uses.
//! So a plane is mapped inaccessible. Pieces of it are made accessible when they get memory for the
//! first time.

use crate::sys::mem::{HUGE_PAGE, MapError, Mapping};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The largest number of pieces of a plane. Each boundary between an accessible and an inaccessible
/// piece costs a mapping.
const MOST_PIECES: usize = 64;

/// The record of the pieces of a mapping that are accessible.
#[derive(Debug)]
pub(super) struct Access {
    piece: usize,
    open: Box<[AtomicBool]>,
}

impl Access {
    /// Creates the record for a mapping of `len` bytes of which nothing is accessible.
    pub(super) fn none(len: usize) -> Self {
        let piece = len.div_ceil(MOST_PIECES).next_multiple_of(HUGE_PAGE);
        let open = (0..len.div_ceil(piece)).map(|_| AtomicBool::new(false));
        Access {
            piece,
            open: open.collect(),
        }
    }

    /// Makes the pieces accessible that contain `bytes`. Several threads may call this at the same
    /// time.
    pub(super) fn open(&self, map: &Mapping, bytes: &Range<usize>) -> Result<(), MapError> {
        for piece in bytes.start / self.piece..bytes.end.div_ceil(self.piece) {
            let open = &self.open[piece];
            if !open.load(Ordering::Acquire) {
                let at = piece * self.piece;
                map.open(at, self.piece.min(map.len() - at))?;
                open.store(true, Ordering::Release);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::object::Object;
    use crate::sys::readable::readable;
    use std::os::fd::AsFd;

    #[test]
    fn only_pieces_that_were_opened_are_accessible() {
        let len = 64 * HUGE_PAGE + 4096;
        let object = Object::create("access", len as u64).unwrap();
        let map = Mapping::shared_closed(object.as_fd(), len).unwrap();
        let access = Access::none(len);
        let accessible = |at: usize| readable(map.ptr().wrapping_add(at));
        // Two huge pages a piece, because one each would be 65 pieces.
        access
            .open(&map, &(2 * HUGE_PAGE..2 * HUGE_PAGE + 1))
            .unwrap();
        access.open(&map, &(len - 1..len)).unwrap();
        assert!(!accessible(2 * HUGE_PAGE - 1) && accessible(2 * HUGE_PAGE));
        assert!(accessible(4 * HUGE_PAGE - 1) && !accessible(4 * HUGE_PAGE));
        assert!(accessible(len - 1) && !accessible(len - 4097));
    }
}
