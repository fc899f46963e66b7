//! Operators over fields: moments (count, extrema, mean, variance), histograms, slices, and blocks (images and volumes for a screen).
//!
//! Each operator exists three times: over an `ndarray` view of any [`Number`]; over a field as it lies in memory
//! ([`dynamic`]: its description and bytes), whatever its dtype; and over a field of a version that an observer
//! holds ([`over`]). The last two cut ghost layers off first. Nothing copies the field: operators walk it in pieces that fit the cache, in parallel on the
//! caller's rayon pool, and give the same bits whatever the number of threads.
//!
//! Rules that hold for every operator:
//! - *NaN* values are counted, and take part in nothing else.
//! - *Infinities* are counted. Moments are those of the finite values, so one infinity does not hide the rest of
//!   the field; in a histogram, infinities lie below or above every bin.
//! - A *complex* value is NaN when a part is NaN, infinite when a part is infinite (and none NaN). What needs an
//!   order (min, max, histogram) uses the modulus `|z|`; the mean is complex; the variance is the mean of
//!   `|z - mean|^2`, as in numpy.
//! - With *several components*, each component is treated on its own, and the magnitude of the vector (Euclidean
//!   norm) as one more.

pub mod blocks;
pub mod dynamic;
pub mod histogram;
pub mod lanes;
pub mod moments;
pub mod number;
pub mod over;
mod simd;
pub mod slice;
pub mod values;

pub use histogram::{Bins, Histogram, HistogramError, Range};
pub use lanes::{Lane, Operator, PerComponent};
pub use moments::{Moments, Running};
pub use number::{Number, Scalar};
pub use slice::{Pick, Selection, SelectionError, SliceError};
pub use values::Values;

#[cfg(test)]
mod tests;
