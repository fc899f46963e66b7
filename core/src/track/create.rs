//! Creates trackers by their kind.

use super::compare::Compare;
use super::cow::Cow;
use super::kind::TrackerKind;
use super::tracker::{Span, TrackError, Tracker, failed};
use super::uffd_async::UffdAsync;
use crate::sys::mem::page_size;
use std::io;

/// Creates a tracker of this kind for the span, which tracks nothing yet.
pub fn create(kind: TrackerKind, span: Span) -> Result<Box<dyn Tracker>, TrackError> {
    check(span).map_err(failed("preparing to track live memory"))?;
    match kind {
        TrackerKind::UffdAsync => {
            let tracker = UffdAsync::new(span);
            boxed(tracker.map_err(|e| failed("preparing userfaultfd")(io::Error::other(e))))
        }
        TrackerKind::Cow => boxed(Cow::new(span).map_err(failed("preparing copy on write"))),
        TrackerKind::Compare => boxed(Ok(Compare::new(span))),
    }
}

fn boxed<T: Tracker + 'static>(
    made: Result<T, TrackError>,
) -> Result<Box<dyn Tracker>, TrackError> {
    made.map(|tracker| Box::new(tracker) as _)
}

fn check(span: Span) -> io::Result<()> {
    let Span {
        base,
        pages,
        page_size: size,
    } = span;
    let fits = pages
        .checked_mul(size)
        .and_then(|len| base.checked_add(len))
        .is_some();
    if fits && base != 0 && size == page_size() && base.is_multiple_of(size) {
        return Ok(());
    }
    let text = format!(
        "{pages} pages of {size} bytes at {base:#x} cannot be tracked: pages have {} bytes here, \
         and the address must be a multiple of that",
        page_size()
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_that_no_kernel_can_map_is_refused() {
        let size = page_size();
        for (base, pages, page_size) in [
            (0, 1, size),
            (size + 8, 1, size),
            (size, 1, size / 2),
            (size, usize::MAX, size),
        ] {
            let span = Span {
                base,
                pages,
                page_size,
            };
            for kind in TrackerKind::ALL {
                assert!(create(kind, span).is_err(), "{span:?}");
            }
        }
    }
}
