//! The scene of a scenario: a producer with a deferred field, and an observer.

use crate::check::Check;
use crate::child::DEADLINE;
use crate::name;
use crate::oracle::ensure;
use std::io::Error;
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_core::sys::mem::page_size;
use tcasm_observer::Observer;
use tcasm_producer::{Builder, CaptureMode, Field, Producer, Published, Receipt};

/// The number of chunks of the field.
pub const CHUNKS: usize = 16;

pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

pub fn os<T>(what: &str) -> Result<T, String> {
    Err(format!("{what}: {}", Error::last_os_error()))
}

/// A producer with a deferred field `a`, and an observer.
pub struct Scene {
    pub producer: Producer,
    pub field: Field<u8, ndarray::Ix1>,
    pub observer: Observer,
}

impl Scene {
    pub fn new() -> Result<Scene, String> {
        Self::with(CHUNKS, |b| b)
    }

    pub fn with(chunks: usize, settings: impl FnOnce(Builder) -> Builder) -> Result<Scene, String> {
        let (name, bytes) = (name("deferred"), chunks * CHUNK_PAGES * page_size());
        let builder = Producer::builder(&name)
            .capacity(4 * bytes)
            .memory(16 * bytes as u64)
            .capture(CaptureMode::Deferred)
            .cold_versions(1)
            .gather_often()
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

    /// Returns the bytes of the field.
    pub fn bytes(&mut self) -> Result<&mut [u8], String> {
        let mut view = self.producer.view_mut(self.field).map_err(text)?;
        let bytes = view.as_slice_mut().ok_or("a field in one piece")?;
        // SAFETY: the bytes are live memory of the producer, which stays mapped. The result borrows
        // `self` mutably, as the view does.
        Ok(unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr(), bytes.len()) })
    }

    pub fn fill(&mut self, value: u8) -> Check {
        self.bytes()?.fill(value);
        Ok(())
    }

    pub fn publish(&mut self) -> Result<Published, String> {
        match self.producer.publish(0, 0.0).map_err(text)? {
            Receipt::Published(published) => Ok(published),
            skipped => Err(format!("{skipped:?}")),
        }
    }

    /// Publishes the first version, with all bytes 1. From the second version on all chunks are
    /// deferred.
    pub fn begin(&mut self) -> Check {
        self.fill(1)?;
        let published = self.publish()?;
        self.shows(&published, 1)
    }

    /// Waits until the version is visible and checks that all its bytes are `value`.
    pub fn shows(&mut self, published: &Published, value: u8) -> Check {
        self.shows_bytes(published, |_| value)
    }

    /// Does the same as `shows`, with a value per page.
    pub fn shows_bytes(&mut self, published: &Published, value: impl Fn(usize) -> u8) -> Check {
        let visible = published.wait_visible(DEADLINE).map_err(text)?;
        ensure(visible, || format!("not visible: {published:?}"))?;
        self.newest_is(published.version, value)
    }

    pub fn newest_is(&mut self, number: u64, value: impl Fn(usize) -> u8) -> Check {
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

    pub fn all_deferred(&self, published: &Published) -> Check {
        let pages = (CHUNKS * CHUNK_PAGES) as u64;
        ensure(published.deferred == pages, || {
            format!("{} of {pages} pages are deferred", published.deferred)
        })
    }

    /// Checks that a store came before its chunk was saved at least once. Without that the scenario
    /// proves nothing.
    pub fn stores_came_early(&mut self) -> Check {
        self.publish()?; // counts the last capture
        ensure(self.producer.stats().early_stores > 0, || {
            "no store came before its chunk was saved".to_owned()
        })
    }
}
