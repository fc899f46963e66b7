//! Plans of a new window, from page maps that were made up. Nothing is mapped.

use super::*;
use crate::budget::Usage;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use tcasm_core::format::layout::Layout;
use tcasm_core::pageset::CHUNK_PAGES;

const PAGE: usize = 4096;
/// Bytes of a chunk.
const CHUNK: u64 = (CHUNK_PAGES * PAGE) as u64;

/// A chunk whose pages are in planes `first` and `second` by turns: 512 runs.
fn scattered(first: u8, second: u8) -> ChunkMap {
    let mut codes = Box::new([first; CHUNK_PAGES]);
    let odd = codes.iter_mut().skip(1).step_by(2);
    odd.for_each(|code| *code = second);
    ChunkMap::Mixed(codes)
}

/// Returns the words of an index whose first slot has a version of `chunks`.
fn index(chunks: &[ChunkMap]) -> (Vec<AtomicU64>, Layout) {
    let layout = Layout::new(chunks.len() * CHUNK_PAGES, PAGE, 4).unwrap();
    let words: Vec<AtomicU64> = (0..layout.total / 8).map(|_| AtomicU64::new(0)).collect();
    let index = Index::with_layout(&words, layout).unwrap();
    for (chunk, map) in chunks.iter().enumerate() {
        words[layout.used_chunks / 8 + chunk / 64].fetch_or(1 << (chunk % 64), Relaxed);
        let entry = match map {
            ChunkMap::Whole(code) => Entry::Whole(*code),
            ChunkMap::Mixed(codes) => {
                let leaf = index.leaf(chunk, 0).unwrap();
                let eights = codes.as_chunks::<8>().0;
                let pairs = leaf.iter().zip(eights);
                pairs.for_each(|(word, eight)| word.store(u64::from_le_bytes(*eight), Relaxed));
                Entry::Leaf(0)
            }
        };
        let roots = index.roots(0, &(chunk..chunk + 1)).unwrap();
        roots[0].store(entry.encode(), Relaxed);
    }
    (words, layout)
}

/// The result of planning.
struct Planned {
    plan: Result<Plan, ViewError>,
    /// The bytes that the copies in the plan have taken.
    taken: u64,
    /// The bytes of memory for which was asked beyond the budget.
    asked: u64,
}

impl Planned {
    /// Returns the number of borders between mappings, and the chunks that are copied.
    fn accepted(&self) -> (usize, Vec<usize>) {
        let plan = self.plan.as_ref().unwrap();
        let copied = plan.changes.iter().filter(|change| change.copy);
        (plan.mappings, copied.map(|change| change.chunk).collect())
    }

    /// Returns what is needed, and what the window may have.
    fn refused(&self) -> (usize, usize) {
        match self.plan.as_ref().unwrap_err() {
            ViewError::TooManyMappings { needed, most, .. } => (*needed, *most),
            error => panic!("{error}"),
        }
    }
}

/// Plans a flat window that shows `chunks`, with `budget` bytes for copies and `room` bytes of
/// memory beyond that. (A window has one mapping already when it is planned. That of this window is
/// not counted, because the count is for all windows of the process.)
fn plan(chunks: &[ChunkMap], (wanted, most): (usize, usize), budget: u64, room: u64) -> Planned {
    let (words, layout) = index(chunks);
    let index = Index::with_layout(&words, layout).unwrap();
    let before = Before {
        part: &Part::Whole,
        chunks: &[],
        version: 0,
        flat: true,
    };
    let usage = Usage::new(0);
    usage.set_budget(budget);
    let mut share = Share::new(Arc::new(usage));
    let planner = Planner {
        index,
        map: PageMap::new(index, 0),
        since: None,
        before: &before,
        share: &mut share,
        spare: None,
    };
    let asked = Cell::new(0);
    let shortage = |bytes: u64| {
        asked.set(bytes);
        (bytes > room).then(|| Room {
            bytes: room,
            limit: 1 << 40,
            of: "the test".to_owned(),
        })
    };
    let plan = planner.plan(Bounds { wanted, most }, shortage);
    Planned {
        plan,
        taken: share.copied(),
        asked: asked.get(),
    }
}

/// Two scattered chunks between whole ones. If both are copied, four borders are left.
fn example() -> [ChunkMap; 6] {
    let whole = ChunkMap::Whole;
    let (a, b) = (scattered(1, 2), scattered(1, 2));
    [whole(1), whole(2), a, b, whole(1), whole(2)]
}

#[test]
fn nothing_is_copied_beyond_the_budget_if_there_are_enough_mappings() {
    let borders = 2 * 511 + 5;
    let planned = plan(&example(), (borders, borders), 0, 0);
    assert_eq!(planned.accepted(), (borders, vec![]));
    assert_eq!((planned.taken, planned.asked), (0, 0));
}

#[test]
fn scattered_chunks_are_copied_if_the_window_then_has_just_enough_mappings() {
    for wanted in [3, 4] {
        let planned = plan(&example(), (wanted, 4), 0, 2 * CHUNK);
        assert_eq!(planned.accepted(), (4, vec![2, 3]));
        assert_eq!((planned.taken, planned.asked), (2 * CHUNK, 2 * CHUNK));
    }
}

#[test]
fn with_one_mapping_too_few_the_version_is_refused_and_nothing_is_copied() {
    let planned = plan(&example(), (3, 3), 0, u64::MAX);
    assert_eq!(planned.refused(), (4, 3));
    assert_eq!((planned.taken, planned.asked), (0, 0));
    let text = planned.plan.unwrap_err().to_string();
    let says = |part: &str| assert!(text.contains(part), "{text}");
    says("needs 4 mappings");
    says("may have 3 ");
    says("hold fewer views");
}

#[test]
fn copies_within_the_budget_do_not_count_as_exceeding_it() {
    let planned = plan(&example(), (4, 4), CHUNK, CHUNK);
    assert_eq!(planned.accepted(), (4, vec![2, 3]));
    assert_eq!((planned.taken, planned.asked), (2 * CHUNK, CHUNK));
    let refused = plan(&example(), (3, 3), CHUNK, CHUNK);
    assert_eq!(refused.refused(), (4, 3));
    assert_eq!((refused.taken, refused.asked), (CHUNK, 0));
    let within = plan(&example(), (4, 4), 2 * CHUNK, 0);
    assert_eq!(within.accepted(), (4, vec![2, 3]));
    assert_eq!((within.taken, within.asked), (2 * CHUNK, 0));
}

#[test]
fn copies_beyond_the_budget_are_refused_if_there_is_no_memory_for_them() {
    let planned = plan(&example(), (4, 4), CHUNK, CHUNK - 1);
    assert_eq!((planned.taken, planned.asked), (CHUNK, CHUNK));
    let error = planned.plan.unwrap_err();
    assert!(
        matches!(&error, ViewError::CopyMemory { bytes, room, .. }
            if (*bytes, *room) == (CHUNK, CHUNK - 1)),
        "{error}"
    );
}

#[test]
fn more_is_copied_if_a_copy_splits_the_mappings_around_it() {
    // The first copy seems to save 511 mappings, but it makes two borders to its neighbours.
    let whole = ChunkMap::Whole;
    let chunks = [whole(1), scattered(1, 2), whole(2), scattered(2, 1)];
    let planned = plan(&chunks, (511, 511), 0, u64::MAX);
    assert_eq!(planned.accepted(), (3, vec![1, 3]));
}
