//! Operators over fields: moments (count, extrema, mean, variance), histograms, slices, and blocks
//! (images and volumes for a screen).
//!
//! Each operator exists in three forms:
//! - over an `ndarray` view of any [`Number`];
//! - over the description and the bytes of a field of any dtype ([`dynamic`]);
//! - over a field of a version that an observer has pinned ([`over`]).
//!
//! The last two cut ghost layers off first. No operator copies the field. Operators walk it in
//! pieces that fit the cache, in parallel on the caller's rayon pool. The result has the same bits
//! for any number of threads.
//!
//! Moments and histograms can also read a version that is not mapped ([`over::read_moments`],
//! [`over::read_histogram`]). The result has the same bits as that over a view.
//!
//! Rules that hold for every operator:
//! - *NaN* values are counted, and are ignored otherwise. (In [`blocks`] they mark their block.)
//! - *Infinities* are counted. Moments are those of the finite values, so one infinity does not
//!   hide the rest of the field. In a histogram, infinities lie below or above every bin.
//! - A *complex* value is NaN when a part is NaN. It is infinite when a part is infinite and none
//!   is NaN. Operations that need an order (min, max, histogram) use the modulus `|z|`. The mean is
//!   complex. The variance is the mean of `|z - mean|^2`, as in numpy.
//! - With *several components*, each component has its own result. The magnitude of the vector
//!   (Euclidean norm) has one more.

pub mod blocks;
pub mod dynamic;
mod error;
mod extract;
pub mod histogram;
pub mod lanes;
pub mod moments;
pub mod number;
pub mod over;
mod points;
mod reading;
mod simd;
pub mod slice;
mod taken;
pub mod values;

pub use extract::Extract;
pub use histogram::{Bins, Histogram, HistogramError, Range};
pub use lanes::{Lane, Operator, PerComponent};
pub use moments::{Moments, Running};
pub use ndarray;
pub use number::{Number, Scalar};
pub use slice::{Pick, Selection, SelectionError, SliceError};
pub use taken::Taken;
pub use values::Values;

#[cfg(test)]
mod tests;
