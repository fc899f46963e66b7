//! Publishing, and going back to a version.

use crate::border::{Growing, Out, Plain, Sized};
use crate::call::call;
use crate::handles::Handle;
use crate::producer::Producer;
use crate::status::{Failure, TCASM_NOT_READY, TCASM_SKIPPED};
use crate::waiting::seconds;
use parking_lot::Mutex;
use std::ffi::c_int;
use tcasm_producer::{PublishError, Published, Receipt};

/// The receipt of the last call that published or skipped.
#[derive(Default)]
pub struct Last(Mutex<Option<Receipt>>);

/// The result of a call of publish. Set `size` to `sizeof(tcasm_receipt)` before the call
/// (`tcasm_receipt r = TCASM_INIT(tcasm_receipt);`).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct tcasm_receipt {
    /// The size of this structure in bytes. The caller sets it.
    pub size: usize,
    /// The number of the version, or 0 if nothing was published.
    pub version: u64,
    /// The pages that were captured.
    pub pages: u64,
    /// Of these, the pages that are captured after the call.
    pub deferred: u64,
    /// Of these, the pages that became part of the version without a copy.
    pub handed_over: u64,
    /// The bytes that are copied, in the call or after it.
    pub bytes: u64,
    /// The time that the call took, in seconds.
    pub seconds: f64,
    /// The number of adopted fields that are lost since the last version. `tcasm_lost_name` has the
    /// names of all that are lost.
    pub lost: usize,
}

impl Plain for tcasm_receipt {}
impl Growing for tcasm_receipt {
    const FIRST: usize = 56;
}

/// Publishes the fields as they are now, as the next version, of simulation step `step` and time
/// `time`. Never waits for an observer. No other thread may store to fields meanwhile. Returns
/// `TCASM_SKIPPED` if there is no room: `tcasm_last_error` says why, and the changes are in the
/// next version.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_publish(producer: Handle<Producer>, step: u64, time: f64) -> c_int {
    call(|| {
        let object = producer.get()?;
        finish(&object, object.inner.with(|p| p.publish(step, time))??)
    })
}

/// Publishes like `tcasm_publish`. If there is no room, tries again for up to `timeout` seconds, or
/// for ever if it is negative. Other threads can use the producer between the tries.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_publish_wait(
    producer: Handle<Producer>,
    step: u64,
    time: f64,
    timeout: f64,
) -> c_int {
    call(|| {
        let skipped = |tried: &Result<Receipt, PublishError>| {
            tried.as_ref().is_ok_and(|r| r.skipped().is_some())
        };
        let object = producer.get()?;
        let publish = |p: &mut tcasm_producer::Producer, slice| p.publish_wait(step, time, slice);
        finish(&object, object.inner.wait(timeout, publish, skipped)??)
    })
}

/// Remembers what a call of publish has done.
fn finish(producer: &Producer, receipt: Receipt) -> Result<(), Failure> {
    let skipped = receipt.skipped().map(|reason| reason.to_string());
    *producer.last.0.lock() = Some(receipt);
    skipped.map_or(Ok(()), |reason| Err(Failure::new(TCASM_SKIPPED, reason)))
}

/// Stores what the last call of publish has done.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_last_receipt(
    producer: Handle<Producer>,
    receipt: Sized<tcasm_receipt>,
) -> c_int {
    call(|| {
        let producer = producer.get()?;
        let last = producer.last.0.lock();
        let nothing = || Failure::new(TCASM_NOT_READY, "nothing was published yet");
        let told = match last.as_ref().ok_or_else(nothing)? {
            Receipt::Published(published) => told(published),
            Receipt::Skipped { duration, .. } => tcasm_receipt {
                seconds: duration.as_secs_f64(),
                ..Default::default()
            },
        };
        receipt.set(&told, "tcasm_receipt")
    })
}

fn told(published: &Published) -> tcasm_receipt {
    tcasm_receipt {
        size: size_of::<tcasm_receipt>(),
        version: published.version,
        pages: published.pages,
        deferred: published.deferred,
        handed_over: published.handed_over,
        bytes: published.bytes,
        seconds: published.duration.as_secs_f64(),
        lost: published.lost.len(),
    }
}

/// Waits until observers can see the version that was published last, for up to `timeout` seconds,
/// or for ever if it is negative. Returns `TCASM_NOT_READY` if they cannot in time, and an error if
/// its capture was given up.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_wait_visible(producer: Handle<Producer>, timeout: f64) -> c_int {
    call(|| {
        let limit = seconds(timeout)?;
        let last = producer.get()?.last.0.lock().clone();
        let Some(Receipt::Published(published)) = last else {
            return Err(Failure::new(
                TCASM_NOT_READY,
                "the last call published nothing",
            ));
        };
        match published.wait_visible(limit).map_err(Failure::other)? {
            true => Ok(()),
            false => Err(late()),
        }
    })
}

/// Waits until all that was published is captured, for up to `timeout` seconds, or for ever if it
/// is negative. With `TCASM_NO_KERNEL_WRITES`, call this before a system call writes into a field.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_wait_captured(producer: Handle<Producer>, timeout: f64) -> c_int {
    call(|| {
        let wait = |p: &mut tcasm_producer::Producer, slice| p.wait_captured(slice);
        match producer.get()?.inner.wait(timeout, wait, |done| !done)? {
            true => Ok(()),
            false => Err(late()),
        }
    })
}

fn late() -> Failure {
    Failure::new(TCASM_NOT_READY, "the capture still runs")
}

/// Restores all fields, lengths and meshes to those of a version that is still available. Stores
/// its step and time, unless the places are null.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_rollback(
    producer: Handle<Producer>,
    version: u64,
    step: Out<u64>,
    time: Out<f64>,
) -> c_int {
    call(|| {
        let back = producer.with(|p| p.rollback(version))?;
        step.set(back.step);
        time.set(back.time);
        Ok(())
    })
}

/// Gives memory that no version needs back to the system. Stores the number of bytes.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_trim(producer: Handle<Producer>, bytes: Out<u64>) -> c_int {
    call(|| {
        bytes.set(producer.with(|p| p.trim().map_err(Failure::other))?);
        Ok(())
    })
}
