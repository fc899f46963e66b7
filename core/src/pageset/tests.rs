//! Tests that compare sets of pages with sets of numbers, and tests of what clones share.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The pages of the region: two blocks and a part of a third.
const PAGES: usize = 2 * BLOCK_PAGES + 700;

type Model = BTreeSet<usize>;

/// Generates whole blocks, ranges at their borders, and short ranges anywhere, also past the end.
fn range() -> impl Strategy<Value = Range<usize>> {
    let near = |block: usize| {
        let border = block * BLOCK_PAGES;
        border.saturating_sub(600)..border + 600
    };
    let start = prop_oneof![
        0usize..1400,
        (0usize..3).prop_flat_map(near),
        (0usize..3).prop_map(|block| block * BLOCK_PAGES),
        0usize..PAGES + 200,
    ];
    let len = prop_oneof![
        4 => 0usize..3,
        4 => 0usize..700,
        2 => Just(BLOCK_PAGES),
        2 => Just(BLOCK_PAGES + 513)
    ];
    (start, len).prop_map(|(start, len)| start..start + len)
}

#[derive(Clone, Debug)]
enum Op {
    Insert(Range<usize>),
    Remove(Range<usize>),
    /// Sets all bits of a chunk through `chunk_mut`.
    Fill(usize),
    /// Clears all bits of a chunk through `chunk_mut`. The set need not notice that it is empty.
    Empty(usize),
    Union(usize),
    Subtract(usize),
    Intersect(usize),
    Clone(usize),
    Clear,
}

fn op() -> impl Strategy<Value = Op> {
    let chunk = || 0..PAGES / CHUNK_PAGES;
    prop_oneof![
        8 => range().prop_map(Op::Insert),
        6 => range().prop_map(Op::Remove),
        1 => chunk().prop_map(Op::Fill),
        1 => chunk().prop_map(Op::Empty),
        2 => (0usize..3).prop_map(Op::Union),
        2 => (0usize..3).prop_map(Op::Subtract),
        2 => (0usize..3).prop_map(Op::Intersect),
        3 => (0usize..3).prop_map(Op::Clone),
        1 => Just(Op::Clear),
    ]
}

/// Applies `op` to set `i` and to its model. The operand of `op` is the number of another set.
fn apply(op: &Op, sets: &mut [PageSet; 3], models: &mut [Model; 3], i: usize) {
    let inside = |r: &Range<usize>| r.start..r.end.min(PAGES);
    let pages = |chunk: usize| chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES;
    let (set, model) = (&mut sets[i], &mut models[i]);
    match op {
        Op::Insert(r) => {
            set.insert_range(r.clone());
            model.extend(inside(r));
        }
        Op::Remove(r) => {
            set.remove_range(r.clone());
            model.retain(|p| !r.contains(p));
        }
        Op::Fill(chunk) => {
            *set.chunk_mut(*chunk) = [!0; CHUNK_WORDS];
            model.extend(pages(*chunk));
        }
        Op::Empty(chunk) => {
            *set.chunk_mut(*chunk) = [0; CHUNK_WORDS];
            model.retain(|p| !pages(*chunk).contains(p));
        }
        Op::Clear => {
            set.clear();
            model.clear();
        }
        Op::Clone(k) => (sets[i], models[i]) = (sets[*k].clone(), models[*k].clone()),
        Op::Union(k) => {
            let (other, numbers) = (sets[*k].clone(), models[*k].clone());
            sets[i].union(&other);
            models[i].extend(numbers);
        }
        Op::Subtract(k) => {
            let (other, numbers) = (sets[*k].clone(), models[*k].clone());
            sets[i].subtract(&other);
            models[i].retain(|p| !numbers.contains(p));
        }
        Op::Intersect(k) => {
            let (other, numbers) = (sets[*k].clone(), models[*k].clone());
            sets[i].intersect(&other);
            models[i].retain(|p| numbers.contains(p));
        }
    }
}

/// Returns the maximal runs of a set of numbers.
fn runs_of_model(model: &Model) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for page in model {
        match runs.last_mut() {
            Some(last) if last.end == *page => last.end += 1,
            _ => runs.push(*page..page + 1),
        }
    }
    runs
}

fn same(set: &PageSet, model: &Model, part: &Range<usize>) -> Result<(), TestCaseError> {
    prop_assert_eq!((set.capacity(), set.len()), (PAGES, model.len()));
    prop_assert_eq!(set.is_empty(), model.is_empty());
    prop_assert_eq!(set.runs().collect::<Vec<_>>(), runs_of_model(model));
    prop_assert!(set.iter().eq(model.iter().copied()));
    let chunks: BTreeSet<usize> = model.iter().map(|p| p / CHUNK_PAGES).collect();
    prop_assert!(set.chunks_in_use().map(|(chunk, _)| chunk).eq(chunks));
    for (chunk, bits) in set.chunks_in_use() {
        prop_assert_eq!(bits, set.chunk(chunk));
    }
    let inside = model.range(part.start..part.end.max(part.start)).count();
    prop_assert_eq!(set.count_in(part.clone()), inside);
    prop_assert_eq!(set.intersects(part.clone()), inside > 0);
    let there = [part.start, part.end].map(|p| set.contains(p) == model.contains(&p));
    prop_assert_eq!(there, [true; 2]);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn three_sets_behave_as_sets_of_numbers(
        ops in proptest::collection::vec((op(), 0usize..3), 0..25),
        part in range(),
    ) {
        let mut sets = [(); 3].map(|()| PageSet::new(PAGES));
        let mut models = [(); 3].map(|()| Model::new());
        for (op, i) in &ops {
            apply(op, &mut sets, &mut models, *i);
        }
        for (set, model) in sets.iter().zip(&models) {
            same(set, model, &part)?;
        }
        for (i, k) in [(0, 1), (1, 2), (2, 0)] {
            prop_assert_eq!(sets[i] == sets[k], models[i] == models[k]);
        }
    }

    #[test]
    fn trim_removes_bits_past_the_end(pages in 1usize..PAGES) {
        let mut set = PageSet::new(pages);
        for chunk in 0..set.chunks() {
            *set.chunk_mut(chunk) = [!0; CHUNK_WORDS];
        }
        set.trim();
        prop_assert_eq!(set.runs().collect::<Vec<_>>(), vec![0..pages]);
    }
}

/// Returns the borders of seven blocks, and the pages beside them.
fn borders() -> Vec<usize> {
    let near = |n: usize| {
        [
            n * BLOCK_PAGES,
            n * BLOCK_PAGES + 1,
            (n + 1) * BLOCK_PAGES - 1,
        ]
    };
    (0..7).flat_map(near).chain([7 * BLOCK_PAGES]).collect()
}

/// Returns the maximal runs of pages of a model, whose numbers stand for the intervals between
/// neighbouring borders.
fn runs_between(borders: &[usize], model: &Model) -> Vec<Range<usize>> {
    let interval = |run: Range<usize>| borders[run.start]..borders[run.end];
    runs_of_model(model).into_iter().map(interval).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn rows_of_whole_blocks_behave_as_sets_of_intervals(
        ops in proptest::collection::vec(
            (0usize..3, 0usize..3, 0usize..7, 0usize..22, 0usize..22),
            1..20,
        ),
    ) {
        let borders = borders();
        let mut sets = [(); 3].map(|()| PageSet::new(7 * BLOCK_PAGES));
        let mut models = [(); 3].map(|()| Model::new());
        for (i, k, op, a, b) in ops {
            let (from, to) = (a.min(b), a.max(b));
            let (other, numbers) = (sets[k].clone(), models[k].clone());
            let (set, model) = (&mut sets[i], &mut models[i]);
            match op {
                0 | 1 => {
                    set.insert_range(borders[from]..borders[to]);
                    model.extend(from..to);
                }
                2 => {
                    set.remove_range(borders[from]..borders[to]);
                    model.retain(|n| !(from..to).contains(n));
                }
                3 => {
                    set.union(&other);
                    model.extend(numbers);
                }
                4 => {
                    set.subtract(&other);
                    model.retain(|n| !numbers.contains(n));
                }
                5 => {
                    set.intersect(&other);
                    model.retain(|n| numbers.contains(n));
                }
                _ => (*set, *model) = (other, numbers),
            }
            prop_assert_eq!(sets[i].runs().collect::<Vec<_>>(), runs_between(&borders, &models[i]));
            let pieces = &sets[i].pieces;
            let ascending = pieces.windows(2).all(|w| w[0].blocks.end <= w[1].blocks.start);
            prop_assert!(ascending && pieces.iter().all(|p| !p.blocks.is_empty()));
        }
    }
}

/// The pages of a region of a tebibyte, and of the largest possible region.
const HUGE: [usize; 2] = [1 << 28, 1 << 34];

#[test]
fn a_set_keeps_bitmaps_only_for_blocks_with_pages() {
    for pages in HUGE {
        let mut set = PageSet::new(pages);
        set.insert(5);
        set.insert_range(pages / 2 - 1..pages / 2 + 1);
        set.insert(pages - 1);
        assert_eq!((set.pieces.len(), set.len()), (4, 4));
        set.remove_range(0..pages - 1);
        assert_eq!(set.pieces.len(), 1, "blocks without pages are dropped");
        let mut rest = set.clone();
        rest.subtract(&set);
        set.intersect(&rest);
        assert_eq!((rest.pieces.len(), set.pieces.len()), (0, 0));
    }
}

/// Returns the number of pieces that both sets share in memory.
fn shared(a: &PageSet, b: &PageSet) -> usize {
    let same = |(a, b): (&Piece, &Piece)| a.content.is_same(&b.content);
    a.pieces
        .iter()
        .zip(&b.pieces)
        .map(same)
        .filter(|s| *s)
        .count()
}

#[test]
fn a_clone_copies_only_the_blocks_that_change() {
    let mut set = PageSet::new(HUGE[0]);
    (0..100).for_each(|i| set.insert(i * 10 * BLOCK_PAGES));
    let mut clone = set.clone();
    assert_eq!(shared(&set, &clone), 100);
    clone.insert(7);
    clone.remove_range(BLOCK_PAGES..BLOCK_PAGES + 1);
    assert_eq!(shared(&set, &clone), 99);
    assert!(clone.contains(7) && !set.contains(7));
    let mut all = PageSet::new(HUGE[0]);
    all.union(&clone);
    all.subtract(&PageSet::new(HUGE[0]));
    assert_eq!(shared(&all, &clone), 100);
}

#[test]
fn a_row_of_blocks_with_every_page_is_one_piece() {
    let mut set = PageSet::new(HUGE[0]);
    set.insert_range(0..HUGE[0]);
    assert_eq!((set.pieces.len(), set.len()), (1, HUGE[0]));
    assert!(set.runs().eq(std::iter::once(0..HUGE[0])));
    let mut hole = PageSet::new(HUGE[0]);
    hole.insert(HUGE[0] / 2 + 70);
    set.subtract(&hole);
    assert_eq!((set.pieces.len(), set.len()), (3, HUGE[0] - 1));
    hole.intersect(&set);
    assert!(hole.is_empty() && hole.pieces.is_empty());
}
