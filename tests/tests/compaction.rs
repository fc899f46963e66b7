//! Compaction of cold pages that are scattered over planes. No observer sees a byte change.

use std::ops::Range;
use tcasm_observer::{Observer, Version, View};
use tcasm_producer::{CaptureMode, Field, Producer};
use tcasm_tests::child::poll_until;
use tcasm_tests::{PublishVisible, name};

const PAGE: usize = 4096;
const CHUNK: usize = 512;

type Bytes = Field<u8, ndarray::Ix1>;

/// A producer whose pages were written in several versions, and then no more. Only the last chunk
/// is written later.
struct Scene {
    producer: Producer,
    field: Bytes,
    observer: Observer,
    pages: usize,
    step: u64,
}

impl Scene {
    fn new(chunks: usize, shared: bool) -> Scene {
        let name = name("compaction");
        let pages = chunks * CHUNK;
        // A chunk that is deferred is captured as a whole, and so is not scattered.
        let builder = Producer::builder(&name)
            .capacity(pages * PAGE)
            .capture(CaptureMode::Inline);
        let builder = builder.shared_backing(shared).cold_versions(1);
        let mut producer = builder.compact_after(2).create().unwrap();
        let field = producer.field("a", [pages * PAGE]).add().unwrap();
        let observer = Observer::attach(&name).unwrap();
        let mut scene = Scene {
            producer,
            field,
            observer,
            pages,
            step: 0,
        };
        scene.publish(0..pages, 1);
        // The held versions make the next ones use other planes.
        let first = scene.observer.latest().unwrap();
        scene.publish(1..pages - CHUNK, 3);
        let second = scene.observer.latest().unwrap();
        scene.publish(2..pages - CHUNK, 3);
        drop((first, second));
        scene
    }

    /// Writes every `every`-th of these pages and publishes.
    fn publish(&mut self, pages: Range<usize>, every: usize) {
        self.step += 1;
        let mut view = self.producer.view_mut(self.field).unwrap();
        let bytes = view.as_slice_mut().unwrap();
        for page in pages.step_by(every) {
            let word = self.step << 32 | page as u64;
            bytes[page * PAGE + 8..page * PAGE + 16].copy_from_slice(&word.to_le_bytes());
        }
        let receipt = self.producer.publish_visible(self.step, 0.0).unwrap();
        assert!(receipt.version().is_some(), "{receipt:?}");
        assert!(self.producer.check_store().unwrap());
    }

    /// Publishes a version that changes only a page of the last chunk.
    fn publish_elsewhere(&mut self) -> Version {
        let elsewhere = self.pages - 1;
        self.publish(elsewhere..self.pages, 1);
        let version = self.observer.latest().unwrap();
        let changed: Vec<_> = version.changes().unwrap().pages.iter().collect();
        assert_eq!(changed.len(), 1, "changed are {changed:?}");
        assert_eq!(version.changed_pages(), 1);
        version
    }

    /// Returns the number of runs of the pages that are no longer written.
    fn runs(&self, version: &Version) -> usize {
        let bytes = (self.pages - CHUNK) * PAGE;
        version.runs(0..bytes as u64).unwrap().len()
    }

    /// Publishes until few runs are left.
    fn until_compacted(&mut self, mut each: impl FnMut(&Scene, Version)) -> Version {
        let chunks = self.pages / CHUNK;
        poll_until("pages are compacted", || {
            let version = self.publish_elsewhere();
            each(self, version.clone());
            (self.runs(&version) <= 2 * chunks).then_some(version)
        })
    }

    fn assert_right(&self, view: &View) {
        let live = self.producer.view(self.field).unwrap();
        assert!(
            view.bytes("a").unwrap() == live.as_slice().unwrap(),
            "bytes differ"
        );
    }
}

/// Checks that old and new observers see live memory, in views and by reading.
fn assert_all_views_are_right(scene: &Scene, old: &mut Observer) {
    let mut new = Observer::attach(scene.producer.name()).unwrap();
    for observer in [old, &mut new] {
        let version = observer.latest().unwrap();
        scene.assert_right(&version.view().unwrap());
        let mut bytes = vec![0; scene.pages * PAGE];
        version.read_bytes("a", 0, &mut bytes).unwrap();
        let live = scene.producer.view(scene.field).unwrap();
        assert!(bytes == live.as_slice().unwrap());
    }
}

#[test]
fn compaction_of_cold_pages_changes_no_byte_of_any_view() {
    for shared in [false, true] {
        let mut scene = Scene::new(6, shared);
        let mut old = Observer::attach(scene.producer.name()).unwrap();
        let held = old.latest().unwrap();
        let (view, mut shown) = (held.view().unwrap(), None);
        let before = view.bytes("a").unwrap().to_vec();
        assert!(scene.runs(&held) > 5 * 300, "{}", scene.runs(&held));
        scene.until_compacted(|scene, version| {
            // The same window is used for one version after the other.
            shown = None;
            let view = version.view().unwrap();
            scene.assert_right(&view);
            shown = Some(view);
        });
        assert!(scene.producer.stats().pages_compacted > 0);
        assert!(view.bytes("a").unwrap() == before, "a held version changed");
        drop(view);
        assert_all_views_are_right(&scene, &mut old);
        // Compacted pages can be written again.
        scene.publish(7..scene.pages, 31);
        assert_all_views_are_right(&scene, &mut old);
    }
}

#[test]
fn live_memory_stays_shared_while_its_neighbours_are_compacted() {
    let mut scene = Scene::new(4, true);
    let shared_bytes_now = |scene: &mut Scene| {
        scene.publish_elsewhere();
        scene.producer.stats().shared_bytes as usize
    };
    // First, memory becomes shared. Then most pages are written, which leaves too few for
    // sharing with another plane. The pages that stay shared lie on a plane that has fewer pages
    // than another one.
    let pages = scene.pages;
    poll_until("memory is shared", || {
        (shared_bytes_now(&mut scene) > 2 * CHUNK * PAGE).then_some(())
    });
    scene.publish(0..pages - CHUNK, 2);
    scene.publish(1..pages - CHUNK, 8);
    scene.until_compacted(|_, _| {});
    assert!(scene.producer.check_store().unwrap());
    let mut observer = Observer::attach(scene.producer.name()).unwrap();
    assert_all_views_are_right(&scene, &mut observer);
}
