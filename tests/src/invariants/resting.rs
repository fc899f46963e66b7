//! I11: what live memory rests on is neither written nor given back.

use super::{Check, PAGES, live, newest_is, region, text, touch};
use crate::PublishVisible;
use crate::name;
use crate::oracle::ensure;
use tcasm_core::sys::mem::page_size;
use tcasm_observer::Observer;
use tcasm_producer::CaptureMode;

/// A page is said to have changed, and has not: its slot is not left while live memory rests there.
pub fn i11_memory_that_rests_on_a_plane_stays_what_it_is() -> Check {
    let name = name("i11");
    // What is captured later rests nowhere.
    let (mut producer, field) = region(&name, |b| b.capture(CaptureMode::Now).history(0))?;
    let mut observer = Observer::attach(&name).map_err(text)?;
    touch(&mut producer, field, 0, 1, 7)?;
    let written = live(&producer, field)?;
    for step in 0..10 {
        producer.publish_visible(step, 0.0).map_err(text)?;
    }
    let resting = producer.stats().resting_bytes;
    ensure(resting != 0, || "nothing rests".to_owned())?;
    for step in 10..16 {
        // Not the first page, of which live memory may have a copy for the sake of core dumps.
        producer.mark_dirty_bytes(field, page_size()..2 * page_size());
        touch(&mut producer, field, PAGES - 1, 1, 7)?;
        producer.publish_visible(step, 0.0).map_err(text)?;
        producer.trim().map_err(text)?;
        ensure(live(&producer, field)? == written, || {
            format!("live memory changed by itself in step {step}")
        })?;
    }
    newest_is(&mut observer, &written)
}
