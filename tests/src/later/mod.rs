//! Captures that go on after `publish` has returned, under everything that may come in between.
//!
//! Each scenario runs in a process of its own (`bin/later`): they use signals, limits, forked children and points at
//! which a thread panics. Stores come before their chunk is saved because there is one copier, which is in no hurry.

mod failures;
mod kernel;
mod learning;
mod resting;
mod storms;

pub use kernel::poke;

use crate::child::DEADLINE;
use crate::name;
use crate::oracle::ensure;
use std::io::Error;
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_core::sys::mem::page_size;
use tcasm_observer::Observer;
use tcasm_producer::{Builder, CaptureMode, Field, Producer, Published, Receipt};

/// Nothing, or what was wrong.
pub type Check = Result<(), String>;

/// A scenario and its name.
pub type Scenario = (&'static str, fn() -> Check);

/// All scenarios.
pub const SCENARIOS: &[Scenario] = &[
    ("kernel-writes", kernel::writes_of_the_kernel_wait),
    ("forks", kernel::forks_change_nothing),
    ("storm", storms::stores_come_at_once),
    ("storm-without-huge-pages", storms::without_huge_pages),
    ("beginnings", storms::pages_come_into_being),
    ("signals", storms::a_signal_handler_stores),
    ("swaps", storms::buffers_swap),
    ("end", storms::the_producer_ends),
    ("devices", learning::devices_keep_chunks_out),
    ("silence", learning::a_silent_field_goes_back),
    ("prediction", learning::what_is_expected_faults_no_more),
    ("hurry", learning::publishing_again_at_once),
    ("panic", failures::a_thread_panics),
    (
        "panic-and-stores",
        failures::a_thread_panics_while_stores_wait,
    ),
    ("memory", failures::memory_runs_out),
    ("rest", resting::memory_comes_to_rest_and_is_written),
    ("rest-marked", resting::devices_take_their_memory_back),
    ("rest-devices", resting::open_devices_keep_memory_in_place),
    ("rest-fails", resting::memory_that_cannot_come_to_rest_stays),
    (
        "rest-dropped",
        resting::stores_that_are_dropped_leave_memory_at_rest,
    ),
    (
        "rest-copies-dropped",
        resting::copies_that_are_dropped_are_in_the_next_version,
    ),
    ("rest-in-holes", resting::memory_that_planes_get_is_counted),
    ("rest-hot", resting::expected_pages_do_not_rest),
    ("rest-again", resting::memory_wakes_and_comes_to_rest_again),
];

/// Chunks of the field.
const CHUNKS: usize = 16;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn os<T>(what: &str) -> Result<T, String> {
    Err(format!("{what}: {}", Error::last_os_error()))
}

/// A producer whose field `a` is captured later, and an observer.
struct Scene {
    producer: Producer,
    field: Field<u8, ndarray::Ix1>,
    observer: Observer,
}

impl Scene {
    fn new() -> Result<Scene, String> {
        Self::with(CHUNKS, |b| b)
    }

    fn with(chunks: usize, settings: impl FnOnce(Builder) -> Builder) -> Result<Scene, String> {
        let (name, bytes) = (name("later"), chunks * CHUNK_PAGES * page_size());
        let builder = Producer::builder(&name)
            .capacity(4 * bytes)
            .memory(16 * bytes as u64)
            .capture(CaptureMode::Later)
            .calm_versions(1)
            .copiers(1)
            .copier_nice(19);
        let mut producer = settings(builder).create().map_err(text)?;
        let field = producer.field("a", [bytes]).add().map_err(text)?;
        let observer = Observer::attach(&name).map_err(text)?;
        Ok(Scene {
            producer,
            field,
            observer,
        })
    }

    /// The bytes of the field.
    fn bytes(&mut self) -> Result<&mut [u8], String> {
        let mut view = self.producer.view_mut(self.field).map_err(text)?;
        let bytes = view.as_slice_mut().ok_or("a field in one piece")?;
        // SAFETY: live memory of the producer, which stays mapped; the result borrows `self` as the view does.
        Ok(unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr(), bytes.len()) })
    }

    fn fill(&mut self, value: u8) -> Check {
        self.bytes()?.fill(value);
        Ok(())
    }

    fn publish(&mut self) -> Result<Published, String> {
        match self.producer.publish(0, 0.0).map_err(text)? {
            Receipt::Published(published) => Ok(published),
            skipped => Err(format!("{skipped:?}")),
        }
    }

    /// Publish for the first time, with all bytes 1: from the second time on all chunks are captured later.
    fn begin(&mut self) -> Check {
        self.fill(1)?;
        let published = self.publish()?;
        self.shows(&published, 1)
    }

    /// Wait until the version is visible: all its bytes must be `value`.
    fn shows(&mut self, published: &Published, value: u8) -> Check {
        self.shows_bytes(published, |_| value)
    }

    /// The same with a value per page.
    fn shows_bytes(&mut self, published: &Published, value: impl Fn(usize) -> u8) -> Check {
        let visible = published.wait_visible(DEADLINE).map_err(text)?;
        ensure(visible, || format!("not visible: {published:?}"))?;
        self.newest_is(published.version, value)
    }

    fn newest_is(&mut self, number: u64, value: impl Fn(usize) -> u8) -> Check {
        let version = self.observer.latest().map_err(text)?;
        ensure(version.number() == number, || {
            format!("version {} instead of {number}", version.number())
        })?;
        let mut bytes = vec![0; self.bytes()?.len()];
        version.read_bytes("a", 0, &mut bytes).map_err(text)?;
        let mut pages = bytes.chunks(page_size()).enumerate();
        let wrong = pages.find(|(page, bytes)| bytes.iter().any(|b| *b != value(*page)));
        ensure(wrong.is_none(), || {
            let page =
                wrong.map(|(page, bytes)| (page, value(page), bytes[0], bytes[bytes.len() - 1]));
            format!("version {number}: page, wanted, first and last byte: {page:?}")
        })
    }

    fn all_later(&self, published: &Published) -> Check {
        let pages = (CHUNKS * CHUNK_PAGES) as u64;
        ensure(published.later == pages, || {
            format!("{} of {pages} pages are captured later", published.later)
        })
    }

    /// Stores must have come early at least once, or the scenario shows nothing.
    fn stores_came_early(&mut self) -> Check {
        self.publish()?; // takes note of the last capture
        ensure(self.producer.stats().early_stores > 0, || {
            "no store came early".to_owned()
        })
    }
}
