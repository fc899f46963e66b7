//! The versions of a node, as the writer of its checkpoints takes them.

use crate::node::UseError;
use tcasm_checkpoint::job::{Changed, NodeSnapshot};
use tcasm_checkpoint::{Snapshot, changed_bytes};
use tcasm_observer::{FieldDesc, GroupVersion, View};

/// The versions of one step of all local ranks, mapped.
pub(super) struct Mapped<'v> {
    version: &'v GroupVersion,
    views: Vec<(u32, View)>,
}

impl<'v> Mapped<'v> {
    pub(super) fn new(version: &'v GroupVersion) -> Result<Self, UseError> {
        let view = |(rank, version): (u32, &tcasm_observer::Version)| Ok((rank, version.view()?));
        let views = version.members().map(view).collect::<Result<_, UseError>>();
        Ok(Mapped {
            version,
            views: views?,
        })
    }

    /// Calls `write` with the snapshot of all ranks.
    pub(super) fn write<R>(&self, write: impl FnOnce(&NodeSnapshot<'_>) -> R) -> R {
        let members = self.views.iter().map(|(rank, view)| {
            // The fields of the snapshot are those of the view, so they have bytes.
            let bytes = move |field: &FieldDesc| view.bytes_of(field).unwrap_or_default();
            let member = self.version.member(*rank);
            let name = member.map_or("", |version| version.region());
            let snapshot = Snapshot::new(name, view.stamp(), view.table(), bytes);
            (*rank, snapshot.at(member.map(|version| version.extent())))
        });
        write(&NodeSnapshot {
            run: self.version.run(),
            ranks: self.version.ranks(),
            step: self.version.step(),
            members: members.collect(),
        })
    }

    /// Calls `use_it` with the function that tells what has changed since `base`. Where that is
    /// not known, everything counts as changed.
    pub(super) fn changed_since<R>(
        &self,
        base: &GroupVersion,
        use_it: impl FnOnce(&Changed<'_>) -> R,
    ) -> R {
        let changed = |rank: u32, name: &str| {
            let view = self.views.iter().find(|(other, _)| *other == rank);
            let Some(field) = view.and_then(|(_, view)| view.table().get(name)) else {
                return Vec::new();
            };
            let all = || std::iter::once(0..field.bytes()).collect();
            let known = view.zip(base.member(rank)).and_then(|((_, view), older)| {
                let pages = view.changes_since(older).ok()?.pages;
                let page_size = view.page_size().ok()?;
                Some(changed_bytes(field, older.table(), &pages, page_size))
            });
            known.unwrap_or_else(all)
        };
        use_it(&changed)
    }
}
