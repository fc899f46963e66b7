//! The capture policy: which chunks are deferred, and which pages are expected to be dirty.

use super::scene::{CHUNKS, Scene, text};
use crate::check::Check;
use crate::child::DEADLINE;
use crate::oracle::ensure;
use crate::page_faults;
use std::num::NonZeroU64;
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_core::sys::mem::page_size;
use tcasm_producer::{Builder, CaptureMode, Receipt, Skip};

const PAGES: u64 = (CHUNKS * CHUNK_PAGES) as u64;

/// Checks that a buffer is captured inside `publish` once devices write it, even when that is
/// declared in the middle of a capture.
pub fn buffers_of_devices_are_captured_inline() -> Check {
    let mut scene = Scene::new()?;
    scene.begin()?;
    scene.fill(2)?;
    let published = scene.publish()?;
    scene.all_deferred(&published)?;
    scene.producer.register_dma(scene.field);
    scene.fill(3)?;
    scene.shows(&published, 2)?;
    for _ in 0..5 {
        let published = scene.publish()?;
        let (deferred, pages) = (published.deferred, published.pages);
        ensure(deferred == 0 && pages == PAGES, || format!("{published:?}"))?;
        scene.shows(&published, 3)?;
    }
    Ok(())
}

/// Checks that a field that is rewritten becomes deferred, and inline again when it is no longer
/// written. The versions in between must report no change.
pub fn unchanged_field_returns_to_inline_capture() -> Check {
    let mut scene = Scene::with(CHUNKS, |b| b.capture(CaptureMode::Auto))?;
    let mut deferred = 0;
    for step in 1..8 {
        scene.fill(step)?;
        let published = scene.publish()?;
        scene.shows(&published, step)?;
        deferred = published.deferred;
    }
    ensure(deferred == PAGES, || {
        format!("{deferred} pages are deferred")
    })?;
    for _ in 0..30 {
        let published = scene.publish()?;
        scene.shows(&published, 7)?;
        let version = scene.observer.latest().map_err(text)?;
        let changed = version.changes().map_err(text)?.pages.len() as u64;
        ensure((changed, version.changed_pages()) == (0, 0), || {
            format!(
                "version {} says that {changed} pages changed",
                version.number()
            )
        })?;
        deferred = published.deferred;
    }
    ensure(deferred == 0, || {
        format!("{deferred} pages are deferred still")
    })?;
    scene.fill(9)?;
    let published = scene.publish()?;
    scene.shows(&published, 9)
}

/// Checks that stores to every fourth page do not fault from the third version on. Then other pages
/// are written, and must be learnt in the same way.
pub fn stores_to_expected_pages_do_not_fault() -> Check {
    // When a chunk becomes shared with a plane, its expected pages fault once more: see `shared`.
    let settings = |b: Builder| b.capture(CaptureMode::Inline).shared_backing(false);
    let mut scene = Scene::with(CHUNKS, settings)?;
    scene.begin()?;
    let expected = (PAGES / 4) as i64;
    let mut values = vec![1; PAGES as usize];
    for step in 2..20u8 {
        let from = usize::from(step >= 10);
        let bytes = scene.bytes()?;
        let before = page_faults();
        for page in (from..PAGES as usize).step_by(4) {
            bytes[page * page_size()..][..page_size()].fill(step);
        }
        let faults = page_faults() - before;
        (from..PAGES as usize)
            .step_by(4)
            .for_each(|page| values[page] = step);
        let published = scene.publish()?;
        scene.shows_bytes(&published, |page| values[page])?;
        ensure(published.pages as i64 == expected, || {
            format!("step {step}: {} pages changed", published.pages)
        })?;
        // A page is expected after two versions in a row. (Version 1 wrote every page.)
        let fine = match step {
            2 | 10 | 11 => faults >= expected,
            4..10 | 13.. => faults < expected / 20,
            _ => true,
        };
        ensure(fine, || format!("step {step}: {faults} faults"))?;
    }
    let pages = scene.producer.stats().pages_expected as i64;
    ensure(pages == expected, || format!("{pages} pages are expected"))
}

/// Checks that an appointed step is never skipped because the capture of the step before it still
/// runs.
pub fn appointed_steps_wait_for_captures() -> Check {
    let even = NonZeroU64::new(2).ok_or("2 is 0")?;
    let mut scene = Scene::with(CHUNKS, |b| b.reserve_for_every(even).versions(12))?;
    scene.begin()?;
    let mut ran = 0;
    for round in 0..200u8 {
        let value = round % 100 + 2;
        scene.fill(value)?;
        let first = scene.producer.publish(1, 0.0).map_err(text)?;
        let Receipt::Published(first) = first else {
            return Err(format!("{first:?}"));
        };
        scene.bytes()?[..page_size()].fill(255);
        ran += usize::from(!first.is_visible());
        let published = scene.publish()?;
        scene.shows_bytes(&published, |page| if page == 0 { 255 } else { value })?;
        if ran > 5 {
            break;
        }
    }
    ensure(ran > 5, || format!("{ran} captures still ran"))
}

/// Checks that `publish` during a capture skips, or waits if the builder says so, and that no
/// change is lost.
pub fn publish_during_capture_skips_or_waits() -> Check {
    let mut scene = Scene::new()?;
    scene.begin()?;
    let mut skips = 0;
    for round in 0..200u8 {
        let value = round % 100 + 2;
        scene.fill(value)?;
        let first = scene.publish()?;
        scene.bytes()?[0] = 255;
        match scene.producer.publish(0, 0.0).map_err(text)? {
            Receipt::Published(_) => {}
            Receipt::Skipped {
                reason: Skip::Capturing { version },
                ..
            } => {
                ensure(version == first.version, || {
                    format!("version {version} is captured")
                })?;
                skips += 1;
                scene.shows(&first, value)?;
            }
            other => return Err(format!("{other:?}")),
        }
        let _ = first.wait_visible(DEADLINE);
        scene.bytes()?[..page_size()].fill(255);
        let receipt = scene
            .producer
            .publish_wait(0, 0.0, DEADLINE)
            .map_err(text)?;
        let Receipt::Published(last) = receipt else {
            return Err(format!("{receipt:?}"));
        };
        scene.shows_bytes(&last, |page| if page == 0 { 255 } else { value })?;
        if skips > 3 {
            break;
        }
    }
    ensure(skips > 3, || format!("{skips} skips"))?;
    let mut patient = Scene::with(CHUNKS, |b| b.wait_for_capture(true))?;
    patient.begin()?;
    for value in 2..12 {
        patient.fill(value)?;
        patient.publish()?;
    }
    let last = patient.publish()?;
    patient.shows(&last, 11)
}
