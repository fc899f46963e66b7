//! Arrays that the program had already: tracks them in place, and notices when they are gone.
//!
//! Whole pages of an array are tracked by a tracker that lies beside that of the region
//! ([`Tracker::beside`]). The first and the last page may hold bytes of others too, and the stores
//! to these. So such pages are not tracked, but compared in every version.
//!
//! An array is *gone* when a part of it was unmapped, moved or replaced by other memory. The kernel
//! ends the registration of such memory, so a scan that asks for registered memory fails. `compare`
//! notices only that nothing is mapped. An error of a kernel that has no memory at the moment says
//! nothing about the array: it is compared in that version.

use super::compare::Compare;
use super::tracker::{Harvest, Span, TrackError, Tracker, failed};
use crate::pageset::PageSet;
use crate::segments::{Segment, Segments};
use crate::sys::checked;
use crate::sys::mappings::{Access, Mappings};
use crate::testing::sabotage::{Guard, off};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The reason why an array cannot be adopted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdoptError {
    /// Nothing is mapped at an address of the array.
    #[error("nothing is mapped at {address:#x}; pass the address of memory that exists")]
    Hole {
        /// The address.
        address: usize,
    },
    /// The array cannot be written.
    #[error("a part of it cannot be read and written; adopt memory that the program computes in")]
    ReadOnly,
    /// The array overlaps one that is adopted already, or the region itself.
    #[error("it overlaps {with}; adopt each array once")]
    Overlap {
        /// The memory that it overlaps.
        with: &'static str,
    },
    /// The kernel refuses the accesses by which such memory is read.
    #[error(
        "process_vm_readv is refused: {0}; allow it in the filter of system calls, because the \
         array could be unmapped while it is copied"
    )]
    Refused(io::Error),
    /// The mappings of the process cannot be read.
    #[error("the mappings of this process cannot be read: {0}")]
    Mappings(io::Error),
    /// The array cannot be tracked, nor compared.
    #[error(transparent)]
    Track(#[from] TrackError),
}

/// An adopted array that is gone, by its pages.
#[derive(Debug)]
pub struct Gone {
    /// The pages that it has in the region.
    pub pages: Range<usize>,
    /// How it was noticed.
    pub error: TrackError,
}

/// An array that was adopted.
#[derive(Debug)]
pub struct Adoption {
    /// The pages that the first version must compare, besides those that the next harvest finds.
    pub unknown: PageSet,
    /// Why the array is compared in every version, if the tracker of the region cannot track it.
    pub compared: Option<String>,
}

/// All adopted arrays of a region.
pub struct AdoptedArrays {
    segments: Arc<Segments>,
    arrays: Vec<Adopted>,
}

/// An adopted array.
struct Adopted {
    segment: Arc<Segment>,
    tracker: Box<dyn Tracker>,
    /// The pages that hold bytes of others too.
    edges: PageSet,
}

impl AdoptedArrays {
    /// Returns the empty set of a region whose memory is `segments`.
    pub(super) fn new(segments: Arc<Segments>) -> Self {
        AdoptedArrays {
            segments,
            arrays: Vec::new(),
        }
    }

    /// Adopts the array of `segment`, beside memory that `own` tracks. `pages` is how many the
    /// region has.
    pub(super) fn adopt(
        &mut self,
        own: &dyn Tracker,
        segment: Segment,
        pages: usize,
    ) -> Result<Adoption, AdoptError> {
        let access = self.look(&segment.bytes, pages)?;
        let span = Span {
            base: segment.base(),
            pages,
            page_size: self.segments.page_size(),
        };
        let whole = segment.whole();
        let mut edges = PageSet::new(pages);
        edges.insert_range(segment.pages.clone());
        edges.remove_range(whole.clone());
        let (tracker, compared) = tracker_of(own, span, &whole, access)?;
        let mut unknown = edges.clone();
        if access.file {
            // Pages that are not in memory may have values, and no scan finds them.
            unknown.insert_range(whole);
        }
        let segment = Arc::new(segment);
        self.segments.insert(segment.clone());
        self.arrays.push(Adopted {
            segment,
            tracker,
            edges,
        });
        Ok(Adoption { unknown, compared })
    }

    /// Checks that an array can be adopted, and returns how it is mapped.
    fn look(&self, bytes: &Range<usize>, pages: usize) -> Result<Access, AdoptError> {
        let base = self.segments.base();
        let region = base..base + pages * self.segments.page_size();
        let overlaps = |other: &Range<usize>| other.start < bytes.end && bytes.start < other.end;
        if overlaps(&region) {
            let with = "the region itself";
            return Err(AdoptError::Overlap { with });
        }
        if self.arrays.iter().any(|a| overlaps(&a.segment.bytes)) {
            let with = "an array that is adopted already";
            return Err(AdoptError::Overlap { with });
        }
        checked::allowed().map_err(AdoptError::Refused)?;
        let access = Mappings::open().and_then(|mappings| mappings.access(bytes));
        match access.map_err(AdoptError::Mappings)? {
            Err(address) => Err(AdoptError::Hole { address }),
            Ok(access) if !access.writable => Err(AdoptError::ReadOnly),
            Ok(access) => Ok(access),
        }
    }

    /// Adds the pages that were written since the last harvest to `found`. Returns the arrays that
    /// are gone, which the caller forgets ([`AdoptedArrays::forget_gone`]).
    pub fn harvest(&mut self, found: &mut Harvest) -> Vec<Gone> {
        let none = PageSet::new(found.written.capacity());
        let mut gone = Vec::new();
        for array in &mut self.arrays {
            match array.harvest(&none, found) {
                Ok(()) => {}
                Err(error) => gone.push(Gone {
                    pages: array.segment.pages.clone(),
                    error,
                }),
            }
        }
        gone
    }

    /// Returns the arrays that are gone. The caller forgets them.
    pub fn gone(&mut self) -> Vec<Gone> {
        let arrays = self.arrays.iter_mut();
        let gone = arrays.filter_map(|array| {
            array.check().err().map(|error| Gone {
                pages: array.segment.pages.clone(),
                error,
            })
        });
        gone.collect()
    }

    /// Returns an error if an array with some of `copied` may have been gone while they were
    /// copied.
    pub fn still_there(&mut self, copied: &PageSet) -> Result<(), TrackError> {
        let arrays = self.arrays.iter_mut();
        arrays
            .filter(|array| copied.intersects(array.segment.pages.clone()))
            .try_for_each(|array| array.check())
    }

    /// Stops tracking the array that has `pages`. Its memory stays as it is.
    pub fn release(&mut self, pages: &Range<usize>) {
        if let Some(mut array) = self.forget(pages) {
            array.tracker.forget(&array.segment.whole());
        }
    }

    /// Forgets the array that has `pages`, which is gone. Nothing is done to the memory at its
    /// addresses, because it may be of others.
    pub fn forget_gone(&mut self, pages: &Range<usize>) {
        self.forget(pages);
    }

    fn forget(&mut self, pages: &Range<usize>) -> Option<Adopted> {
        let mut arrays = self.arrays.iter();
        let at = arrays.position(|a| a.segment.pages == *pages)?;
        self.segments.remove(pages);
        Some(self.arrays.swap_remove(at))
    }

    /// Returns how many pages the arrays have.
    pub fn pages(&self) -> usize {
        self.arrays.iter().map(|a| a.segment.pages.len()).sum()
    }

    /// Notes that a device may write `pages`. See [`Tracker::pin`].
    pub fn pin(&mut self, pages: &Range<usize>) {
        for array in &mut self.arrays {
            let of = &array.segment.pages;
            let part = of.start.max(pages.start)..of.end.min(pages.end);
            if !part.is_empty() {
                array.tracker.pin(part);
            }
        }
    }
}

impl Adopted {
    fn harvest(&mut self, none: &PageSet, found: &mut Harvest) -> Result<(), TrackError> {
        if !off(Guard::AdoptedEdges) {
            found.maybe.union(&self.edges);
        }
        let harvested = self.tracker.harvest(none, found);
        if off(Guard::AdoptedGone) {
            return Ok(());
        }
        match harvested {
            Err(error) if checked::is_passing(&error.source) => {
                found.maybe.insert_range(self.segment.whole());
                self.check()
            }
            harvested => harvested.and_then(|()| self.check_edges()),
        }
    }

    fn check(&mut self) -> Result<(), TrackError> {
        if off(Guard::AdoptedGone) {
            return Ok(());
        }
        self.tracker.check(&self.segment.whole())?;
        self.check_edges()
    }

    /// Returns an error if the array could not be read.
    fn check_edges(&self) -> Result<(), TrackError> {
        let size = self.segment.bytes.len();
        let mut byte = 0;
        let ends = [0, size - 1].map(|offset| self.segment.bytes.start + offset);
        for end in ends {
            // SAFETY: the byte is a local variable.
            match unsafe { checked::read(end, &raw mut byte, 1) } {
                Err(error) if !checked::is_passing(&error) => {
                    return Err(failed("reading its first and last byte")(error));
                }
                _ => {}
            }
        }
        match self.segment.was_unreadable() {
            true => Err(failed("copying it")(io::Error::from_raw_os_error(
                libc::EFAULT,
            ))),
            false => Ok(()),
        }
    }
}

/// Returns a tracker of the pages `whole`: like `own` if it can track them, or one that compares
/// them, and why.
fn tracker_of(
    own: &dyn Tracker,
    span: Span,
    whole: &Range<usize>,
    access: Access,
) -> Result<(Box<dyn Tracker>, Option<String>), TrackError> {
    let mut tracker = own.beside(span);
    if whole.is_empty() {
        return Ok((tracker, None));
    }
    // SAFETY: a tracker beside another one takes any memory.
    let track = |tracker: &mut Box<dyn Tracker>| unsafe { tracker.track(whole) };
    let why = match access.shared {
        true => "others may write it, because it is a shared mapping".to_owned(),
        false => match track(&mut tracker) {
            Ok(()) => return Ok((tracker, None)),
            Err(error) => error.to_string(),
        },
    };
    let mut tracker: Box<dyn Tracker> = Box::new(Compare::new(span));
    track(&mut tracker)?;
    Ok((tracker, Some(why)))
}
