//! The invariants of `docs/design.md`, each as a function that looks for a violation.
//!
//! Each check runs in a process of its own (`bin/invariant`). A guard is switched off for a whole
//! process, and the violation may hang or crash it. A check uses public interfaces only, knows
//! nothing of guards, and always ends, even if `publish` does not.

mod damage;
mod failures;
mod peers;
mod shared;
mod versions;

use crate::capture_mode;
use crate::oracle::ensure;
use std::sync::mpsc::channel;
use std::time::Duration;
use tcasm_core::sys::mem::page_size;
use tcasm_observer::{Observer, Version};
use tcasm_producer::{Builder, CaptureMode, Field, Producer};

pub use peers::{die_in_publish, hold};

/// Success, or a text that says what was violated.
pub type Check = Result<(), String>;

/// The name of a check, and its function.
pub type Named = (&'static str, fn() -> Check);

/// All checks.
pub const CHECKS: [Named; 10] = [
    ("i1", versions::i1_frame_in_use_is_never_written),
    ("i2", peers::i2_a_version_is_visible_only_when_it_is_whole),
    ("i3", versions::i3_a_version_that_is_pinned_is_not_reclaimed),
    ("i4", failures::i4_no_change_is_lost_when_publish_fails),
    ("i5", peers::i5_stopped_and_killed_observers_change_nothing),
    ("i6", failures::i6_an_error_of_the_tracker_loses_nothing),
    ("i7", versions::i7_memory_stays_under_its_bound),
    (
        "i8",
        peers::i8_hostile_observers_waste_no_more_than_the_bound,
    ),
    ("i9", damage::i9_a_damaged_index_gives_errors),
    (
        "i11",
        shared::i11_frame_shared_with_live_memory_is_not_changed,
    ),
];

/// The field of most checks: bytes, in more than one chunk.
type Bytes = Field<u8, ndarray::Ix1>;
const PAGES: usize = 600;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Returns a producer with one field of [`PAGES`] pages.
fn region(
    name: &str,
    settings: impl FnOnce(Builder) -> Builder,
) -> Result<(Producer, Bytes), String> {
    let builder = Producer::builder(name)
        .capacity(2 * PAGES * page_size())
        .cold_versions(1);
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
fn touch(producer: &mut Producer, field: Bytes, from: usize, step: usize, value: u8) -> Check {
    let mut view = producer.view_mut(field).map_err(text)?;
    let bytes = view.as_slice_mut().ok_or("a field in one piece")?;
    for page in (from..PAGES).step_by(step) {
        bytes[page * page_size()] = value;
    }
    Ok(())
}

/// Returns the present bytes of the field.
fn live(producer: &Producer, field: Bytes) -> Result<Vec<u8>, String> {
    Ok(producer.view(field).map_err(text)?.to_vec())
}

/// Returns the bytes of the field in a version. They are read, not mapped, because without a guard
/// they may change meanwhile.
fn bytes_of(version: &Version) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; version.field("a").ok_or("no field in the version")?.bytes() as usize];
    version.read_bytes("a", 0, &mut bytes).map_err(text)?;
    Ok(bytes)
}

/// Checks that the newest version holds `expected`.
fn newest_is(observer: &mut Observer, expected: &[u8]) -> Check {
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
fn within(limit: Duration, what: &str, work: impl FnOnce() -> Check + Send + 'static) -> Check {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(work()));
    let hangs = format!("{what}: not done after {limit:?}");
    receiver.recv_timeout(limit).map_err(|_| hangs)?
}
