//! I11: a frame that live memory is shared with is neither written nor given back.

use super::common::{PAGES, live, newest_is, region, text, touch};
use crate::PublishVisible;
use crate::check::Check;
use crate::child::DEADLINE;
use crate::name;
use crate::oracle::ensure;
use std::time::Instant;
use tcasm_core::sys::mem::page_size;
use tcasm_observer::Observer;
use tcasm_producer::CaptureMode;

/// Checks a page that is declared as changed but is not. Its frame must stay in use while live
/// memory is shared with it.
pub fn i11_frame_shared_with_live_memory_is_not_changed() -> Check {
    let name = name("i11");
    // Deferred memory is not shared.
    let (mut producer, field) = region(&name, |b| b.capture(CaptureMode::Inline).history(0))?;
    let mut observer = Observer::attach(&name).map_err(text)?;
    touch(&mut producer, field, 0, 1, 7)?;
    let written = live(&producer, field)?;
    // The keeper may have to gather the chunk of the plane first.
    let (until, mut step) = (Instant::now() + DEADLINE, 0);
    while step < 10 || producer.stats().shared_bytes == 0 {
        let late = Instant::now() > until;
        ensure(!late, || "no memory is shared".to_owned())?;
        producer.publish_visible(step, 0.0).map_err(text)?;
        step += 1;
    }
    for step in step..step + 6 {
        // Not the first page: live memory may have a copy of it for core dumps.
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
