//! The declarations of an owner, and the transfers that run.

use crate::cookie::Cookie;
use crate::declaration::Declaration;
use crate::error::DeclareError;
use crate::layout::Segment;
use crate::shared::SharedMemory;
use crate::wire::{MOST_SEGMENTS, Span, Status, WINDOW_BYTES};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tcasm_core::sys::time::deadline;

/// The largest number of declarations.
const MOST: usize = 1 << 16;
/// The number of cookies that have ended and are remembered.
const REMEMBERED: usize = 4096;

/// The declarations of an owner.
#[derive(Debug, Default)]
pub(crate) struct Table {
    inner: Mutex<Inner>,
    /// Woken when the last transfer of a revoked declaration has ended.
    quiet: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    entries: HashMap<Cookie, Entry>,
    /// Cookies that have ended, and how.
    ended: VecDeque<(Cookie, Status)>,
}

#[derive(Debug)]
struct Entry {
    declaration: Declaration,
    /// Of a declaration for one use: the connection that uses it, and how far it is.
    user: Option<(u64, u64)>,
    /// The number of transfers that run.
    running: usize,
    revoked: bool,
}

/// A transfer that runs. It must be given back to [`Table::end`].
#[derive(Debug)]
pub(crate) struct Running {
    cookie: Cookie,
    end: u64,
    /// The memory, in order.
    pub(crate) segments: Vec<Segment>,
}

impl Running {
    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.len as u64).sum()
    }
}

impl Table {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn declare(&self, declaration: Declaration) -> Result<Cookie, DeclareError> {
        let cookie = Cookie::random()?;
        let mut inner = self.inner();
        if inner.entries.len() >= MOST {
            return Err(DeclareError::TooMany { most: MOST });
        }
        let entry = Entry {
            declaration,
            user: None,
            running: 0,
            revoked: false,
        };
        inner.entries.insert(cookie, entry);
        Ok(cookie)
    }

    /// Returns the length of a declaration, whether it is for reading and writing, whether it can
    /// be mapped, and whether it is for one use.
    pub(crate) fn describe(&self, cookie: Cookie) -> Result<[u64; 4], Status> {
        let mut inner = self.inner();
        let declaration = &inner.entry(cookie)?.declaration;
        let access = declaration.access;
        let rights = u64::from(access.reads()) | (u64::from(access.writes()) << 1);
        let (mapped, once) = (declaration.shared.is_some(), declaration.once);
        let len = declaration.layout.len();
        Ok([len, rights, u64::from(mapped), u64::from(once)])
    }

    /// Returns the shared memory of a declaration, its segments, and true if peers may write.
    pub(crate) fn map(
        &self,
        cookie: Cookie,
    ) -> Result<(Arc<SharedMemory>, Vec<Segment>, bool), Status> {
        let mut inner = self.inner();
        let declaration = &inner.entry(cookie)?.declaration;
        // Whoever has mapped memory reads it, and uses it for ever.
        if !declaration.access.reads() || declaration.once {
            return Err(Status::NotPermitted);
        }
        let memory = declaration.shared.clone().ok_or(Status::NotMapped)?;
        let segments = declaration.layout.segments();
        if segments.len() > MOST_SEGMENTS {
            return Err(Status::TooManyParts);
        }
        Ok((memory, segments.to_vec(), declaration.access.writes()))
    }

    /// Begins a transfer of a connection: of the whole span, or of its first part, which has at
    /// most `most` segments.
    pub(crate) fn begin(
        &self,
        connection: u64,
        span: &Span,
        most: usize,
    ) -> Result<Running, Status> {
        let mut inner = self.inner();
        let entry = inner.entry(span.cookie)?;
        let declaration = &entry.declaration;
        let allowed = match span.write {
            true => declaration.access.writes(),
            false => declaration.access.reads(),
        };
        if !allowed {
            return Err(Status::NotPermitted);
        }
        let end = span.offset.checked_add(span.len);
        if span.len == 0 || end.is_none_or(|end| end > declaration.layout.len()) {
            return Err(Status::OutOfRange);
        }
        let len = span.len.min(WINDOW_BYTES);
        let segments = declaration.layout.window(span.offset, len, most);
        if declaration.once {
            entry.use_once(connection, span.offset)?;
        }
        entry.running += 1;
        let mut running = Running {
            cookie: span.cookie,
            end: 0,
            segments,
        };
        running.end = span.offset + running.bytes();
        Ok(running)
    }

    /// Ends a transfer. `complete` says whether all bytes were copied. If the cookie was revoked
    /// in the meantime, the transfer does not count.
    pub(crate) fn end(&self, running: &Running, complete: bool) -> Result<(), Status> {
        let mut inner = self.inner();
        // An entry is removed only when nothing runs.
        let Some(entry) = inner.entries.get_mut(&running.cookie) else {
            return Err(Status::NoCookie);
        };
        entry.running -= 1;
        let (idle, revoked) = (entry.running == 0, entry.revoked);
        if complete && !revoked {
            let used = entry.advance(running.end);
            if used {
                inner.forget(running.cookie, Status::Used);
            }
            return Ok(());
        }
        if revoked && idle {
            inner.forget(running.cookie, Status::Revoked);
            self.quiet.notify_all();
        }
        match revoked {
            true => Err(Status::Revoked),
            false => Ok(()),
        }
    }

    /// Lets others use what a connection that has ended has begun to use.
    pub(crate) fn leave(&self, connection: u64) {
        for entry in self.inner().entries.values_mut() {
            if entry.user.is_some_and(|(user, _)| user == connection) {
                entry.user = None;
            }
        }
    }

    /// Revokes a cookie, and waits until no transfer of it runs. Returns false if some still run
    /// after `patience`.
    pub(crate) fn revoke(&self, cookie: Cookie, patience: Duration) -> bool {
        let end = deadline(patience);
        let mut inner = self.inner();
        match inner.entries.get_mut(&cookie) {
            None => return true,
            Some(entry) if entry.running == 0 => {
                inner.forget(cookie, Status::Revoked);
                return true;
            }
            Some(entry) => entry.revoked = true,
        }
        while inner.entries.contains_key(&cookie) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.quiet.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Returns the number of declarations.
    pub(crate) fn len(&self) -> usize {
        self.inner().entries.len()
    }
}

impl Inner {
    /// Returns the entry of a cookie that may be used.
    fn entry(&mut self, cookie: Cookie) -> Result<&mut Entry, Status> {
        match self.entries.get_mut(&cookie) {
            Some(entry) if entry.revoked => Err(Status::Revoked),
            Some(entry) => Ok(entry),
            None => {
                let mut ended = self.ended.iter();
                let found = ended.find(|(of, _)| *of == cookie);
                Err(found.map_or(Status::NoCookie, |(_, how)| *how))
            }
        }
    }

    fn forget(&mut self, cookie: Cookie, how: Status) {
        self.entries.remove(&cookie);
        if self.ended.len() == REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back((cookie, how));
    }
}

impl Entry {
    /// Checks that `connection` may go on at `offset` with a declaration for one use.
    fn use_once(&mut self, connection: u64, offset: u64) -> Result<(), Status> {
        match self.user {
            Some((user, _)) if user != connection => Err(Status::Busy),
            Some((_, reached)) if offset != 0 && offset != reached => Err(Status::OutOfOrder),
            None if offset != 0 => Err(Status::OutOfOrder),
            _ => {
                self.user = Some((connection, offset));
                Ok(())
            }
        }
    }

    /// Notes that the bytes before `end` were transferred. Returns true if a declaration for one
    /// use is used.
    fn advance(&mut self, end: u64) -> bool {
        if let Some((_, reached)) = &mut self.user {
            *reached = end;
        }
        self.declaration.once && end == self.declaration.layout.len()
    }
}
