//! Attachments to regions.

use crate::border::{Count, Fill, Out, Text};
use crate::call::call;
use crate::constants::flag;
use crate::handles::{Handle, give, object};
use crate::status::{
    Failure, TCASM_END_OF_STREAM, TCASM_NOT_READY, TCASM_PRODUCER_LOST, TCASM_REVOKED,
};
use crate::version::Version;
use crate::waiting::{Turns, seconds};
use std::ffi::c_int;
use std::os::fd::AsRawFd;
use std::time::Duration;
use tcasm_observer::{ObserveError, Status};

/// An attachment to a region. Threads may share it: each call takes it for itself, and calls that
/// wait let the others in between.
pub struct Observer(Turns<tcasm_observer::Observer>);
object!(Observer, "observer", 6);

type Found = Result<tcasm_observer::Version, ObserveError>;

impl Handle<Observer> {
    pub(crate) fn with<T>(
        self,
        body: impl FnOnce(&mut tcasm_observer::Observer) -> Result<T, ObserveError>,
    ) -> Result<T, Failure> {
        Ok(self.get()?.0.with(body)??)
    }

    /// Stores the handle of the version that `look` finds in time.
    fn find(
        self,
        version: &Out<Handle<Version>>,
        timeout: f64,
        look: impl FnMut(&mut tcasm_observer::Observer, Duration) -> Found,
    ) -> Result<(), Failure> {
        let not_yet = |found: &Found| matches!(found, Err(ObserveError::NotReady));
        give(version, || {
            let found = self.get()?.0.wait(timeout, look, not_yet)?;
            Ok(Version::new(found?))
        })
    }
}

/// Attaches to the region `name`. Waits for it for up to `timeout` seconds, or for ever if it is
/// negative. `tcasm_detach` ends the attachment.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attach(name: Text, timeout: f64, observer: Out<Handle<Observer>>) -> c_int {
    call(|| {
        let name = name.get("the name of the region")?;
        let limit = seconds(timeout)?;
        give(&observer, || {
            let attached = tcasm_observer::Observer::attach_wait(name, limit)?;
            Ok(Observer(Turns::new(attached)))
        })
    })
}

/// Attaches to the last versions of a dead producer of the region `name`, which another process
/// keeps.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attach_kept(name: Text, observer: Out<Handle<Observer>>) -> c_int {
    call(|| {
        let name = name.get("the name of the region")?;
        give(&observer, || {
            let attached = tcasm_observer::Observer::attach_kept(name)?;
            Ok(Observer(Turns::new(attached)))
        })
    })
}

/// Ends an attachment. Versions that it has returned stay until they are released.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_detach(observer: Handle<Observer>) -> c_int {
    call(|| {
        observer.remove()?.0.close();
        Ok(())
    })
}

/// Stores the newest version, which stays pinned until `tcasm_release`.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_latest(observer: Handle<Observer>, version: Out<Handle<Version>>) -> c_int {
    call(|| {
        give(&version, || {
            Ok(Version::new(observer.with(|o| o.latest())?))
        })
    })
}

/// Waits for a version that is newer than all that were returned, and stores the newest. Waits for
/// up to `timeout` seconds, or for ever if it is negative. Returns `TCASM_NOT_READY` if there is
/// none in time, and `TCASM_END_OF_STREAM` or `TCASM_PRODUCER_LOST` if none will come.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_wait_newer(
    observer: Handle<Observer>,
    timeout: f64,
    version: Out<Handle<Version>>,
) -> c_int {
    call(|| observer.find(&version, timeout, |o, slice| o.wait_newer(slice)))
}

/// Waits like `tcasm_wait_newer`, and stores the oldest version that is newer than the last one
/// that was returned. Those that were reclaimed before are left out, except after
/// `tcasm_every_version`.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_next(
    observer: Handle<Observer>,
    timeout: f64,
    version: Out<Handle<Version>>,
) -> c_int {
    call(|| observer.find(&version, timeout, |o, slice| o.next(slice)))
}

/// With `on` = 1, makes `tcasm_next` take every version from now on, beginning with the oldest that
/// exists. The producer reclaims no version that was not taken yet, so those fill its bounds:
/// `tcasm_publish` skips then, and `tcasm_publish_wait` waits. `on` = 0 ends that.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_every_version(observer: Handle<Observer>, on: c_int) -> c_int {
    call(|| {
        let on = flag(i64::from(on), "the choice of every version")?;
        observer.with(|o| match on {
            true => o.begin_every_version(),
            false => {
                o.end_every_version();
                Ok(())
            }
        })
    })
}

/// Stores the first and the last numbers of the ranges that `tcasm_next` has left out since
/// `tcasm_every_version`: as many as there is room for. `count` is the number of all. Most are
/// numbers of versions that never became visible, because the producer gave up their capture.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_missed(
    observer: Handle<Observer>,
    firsts: Fill<u64>,
    lasts: Fill<u64>,
    room: Count,
    count: Out<usize>,
) -> c_int {
    call(|| {
        let missed = observer.with(|o| Ok(o.missed().to_vec()))?;
        let (first, last): (Vec<u64>, Vec<u64>) = missed
            .iter()
            .map(|range| (*range.start(), *range.end()))
            .unzip();
        firsts.set(&room, &first, "the place for the first numbers")?;
        count.set(lasts.set(&room, &last, "the place for the last numbers")?);
        Ok(())
    })
}

/// Stores the version of a number, if it is available.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_version_at(
    observer: Handle<Observer>,
    number: u64,
    version: Out<Handle<Version>>,
) -> c_int {
    call(|| {
        give(&version, || {
            Ok(Version::new(observer.with(|o| o.version(number))?))
        })
    })
}

/// Stores the numbers of the versions that are available, ascending: as many as there is room for.
/// `count` is the number of all.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_available(
    observer: Handle<Observer>,
    numbers: Fill<u64>,
    room: Count,
    count: Out<usize>,
) -> c_int {
    call(|| {
        let all = observer.with(|o| o.available())?;
        count.set(numbers.set(&room, &all, "the place for the numbers")?);
        Ok(())
    })
}

/// Returns the state of the stream: `TCASM_OK` if there is a version and the producer runs,
/// `TCASM_NOT_READY`, `TCASM_END_OF_STREAM`, `TCASM_PRODUCER_LOST` or `TCASM_REVOKED`.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_stream_status(observer: Handle<Observer>) -> c_int {
    call(|| {
        let (status, text) = match observer.with(|o| o.status())? {
            Status::Ok => return Ok(()),
            Status::NotReady => (TCASM_NOT_READY, "nothing was published yet"),
            Status::EndOfStream => (TCASM_END_OF_STREAM, "the producer has closed the region"),
            Status::ProducerLost => (TCASM_PRODUCER_LOST, "the producer died"),
            Status::Revoked => (TCASM_REVOKED, "the producer has revoked this observer"),
        };
        Err(Failure::new(status, text))
    })
}

/// Stores a descriptor that is readable (`poll`, `select`, `epoll`) once there is a newer version
/// or the stream has ended. It belongs to the observer: do not read or close it. Call
/// `tcasm_acknowledge` when it was readable.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_descriptor(observer: Handle<Observer>, descriptor: Out<c_int>) -> c_int {
    call(|| {
        descriptor.set(observer.with(|o| o.descriptor().map(|fd| fd.as_raw_fd()))?);
        Ok(())
    })
}

/// Makes the descriptor wait for the next version.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_acknowledge(observer: Handle<Observer>) -> c_int {
    call(|| {
        observer.with(|o| {
            o.acknowledge();
            Ok(())
        })
    })
}

/// Sets how many bytes of this process's memory mapped versions may take for copies of scattered
/// parts.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_set_copy_budget(observer: Handle<Observer>, bytes: u64) -> c_int {
    call(|| {
        observer.with(|o| {
            o.set_copy_budget(bytes);
            Ok(())
        })
    })
}
