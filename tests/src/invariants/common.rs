//! The common parts of the checks: a region with one field, and comparisons with its versions.

use crate::capture_mode;
use crate::check::Check;
use crate::oracle::ensure;
use std::sync::mpsc::channel;
use std::time::Duration;
use tcasm_core::sys::mem::page_size;
use tcasm_observer::{Observer, Version};
use tcasm_producer::{Builder, CaptureMode, Field, Producer};

/// The field of most checks: bytes, in more than one chunk.
pub type Bytes = Field<u8, ndarray::Ix1>;
pub const PAGES: usize = 600;

pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Returns a producer with one field of [`PAGES`] pages.
pub fn region(
    name: &str,
    settings: impl FnOnce(Builder) -> Builder,
) -> Result<(Producer, Bytes), String> {
    let builder = Producer::builder(name)
        .capacity(2 * PAGES * page_size())
        .cold_versions(1)
        .gather_often();
    let mut producer = settings(builder.capture(mode()?)).create().map_err(text)?;
    let field = producer
        .field::<u8, _>("a", [PAGES * page_size()])
        .add()
        .map_err(text)?;
    Ok((producer, field))
}

/// The environment variable that sets the capture mode of the regions of the checks.
pub const MODE: &str = "TCASM_TEST_CAPTURE";

fn mode() -> Result<CaptureMode, String> {
    std::env::var(MODE).map_or(Ok(CaptureMode::Auto), |mode| capture_mode(&mode))
}

/// Writes the first byte of every `step`-th page from page `from`.
pub fn touch(producer: &mut Producer, field: Bytes, from: usize, step: usize, value: u8) -> Check {
    let mut view = producer.view_mut(field).map_err(text)?;
    let bytes = view.as_slice_mut().ok_or("a field in one piece")?;
    for page in (from..PAGES).step_by(step) {
        bytes[page * page_size()] = value;
    }
    Ok(())
}

/// Returns the present bytes of the field.
pub fn live(producer: &Producer, field: Bytes) -> Result<Vec<u8>, String> {
    Ok(producer.view(field).map_err(text)?.to_vec())
}

/// Returns the bytes of the field in a version. They are read, not mapped, because without a guard
/// they may change meanwhile.
pub fn bytes_of(version: &Version) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; version.field("a").ok_or("no field in the version")?.bytes() as usize];
    version.read_bytes("a", 0, &mut bytes).map_err(text)?;
    Ok(bytes)
}

/// Checks that the newest version holds `expected`.
pub fn newest_is(observer: &mut Observer, expected: &[u8]) -> Check {
    let version = observer.latest().map_err(text)?;
    let bytes = bytes_of(&version)?;
    let page = bytes
        .chunks(page_size())
        .zip(expected.chunks(page_size()))
        .position(|(a, b)| a != b);
    ensure(page.is_none() && bytes.len() == expected.len(), || {
        format!(
            "version {} is not what was written: page {page:?} differs",
            version.number()
        )
    })
}

/// Runs `work` for at most `limit`. If it hangs, its thread is left behind.
pub fn within(limit: Duration, what: &str, work: impl FnOnce() -> Check + Send + 'static) -> Check {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(work()));
    let hangs = format!("{what}: not done after {limit:?}");
    receiver.recv_timeout(limit).map_err(|_| hangs)?
}
