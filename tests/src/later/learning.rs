//! What is captured when, and what is expected: learnt, and unlearnt.

use super::{CHUNKS, Check, Scene, text};
use crate::child::DEADLINE;
use crate::oracle::ensure;
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_core::sys::mem::page_size;
use tcasm_producer::{Builder, CaptureMode, Receipt, Skip};

const PAGES: u64 = (CHUNKS * CHUNK_PAGES) as u64;

/// Devices write the buffer from some moment on, in the middle of a capture: it is captured inside publish, every time.
pub fn devices_keep_chunks_out() -> Check {
    let mut scene = Scene::new()?;
    scene.begin()?;
    scene.fill(2)?;
    let published = scene.publish()?;
    scene.all_later(&published)?;
    scene.producer.register_dma(scene.field);
    scene.fill(3)?;
    scene.shows(&published, 2)?;
    for _ in 0..5 {
        let published = scene.publish()?;
        let (later, pages) = (published.later, published.pages);
        ensure(later == 0 && pages == PAGES, || format!("{published:?}"))?;
        scene.shows(&published, 3)?;
    }
    Ok(())
}

/// A field that is rewritten goes over to being captured later, and back when it falls silent; nothing has changed then.
pub fn a_silent_field_goes_back() -> Check {
    let mut scene = Scene::with(CHUNKS, |b| b.capture(CaptureMode::Auto))?;
    let mut later = 0;
    for step in 1..8 {
        scene.fill(step)?;
        let published = scene.publish()?;
        scene.shows(&published, step)?;
        later = published.later;
    }
    ensure(later == PAGES, || {
        format!("{later} pages are captured later")
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
        later = published.later;
    }
    ensure(later == 0, || {
        format!("{later} pages are captured later still")
    })?;
    scene.fill(9)?;
    let published = scene.publish()?;
    scene.shows(&published, 9)
}

/// Page faults of this thread so far.
pub(super) fn faults() -> i64 {
    // SAFETY: zeros are a valid `rusage`, which the call fills in.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage.ru_minflt
    }
}

/// Every fourth page is written each time: from the third version on without a fault. Then others are.
pub fn what_is_expected_faults_no_more() -> Check {
    // When a chunk comes to rest on a plane, its expected pages fault once more: see `resting`.
    let settings = |b: Builder| b.capture(CaptureMode::Now).shared_backing(false);
    let mut scene = Scene::with(CHUNKS, settings)?;
    scene.begin()?;
    let expected = (PAGES / 4) as i64;
    let mut values = vec![1; PAGES as usize];
    for step in 2..20u8 {
        let from = usize::from(step >= 10);
        let bytes = scene.bytes()?;
        let before = faults();
        for page in (from..PAGES as usize).step_by(4) {
            bytes[page * page_size()..][..page_size()].fill(step);
        }
        let faults = faults() - before;
        (from..PAGES as usize)
            .step_by(4)
            .for_each(|page| values[page] = step);
        let published = scene.publish()?;
        scene.shows_bytes(&published, |page| values[page])?;
        ensure(published.pages as i64 == expected, || {
            format!("step {step}: {} pages changed", published.pages)
        })?;
        // Twice in a row is what makes a habit. (Everything was written in version 1.)
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

/// Publishing while the last version is being captured skips, or waits if that was asked for; no change is lost.
pub fn publishing_again_at_once() -> Check {
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
