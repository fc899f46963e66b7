//! `rollback`: a version that is still there is put back under the running simulation.
//!
//! The version is read, live memory is written, and nothing else changes: to the trackers, this is a program that stores some
//! pages. So versions need no rules of their own for it, and the next publish publishes what was restored, and whatever is
//! written afterwards.

use crate::error::RollbackError;
use crate::fields::{FieldInfo, Memory};
use crate::keeper::lock;
use crate::producer::Producer;
use tcasm_core::pageset::PageSet;
use tcasm_core::store::{Patch, Place, Recalled, Store};

/// A version that was put back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RolledBack {
    /// Its number.
    pub version: u64,
    /// Its simulation step.
    pub step: u64,
    /// Its simulated time.
    pub time: f64,
    /// Pages that were copied: those that were not what they are in the version.
    pub pages: u64,
}

/// What is to be done to live memory.
#[derive(Default)]
struct Plan {
    patches: Vec<Patch>,
    /// Handed-over buffers that a version has, and that must be begun anew first.
    anew: Vec<(String, usize)>,
}

impl Producer {
    /// Let every field be what it is in version `version`, which must still be there: kept by
    /// [`history`](crate::Builder::history), or because an observer holds it. Only pages that differ are copied.
    ///
    /// The content goes to the buffers that the fields are bound to now. Other buffers, scratch and attributes stay as they
    /// are. The version and all others stay too, and the next publish has a number of its own. A handed-over field that was
    /// published and is not what it is to be has its next rewriting begun by this: it can be written until the next publish.
    ///
    /// A capture that goes on is waited for. After an error nothing has changed.
    #[allow(unsafe_code)]
    pub fn rollback(&mut self, version: u64) -> Result<RolledBack, RollbackError> {
        self.check_rollback()?;
        self.end_capture();
        let sound = self.harvest();
        let (store, base) = (self.store.clone(), self.region.ptr());
        // Held to the end: the keeper must not reclaim the version meanwhile.
        let mut store = lock(&store);
        let recalled = self.recall(&store, version)?;
        let plan = self.plan_rollback(&store, &recalled, sound)?;
        let buffers: Vec<usize> = plan.anew.iter().map(|(_, number)| *number).collect();
        // SAFETY: the region's live memory; views of it borrow the producer, which is borrowed here.
        unsafe { store.begin_anew(base, &buffers) }.map_err(|source| RollbackError::Rewrite {
            fields: plan.anew.into_iter().map(|(name, _)| name).collect(),
            source,
        })?;
        for patch in &plan.patches {
            // SAFETY: as above. The pages are private, or those of handed-over buffers that no version has (any more), and
            // writable. The store has been locked since the patches were made.
            unsafe { store.put_back(base, patch) };
        }
        Ok(RolledBack {
            version,
            step: recalled.stamp.step,
            time: recalled.stamp.time,
            pages: plan.patches.iter().map(|patch| patch.pages() as u64).sum(),
        })
    }

    fn check_rollback(&self) -> Result<(), RollbackError> {
        match (self.forked(), self.closed) {
            (true, _) => Err(RollbackError::Forked),
            (_, true) => Err(RollbackError::Closed),
            _ => Ok(()),
        }
    }

    /// The version, if it is there and has all fields as they are now.
    fn recall(&self, store: &Store, version: u64) -> Result<Recalled, RollbackError> {
        if version >= self.next_version {
            let newest = store.versions().last();
            return Err(RollbackError::NotYet { version, newest });
        }
        let recalled = store.recall(version)?.ok_or_else(|| RollbackError::Gone {
            version,
            available: store.versions().collect(),
        })?;
        let known = |f: &&FieldInfo| recalled.table.get(&f.desc.name).is_none();
        let lacking: Vec<String> = self
            .fields
            .iter()
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

    /// What must be copied; nothing has been touched yet.
    fn plan_rollback(
        &self,
        store: &Store,
        recalled: &Recalled,
        sound: bool,
    ) -> Result<Plan, RollbackError> {
        let suspects = self.unlike_version(store, recalled)?;
        let mut plan = Plan::default();
        for field in &self.fields {
            let (buffer, place) = (&self.buffers[field.buffer], self.place(field, recalled)?);
            let mut pages = PageSet::new(self.region.span.pages);
            pages.insert_range(buffer.pages.clone());
            if place.to == place.from && buffer.memory == Memory::Tracked {
                pages.intersect(&suspects);
            }
            self.check_readable(field, &pages, sound)?;
            self.plan_field(store, recalled, field, (&place, &pages), &mut plan)?;
        }
        Ok(plan)
    }

    /// Where a field is now, and where it is in the version, which has it in the same shape.
    fn place(&self, field: &FieldInfo, recalled: &Recalled) -> Result<Place, RollbackError> {
        let now = &field.desc;
        let name = || now.name.clone();
        let Some(then) = recalled.table.get(&now.name) else {
            let (version, fields) = (recalled.stamp.version, vec![name()]);
            return Err(RollbackError::NewFields { version, fields });
        };
        let differences = [
            ("dtype", then.dtype != now.dtype),
            ("shape", then.shape != now.shape),
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
        Ok(Place {
            to: self.buffers[field.buffer].pages.start,
            from: then.offset as usize / self.region.span.page_size,
            bytes: now.bytes() as usize,
        })
    }

    /// Pages of bound buffers that may not be what the version has in the same place: those that it has in other slots than the
    /// newest, and those that may have been written since that. The harvest was just taken, and no capture goes on.
    fn unlike_version(&self, store: &Store, recalled: &Recalled) -> Result<PageSet, RollbackError> {
        let mut pages = store.changed_since(recalled)?;
        pages.union(&self.pending);
        pages.union(&self.suspect);
        pages.union(&self.adaptive.later_in(&self.bound));
        Ok(pages)
    }

    /// Where tracking failed, the program may have unmapped pages. (Where it did not, all are there.)
    fn check_readable(
        &self,
        field: &FieldInfo,
        pages: &PageSet,
        sound: bool,
    ) -> Result<(), RollbackError> {
        let mut readable = pages.clone();
        if !sound {
            self.region.keep_readable(&mut readable);
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
        (place, pages): (&Place, &PageSet),
        plan: &mut Plan,
    ) -> Result<(), RollbackError> {
        let base = self.region.ptr();
        // SAFETY: the region's live memory, mapped where fields are bound, or found readable just now; `&mut` of the producer,
        // which `rollback` has, excludes writers.
        let mut patch = unsafe { store.unlike(recalled, base, pages, place)? };
        match self.buffers[field.buffer].memory {
            Memory::Lent(number) if store.is_frozen(number) && !patch.is_empty() => {
                // Its pages are a version's. It gets others, in which nothing is of use.
                patch = store.all_of(recalled, place)?;
                plan.anew.push((field.desc.name.clone(), number));
            }
            _ => {}
        }
        plan.patches.push(patch);
        Ok(())
    }
}
