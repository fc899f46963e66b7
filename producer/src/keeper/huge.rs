//! Gathers small pages of live memory, and of planes that it is shared with, into huge pages while
//! the simulation computes.
//!
//! A program reads and writes memory at random up to twice as fast in huge pages, because the
//! processor finds their addresses sooner. Live memory begins with small pages, unless the machine
//! gives huge ones to all programs (`enabled` is `always`): a huge page for the first store would
//! take the memory of 512 pages, also where a program uses only one of them. So the keeper waits
//! until all pages of a huge page exist. A huge page stays huge while it is write-protected, until
//! the first store to it, which splits it. Then its pages are protected one by one, and the kernel
//! does not gather them. So a chunk that is written sparsely is split once.

use nix::errno::Errno;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};
use tcasm_core::store::Store;
use tcasm_core::sys::huge::SmallPages;
use tcasm_core::sys::live::gather;
use tcasm_core::sys::lock::Lock;
use tcasm_core::track::Span;

/// Number of bytes that one call of the kernel looks at.
const PIECE: usize = 256 << 20;
/// The longest time of a scan that is spent on looking, and on gathering.
const LOOKING: Duration = Duration::from_millis(4);
const GATHERING: Duration = Duration::from_millis(40);
/// The longest time of a scan that is spent on planes.
const PLANES: Duration = Duration::from_millis(20);
/// Number of scans without gathering after the kernel had no huge page.
const REST: u32 = 50;

/// Gathers those chunks of planes for which huge pages were asked, as many as there is time for.
pub(super) fn gather_planes(store: &Lock<Store>) {
    let begun = Instant::now();
    while begun.elapsed() < PLANES {
        let next = store.lock().begin_huge();
        let Some(chunk) = next else {
            return;
        };
        let gathered = chunk.gather();
        if let Err(error) = &gathered {
            log::debug!("a chunk of a plane stays small pages: {error}");
        }
        store.lock().has_become_huge(&chunk, gathered.is_ok());
    }
}

/// Gathers the pages of a range of addresses, part by part.
#[derive(Debug)]
pub(crate) struct Gatherer {
    span: Span,
    range: Range<usize>,
    /// Where the next scan begins.
    next: usize,
    small: SmallPages,
    /// Number of scans to let pass.
    rest: u32,
}

impl Gatherer {
    /// Gathers pages of a region. Parts of it need not be mapped.
    pub(crate) fn new(span: Span) -> io::Result<Self> {
        let range = span.addresses(&(0..span.pages));
        Ok(Gatherer {
            span,
            next: range.start,
            range,
            small: SmallPages::open()?,
            rest: 0,
        })
    }

    /// Gathers `range` now, if all of its pages exist. The kernel would add pages that do not.
    pub(super) fn gather_now(&mut self, range: Range<usize>, store: &Lock<Store>) {
        let found = self.small.find(range.clone());
        let gathered =
            found.and_then(|found| found.iter().try_for_each(|r| self.gather_private(r, store)));
        if let Err(error) = gathered {
            log::debug!("no huge page for {range:x?}: {error}");
        }
    }

    /// Gathers as many pages as there is time for. Bytes do not change. A store to a page that is
    /// being gathered waits until it is done, which takes less than a millisecond.
    pub(super) fn gather(&mut self, store: &Lock<Store>) {
        self.rest = self.rest.saturating_sub(1);
        if self.rest != 0 {
            return;
        }
        let (begun, mut looked) = (Instant::now(), 0);
        let mut spent = Duration::ZERO;
        while begun.elapsed() - spent < LOOKING {
            let piece = self.next..self.range.end.min(self.next.saturating_add(PIECE));
            let start = Instant::now();
            let done = self.gather_piece(&piece, store);
            spent += start.elapsed();
            if !done || spent > GATHERING {
                return;
            }
            self.next = match piece.end {
                end if end == self.range.end => self.range.start,
                end => end,
            };
            looked += piece.len();
            if looked >= self.range.len() {
                return;
            }
        }
    }

    /// Gathers the pages of a piece. Returns false if that should be tried again later.
    fn gather_piece(&mut self, piece: &Range<usize>, store: &Lock<Store>) -> bool {
        let found = match self.small.find(piece.clone()) {
            Ok(found) => found,
            Err(error) => {
                log::debug!("live memory is not gathered into huge pages: {error}");
                self.rest = u32::MAX;
                return false;
            }
        };
        let start = Instant::now();
        for range in found {
            if let Err(error) = self.gather_private(&range, store)
                && !is_in_use(&error)
            {
                log::debug!("no huge page for {range:x?}: {error}");
                self.rest = REST;
                return false;
            }
            if start.elapsed() > GATHERING {
                // Also if the kernel has refused all of them, the next scan goes on behind them.
                self.next = range.end.min(self.range.end);
                return false;
            }
        }
        true
    }
}

impl Gatherer {
    /// Gathers `range`, unless it may be a mapping of a plane. If all of its pages are private
    /// copies, it looks like other memory, but the kernel would gather the frames of the plane. It
    /// becomes no such mapping meanwhile.
    fn gather_private(&self, range: &Range<usize>, store: &Lock<Store>) -> io::Result<()> {
        if !store.lock().begin_gathering(&self.span.pages_at(range)) {
            return Ok(());
        }
        let gathered = gather(range);
        store.lock().has_gathered();
        gathered
    }
}

/// Returns true for errors by which the kernel refuses to move a range of pages now: some were
/// protected meanwhile, are locked by a device, or are no longer mapped.
fn is_in_use(error: &io::Error) -> bool {
    matches!(
        Errno::from_raw(error.raw_os_error().unwrap_or(0)),
        Errno::EINVAL | Errno::EAGAIN | Errno::EBUSY
    )
}
