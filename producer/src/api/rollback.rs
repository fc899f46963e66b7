//! `rollback`: copies a version that still exists back into the live memory of the running
//! simulation.
//!
//! It reads the version and writes live memory, and changes nothing else. To the trackers this
//! looks like a program that stores to some pages. So versions need no rules of their own for it.
//! The next publish publishes what was restored, and whatever is written afterwards.

use crate::error::{DefineError, RollbackError};
use crate::producer::Producer;
use crate::table::sizes::Sizes;
use crate::table::{FieldInfo, Memory};
use tcasm_core::field::FieldDesc;
use tcasm_core::pageset::PageSet;
use tcasm_core::store::{Patch, Recalled, Relocation, Store};

/// The version that live memory was rolled back to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RolledBack {
    /// Number of the version.
    pub version: u64,
    /// Simulation step of the version.
    pub step: u64,
    /// Simulated time of the version.
    pub time: f64,
    /// Pages that were copied, because they differed from the version.
    pub pages: u64,
}

/// The changes to make in live memory.
#[derive(Default)]
struct Plan {
    patches: Vec<Patch>,
    /// Handed-over buffers that a version has, by the name of their field and their number. They
    /// must be begun anew first.
    anew: Vec<(String, usize)>,
}

impl Producer {
    /// Restores every field to its content and its length in version `version`, and every uniform
    /// mesh and every block to its place. The version must still exist, because of
    /// [`history`](crate::Builder::history) or because an observer holds it. Only pages that differ
    /// are copied.
    ///
    /// The content goes to the buffers that the fields are bound to now. Other buffers, scratch
    /// buffers and attributes stay as they are. All versions stay as they are too, and the next
    /// publish has a new number. If a handed-over field was published and differs from the version,
    /// this begins its next rewriting: it can be written until the next publish.
    ///
    /// Waits for a capture that runs. After an error nothing has changed.
    #[allow(unsafe_code)]
    pub fn rollback(&mut self, version: u64) -> Result<RolledBack, RollbackError> {
        self.check_rollback()?;
        self.end_capture();
        let sound = self.harvest();
        let (store, live) = (self.store.clone(), self.live.segments.clone());
        // The lock is held to the end, so that the keeper does not reclaim the version meanwhile.
        let mut store = store.lock();
        let recalled = self.recall(&store, version)?;
        let plan = self.plan_rollback(&store, &recalled, sound)?;
        let sizes = self.sizes_of(&recalled)?;
        let buffers: Vec<usize> = plan.anew.iter().map(|(_, number)| *number).collect();
        // SAFETY: live memory is where it was for `hand_over`. Views of it borrow the producer,
        // which is borrowed mutably here, so nothing is borrowed from the buffers.
        unsafe { store.begin_anew(&live, &buffers) }.map_err(|source| RollbackError::Rewrite {
            fields: plan.anew.into_iter().map(|(name, _)| name).collect(),
            source,
        })?;
        for patch in &plan.patches {
            // SAFETY: borrows are as above, and those of adopted arrays as whoever adopted them has
            // promised. The pages are writable: they are private, or those of handed-over buffers
            // that no version has (any more), or adopted. The store was locked since the patches
            // were made, so no version was reclaimed.
            unsafe { store.put_back(&live, patch) }.map_err(RollbackError::Incomplete)?;
        }
        self.table.put_sizes(sizes);
        Ok(RolledBack {
            version,
            step: recalled.stamp.step,
            time: recalled.stamp.time,
            pages: plan.patches.iter().map(|patch| patch.pages() as u64).sum(),
        })
    }

    fn check_rollback(&self) -> Result<(), RollbackError> {
        match (self.forked(), self.stream.closed) {
            (true, _) => Err(RollbackError::Forked),
            (_, true) => Err(RollbackError::Closed),
            _ => Ok(()),
        }
    }

    /// Returns the version if it still exists and has all fields of the region.
    fn recall(&self, store: &Store, version: u64) -> Result<Recalled, RollbackError> {
        if version >= self.stream.next_version {
            let newest = store.versions().last();
            return Err(RollbackError::NotYet { version, newest });
        }
        let recalled = store.recall(version)?.ok_or_else(|| RollbackError::Gone {
            version,
            available: store.versions().collect(),
        })?;
        let known = |f: &&FieldInfo| recalled.table.get(&f.desc.name).is_none();
        let lacking: Vec<String> = self
            .table
            .named()
            .filter(known)
            .map(|f| f.desc.name.clone())
            .collect();
        if !lacking.is_empty() {
            return Err(RollbackError::NewFields {
                version,
                fields: lacking,
            });
        }
        Ok(recalled)
    }

    /// Finds out what must be copied. Live memory is not touched yet.
    fn plan_rollback(
        &self,
        store: &Store,
        recalled: &Recalled,
        sound: bool,
    ) -> Result<Plan, RollbackError> {
        let suspects = self.pages_unlike(store, recalled)?;
        let mut plan = Plan::default();
        for field in self.table.named() {
            let (buffer, place) = (
                &self.table.buffers[field.buffer],
                self.place(field, recalled)?,
            );
            let mut pages = PageSet::new(self.live.span.pages);
            pages.insert_range(buffer.pages.clone());
            let tracked = matches!(buffer.memory, Memory::Tracked | Memory::Adopted(_));
            if place.to == place.from && tracked {
                pages.intersect(&suspects);
            }
            self.check_readable(field, &pages, sound)?;
            self.plan_field(store, recalled, field, (&place, &pages), &mut plan)?;
        }
        Ok(plan)
    }

    /// Returns where a field is now and where it is in the version. It is an error if the version
    /// has it in another shape.
    fn place(&self, field: &FieldInfo, recalled: &Recalled) -> Result<Relocation, RollbackError> {
        let now = &field.desc;
        let name = || now.name.clone();
        let Some(then) = recalled.table.get(&now.name) else {
            let (version, fields) = (recalled.stamp.version, vec![name()]);
            return Err(RollbackError::NewFields { version, fields });
        };
        if now.lost || then.lost {
            let (version, field) = (recalled.stamp.version, name());
            return Err(RollbackError::Lost { version, field });
        }
        // Where its bytes begin in the first page. Bytes before it are zeros, here and there.
        let page_size = self.live.span.page_size;
        let skipped = |desc: &FieldDesc| desc.offset as usize % page_size;
        let differences = [
            ("place in its first page", skipped(then) != skipped(now)),
            ("dtype", then.dtype != now.dtype),
            ("shape", then.capacity_shape() != now.capacity_shape()),
            ("components", then.components != now.components),
            ("order", then.order != now.order),
            ("kind", then.kind != now.kind),
        ];
        if let Some((what, _)) = differences.into_iter().find(|(_, differs)| *differs) {
            let (version, field) = (recalled.stamp.version, name());
            return Err(RollbackError::Differs {
                version,
                field,
                what,
            });
        }
        Ok(Relocation {
            to: self.table.buffers[field.buffer].pages.start,
            from: then.offset as usize / page_size,
            bytes: skipped(now) + now.capacity_bytes() as usize,
        })
    }

    /// Returns the lengths of variable fields in the version, and what may change in meshes. It is
    /// an error if the lengths do not fit the meshes, one of which was then added after the
    /// version, or if the table has no room for all that.
    fn sizes_of(&self, recalled: &Recalled) -> Result<Sizes, RollbackError> {
        let fields = self.table.fields.iter().enumerate();
        let variable = fields.filter(|(_, f)| f.desc.capacity.is_some());
        let len = |(number, field): (usize, &FieldInfo)| {
            let then = recalled.table.get(&field.desc.name)?;
            Some((number, then.length()))
        };
        let meshes = self.table.meshes.iter().enumerate();
        let meshes = meshes.filter_map(|(number, now)| {
            let then = recalled.table.mesh(&now.name)?;
            Some((number, now.placed_as(then)))
        });
        let sizes = Sizes {
            lens: variable.filter_map(len).collect(),
            meshes: meshes.collect(),
        };
        let checked = self.table.check_sizes(&sizes);
        let version = recalled.stamp.version;
        checked.map_err(|error| match error {
            DefineError::Mesh(source) => RollbackError::Mesh { version, source },
            other => RollbackError::Table {
                version,
                source: Box::new(other),
            },
        })?;
        Ok(sizes)
    }

    /// Returns the pages of bound buffers that may differ from the version in the same place: those
    /// that the version has in other frames than the newest one, and those that may have been
    /// written since. The harvest was just taken, and no capture runs.
    fn pages_unlike(&self, store: &Store, recalled: &Recalled) -> Result<PageSet, RollbackError> {
        let mut pages = store.changed_since(recalled)?;
        pages.union(&self.dirty.unpublished());
        pages.union(&self.live.deferred.within(self.dirty.bound()));
        Ok(pages)
    }

    /// Checks that pages can be read. The program may have unmapped pages only if tracking failed;
    /// otherwise all are mapped.
    fn check_readable(
        &self,
        field: &FieldInfo,
        pages: &PageSet,
        sound: bool,
    ) -> Result<(), RollbackError> {
        let mut readable = pages.clone();
        if !sound {
            self.live.keep_readable(&mut readable);
        }
        match readable.len() == pages.len() {
            true => Ok(()),
            false => Err(RollbackError::Unmapped {
                field: field.desc.name.clone(),
            }),
        }
    }

    #[allow(unsafe_code)]
    fn plan_field(
        &self,
        store: &Store,
        recalled: &Recalled,
        field: &FieldInfo,
        (place, pages): (&Relocation, &PageSet),
        plan: &mut Plan,
    ) -> Result<(), RollbackError> {
        // SAFETY: live memory is mapped where fields are bound, or found readable just now, or
        // adopted. `rollback` has `&mut` of the producer, which excludes writers.
        let mut patch = unsafe { store.differing(recalled, &self.live.segments, pages, place)? };
        match self.table.buffers[field.buffer].memory {
            Memory::HandedOver(number) if store.is_frozen(number) && !patch.is_empty() => {
                // A version has the pages of this buffer. It gets other pages, whose content is
                // undefined, so all of them must be copied.
                patch = store.all_of(recalled, place)?;
                plan.anew.push((field.desc.name.clone(), number));
            }
            _ => {}
        }
        plan.patches.push(patch);
        Ok(())
    }
}
