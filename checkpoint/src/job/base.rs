//! The step that the next increments build on. Either all nodes write increments, or none does.

use super::collective::{broadcast, gather};
use super::messages::{Lost, Messages};
use super::node_file::Merged;
use super::retention::is_full;
use super::writer::JobWriter;

impl<M: Messages> JobWriter<M> {
    /// Returns the committed step that the next checkpoint may be an increment on. There is none
    /// if it is to be drained, unless each is drained.
    pub fn base(&self) -> Option<u64> {
        if is_full(self.undrained, self.settings.drain_every) {
            return None;
        }
        let last = self.last.as_ref()?.part.step;
        let base = |step: &u64| self.known.get(step)?.base;
        let files = std::iter::successors(Some(last), base).count();
        (files < self.settings.most_files).then_some(last)
    }

    /// Returns the step that an increment of `step` with these fields can build on.
    pub(super) fn base_of(&self, step: u64, merged: &Merged<'_>) -> Option<u64> {
        let last = self.last.as_ref()?;
        let base = self.base().filter(|base| *base < step)?;
        merged.can_build_on(&last.table).then_some(base)
    }

    /// Returns the step that the files of all nodes can build on, or `None` if that of one cannot:
    /// then all are full, so that all nodes keep the same steps. All nodes call this with what
    /// their own file can build on, and get the same.
    pub(super) fn common_base(&mut self, own: Option<u64>) -> Result<Option<u64>, Lost> {
        let all = gather(&mut self.messages, own)?;
        let common = all.map(|all| own.filter(|_| all.iter().all(|other| *other == own)));
        broadcast(&mut self.messages, common)
    }
}
