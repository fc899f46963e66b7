//! Shared backing: calm chunks of live memory rest on planes.
//!
//! A chunk is calm when nothing was written in it lately but what is expected to be. Then most of its pages exist twice, in
//! live memory and in some plane. At the end of a publish, while nobody writes, a few such chunks become private mappings of
//! that plane: [`crate::resting`]. What is expected to be written has copies of its own from the beginning, so that it costs
//! no fault afterwards.

use crate::calm::Calm;
use crate::capture::Dirty;
use crate::keeper::lock;
use crate::producer::Producer;
use std::ops::Range;
use std::time::Instant;
use tcasm_core::fault;
use tcasm_core::pageset::{CHUNK_PAGES, PageSet};
use tcasm_core::store::Bed;

/// Chunks that are looked at in one publish, at most.
const LOOKS: usize = 32;
/// Pages of a chunk that must be able to rest, and so many more than do already.
const FEWEST: usize = CHUNK_PAGES * 3 / 4;
const GAIN: usize = CHUNK_PAGES / 4;

/// A calm chunk, and where it can rest.
struct Plan {
    chunk: usize,
    bed: Bed,
}

impl Producer {
    /// Let calm chunks rest, a few at a time. Nobody has written since the harvest of the version that was just captured.
    pub(crate) fn share(&mut self, dirty: &Dirty) {
        let Some(calm) = &mut self.calm else {
            return;
        };
        calm.pass();
        let most = calm.allowance(Instant::now());
        let mut plans = self.plan(dirty, most);
        if plans.is_empty() {
            return;
        }
        self.calm
            .iter_mut()
            .for_each(|calm| calm.spend(plans.len()));
        let pinned = self.region.pinned.reason();
        let taken = self.region.pinned.take_time();
        self.calm.iter_mut().for_each(|calm| calm.charge(taken));
        if let Some(reason) = pinned {
            tracing::debug!(%reason, "live memory stays where it is");
            plans.iter().for_each(|plan| self.ask_again(plan.chunk));
            return self.calm.iter_mut().for_each(Calm::put_off);
        }
        plans.retain(|plan| self.is_same(plan));
        fault::pass("resting");
        let together = |a: &Plan, b: &Plan| a.chunk + 1 == b.chunk && a.bed.plane == b.bed.plane;
        plans.chunk_by(together).for_each(|plans| self.rest(plans));
        fault::pass("rested");
    }

    fn plan(&mut self, dirty: &Dirty, most: usize) -> Vec<Plan> {
        let mut plans = Vec::new();
        let mut unlike = None;
        for _ in 0..LOOKS {
            let next = self
                .calm
                .as_mut()
                .filter(|_| plans.len() < most)
                .and_then(Calm::next);
            let Some(chunk) = next else {
                break;
            };
            match self.bed(chunk, unlike.get_or_insert_with(|| self.unlike(dirty))) {
                Some(bed) => plans.push(Plan { chunk, bed }),
                None => self.ask_again(chunk),
            }
        }
        plans
    }

    fn ask_again(&mut self, chunk: usize) {
        self.calm.iter_mut().for_each(|calm| calm.again(chunk));
    }

    /// Pages that may differ from the newest version, or are going to.
    fn unlike(&self, dirty: &Dirty) -> PageSet {
        let mut pages = self.pending.clone();
        pages.union(&self.suspect);
        pages.union(&self.adaptive.unarmed);
        pages.union(self.adaptive.prediction.expected());
        // Of a version that is not visible yet, the newest one knows nothing.
        pages.union(&dirty.all);
        pages
    }

    /// Where `chunk` can rest, if that is worth it: with the pages that can.
    fn bed(&self, chunk: usize, unlike: &PageSet) -> Option<Bed> {
        let pages = pages_of(chunk);
        let whole = self.bound.chunk(chunk).iter().all(|w| *w == !0);
        let others = self.devices.intersects(pages.clone())
            || self.region.untracked.intersects(pages.clone())
            || self.adaptive.has_later(&pages);
        if !whole || others || !self.region.resting.has_room() {
            return None;
        }
        let bed = lock(&self.store).bed(chunk);
        let mut bed = bed
            .inspect_err(|error| tracing::warn!(%error, "chunk {chunk}"))
            .ok()??;
        bed.bits
            .iter_mut()
            .zip(unlike.chunk(chunk))
            .for_each(|(b, u)| *b &= !u);
        let can = bed
            .bits
            .iter()
            .map(|w| w.count_ones() as usize)
            .sum::<usize>();
        let does = self.region.resting.pages().count_in(pages);
        (can >= FEWEST && can >= does + GAIN).then_some(bed)
    }

    /// Whether live memory has the bytes that it is to rest on. What differs was written unseen, and is captured next time.
    #[allow(unsafe_code)]
    fn is_same(&mut self, plan: &Plan) -> bool {
        let (base, Bed { plane, bits, .. }) = (self.region.ptr(), &plan.bed);
        // SAFETY: live memory, mapped where fields are bound; `&mut self` excludes writers; the bed is the newest version's.
        let strangers = unsafe { lock(&self.store).strangers(base, plan.chunk, *plane, bits) };
        if !strangers.is_empty() {
            tracing::warn!(
                "pages {strangers:?} were written and not noticed: by a device? (mark_dirty)"
            );
            self.pending.union(&strangers);
            self.ask_again(plan.chunk);
        }
        strangers.is_empty()
    }

    /// Let neighbouring chunks rest on the same plane.
    #[allow(unsafe_code)]
    fn rest(&mut self, plans: &[Plan]) {
        let (first, last) = (&plans[0], &plans[plans.len() - 1]);
        let pages = pages_of(first.chunk).start..pages_of(last.chunk).end;
        let mut own = PageSet::new(self.region.span.pages);
        for plan in plans {
            *own.chunk_mut(plan.chunk) = plan.bed.bits.map(|w| !w);
        }
        // Held until they rest: no slot leaves meanwhile.
        let store = self.store.clone();
        let mut store = lock(&store);
        let plane = (first.bed.plane, &*first.bed.memory);
        let rested = match store.make_bed(plane.0, &pages, &own) {
            Ok(false) => return plans.iter().for_each(|plan| self.ask_again(plan.chunk)),
            // SAFETY: `&mut self` excludes writers, nothing is pinned, and the newest version has these pages in the plane
            // with the same bytes, as was just seen; reclaiming leaves it alone.
            Ok(true) => unsafe { self.region.rest(&pages, plane, &own) }.map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        store.rests(&pages, rested.is_ok().then_some(plane.0));
        if let Err(error) = rested {
            tracing::warn!(%error, "pages {pages:?} keep memory of their own");
        }
    }

    /// Pages of chunks that were copied in place are reported as written although they may not be: they are compared.
    pub(crate) fn own_in_place(&mut self, pages: &Range<usize>) {
        for run in self.region.own_in_place(pages) {
            self.adaptive.unarmed.insert_range(run);
        }
    }
}

fn pages_of(chunk: usize) -> Range<usize> {
    chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES
}
