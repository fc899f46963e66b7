//! Views that are switched from version to version, many times and side by side: right bytes, few page faults, and a bounded
//! number of mappings.

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
        let builder = builder.capture(CaptureMode::Now).wait_for_capture(true);
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

    /// Publish after storing a new value at the head of each of these pages.
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

    /// Bytes of memory that the observer's windows have for copies.
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

/// The bytes of the field, read without mapping them.
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

/// A byte of each page.
fn sum(view: &View) -> u64 {
    let bytes = view.bytes("bytes").unwrap();
    bytes.iter().step_by(PAGE).map(|b| u64::from(*b)).sum()
}

fn faults() -> i64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
    usage.minor_page_faults() + usage.major_page_faults()
}

/// What a test does next.
#[derive(Clone, Debug)]
enum Op {
    /// Write whole chunks and publish.
    Dense { first: usize, chunks: usize },
    /// Write every `stride`th page of some chunks and publish.
    Scattered {
        first: usize,
        chunks: usize,
        stride: usize,
    },
    /// Write nothing and publish.
    Nothing,
    /// Map the newest version and hold the view.
    View,
    /// Map a version again that a held view shows.
    Again(usize),
    /// Drop one of the held views.
    Drop(usize),
    /// Drop all of them.
    DropAll,
}

const CHUNKS: usize = 7;

fn op() -> impl Strategy<Value = Op> {
    let part = (0..CHUNKS, 1..=CHUNKS);
    prop_oneof![
        3 => part.clone().prop_map(|(first, chunks)| Op::Dense { first, chunks }),
        2 => Just(Op::Dense { first: 0, chunks: CHUNKS }),
        3 => (part, 1usize..90).prop_map(|((first, chunks), stride)| Op::Scattered { first, chunks, stride }),
        1 => Just(Op::Nothing),
        7 => Just(Op::View),
        1 => any::<usize>().prop_map(Op::Again),
        4 => any::<usize>().prop_map(Op::Drop),
        1 => Just(Op::DropAll),
    ]
}

/// The pages of some chunks, as far as the region has them.
fn pages(first: usize, chunks: usize, total: usize) -> std::ops::Range<usize> {
    first * 512..((first + chunks) * 512).min(total)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_byte_that_any_view_shows_is_its_versions(ops in proptest::collection::vec(op(), 1..40), history in 0usize..4, later: bool) {
        // The last chunk is one in part.
        let total = (CHUNKS - 1) * 512 + 100;
        let mode = if later { CaptureMode::Auto } else { CaptureMode::Now };
        // What was left alone by one or two versions is put together.
        let mut p = Pair::with("views", total * PAGE, history, |b| b.capture(mode).compact_after(1));
        p.publish(0..3);
        let mut views: Vec<(View, Vec<u8>)> = Vec::new();
        for op in ops {
            if views.len() > 8 {
                views.remove(0);
            }
            match op.clone() {
                Op::Dense { first, chunks } => p.publish(pages(first, chunks, total)),
                Op::Scattered { first, chunks, stride } => p.publish(pages(first, chunks, total).step_by(stride)),
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

/// How a test goes from version to version.
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
fn dense_versions_that_follow_each_other_are_switched_and_read_without_page_faults() {
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
            // Each plane is read for the first time once; 8192 pages are read in each round.
            assert!(
                round < 12 || faults < 32,
                "{what}, round {round}: {faults} page faults"
            );
            view = Some(new);
        }
    }
}

#[test]
fn views_at_the_producers_address_and_elsewhere_take_turns_and_show_the_right_bytes() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    let mut observer = Puppet::start(PUPPET, dir.path());
    // Two chunks and a half, written as a whole in every second version.
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
fn a_part_that_is_written_densely_is_switched_without_page_faults_too() {
    const PAGES: usize = 16 * 512;
    let mut p = Pair::new("part", PAGES * PAGE, 1);
    p.publish(0..PAGES);
    for round in 0..24 {
        p.publish(3 * 512 + 7..11 * 512);
        let before = faults();
        let view = p.latest().view().unwrap();
        assert_ne!(sum(&view), 0);
        let faults = faults() - before;
        // Of the chunk at the edge, which is in two planes, 505 pages are mapped anew: 16 at a time.
        assert!(
            round < 12 || faults < 64,
            "round {round}: {faults} page faults"
        );
    }
}

#[test]
fn what_is_too_fragmented_to_be_mapped_is_copied_and_renewed_and_mapped_again_when_it_is_whole() {
    const CHUNKS: usize = 48;
    const PAGES: usize = CHUNKS * 512;
    let mut p = Pair::new("fragments", PAGES * PAGE, 2);
    p.publish(0..PAGES);
    let (mut views, mut most) = (Vec::<(View, Vec<u8>)>::new(), 0);
    for round in 0..30usize {
        match round % 10 {
            // Copies are renewed after the version that follows and after a later one, page by page and whole.
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
            views.clear(); // so that the same window shows each version after the one before
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
    assert_eq!(p.copied_bytes(), 0, "copies are kept that no view shows");
}

#[test]
fn what_was_copied_is_mapped_again_when_it_was_put_together() {
    const CHUNKS: usize = 48;
    const PAGES: usize = CHUNKS * 512;
    let mut p = Pair::with("together", PAGES * PAGE, 1, |b| b.compact_after(1));
    p.publish(0..PAGES);
    p.publish((0..PAGES).step_by(2));
    let mut view = Some(p.latest().view().unwrap());
    let expected = read(&p.latest());
    assert_ne!(p.copied_bytes(), 0);
    poll_until("nothing is copied", || {
        p.publish(0..0);
        view = None;
        view = Some(p.latest().view().unwrap());
        assert_right(view.as_ref().unwrap(), &expected, "put together");
        (p.copied_bytes() == 0).then_some(())
    });
}

#[test]
fn after_thousands_of_switches_side_by_side_mappings_are_bounded_and_in_the_end_none_is_left() {
    const PAGES: usize = 12 * 512;
    // Live memory that rests on planes has mappings, too.
    let mut p = Pair::with("many", PAGES * PAGE, 1, |b| b.shared_backing(false));
    let planes = format!("tcasm-{}-plane", p.observer.info().unwrap().name);
    let own = procfs::mappings(&planes).len();
    // Those of windows can be read only; the producer's own are in pieces as they get memory.
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
    // Half of what the kernel allows the process, for all windows together.
    assert!(most < 32_765 + own + 100, "{most} mappings");
    assert!(most > 10_000, "{most} mappings: the bound was not tried");
    views.clear();
    p.observer = Observer::attach_wait(&p.observer.info().unwrap().name, Duration::ZERO).unwrap();
    assert_eq!(of_windows(), 0, "mappings are left");
}
