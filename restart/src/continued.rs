//! Continuing a run with the settings of a builder.

#[cfg(feature = "files")]
use crate::error::RestoreError;
use crate::restore;
#[cfg(feature = "files")]
use crate::start::{Start, restore_or_begin};
use crate::state::State;
use tcasm_producer::Builder;

/// Continues a run with the settings of a builder.
pub trait Continue: Sized {
    /// Continues from the last state of the region that the builder names, or begins a new region
    /// at the first start.
    ///
    /// The state is the version that `tcasm keep` holds in memory, or else the newest checkpoint of
    /// that name in `dirs` that can be read. `dirs` are the tiers of a run, fastest first; without
    /// any, only memory is tried. [`rebuild`](crate::rebuild) makes the region of the state, with
    /// the name and all other settings of the builder.
    ///
    /// Checkpoints of other regions are ignored, so several regions can share folders. But a file
    /// in place of a folder (a checkpoint, or `NAME.vtkhdf.series`) may be of a region of any name.
    ///
    /// A run begins only where there surely is no state: if no checkpoint can be used, or if none
    /// is found but a folder is missing or cannot be read, that is an error.
    #[cfg(feature = "files")]
    fn restore_or_begin<P: AsRef<std::path::Path>>(self, dirs: &[P])
    -> Result<Start, RestoreError>;

    /// Gives the first version the number that follows that of `state`.
    fn continue_from(self, state: &impl State) -> Self;

    /// Places the region where that of `state` lay, with the same size, or the larger capacity of
    /// the builder.
    fn extent_of(self, state: &impl State) -> Self;
}

impl Continue for Builder {
    #[cfg(feature = "files")]
    fn restore_or_begin<P: AsRef<std::path::Path>>(
        self,
        dirs: &[P],
    ) -> Result<Start, RestoreError> {
        restore_or_begin(self, dirs)
    }

    fn continue_from(self, state: &impl State) -> Self {
        restore::continue_from(self, state)
    }

    fn extent_of(self, state: &impl State) -> Self {
        restore::extent_of(self, state)
    }
}
