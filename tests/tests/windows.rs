//! Views that are mapped for version after version, many times and side by side. They show the
//! right bytes, cause few page faults, and need a bounded number of mappings.

use proptest::prelude::*;
use std::time::Duration;
use tcasm_observer::{Observer, View};
use tcasm_tests::child::poll_until;
use tcasm_tests::page_faults;
use tcasm_tests::pattern::mix;
use tcasm_tests::procfs;
use tcasm_tests::puppet::{Puppet, number};
use tcasm_tests::views::{PAGE, Pair, assert_right, compacting, pages_of, read};

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// Returns the sum of one byte of each page.
fn sum(view: &View) -> u64 {
    let bytes = view.bytes("bytes").unwrap();
    bytes.iter().step_by(PAGE).map(|b| u64::from(*b)).sum()
}

/// One operation of a random test.
#[derive(Clone, Debug)]
enum Op {
    /// Writes whole chunks and publishes.
    Dense { first: usize, chunks: usize },
    /// Writes every `stride`th page of some chunks and publishes.
    Scattered {
        first: usize,
        chunks: usize,
        stride: usize,
    },
    /// Writes nothing and publishes.
    Nothing,
    /// Maps the newest version and holds the view.
    View,
    /// Maps the version of a held view once more.
    Again(usize),
    /// Drops one of the held views.
    Drop(usize),
    /// Drops all of them.
    DropAll,
}

const CHUNKS: usize = 7;

fn op() -> impl Strategy<Value = Op> {
    let part = (0..CHUNKS, 1..=CHUNKS);
    prop_oneof![
        3 => part.clone().prop_map(|(first, chunks)| Op::Dense { first, chunks }),
        2 => Just(Op::Dense { first: 0, chunks: CHUNKS }),
        3 => (part, 1usize..90)
            .prop_map(|((first, chunks), stride)| Op::Scattered { first, chunks, stride }),
        1 => Just(Op::Nothing),
        7 => Just(Op::View),
        1 => any::<usize>().prop_map(Op::Again),
        4 => any::<usize>().prop_map(Op::Drop),
        1 => Just(Op::DropAll),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_view_shows_the_bytes_of_its_version(
        ops in proptest::collection::vec(op(), 1..40),
        history in 0usize..4,
        deferred: bool,
        budget in prop_oneof![Just(0u64), Just(3 << 20), Just(u64::MAX)],
    ) {
        // The last chunk is a partial one.
        let total = (CHUNKS - 1) * 512 + 100;
        let mut p = Pair::with("views", total * PAGE, history, compacting(deferred));
        p.observer.set_copy_budget(budget);
        p.publish(0..3);
        let mut views: Vec<(View, Vec<u8>)> = Vec::new();
        for op in ops {
            if views.len() > 8 {
                views.remove(0);
            }
            match op.clone() {
                Op::Dense { first, chunks } => p.publish(pages_of(first, chunks, total)),
                Op::Scattered { first, chunks, stride } => {
                    p.publish(pages_of(first, chunks, total).step_by(stride));
                }
                Op::Nothing => p.publish(0..0),
                Op::View => {
                    let version = p.latest();
                    views.push((version.view().unwrap(), read(&version)));
                }
                Op::Again(i) if !views.is_empty() => {
                    let (view, bytes) = &views[i % views.len()];
                    views.push((view.version().view().unwrap(), bytes.clone()));
                }
                Op::Drop(i) if !views.is_empty() => drop(views.remove(i % views.len())),
                Op::Again(_) | Op::Drop(_) | Op::DropAll => views.clear(),
            }
            for (view, bytes) in &views {
                assert_right(view, bytes, &format!("after {op:?}"));
            }
        }
        p.assert_mappings_counted(views.iter().map(|(view, _)| view));
    }
}

#[test]
fn views_of_the_same_version_share_a_window_until_the_last_is_dropped() {
    let mut p = Pair::new("share", 4 * 512 * PAGE, 1);
    p.publish(0..4 * 512);
    let (first, second) = (p.latest(), p.latest());
    let views = [&first, &first, &second].map(|version| version.view().unwrap());
    p.publish((0..4 * 512).step_by(2));
    let newer = p.latest().view().unwrap();
    assert!(
        views
            .iter()
            .all(|view| view.address() == views[0].address())
    );
    assert_ne!(newer.address(), views[0].address());
    assert_eq!(p.observer.stats().unwrap().windows, 2);
    let (expected, [one, two, three]) = (read(&first), views);
    drop((first, second, one, two));
    for _ in 0..3 {
        // This window must not be taken for newer versions yet.
        p.publish((0..4 * 512).step_by(3));
        p.latest().view().unwrap();
        assert_right(&three, &expected, "a view is left");
    }
    let address = three.address();
    drop(three);
    p.publish(0..1);
    let next = p.latest().view().unwrap();
    assert_eq!(next.address(), address, "the window that was parked last");
    assert_right(&next, &read(&next), "taken over");
}

/// A way to get from one view to the next.
type Switch = fn(&mut Pair, Option<View>) -> View;

const SWITCHES: [(&str, Switch); 2] = [
    ("one view after the other", |p, old| {
        drop(old);
        p.latest().view().unwrap()
    }),
    ("the next before the old one is dropped", |p, _old| {
        p.latest().view().unwrap()
    }),
];

#[test]
fn views_of_consecutive_dense_versions_cause_no_page_faults() {
    const PAGES: usize = 16 * 512;
    for (what, switch) in SWITCHES {
        let mut p = Pair::new("faults", PAGES * PAGE, 1);
        let mut view = None;
        for round in 0..24 {
            p.publish(0..PAGES);
            let before = page_faults();
            let new = switch(&mut p, view.take());
            assert_ne!(sum(&new), 0);
            let faults = page_faults() - before;
            // The first read of each plane faults. Each round reads 8192 pages.
            assert!(
                round < 12 || faults < 32,
                "{what}, round {round}: {faults} page faults"
            );
            view = Some(new);
        }
    }
}

#[test]
fn views_at_the_base_and_elsewhere_can_alternate() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    let mut observer = Puppet::start(PUPPET, dir.path());
    // The field has two chunks and a half, and every second version rewrites it.
    let answer = producer.ok("create x pages=1300 versions=8 dense-every=2 one-in=9");
    observer.ok("attach x");
    for round in 0..40 {
        producer.ok(&format!("publish {}", 1 + round % 3));
        observer.ok("latest");
        if round % 5 < 3 {
            assert_eq!(
                observer.number("view-at-base", "address"),
                number(&answer, "base").unwrap()
            );
        }
        if round % 5 > 1 {
            observer.ok("view");
        }
        observer.ok("check");
        if round % 5 < 4 {
            observer.ok("release");
        }
    }
}

#[test]
fn views_of_a_densely_written_part_cause_few_page_faults() {
    const PAGES: usize = 16 * 512;
    let mut p = Pair::new("part", PAGES * PAGE, 1);
    p.publish(0..PAGES);
    for round in 0..24 {
        p.publish(3 * 512 + 7..11 * 512);
        let before = page_faults();
        let view = p.latest().view().unwrap();
        assert_ne!(sum(&view), 0);
        let faults = page_faults() - before;
        // The chunk at the edge is in two planes. 505 of its pages are mapped anew, 16 per fault.
        assert!(
            round < 12 || faults < 64,
            "round {round}: {faults} page faults"
        );
    }
}

#[test]
fn fragmented_pages_are_copied_and_mapped_again_when_rewritten() {
    const CHUNKS: usize = 48;
    const PAGES: usize = CHUNKS * 512;
    let mut p = Pair::new("fragments", PAGES * PAGE, 2);
    // Chunks are copied for lack of mappings only.
    p.observer.set_copy_budget(0);
    p.publish(0..PAGES);
    let (mut views, mut most) = (Vec::<(View, Vec<u8>)>::new(), 0);
    for round in 0..30usize {
        match round % 10 {
            // Copies are renewed in the next version and in a later one, page by page and as a
            // whole.
            0 => (0..2).for_each(|_| p.publish((0..PAGES).step_by(2))),
            1 => p.publish((1..PAGES).step_by(3)),
            8 => p.publish(0..PAGES / 2),
            9 => p.publish(0..PAGES),
            n => p.publish((n..PAGES).step_by(97)),
        }
        if round % 4 == 3 {
            p.publish((round..PAGES).step_by(41));
        }
        if round % 10 < 6 {
            views.clear(); // so that one window shows one version after the other
        }
        let version = p.latest();
        views.push((version.view().unwrap(), read(&version)));
        if views.len() > 2 {
            views.remove(round % 2);
        }
        for (view, bytes) in &views {
            assert_right(view, bytes, &format!("round {round}"));
        }
        most = most.max(p.copied_bytes());
    }
    assert!(
        most > (PAGES / 3 * PAGE) as u64,
        "only {most} bytes were copied"
    );
    views.clear();
    for _ in 0..5 {
        p.publish(0..PAGES);
        views.push((p.latest().view().unwrap(), Vec::new()));
    }
    assert_eq!(
        p.copied_bytes(),
        0,
        "copies that no view shows must be dropped"
    );
}

#[test]
fn copied_pages_are_mapped_again_after_compaction() {
    const CHUNKS: usize = 48;
    const PAGES: usize = CHUNKS * 512;
    let mut p = Pair::with("together", PAGES * PAGE, 1, |b| b.compact_after(1));
    p.publish(0..PAGES);
    p.publish((0..PAGES).step_by(2));
    let mut view = Some(p.latest().view().unwrap());
    let expected = read(&p.latest());
    assert_ne!(p.copied_bytes(), 0);
    poll_until("no page is copied any more", || {
        p.publish(0..0);
        view = None;
        view = Some(p.latest().view().unwrap());
        assert_right(view.as_ref().unwrap(), &expected, "compacted");
        (p.copied_bytes() == 0).then_some(())
    });
}

#[test]
fn mappings_of_many_views_are_bounded_and_none_is_left() {
    const PAGES: usize = 12 * 512;
    // Live memory that is shared with planes has mappings too, so sharing is off.
    let mut p = Pair::with("many", PAGES * PAGE, 1, |b| b.shared_backing(false));
    p.observer.set_copy_budget(0);
    let planes = format!("tcasm-{}-plane", p.observer.info().unwrap().name);
    let own = procfs::mappings(&planes).len();
    // The mappings of windows are read-only. The producer's own mappings are split as they get
    // memory.
    let of_windows = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let windows = maps
            .lines()
            .filter(|line| line.contains(&planes) && line.contains(" r--s "));
        windows.count()
    };
    assert_eq!(of_windows(), 0);
    let (mut most, mut random) = (0, 7);
    let mut next = |below: usize| {
        random = mix(random, 1, 2);
        random as usize % below
    };
    let mut views: Vec<View> = Vec::new();
    for switch in 0..2000 {
        let (first, stride) = (next(PAGES), 1 + next(60));
        p.publish((first..PAGES.min(first + 900)).step_by(stride));
        views.push(p.latest().view().unwrap());
        if views.len() > 12 {
            views.remove(next(12));
        }
        if switch % 20 == 0 {
            most = most.max(procfs::mappings(&planes).len());
        }
    }
    // The bound is half of what the kernel allows the process, for all windows together.
    assert!(most < 32_765 + own + 100, "{most} mappings");
    assert!(most > 10_000, "{most} mappings: the bound was not tried");
    views.clear();
    p.observer = Observer::attach_wait(&p.observer.info().unwrap().name, Duration::ZERO).unwrap();
    assert_eq!(of_windows(), 0, "mappings are left");
}
