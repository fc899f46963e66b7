//! Chunks that views show as copies: the right bytes, within the budget, and renewed when needed.

use proptest::prelude::*;
use tcasm_observer::{Version, View};
use tcasm_producer::Builder;
use tcasm_tests::procfs::anonymous_in;
use tcasm_tests::views::{CHUNK, PAGE, Pair, assert_right, mapped_in, read};

/// Maps a version, and checks that the view shows its bytes.
fn checked(version: &Version, when: &str) -> View {
    let view = version.view().unwrap();
    assert_right(&view, &read(version), when);
    view
}

#[test]
fn scattered_chunks_are_copied_within_the_budget_and_the_rest_is_mapped() {
    const PAGES: usize = 6 * 512;
    for (budget, copied) in [(0, 0), (CHUNK - 1, 0), (2 * CHUNK + 1, 2), (4 * CHUNK, 4)] {
        let mut p = Pair::new("budget", PAGES * PAGE, 1);
        p.observer.set_copy_budget(budget as u64);
        p.publish(0..PAGES);
        // The first and the last chunk stay in one plane.
        p.publish((512..PAGES - 512).step_by(2));
        let view = checked(&p.latest(), &format!("budget {budget}"));
        let stats = p.observer.stats().unwrap();
        assert_eq!(stats.copied_bytes, (copied * CHUNK) as u64);
        assert_eq!(stats.copy_budget, budget as u64);
        let (mapped, runs) = (mapped_in(&view), (4 - copied) * 512);
        assert!((runs..runs + 10).contains(&mapped), "{mapped} mappings");
        let range = view.address()..view.address() + PAGES * PAGE;
        assert_eq!(
            anonymous_in(range),
            stats.copied_bytes,
            "as the kernel counts"
        );
    }
}

#[test]
fn pages_that_are_in_no_plane_take_no_memory_in_a_copy() {
    let mut p = Pair::new("sparse", 4 * CHUNK, 1);
    p.observer.set_copy_budget(CHUNK as u64);
    // Twenty single pages of the second chunk, and more than half of the third one.
    let single = (513..913).step_by(20);
    let many = (1024..1536).filter(|page| page % 3 > 0);
    p.publish(single.chain(many));
    let view = checked(&p.latest(), "sparse");
    let bytes = |pages: usize| (pages * PAGE) as u64;
    assert_eq!(p.copied_bytes(), bytes(20), "the third chunk does not fit");
    let range = view.address()..view.address() + 4 * CHUNK;
    assert_eq!(anonymous_in(range), bytes(20), "as the kernel counts");
    drop(view);
    p.publish((512..1024).step_by(2));
    drop(checked(&p.latest(), "with more pages"));
    assert_eq!(p.copied_bytes(), bytes(20 + 256));
}

/// Publishes versions in which the same pages change, so that some of them have all pages in the
/// same frames as an earlier one. Returns in how many steps from view to view this was so, while
/// all chunks were copied.
fn frames_used_again(history: usize) -> usize {
    const PAGES: usize = 4 * 512;
    let mut p = Pair::new("renewed", PAGES * PAGE, history);
    p.observer.set_copy_budget(u64::MAX);
    p.publish(0..PAGES);
    let (mut last, mut again) = (None, 0);
    for skipped in [1, 2, 3, 5, 7].repeat(8) {
        for _ in 0..=skipped {
            p.publish((0..PAGES).step_by(2));
        }
        let version = p.latest();
        let when = format!("history {history}, {skipped} skipped");
        let view = checked(&version, &when);
        let all_copied = p.copied_bytes() == (PAGES * PAGE) as u64;
        let places = all_copied.then(|| version.runs(0..(PAGES * PAGE) as u64).unwrap());
        again += usize::from(places.is_some() && places == last);
        last = places;
        drop(view);
    }
    again
}

#[test]
fn copy_is_renewed_if_its_frames_were_filled_anew() {
    // Without a history the versions in between are gone, so nothing is known of their changes.
    let again = frames_used_again(0);
    assert!(again > 2, "only {again} versions were in the same frames");
    frames_used_again(8);
}

#[test]
fn changes_of_skipped_versions_are_copied_too() {
    const PAGES: usize = 4 * 512;
    for history in [0, 1, 8] {
        let mut p = Pair::new("skipped", PAGES * PAGE, history);
        p.observer.set_copy_budget(u64::MAX);
        p.publish(0..PAGES);
        p.publish((0..PAGES).step_by(2));
        for round in 0..8 {
            drop(checked(
                &p.latest(),
                &format!("history {history}, round {round}"),
            ));
            assert_eq!(p.copied_bytes(), (PAGES * PAGE) as u64);
            // Each version changes other pages. Pages 1 and 2 of each seven never change, so the
            // chunks stay scattered.
            for rest in [0, 3, 5] {
                p.publish((0..PAGES).filter(|page| page % 7 == rest));
            }
        }
    }
}

#[test]
fn windows_that_are_not_used_any_more_give_their_copies_up() {
    const PAGES: usize = 2 * 512;
    let mut p = Pair::new("idle", PAGES * PAGE, 1);
    p.observer.set_copy_budget(2 * CHUNK as u64);
    p.publish(0..PAGES);
    p.publish((0..PAGES).step_by(2));
    let first = checked(&p.latest(), "copied");
    p.publish((0..PAGES).step_by(3));
    let second = checked(&p.latest(), "mapped, because the budget is used up");
    assert_eq!(p.copied_bytes(), 2 * CHUNK as u64);
    drop(first);
    drop(second);
    let mut windows = Vec::new();
    for round in 0..20 {
        p.publish((0..PAGES).step_by(3));
        drop(checked(&p.latest(), &format!("round {round}")));
        windows.push(p.observer.stats().unwrap().windows);
    }
    assert_eq!((windows[0], windows[19]), (2, 1), "{windows:?}");
    assert_eq!(
        p.copied_bytes(),
        2 * CHUNK as u64,
        "now of the other window"
    );
}

/// One operation of a random test.
#[derive(Clone, Debug)]
enum Op {
    /// Writes every `stride`th of some pages, and publishes.
    Write {
        first: usize,
        pages: usize,
        stride: usize,
    },
    /// Maps the newest version and holds the view.
    Newest,
    /// Maps the oldest version that exists and holds the view.
    Oldest,
    /// Drops one of the held views.
    Drop(usize),
    /// Drops all of them.
    DropAll,
}

/// The last chunk is a partial one.
const TOTAL: usize = 3 * 512 + 100;

fn op() -> impl Strategy<Value = Op> {
    let write = (0..TOTAL, 1..TOTAL, prop_oneof![1usize..4, 1usize..90]);
    prop_oneof![
        8 => write.prop_map(|(first, pages, stride)| Op::Write { first, pages, stride }),
        6 => Just(Op::Newest),
        1 => Just(Op::Oldest),
        4 => any::<usize>().prop_map(Op::Drop),
        1 => Just(Op::DropAll),
    ]
}

fn budget() -> impl Strategy<Value = u64> {
    let chunk = CHUNK as u64;
    prop_oneof![
        Just(0),
        Just(chunk),
        Just(2 * chunk + 100 * PAGE as u64),
        Just(u64::MAX)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn views_show_their_bytes_and_copies_stay_within_the_budget(
        ops in proptest::collection::vec(op(), 1..60),
        history in 0usize..5,
        budget in budget(),
        compact: bool,
    ) {
        let settings = |b: Builder| if compact { b.compact_after(1) } else { b };
        let mut p = Pair::with("random", TOTAL * PAGE, history, settings);
        p.observer.set_copy_budget(budget);
        p.publish(0..1);
        let mut views: Vec<(View, Vec<u8>)> = Vec::new();
        for op in ops {
            if views.len() > 2 {
                views.remove(0);
            }
            match op.clone() {
                Op::Write { first, pages, stride } => {
                    p.publish((first..(first + pages).min(TOTAL)).step_by(stride));
                }
                Op::Newest | Op::Oldest => {
                    // The oldest version may be reclaimed before it is pinned.
                    let oldest = p.observer.available().unwrap()[0];
                    let version = match op {
                        Op::Oldest => p.observer.version(oldest).unwrap_or_else(|_| p.latest()),
                        _ => p.latest(),
                    };
                    views.push((version.view().unwrap(), read(&version)));
                }
                Op::Drop(i) if !views.is_empty() => drop(views.remove(i % views.len())),
                Op::Drop(_) | Op::DropAll => views.clear(),
            }
            for (view, bytes) in &views {
                assert_right(view, bytes, &format!("after {op:?}"));
            }
            let copied = p.copied_bytes();
            assert!(copied <= budget, "{copied} bytes are copied, of {budget}");
        }
    }
}
