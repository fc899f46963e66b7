//! I4 and I6: no change is lost when `publish` or the tracker fails.

use super::common::{Bytes, PAGES, live, newest_is, region, text, touch};
use crate::PublishVisible;
use crate::check::Check;
use crate::child::DEADLINE;
use crate::oracle::ensure;
use crate::{name, unmap};
use tcasm_core::format::layout::TABLE_BYTES;
use tcasm_core::sys::mem::page_size;
use tcasm_core::testing::fault::run_out_of_memory_after;
use tcasm_observer::{Observer, Version};
use tcasm_producer::{Builder, CaptureMode, Producer, PublishError, Receipt, TrackerKind};

/// Checks that the next publish that works has all changes, after `publish` has failed in each of
/// three ways.
pub fn i4_no_change_is_lost_when_publish_fails() -> Check {
    for tracker in [
        TrackerKind::UffdAsync,
        TrackerKind::Cow,
        TrackerKind::Compare,
    ] {
        let ways = [no_version_left, table_too_large, no_memory];
        for (i, fails) in ways.into_iter().enumerate() {
            lose_nothing(tracker, fails).map_err(|e| format!("{tracker}, failure {i}: {e}"))?;
        }
    }
    Ok(())
}

/// A function that makes one publish fail. It gets as many held versions as may exist.
type Fails = fn(&mut Producer, Vec<Version>) -> Result<Receipt, PublishError>;

fn lose_nothing(tracker: TrackerKind, fails: Fails) -> Check {
    let name = name("i4");
    let settings = |builder: Builder| {
        let builder = builder.versions(2).history(0).tracker(tracker);
        match tracker {
            TrackerKind::UffdAsync => builder,
            _ => builder.capture(CaptureMode::Auto), // these trackers have no other mode
        }
    };
    let (mut producer, field) = region(&name, settings)?;
    let mut observer = Observer::attach(&name).map_err(text)?;
    touch(&mut producer, field, 0, 7, 1)?;
    let mut pins = Vec::new();
    for step in 1..=2 {
        producer.publish_visible(step, 0.0).map_err(text)?;
        pins.push(observer.latest().map_err(text)?);
    }
    touch(&mut producer, field, 3, 11, 2)?;
    let outcome = fails(&mut producer, pins);
    let failed = outcome.as_ref().map_or(true, |r| r.version().is_none());
    ensure(failed, || format!("it did not fail: {outcome:?}"))?;
    newest_is_older(&mut observer, &producer, field)?;
    let receipt = producer.publish_visible(4, 0.0).map_err(text)?;
    ensure(receipt.version().is_some(), || format!("{receipt:?}"))?;
    newest_is(&mut observer, &live(&producer, field)?)
}

/// Checks that the last version still exists after the failure, without the new bytes.
fn newest_is_older(observer: &mut Observer, producer: &Producer, field: Bytes) -> Check {
    let mut old = live(producer, field)?;
    for page in 0..PAGES {
        old[page * page_size()] = u8::from(page % 7 == 0);
    }
    newest_is(observer, &old)
}

fn no_version_left(producer: &mut Producer, _pins: Vec<Version>) -> Result<Receipt, PublishError> {
    producer.publish_visible(3, 0.0)
}

fn table_too_large(producer: &mut Producer, pins: Vec<Version>) -> Result<Receipt, PublishError> {
    drop(pins);
    producer.set_attr("text", "x".repeat(TABLE_BYTES));
    let outcome = producer.publish_visible(3, 0.0);
    producer.set_attr("text", "short");
    outcome
}

/// Makes memory run out in the middle of a capture.
fn no_memory(producer: &mut Producer, pins: Vec<Version>) -> Result<Receipt, PublishError> {
    drop(pins);
    run_out_of_memory_after(1);
    let outcome = producer.publish_visible(3, 0.0);
    run_out_of_memory_after(u64::MAX);
    outcome
}

/// Checks the case in which another mapping replaces a page in the middle. The scan ends there with
/// an error, before the pages behind it.
pub fn i6_an_error_of_the_tracker_loses_nothing() -> Check {
    let name = name("i6");
    let (mut producer, field) = region(&name, |b| b.tracker(TrackerKind::UffdAsync))?;
    let mut observer = Observer::attach(&name).map_err(text)?;
    touch(&mut producer, field, 0, 1, 1)?;
    producer.publish_visible(1, 0.0).map_err(text)?;
    unmap::replace_page(&mut producer, PAGES / 2).map_err(text)?;
    for step in 2..6u8 {
        touch(&mut producer, field, step as usize, 13, step)?;
        let receipt = producer.publish(step.into(), 0.0).map_err(text)?;
        if let Receipt::Published(published) = receipt
            && published.wait_visible(DEADLINE).is_err()
        {
            // The gate met the page. The next version has the changes of this one.
            producer.publish_visible(step.into(), 0.0).map_err(text)?;
        }
        newest_is(&mut observer, &live(&producer, field)?)?;
    }
    // From then on the gate, and then the tracker, also watch the new page.
    let stats = producer.stats();
    let found = (stats.tracker_errors, stats.given_up);
    ensure([(4, 0), (0, 1)].contains(&found), || {
        format!("(errors of the tracker, versions given up) is {found:?}")
    })
}
