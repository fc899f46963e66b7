//! Tests the dirty pages against a naive model: the pages that live memory and the newest version
//! have different bytes in.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;
use tcasm_core::pageset::PageSet;
use tcasm_core::track::{Harvest, TrackerKind};

const PAGES: usize = 24;

type Pages = BTreeSet<usize>;

fn set<'a>(pages: impl IntoIterator<Item = &'a usize>) -> PageSet {
    let mut set = PageSet::new(PAGES);
    pages.into_iter().for_each(|page| set.insert(*page));
    set
}

fn pages(set: &PageSet) -> Pages {
    set.iter().collect()
}

/// One step of a simulation, and the publish that follows it.
#[derive(Clone, Debug)]
struct Step {
    /// The pages that the program stores to.
    stored: Pages,
    /// The pages that the program stores to without changing their bytes.
    rewritten: Pages,
    /// The pages that a device writes, and that the program marks.
    marked: Pages,
    /// The pages that the policy expects to be written next.
    expected: Pages,
    /// The pages whose buffer is bound to a field.
    bound: Pages,
    /// The pages that may be shared with a plane. One that was stored to is not shared any more.
    shared: Pages,
    /// The harvest fails.
    fails: bool,
    /// The version is published, or there is no room.
    published: bool,
    /// The capture of the version is given up later.
    given_up: bool,
}

fn some_pages() -> impl Strategy<Value = Pages> {
    prop::collection::btree_set(0..PAGES, 0..8)
}

fn step() -> impl Strategy<Value = Step> {
    let writes = (some_pages(), some_pages(), some_pages());
    let others = (some_pages(), some_pages());
    let bound = prop::collection::btree_set(0..PAGES, PAGES / 2..PAGES);
    let outcomes = (
        prop::bool::weighted(0.1),
        any::<bool>(),
        prop::bool::weighted(0.2),
    );
    let step = |(writes, others, bound, outcomes)| {
        let ((stored, rewritten, marked), (expected, shared)) = (writes, others);
        let (fails, published, given_up) = outcomes;
        Step {
            stored,
            rewritten,
            marked,
            expected,
            bound,
            shared,
            fails,
            published,
            given_up,
        }
    };
    (writes, others, bound, outcomes).prop_map(step)
}

/// The dirty pages, and the model.
struct World {
    kind: TrackerKind,
    dirty: DirtyPages,
    /// The pages whose bytes differ from the newest version.
    differing: Pages,
    /// The pages that were written since they were last captured or compared. No other page is
    /// captured, unless it differs.
    touched: Pages,
    /// The pages that the tracker reports at the next harvest: those that were written, and those
    /// that it has left unarmed.
    reported: Pages,
}

impl World {
    fn harvest(&mut self, step: &Step) {
        self.differing.extend(&step.stored);
        self.differing.extend(&step.marked);
        self.reported.extend(&step.stored);
        self.reported.extend(&step.rewritten);
        self.dirty.mark(&set(&step.marked));
        for written in [&step.stored, &step.rewritten, &step.marked] {
            self.touched.extend(written);
        }
        let every = set(&(0..PAGES).collect::<Pages>());
        let unprotected = self.dirty.left_unprotected(&set(&step.expected));
        let mut found = self.track(&pages(&unprotected));
        if step.fails {
            // A tracker that fails may have reported only a part of the pages, or none.
            found = Harvest::new(PAGES);
        }
        self.dirty.harvested(Harvested {
            found,
            untracked: &set([]),
            lost: step.fails.then_some(&every),
        });
    }

    /// Does what the tracker does in a harvest.
    fn track(&mut self, unprotected: &Pages) -> Harvest {
        let mut found = Harvest::new(PAGES);
        if self.kind == TrackerKind::Compare {
            found.maybe.insert_range(0..PAGES);
            found.unarmed.insert_range(0..PAGES);
            return found;
        }
        found.written = set(&self.reported);
        if self.kind == TrackerKind::UffdAsync {
            self.reported = unprotected.clone();
        }
        found.unarmed = set(self.reported.union(unprotected));
        found
    }

    /// Does what the tracker does when it is told that `pages` are captured.
    fn settle(&mut self, pages: &Pages) {
        if self.kind == TrackerKind::Cow {
            self.reported = &self.reported - pages;
        }
    }

    fn publish(&mut self, step: &Step) -> Result<(), TestCaseError> {
        self.dirty.unbind(0..PAGES);
        step.bound
            .iter()
            .for_each(|page| self.dirty.bind(*page..*page + 1));
        self.harvest(step);
        let shared = &step.shared - &self.differing;
        let mut selection = self
            .dirty
            .select(set([]), &set(&shared), Some(&set(&step.expected)));
        let compared = selection.compare(|doubtful| {
            doubtful.intersect(&set(&self.differing));
            Ok::<(), ()>(())
        });
        prop_assert!(compared.is_ok());
        let captured = pages(&selection.all);
        let must: Pages = &self.differing & &step.bound;
        prop_assert!(
            captured.is_superset(&must),
            "{:?} are lost",
            &must - &captured
        );
        prop_assert!(captured.is_subset(&step.bound));
        prop_assert!(captured.is_disjoint(&shared), "a shared page is captured");
        let may = &self.differing | &self.touched;
        prop_assert!(
            captured.is_subset(&may),
            "{:?} were not written",
            &captured - &may
        );
        if step.published {
            let settled = self.dirty.commit(&selection, &set(&step.expected));
            prop_assert!(pages(&settled).is_disjoint(&step.expected));
            self.settle(&pages(&settled));
            if step.given_up {
                self.dirty.restore(&selection.all);
                return Ok(());
            }
            self.differing = &self.differing - &captured;
            self.touched = &(&self.touched - &captured) - &pages(&selection.same);
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn each_page_that_differs_is_captured_by_the_next_version_of_its_field(
        kind in prop::sample::select(vec![
            TrackerKind::UffdAsync, TrackerKind::Cow, TrackerKind::Compare,
        ]),
        steps in prop::collection::vec(step(), 1..20),
    ) {
        let mut world = World {
            kind,
            dirty: DirtyPages::new(PAGES),
            differing: Pages::new(),
            touched: Pages::new(),
            reported: Pages::new(),
        };
        for step in steps {
            world.publish(&step)?;
        }
    }
}

#[test]
fn maybe_dirty_pages_are_compared_on_copy_only_if_they_are_many() {
    let likely = |pages: usize| {
        let mut dirty = DirtyPages::new(4096);
        dirty.bind(0..4096);
        let mut maybe = PageSet::new(4096);
        maybe.insert_range(0..pages);
        dirty.mark_maybe(&maybe);
        let selection = dirty.select(PageSet::new(4096), &PageSet::new(4096), Some(&maybe));
        (selection.maybe.len(), selection.inline.len())
    };
    assert_eq!(likely(1023), (0, 0));
    assert_eq!(likely(1024), (1024, 1024));
}
