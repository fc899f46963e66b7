//! Views that are mapped for version after version, many times and side by side. They show the
//! right bytes, cause few page faults, and need a bounded number of mappings.

use nix::sys::resource::{UsageWho, getrusage};
use proptest::prelude::*;
use std::fs;
use std::os::linux::fs::MetadataExt;
use std::time::Duration;
use tcasm_observer::{Observer, Version, View};
use tcasm_producer::{Buffer, Builder, CaptureMode, Producer, Receipt};
use tcasm_tests::child::poll_until;
use tcasm_tests::pattern::mix;
use tcasm_tests::puppet::{Puppet, number};
use tcasm_tests::{name, procfs};

type Bytes = Buffer<u8, ndarray::Ix1>;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const PAGE: usize = 4096;

/// A producer of one field, and an observer of it.
struct Pair {
    producer: Producer,
    field: Bytes,
    observer: Observer,
    step: u64,
}

impl Pair {
    fn new(what: &str, bytes: usize, history: usize) -> Pair {
        Pair::with(what, bytes, history, |b| b)
    }

    fn with(
        what: &str,
        bytes: usize,
        history: usize,
        settings: impl FnOnce(Builder) -> Builder,
    ) -> Pair {
        let name = name(what);
        let builder = Producer::builder(&name).capacity(bytes).history(history);
        let builder = builder.capture(CaptureMode::Inline).wait_for_capture(true);
        let mut producer = settings(builder)
            .versions(16)
            .memory(20 * bytes as u64)
            .create()
            .unwrap();
        let field = producer.field::<u8, _>("bytes", [bytes]).add().unwrap();
        let observer = Observer::attach(&name).unwrap();
        let field = field.buffer();
        Pair {
            producer,
            field,
            observer,
            step: 0,
        }
    }

    /// Stores a new value at the start of each of these pages, and publishes.
    fn publish(&mut self, pages: impl Iterator<Item = usize>) {
        self.step += 1;
        let mut view = self.producer.view_mut(self.field).unwrap();
        let bytes = view.as_slice_mut().unwrap();
        for page in pages {
            let word = self.step << 32 | page as u64;
            bytes[page * PAGE..page * PAGE + 8].copy_from_slice(&word.to_le_bytes());
        }
        match self.producer.publish(self.step, 0.0).unwrap() {
            Receipt::Published(published) => {
                assert!(published.wait_visible(Duration::from_secs(60)).unwrap());
            }
            skipped => panic!("{skipped:?}"),
        }
    }

    /// Returns the bytes of memory that the observer's windows use for copies.
    fn copied_bytes(&self) -> u64 {
        let name = format!("tcasm-{}-copies", self.observer.info().unwrap().name);
        let open = procfs::descriptors(std::process::id() as i32).into_iter();
        let copies = open.filter(|(_, object)| object.contains(&name));
        copies
            .map(|(path, _)| fs::metadata(path).unwrap().st_blocks() * 512)
            .sum()
    }

    fn latest(&mut self) -> Version {
        self.observer.latest().unwrap()
    }
}

/// Returns the bytes of the field, read without mapping them.
fn read(version: &Version) -> Vec<u8> {
    let mut bytes = vec![0; version.field("bytes").unwrap().bytes() as usize];
    version.read_bytes("bytes", 0, &mut bytes).unwrap();
    bytes
}

fn assert_right(view: &View, expected: &[u8], when: &str) {
    let bytes = view.bytes("bytes").unwrap();
    let wrong = (0..bytes.len().div_ceil(PAGE)).find(|page| {
        let range = page * PAGE..((page + 1) * PAGE).min(bytes.len());
        bytes[range.clone()] != expected[range]
    });
    assert_eq!(
        wrong,
        None,
        "first wrong page of version {}, {when}",
        view.number()
    );
}

/// Returns the sum of one byte of each page.
fn sum(view: &View) -> u64 {
    let bytes = view.bytes("bytes").unwrap();
    bytes.iter().step_by(PAGE).map(|b| u64::from(*b)).sum()
}

fn faults() -> i64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
    usage.minor_page_faults() + usage.major_page_faults()
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

/// Returns the pages of some chunks, as far as the region has them.
fn pages(first: usize, chunks: usize, total: usize) -> std::ops::Range<usize> {
    first * 512..((first + chunks) * 512).min(total)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_view_shows_the_bytes_of_its_version(
        ops in proptest::collection::vec(op(), 1..40),
        history in 0usize..4,
        deferred: bool,
    ) {
        // The last chunk is a partial one.
        let total = (CHUNKS - 1) * 512 + 100;
        let mode = if deferred { CaptureMode::Auto } else { CaptureMode::Inline };
        // Pages that were not written in one or two versions are compacted.
        let settings = |b: Builder| b.capture(mode).compact_after(1);
        let mut p = Pair::with("views", total * PAGE, history, settings);
        p.publish(0..3);
        let mut views: Vec<(View, Vec<u8>)> = Vec::new();
        for op in ops {
            if views.len() > 8 {
                views.remove(0);
            }
            match op.clone() {
                Op::Dense { first, chunks } => p.publish(pages(first, chunks, total)),
                Op::Scattered { first, chunks, stride } => {
                    p.publish(pages(first, chunks, total).step_by(stride));
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
    }
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
            let before = faults();
            let new = switch(&mut p, view.take());
            assert_ne!(sum(&new), 0);
            let faults = faults() - before;
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
        let before = faults();
        let view = p.latest().view().unwrap();
        assert_ne!(sum(&view), 0);
        let faults = faults() - before;
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
