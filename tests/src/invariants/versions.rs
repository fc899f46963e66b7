//! I1, I3, I7 and I13: held versions never change, memory and versions stay bounded, and appointed
//! steps find room.

use super::common::{PAGES, bytes_of, live, newest_is, region, text, touch};
use crate::PublishVisible;
use crate::check::Check;
use crate::name;
use crate::oracle::ensure;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};
use tcasm_core::sys::mem::page_size;
use tcasm_observer::{Observer, Version};
use tcasm_producer::{Builder, Receipt, Skip};

/// Held versions, each with the bytes that it had at first.
struct Album(Vec<(Version, Vec<u8>)>);

impl Album {
    fn keep(&mut self, version: Version, bytes: Vec<u8>) {
        self.0.push((version, bytes));
    }

    fn check(&self) -> Check {
        for (version, then) in &self.0 {
            let changed = || format!("version {} changed while it was held", version.number());
            ensure(bytes_of(version)? == *then, changed)?;
        }
        Ok(())
    }
}

/// Checks versions 1 and 4, which are held while other versions come and go.
pub fn i1_frame_in_use_is_never_written() -> Check {
    hold_some(&name("i1"))
}

/// Checks the same for versions older than those that `history` keeps. Only pins protect these.
pub fn i3_a_version_that_is_pinned_is_not_reclaimed() -> Check {
    let name = name("i3");
    hold_some(&name)?;
    let (mut producer, field) = region(&name, |b| b.versions(4).history(0))?;
    let mut observer = Observer::attach(&name).map_err(text)?;
    touch(&mut producer, field, 0, 1, 1)?;
    producer.publish_visible(1, 0.0).map_err(text)?;
    let held = observer.latest().map_err(text)?;
    let mut publish = |step| producer.publish_visible(step, 0.0).map_err(text);
    for step in 2..5 {
        publish(step)?;
    }
    let there = || observer.available().map_err(text);
    let expected = [vec![1], replaced(&publish(5)?, 4), vec![5]].concat();
    ensure(there()? == expected, || {
        format!("versions {:?}, with 1 pinned", there())
    })?;
    drop(held);
    let expected = [replaced(&publish(6)?, 5), vec![6]].concat();
    ensure(there()? == expected, || {
        format!("versions {:?}, with none pinned", there())
    })
}

/// Returns the version before, if it still exists. It does until the next publish if the new
/// version was deferred.
fn replaced(receipt: &Receipt, before: u64) -> Vec<u64> {
    match receipt {
        Receipt::Published(p) if p.deferred != 0 => vec![before],
        _ => Vec::new(),
    }
}

fn hold_some(name: &str) -> Check {
    let (mut producer, field) = region(name, |b| b.versions(5).history(1))?;
    let mut observer = Observer::attach(name).map_err(text)?;
    let mut album = Album(Vec::new());
    for step in 1..=20u8 {
        // Some steps write nearly every page, some only a few, so that different frames are chosen.
        let (from, each) = (step as usize % 7, [1, 3, 50, 299][step as usize % 4]);
        touch(&mut producer, field, from, each, step)?;
        let receipt = producer.publish_visible(step.into(), 0.0).map_err(text)?;
        ensure(receipt.version().is_some(), || format!("{receipt:?}"))?;
        if step == 1 || step == 4 {
            album.keep(observer.latest().map_err(text)?, live(&producer, field)?);
        }
        album.check()?;
        newest_is(&mut observer, &live(&producer, field)?)?;
    }
    Ok(())
}

/// Checks the bound while an observer holds every version and every page is rewritten each time.
pub fn i7_memory_stays_under_its_bound() -> Check {
    let name = name("i7");
    let bound = (3 * PAGES * page_size()) as u64;
    let (mut producer, field) = region(&name, |b| b.versions(8).memory(bound))?;
    let mut observer = Observer::attach(&name).map_err(text)?;
    let mut album = Album(Vec::new());
    let mut skipped = 0;
    for step in 1..=10u8 {
        touch(&mut producer, field, 0, 1, step)?;
        let start = Instant::now();
        let receipt = producer.publish_visible(step.into(), 0.0).map_err(text)?;
        ensure(start.elapsed() < Duration::from_secs(20), || {
            "publish waits at the bound".to_owned()
        })?;
        let held = producer.stats().held_bytes;
        ensure(held <= bound, || {
            format!("versions hold {held} bytes, the bound is {bound}")
        })?;
        match receipt {
            Receipt::Published(_) => {
                album.keep(observer.latest().map_err(text)?, live(&producer, field)?)
            }
            Receipt::Skipped {
                reason: Skip::Bytes { .. },
                ..
            } => skipped += 1,
            other => return Err(format!("{other:?}")),
        }
        album.check()?;
    }
    ensure(skipped == 7, || format!("{skipped} skips, expected 7"))?;
    // There is room again: the next version has the changes of the skipped ones.
    album.0.drain(..2);
    producer.publish_visible(11, 0.0).map_err(text)?;
    newest_is(&mut observer, &live(&producer, field)?)?;
    at_the_bound_on_versions()
}

fn at_the_bound_on_versions() -> Check {
    let name = name("i7");
    let (mut producer, field) = region(&name, |b| b.versions(3))?;
    let mut observer = Observer::attach(&name).map_err(text)?;
    let mut held = Vec::new();
    for step in 1..=5u8 {
        touch(&mut producer, field, step as usize, 500, step)?;
        let receipt = producer.publish_visible(step.into(), 0.0).map_err(text)?;
        let fine = match receipt {
            Receipt::Published(_) => step <= 3,
            Receipt::Skipped {
                reason: Skip::Versions { bound: 3 },
                ..
            } => step > 3,
            _ => false,
        };
        ensure(fine, || format!("step {step}: {receipt:?}"))?;
        held.push(observer.latest().map_err(text)?);
    }
    held.clear();
    producer.publish_visible(6, 0.0).map_err(text)?;
    newest_is(&mut observer, &live(&producer, field)?)
}

/// Checks that an observer which holds every version of steps that are not appointed leaves room
/// for two appointed ones, both where slots and where memory are short.
pub fn i13_other_steps_leave_room_for_appointed_ones() -> Check {
    let every = NonZeroU64::new(10).ok_or("not zero")?;
    let region_bytes = (PAGES * page_size()) as u64;
    for (versions, memory) in [(6, 100 * region_bytes), (32, 6 * region_bytes)] {
        let name = name("i13");
        let settings = |b: Builder| b.versions(versions).memory(memory).reserve_for_every(every);
        let (mut producer, field) = region(&name, settings)?;
        let mut observer = Observer::attach(&name).map_err(text)?;
        let (mut others, mut appointed) = (Vec::new(), Vec::new());
        let mut skipped = 0;
        for step in 1..=25u8 {
            touch(&mut producer, field, 0, 1, step)?;
            let receipt = producer.publish_visible(step.into(), 0.0).map_err(text)?;
            let is_appointed = step % 10 == 0;
            match (receipt.version().is_some(), is_appointed) {
                (true, true) => appointed.push(observer.latest().map_err(text)?),
                (true, false) => others.push(observer.latest().map_err(text)?),
                (false, true) => return Err(format!("appointed step {step} was skipped")),
                (false, false) => skipped += 1,
            }
        }
        let steps: Vec<u64> = appointed.iter().map(Version::step).collect();
        ensure(steps == [10, 20] && skipped > 0, || {
            format!("appointed {steps:?}, {skipped} others skipped")
        })?;
        // There is room again when others are released.
        others.clear();
        producer.publish_visible(26, 0.0).map_err(text)?;
        newest_is(&mut observer, &live(&producer, field)?)?;
    }
    Ok(())
}
