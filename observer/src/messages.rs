//! Messages between an attached observer and its producer: notices, and the list of observers.

use crate::error::ObserveError;
use crate::observer::{ATTACH_TIMEOUT, Observer};
use nix::errno::Errno;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};
use tcasm_core::format::wire::{self, ObserverRow, Request};
use tcasm_core::sys::socket;
use tcasm_core::sys::time::deadline;

impl Observer {
    /// Returns a descriptor for poll, select and event loops. It becomes readable when something
    /// happens. [`Observer::latest`], [`Observer::wait_newer`], [`Observer::next`] and
    /// [`Observer::acknowledge`] read the notices, so that it is not readable any more.
    ///
    /// Several notices may become one, so look for all versions that exist: call
    /// [`Observer::next`] with a timeout of zero until it returns [`ObserveError::NotReady`].
    /// There is no notice of what happened before the first call. So the descriptor becomes
    /// readable once after it, as soon as the producer gives notice of all that follows. This call
    /// does not wait for that.
    ///
    /// Do not read from it, and do not shut it down: an observer whose sending has ended is
    /// detached, and the memory of its versions may be used for others.
    pub fn descriptor(&mut self) -> Result<BorrowedFd<'_>, ObserveError> {
        self.check()?;
        if !self.subscribed {
            // If the producer is lost, the descriptor is readable for ever. An event loop needs to
            // see that.
            let _ = socket::send(&self.session.socket, &Request::Subscribe.encode(), &[]);
            self.subscribed = true;
        }
        Ok(self.session.socket.as_fd())
    }

    /// Reads the notices that have come. Does nothing in a forked child, because they are the
    /// parent's.
    pub fn acknowledge(&mut self) {
        if self.subscribed && !self.session.forked() {
            self.discard();
        }
    }

    /// Reads the messages that have come, and forgets them.
    fn discard(&self) {
        let socket = &self.session.socket;
        let mut notice = [0; 16];
        loop {
            let taken = match socket::receive_plain(socket, &mut notice) {
                // The late answer to a request for the observers.
                Err(Errno::EMSGSIZE) => {
                    socket::receive_plain(socket, &mut vec![0; wire::REPLY_BYTES])
                }
                taken => taken,
            };
            if !matches!(taken, Ok(n) if n > 0) {
                return;
            }
        }
    }

    /// Reads messages until `read` understands one, for at most `timeout`.
    fn answer<T>(&self, timeout: Duration, read: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        let deadline = deadline(timeout);
        let socket = &self.session.socket;
        let mut buffer = vec![0; wire::REPLY_BYTES];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if !socket::wait_readable(&**socket, left) {
                return None;
            }
            match socket::receive_plain(socket, &mut buffer) {
                Ok(0) => return None,
                Ok(n) => match read(&buffer[..n]) {
                    None => continue,
                    found => return found,
                },
                Err(Errno::EAGAIN | Errno::EINTR) => continue,
                Err(_) => return None,
            }
        }
    }

    /// Returns the observers that are attached, as the producer sees them, with the existing
    /// versions that they pin. Returns none after its death.
    pub fn observers(&mut self) -> Result<Vec<ObserverRow>, ObserveError> {
        let rows = self.observers_within(ATTACH_TIMEOUT)?;
        Ok(rows.unwrap_or_default())
    }

    /// Returns the same as [`observers`](Observer::observers), for callers that cannot wait.
    /// Returns `None` if the producer does not answer in time (it may be stopped). The next call
    /// drops the answer that has come meanwhile. One that comes later still, during that call, is
    /// taken for its answer.
    pub fn observers_within(
        &mut self,
        timeout: Duration,
    ) -> Result<Option<Vec<ObserverRow>>, ObserveError> {
        self.check()?;
        self.discard();
        if socket::send(&self.session.socket, &Request::Observers.encode(), &[]).is_err() {
            return Ok(None);
        }
        let rows = self.answer(timeout, wire::decode_rows);
        rows.map(|rows| self.existing(rows)).transpose()
    }

    /// Returns `rows` without the pins on versions that are not published yet.
    fn existing(&self, mut rows: Vec<ObserverRow>) -> Result<Vec<ObserverRow>, ObserveError> {
        let latest = self.session.index()?.latest()?;
        for row in &mut rows {
            row.pinned.retain(|n| *n <= latest);
        }
        Ok(rows)
    }
}
