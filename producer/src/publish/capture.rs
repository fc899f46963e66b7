//! The steps of publish that choose pages and store them as a version.

use crate::dirty::Selection;
use crate::error::PublishError;
use crate::producer::Producer;
use crate::table::{FieldInfo, Memory};
use std::cell::RefCell;
use tcasm_core::capture::Outcome;
use tcasm_core::format::stamp::Stamp;
use tcasm_core::format::stats::Counter;
use tcasm_core::pageset::PageSet;
use tcasm_core::store::{Capture, NotPublished, Skip, Visibility};
use tcasm_core::sys::time::unix_ns;
use tcasm_core::testing::sabotage::{Guard, off};

impl Producer {
    /// Chooses the pages of bound buffers that the next version captures. Pages of other buffers
    /// stay dirty until a field is bound to their buffer. `sound` is the result of the harvest.
    #[allow(unsafe_code)]
    pub(crate) fn select(&mut self, sound: bool) -> Result<Selection, PublishError> {
        let deferred = self.live.deferred.within(self.dirty.bound());
        let likely = (sound && !self.stream.tight).then(|| self.policy.expected());
        let shared = self.live.shared.pages();
        let mut selection = self.dirty.select(deferred, shared, likely);
        if !sound {
            selection.keep_readable(|pages| self.live.keep_readable(pages));
        }
        let (store, copiers, live) = (&self.store, &self.copiers, &self.live.segments);
        selection.compare(|pages| {
            // SAFETY: live memory is unmapped only after the copiers have ended. Tracked pages are
            // mapped, or were found readable just now. `&mut self` excludes writers.
            unsafe { store.lock().drop_unchanged(live, pages, copiers) }
        })?;
        if off(Guard::KeepHarvest) {
            self.dirty.forget(&selection);
        }
        Ok(selection)
    }

    /// Returns the numbers of the handed-over buffers that are bound to a field and were begun anew
    /// since they were published.
    pub(crate) fn rewritten(&self) -> Vec<usize> {
        let begun = |f: &FieldInfo| match self.table.buffers[f.buffer].memory {
            Memory::HandedOver(number) if !self.store.lock().is_frozen(number) => Some(number),
            _ => None,
        };
        self.table.fields.iter().filter_map(begun).collect()
    }

    /// Stores the selected pages as version `stamp`. `handed` are the handed-over buffers that
    /// become part of it.
    #[allow(unsafe_code)]
    pub(crate) fn capture(
        &mut self,
        stamp: &Stamp,
        selection: &mut Selection,
        handed: &[usize],
    ) -> Result<Visibility, NotPublished> {
        let bytes = self.dirty.bound().len() as u64 * self.live.span.page_size as u64;
        self.store.lock().set_reserved_bytes(bytes);
        let (table, live) = (self.table.encoded(), &mut self.live);
        let memory = RefCell::new(&mut live.memory);
        let still_there = |copied: &PageSet| {
            let mut memory = memory.borrow_mut();
            memory.adopted().still_there(copied)
        };
        let capture = Capture {
            live: live.segments.clone(),
            vacated: live.vacated.waiting(),
            still_there: &|copied| still_there(copied).map_err(|e| e.to_string()),
            pages: &selection.all,
            deferred: &selection.deferred,
            maybe: &selection.maybe,
            handed,
            gate: live.deferred.gate(),
            observers: self.policy.assembly.observers(self.service.observers()),
            table,
            now: unix_ns(),
            visible: self.notifier.clone(),
        };
        let (service, copiers) = (&self.service, &self.copiers);
        // SAFETY: live memory is unmapped only after the copiers have ended. The pages are mapped,
        // or were found readable. `&mut self` excludes writers during the call. Deferred chunks are
        // watched by the gate and by nothing else.
        let captured = unsafe {
            self.store
                .lock()
                .publish(stamp, &capture, copiers, &|n| service.pinned(n))?
        };
        selection.leave_out(&captured.same);
        if let Visibility::Deferred(sweep) = &captured.visibility {
            self.policy.assembled(sweep.assembled());
        }
        Ok(captured.visibility)
    }

    /// Notes that the version of `selection` is visible, or will be if `visible` is false.
    pub(crate) fn commit(&mut self, selection: &Selection, visible: bool) {
        self.stream.tight = false;
        self.stream.next_version += 1;
        self.live.vacated.published(visible);
        let settled = self.dirty.commit(selection, self.policy.expected());
        if let Err(error) = self.live.memory.tracker().settle(&settled) {
            log::warn!(
                "pages could not be protected again, so the next version captures them again: \
                 {error}"
            );
        }
        self.live.shared.captured(&selection.all);
    }

    /// Notes that nothing was published. The dirty pages stay as they are.
    pub(crate) fn abort(&mut self, reason: &Skip) {
        self.stream.tight = matches!(reason, Skip::Bytes { .. });
        if self.stream.tight {
            // Deferred chunks are captured whole, which takes more room than the pages that
            // changed.
            self.live.return_to_tracker(&(0..self.live.span.pages));
        }
    }

    /// Takes the result of the deferred capture of the last version, if that has ended. If the
    /// capture was given up, its pages become dirty again.
    pub(crate) fn settle_last(&mut self) {
        let Some(settled) = self.store.lock().settle() else {
            return;
        };
        self.copiers.clear();
        let (early, waited) = (settled.early.0, settled.early.1.as_nanos() as u64);
        self.policy.learn_deferred(waited, &settled.changed);
        self.count(|s| {
            s.add(Counter::EarlyStores, early)?;
            s.add(Counter::EarlyNs, waited)
        });
        self.live.vacated.settled(settled.outcome == Outcome::Saved);
        if let Outcome::GivenUp(why) = &settled.outcome {
            log::warn!(
                "the capture of version {} was given up, its changes go into the next one: {why}",
                settled.version
            );
            self.dirty.restore(&settled.pages);
            if settled.assembled {
                self.policy.assembly.was_in_the_way();
            }
            self.count(|s| s.add(Counter::GivenUp, 1));
        }
        if self.live.deferred.gate().is_some_and(|g| g.given_up()) {
            log::warn!("deferred capture is off; everything is captured inside publish");
            self.live.close_gate();
            self.policy.capture_inline();
        }
    }

    /// Waits until no capture runs, and takes the result of the last one. Called before the region
    /// is closed or rolled back, and before chunks that devices write return to the tracker.
    pub(crate) fn end_capture(&mut self) {
        let sweep = self.store.lock().sweep().cloned();
        if let Some(sweep) = sweep {
            sweep.work();
            sweep.wait(std::time::Duration::MAX);
        }
        self.settle_last();
    }
}
