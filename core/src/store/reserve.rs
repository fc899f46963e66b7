//! The reserve: slots and memory that only versions of appointed steps may use (I13).
//!
//! Skips multiply over ranks: if each of 100,000 ranks skips one step in 100,000, two thirds of all
//! steps are missing somewhere. So steps that all ranks must have are appointed beforehand, by a
//! rule that all know, and other steps leave room for them.
//!
//! There is room for two of them, because one stays pinned until the next one is agreed.

use super::appointed::RESERVED_VERSIONS;
use super::state::Store;
use crate::format::index::IndexError;
use std::num::NonZeroU64;

impl Store {
    /// Reserves room for versions of steps that are multiples of `every`.
    pub fn reserve_for_every(&mut self, every: NonZeroU64) {
        self.reserve.every = Some(every);
    }

    /// Tells how many bytes a version has in which everything has changed.
    pub fn set_reserved_bytes(&mut self, version: u64) {
        self.reserve.bytes = version;
    }

    /// Returns true if room is reserved for the version of this step.
    pub fn is_appointed(&self, step: u64) -> bool {
        self.reserve.appoints(step)
    }

    /// Notes that a publish of `step` begins.
    pub(super) fn begin_step(&mut self, step: u64) {
        self.reserve.appointed = self.reserve.appoints(step);
    }

    /// Notes that the publish has ended.
    pub(super) fn end_step(&mut self) {
        self.reserve.appointed = false;
    }

    /// Returns the slots that are kept free now. Appointed versions that live have theirs.
    pub(super) fn reserved_versions(&self) -> Result<usize, IndexError> {
        if !self.reserve.is_kept() {
            return Ok(0);
        }
        Ok(RESERVED_VERSIONS.saturating_sub(self.appointed_versions()?))
    }

    /// Returns the bytes that are kept free now, which are at most half of the bound.
    pub(super) fn reserved_bytes(&self) -> u64 {
        let versions = self.reserved_versions().unwrap_or(RESERVED_VERSIONS);
        let most = self.bounds.bytes / 2;
        most.min(self.reserve.bytes.saturating_mul(versions as u64))
    }

    /// Counts the live versions of appointed steps.
    fn appointed_versions(&self) -> Result<usize, IndexError> {
        let index = self.index()?;
        let mut count = 0;
        for (_, slot) in &self.live {
            count += usize::from(self.reserve.appoints(index.stamp(*slot)?.step));
        }
        Ok(count)
    }
}
