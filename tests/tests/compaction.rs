//! Pages that lie scattered over planes and change no more are put together, and nobody sees a byte change.

use std::ops::Range;
use tcasm_observer::{Observer, Version, View};
use tcasm_producer::{CaptureMode, Field, Producer};
use tcasm_tests::child::poll_until;
use tcasm_tests::{PublishVisible, name};

const PAGE: usize = 4096;
const CHUNK: usize = 512;

type Bytes = Field<u8, ndarray::Ix1>;

/// A producer whose pages, all but the last chunk's, were written in several versions, and then no more.
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
        // What is captured later, as a whole, does not scatter.
        let builder = Producer::builder(&name)
            .capacity(pages * PAGE)
            .capture(CaptureMode::Now);
        let builder = builder.shared_backing(shared).calm_versions(1);
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
        // Held versions keep planes apart.
        let first = scene.observer.latest().unwrap();
        scene.publish(1..pages - CHUNK, 3);
        let second = scene.observer.latest().unwrap();
        scene.publish(2..pages - CHUNK, 3);
        drop((first, second));
        scene
    }

    /// Write every so many of these pages, and publish.
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

    /// Publish one page elsewhere.
    fn go_on(&mut self) -> Version {
        let elsewhere = self.pages - 1;
        self.publish(elsewhere..self.pages, 1);
        let version = self.observer.latest().unwrap();
        let changed: Vec<_> = version.changes().unwrap().pages.iter().collect();
        assert_eq!(changed.len(), 1, "changed are {changed:?}");
        assert_eq!(version.changed_pages(), 1);
        version
    }

    /// Runs of the pages that change no more.
    fn runs(&self, version: &Version) -> usize {
        let bytes = (self.pages - CHUNK) * PAGE;
        version.runs(0..bytes as u64).unwrap().len()
    }

    /// Publish until few runs are left.
    fn until_together(&mut self, mut each: impl FnMut(&Scene, Version)) -> Version {
        let chunks = self.pages / CHUNK;
        poll_until("pages are put together", || {
            let version = self.go_on();
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

/// Whoever looks, and however, sees what the simulation has.
fn assert_all_see(scene: &Scene, old: &mut Observer) {
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
fn what_changes_no_more_is_put_together_and_every_view_shows_the_same_bytes() {
    for shared in [false, true] {
        let mut scene = Scene::new(6, shared);
        let mut old = Observer::attach(scene.producer.name()).unwrap();
        let held = old.latest().unwrap();
        let (view, mut shown) = (held.view().unwrap(), None);
        let before = view.bytes("a").unwrap().to_vec();
        assert!(scene.runs(&held) > 5 * 300, "{}", scene.runs(&held));
        scene.until_together(|scene, version| {
            // One window follows from version to version.
            shown = None;
            let view = version.view().unwrap();
            scene.assert_right(&view);
            shown = Some(view);
        });
        assert!(scene.producer.stats().pages_compacted > 0);
        assert!(view.bytes("a").unwrap() == before, "a held version changed");
        drop(view);
        assert_all_see(&scene, &mut old);
        // And it is written again.
        scene.publish(7..scene.pages, 31);
        assert_all_see(&scene, &mut old);
    }
}

#[test]
fn live_memory_that_rests_stays_where_it_is_while_its_neighbours_are_put_together() {
    let mut scene = Scene::new(4, true);
    let resting = |scene: &mut Scene| {
        scene.go_on();
        scene.producer.stats().resting_bytes as usize
    };
    // It comes to rest; then most is written, too little for it to come to rest elsewhere, and what is left rests on a plane that
    // has fewer pages than another.
    let pages = scene.pages;
    poll_until("memory rests", || {
        (resting(&mut scene) > 2 * CHUNK * PAGE).then_some(())
    });
    scene.publish(0..pages - CHUNK, 2);
    scene.publish(1..pages - CHUNK, 8);
    scene.until_together(|_, _| {});
    assert!(scene.producer.check_store().unwrap());
    let mut observer = Observer::attach(scene.producer.name()).unwrap();
    assert_all_see(&scene, &mut observer);
}
