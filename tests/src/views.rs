//! A producer of one field of bytes, and an observer of it, for tests of views.

use crate::{name, procfs};
use std::ops::Range;
use std::time::Duration;
use tcasm_observer::{Observer, Version, View};
use tcasm_producer::{Buffer, Builder, CaptureMode, Producer, Receipt};

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Bytes of a chunk.
pub const CHUNK: usize = 512 * PAGE;

/// A producer of one field of bytes, and an observer of it.
pub struct Pair {
    /// The producer.
    pub producer: Producer,
    /// The buffer of the field `bytes`.
    pub field: Buffer<u8, ndarray::Ix1>,
    /// The observer.
    pub observer: Observer,
    step: u64,
}

impl Pair {
    /// Creates a region of `bytes` bytes, which keeps `history` versions besides the newest.
    pub fn new(what: &str, bytes: usize, history: usize) -> Pair {
        Pair::with(what, bytes, history, |b| b)
    }

    /// Does the same with more settings.
    pub fn with(
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

    /// Stores the word of the next step at the start of each of these pages, and publishes.
    pub fn publish(&mut self, pages: impl Iterator<Item = usize>) {
        self.step += 1;
        let mut view = self.producer.view_mut(self.field).unwrap();
        let bytes = view.as_slice_mut().unwrap();
        for page in pages {
            let word = word(self.step, page);
            bytes[page * PAGE..page * PAGE + 8].copy_from_slice(&word);
        }
        match self.producer.publish(self.step, 0.0).unwrap() {
            Receipt::Published(published) => {
                assert!(published.wait_visible(Duration::from_secs(60)).unwrap());
            }
            skipped => panic!("{skipped:?}"),
        }
    }

    /// Returns the bytes of memory that the observer's windows use for copies.
    pub fn copied_bytes(&self) -> u64 {
        self.observer.stats().unwrap().copied_bytes
    }

    /// Checks that the observer has counted all mappings of these views.
    pub fn assert_mappings_counted<'v>(&self, views: impl Iterator<Item = &'v View>) {
        let mapped = mapped_in_all(views);
        let counted = self.observer.stats().unwrap().mappings;
        assert!(mapped <= counted, "{mapped} mappings, counted as {counted}");
    }

    /// Returns the newest version.
    pub fn latest(&mut self) -> Version {
        self.observer.latest().unwrap()
    }
}

/// Returns settings for [`Pair::with`]: capture is deferred where that pays, or else inline. Pages
/// that were not written in one or two versions are compacted.
pub fn compacting(deferred: bool) -> impl FnOnce(Builder) -> Builder {
    let mode = match deferred {
        true => CaptureMode::Auto,
        false => CaptureMode::Inline,
    };
    move |builder| builder.capture(mode).compact_after(1)
}

/// Returns the pages of some chunks, as far as a region of `total` pages has them.
pub fn pages_of(first: usize, chunks: usize, total: usize) -> Range<usize> {
    first * 512..((first + chunks) * 512).min(total)
}

/// Returns the word that step `step` stores at the start of a page.
pub fn word(step: u64, page: usize) -> [u8; 8] {
    (step << 32 | page as u64).to_le_bytes()
}

/// Returns the bytes of the field, read without mapping them.
pub fn read(version: &Version) -> Vec<u8> {
    let mut bytes = vec![0; version.field("bytes").unwrap().bytes() as usize];
    version.read_bytes("bytes", 0, &mut bytes).unwrap();
    bytes
}

/// Checks that a view shows `expected`.
pub fn assert_right(view: &View, expected: &[u8], when: &str) {
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

/// Returns the number of mappings of this process in the range of the view.
pub fn mapped_in(view: &View) -> usize {
    let range = view.address()..view.address() + view.extent().bytes as usize;
    let inside = |m: &&Range<usize>| m.start < range.end && range.start < m.end;
    procfs::mappings("").iter().filter(inside).count()
}

/// Returns the number of mappings of this process in the ranges of the views. Views that share a
/// window count once.
pub fn mapped_in_all<'v>(views: impl Iterator<Item = &'v View>) -> usize {
    let mut views: Vec<&View> = views.collect();
    views.sort_unstable_by_key(|view| view.address());
    views.dedup_by_key(|view| view.address());
    views.into_iter().map(mapped_in).sum()
}
