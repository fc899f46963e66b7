//! Shared backing: cold chunks of live memory are shared with planes.
//!
//! A chunk is cold when nothing was written in it lately but expected pages. Most of its pages then
//! exist twice, in live memory and in some plane. At the end of a publish, while nobody writes, a
//! few such chunks become private mappings of that plane (see `crate::live::shared`). Expected
//! pages get copies of their own at once, so that writing them costs no fault afterwards.

use crate::dirty::Selection;
use crate::policy::ColdChunks;
use crate::producer::Producer;
use std::ops::Range;
use std::time::Instant;
use tcasm_core::pageset::{CHUNK_PAGES, PageSet};
use tcasm_core::planes::Gathered;
use tcasm_core::store::{ShareTarget, Store};
use tcasm_core::testing::fault;

/// The most chunks that one publish looks at.
const LOOKS: usize = 32;
/// The fewest pages of a chunk that must be shareable for the chunk to be shared.
const FEWEST: usize = CHUNK_PAGES * 3 / 4;
/// How many more pages than now must become shared for the chunk to be shared again.
const GAIN: usize = CHUNK_PAGES / 4;

/// A cold chunk, and the plane that it can be shared with.
struct Plan {
    chunk: usize,
    target: ShareTarget,
}

impl Producer {
    /// Shares cold chunks with planes, a few at a time. Nobody may have written since the harvest
    /// of the version that was just captured.
    pub(crate) fn share(&mut self, selection: &Selection) {
        let Some(cold) = &mut self.policy.cold else {
            return;
        };
        cold.pass();
        let most = cold.allowance(Instant::now());
        let plans = self.plan(selection, most);
        if plans.is_empty() {
            return;
        }
        self.policy
            .cold
            .iter_mut()
            .for_each(|cold| cold.spend(plans.len()));
        let pinned = self.live.dma.reason();
        let taken = self.live.dma.take_time();
        self.policy
            .cold
            .iter_mut()
            .for_each(|cold| cold.charge(taken));
        if let Some(reason) = pinned {
            log::debug!("cold chunks are not shared, memory may be locked for DMA: {reason}");
            plans.iter().for_each(|plan| self.ask_again(plan.chunk));
            return self.policy.cold.iter_mut().for_each(ColdChunks::put_off);
        }
        self.share_as_planned(plans);
    }

    /// Shares the chunks with the planes that were chosen for them, as far as that is possible yet.
    fn share_as_planned(&mut self, mut plans: Vec<Plan>) {
        // The lock is held until all are shared. Otherwise the version in flight could become the
        // newest one meanwhile, which may have the pages in other planes, and the frames that live
        // memory is shared with could be used for other bytes.
        let store = self.store.clone();
        let mut store = store.lock();
        plans.retain(|plan| self.is_possible(&store, plan));
        fault::pass("sharing");
        let together =
            |a: &Plan, b: &Plan| a.chunk + 1 == b.chunk && a.target.plane == b.target.plane;
        plans
            .chunk_by(together)
            .for_each(|plans| self.share_run(&mut store, plans));
        fault::pass("shared");
    }

    fn plan(&mut self, selection: &Selection, most: usize) -> Vec<Plan> {
        let mut plans = Vec::new();
        let mut may_differ = None;
        let mut gathered = 0;
        for _ in 0..LOOKS {
            let next = self
                .policy
                .cold
                .as_mut()
                .filter(|_| plans.len() + gathered < most)
                .and_then(ColdChunks::next);
            let Some(chunk) = next else {
                break;
            };
            let may_differ = may_differ.get_or_insert_with(|| self.may_differ(selection));
            match self.share_target(chunk, may_differ) {
                Some(target) => plans.push(Plan { chunk, target }),
                None => gathered += usize::from(self.gather(chunk, may_differ)),
            }
        }
        self.policy.cold.iter_mut().for_each(|c| c.spend(gathered));
        plans
    }

    /// Has the keeper gather a cold chunk that is not shared with a plane, and of which no page is
    /// expected to be written. Returns true if it does.
    fn gather(&mut self, chunk: usize, may_differ: &PageSet) -> bool {
        let pages = pages_of(chunk);
        let live = &self.live;
        // Private copies of shared memory look like other memory, but they lie in a mapping of the
        // plane, which the kernel would gather instead.
        let private = live.memory.mapped().is_full(chunk)
            && !self.store.lock().may_be_shared(&pages)
            && !self.dirty.must_stay(pages.clone());
        let watched = live.untracked.intersects(pages.clone()) || live.deferred.has(&pages);
        // An expected page is written before the next publish, which would split the huge page.
        let quiet = !may_differ.intersects(pages.clone());
        let possible = live.memory.has_huge_pages() && private && quiet && !watched;
        let huge = possible && self.live.memory.is_huge(&pages);
        if !huge || self.live.shared.has_room() {
            // It may be possible to share the chunk later.
            self.ask_again(chunk);
        }
        let Some(keeper) = self.keeper.as_ref().filter(|_| possible && !huge) else {
            return false;
        };
        let Some(range) = self.live.begin_gathering(chunk) else {
            return false;
        };
        keeper.gather([range]);
        true
    }

    fn ask_again(&mut self, chunk: usize) {
        self.policy
            .cold
            .iter_mut()
            .for_each(|cold| cold.again(chunk));
    }

    /// Returns the pages that may differ from the newest version, or are expected to be written.
    fn may_differ(&self, selection: &Selection) -> PageSet {
        let mut pages = self.dirty.may_differ();
        pages.union(self.policy.expected());
        // A version that is not visible yet is not the newest one, so its pages are not in the
        // newest either.
        pages.union(&selection.all);
        pages
    }

    /// Returns the plane with which `chunk` can be shared, and the pages that can. Returns `None`
    /// if sharing is impossible or gains too little.
    fn share_target(&self, chunk: usize, may_differ: &PageSet) -> Option<ShareTarget> {
        let pages = pages_of(chunk);
        let whole = self.dirty.bound().is_full(chunk);
        let others = self.dirty.must_stay(pages.clone())
            || self.live.untracked.intersects(pages.clone())
            || self.live.deferred.has(&pages);
        if !whole || others || !self.live.shared.has_room() {
            return None;
        }
        let target = self.store.lock().share_target(chunk);
        let mut target = target
            .inspect_err(|error| log::warn!("chunk {chunk} is not shared with a plane: {error}"))
            .ok()??;
        target
            .bits
            .iter_mut()
            .zip(may_differ.chunk(chunk))
            .for_each(|(b, u)| *b &= !u);
        let can = target
            .bits
            .iter()
            .map(|w| w.count_ones() as usize)
            .sum::<usize>();
        let does = self.live.shared.pages().count_in(pages);
        (can >= FEWEST && can >= does + GAIN && self.has_right_size(&target, chunk, can))
            .then_some(target)
    }

    /// Returns false if the chunk of the plane should become a huge page first, so that the
    /// simulation goes on computing in huge pages. That makes sense if all pages are shared, and
    /// `can` of them can be.
    fn has_right_size(&self, target: &ShareTarget, chunk: usize, can: usize) -> bool {
        let possible = self.live.memory.has_huge_pages() && self.keeper.is_some();
        let patient = self.policy.cold.as_ref().is_some_and(|c| !c.is_hasty());
        let wanted = possible && patient && can == CHUNK_PAGES;
        !wanted || target.memory.ask_for_huge_page(chunk) != Gathered::NotYet
    }

    /// Returns true if the newest version still has the pages in the plane that was chosen, and
    /// live memory has the same bytes.
    fn is_possible(&mut self, store: &Store, plan: &Plan) -> bool {
        let possible = match store.still_has(plan.chunk, &plan.target) {
            Ok(has) => has && self.is_same(store, plan),
            Err(error) => {
                log::warn!("chunk {} is not shared with a plane: {error}", plan.chunk);
                false
            }
        };
        if !possible {
            self.ask_again(plan.chunk);
        }
        possible
    }

    /// Returns true if live memory has the bytes of the frames that it is to be shared with. A page
    /// that differs was written without the tracker noticing. It is captured in the next version,
    /// and the chunk is not shared.
    #[allow(unsafe_code)]
    fn is_same(&mut self, store: &Store, plan: &Plan) -> bool {
        let (live, ShareTarget { plane, bits, .. }) = (&self.live.segments, &plan.target);
        // SAFETY: live memory is mapped where fields are bound. `&mut self` excludes writers. The
        // newest version has these pages in the plane, as `still_has` has just said.
        let unseen = unsafe { store.differing_pages(live, plan.chunk, *plane, bits) };
        if !unseen.is_empty() {
            log::warn!(
                "pages {unseen:?} were written without the tracker noticing; if a device writes \
                 them, call mark_dirty() or register_dma()"
            );
            self.dirty.mark(&unseen);
        }
        unseen.is_empty()
    }

    /// Shares neighbouring chunks with the same plane.
    #[allow(unsafe_code)]
    fn share_run(&mut self, store: &mut Store, plans: &[Plan]) {
        let (first, last) = (&plans[0], &plans[plans.len() - 1]);
        let pages = pages_of(first.chunk).start..pages_of(last.chunk).end;
        let mut own = PageSet::new(self.live.span.pages);
        for plan in plans {
            *own.chunk_mut(plan.chunk) = plan.target.bits.map(|w| !w);
        }
        let plane = (first.target.plane, &*first.target.memory);
        let rested = match store.reserve_backing(plane.0, &pages, &own) {
            Ok(false) => return plans.iter().for_each(|plan| self.ask_again(plan.chunk)),
            Ok(true) => {
                // SAFETY: `&mut self` excludes writers, and no device has memory locked for DMA.
                // `is_possible` has checked that the newest version has these pages in the plane
                // with the same bytes. The lock of the store was held since, so that is still the
                // newest version. Reclaiming leaves the newest version alone.
                unsafe { self.live.share(&pages, plane, &own) }.map_err(|e| e.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        store.shared_with(&pages, rested.is_ok().then_some(plane.0));
        if let Err(error) = rested {
            log::warn!("pages {pages:?} are not shared with a plane: {error}");
        }
    }

    /// Copies the shared pages of `pages` in place. The tracker may then report them as written
    /// although they were not, so they are compared at the next harvest.
    pub(crate) fn own_in_place(&mut self, pages: &Range<usize>) {
        for run in self.live.own_in_place(pages) {
            self.dirty.set_unprotected(run);
        }
    }
}

fn pages_of(chunk: usize) -> Range<usize> {
    chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES
}
