//! The declarations of an owner, and the transfers that run.

use crate::cookie::Cookie;
use crate::declaration::Declaration;
use crate::error::DeclareError;
use crate::segment::Segment;
use crate::shared::SharedMemory;
use crate::wire::{MOST_SEGMENTS, Span, Status};
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
    declaration: Arc<Declaration>,
    /// Of a declaration for one use: its use that has begun.
    user: Option<Use>,
    /// The number of transfers that run.
    running: usize,
    revoked: bool,
}

/// The only use of a declaration, from the first byte to the last.
#[derive(Clone, Copy, Debug)]
struct Use {
    connection: u64,
    write: bool,
    /// The number of bytes that were transferred.
    reached: u64,
}

/// The most that one transfer has. A longer one is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    pub(crate) segments: usize,
    pub(crate) bytes: u64,
}

/// A transfer that runs. It must be given back to [`Table::end`]. It keeps the memory.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) cookie: Cookie,
    /// The offset after the last byte.
    pub(crate) end: u64,
    /// The memory, in order.
    pub(crate) segments: Vec<Segment>,
    pub(crate) declaration: Arc<Declaration>,
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
            declaration: Arc::new(declaration),
            user: None,
            running: 0,
            revoked: false,
        };
        inner.entries.insert(cookie, entry);
        Ok(cookie)
    }

    /// Replaces a version by another one. Transfers that run go on with the old one.
    pub(crate) fn set_version(
        &self,
        cookie: Cookie,
        version: Declaration,
    ) -> Result<(), DeclareError> {
        let mut inner = self.inner();
        let entry = inner.entry(cookie).map_err(DeclareError::Cookie)?;
        if entry.declaration.number() == 0 || version.number() == 0 || version.once {
            return Err(DeclareError::NoVersion);
        }
        let old = std::mem::replace(&mut entry.declaration, Arc::new(version));
        drop(inner);
        drop(old);
        Ok(())
    }

    /// Returns the length of a declaration; its rights, in the lowest bits, and then whether it can
    /// be mapped and is for one use; and its version.
    pub(crate) fn describe(&self, cookie: Cookie) -> Result<[u64; 4], Status> {
        let mut inner = self.inner();
        let declaration = &inner.entry(cookie)?.declaration;
        let access = declaration.access;
        let rights = u64::from(access.reads()) | (u64::from(access.writes()) << 1);
        let (mapped, once) = (declaration.file().is_some(), declaration.once);
        let kind = rights | (u64::from(mapped) << 2) | (u64::from(once) << 3);
        Ok([declaration.layout.len(), kind, declaration.number(), 0])
    }

    /// Returns the shared memory of a declaration, its segments as offsets in the file, and true if
    /// peers may write. If there are more segments than a reply takes, returns none.
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
        let memory = declaration.file().cloned().ok_or(Status::NotMapped)?;
        let segments = match declaration.layout.segments() {
            all if all.len() <= MOST_SEGMENTS => all,
            _ => &[],
        };
        let start = memory.addr();
        let offsets = segments.iter().map(|s| s.after(start)).collect();
        Ok((memory, offsets, declaration.access.writes()))
    }

    /// Begins a transfer of a connection: of the whole span, or of the first part, as much as
    /// `most` allows. It uses the version `of`, if there is one, or the newest.
    pub(crate) fn begin(
        &self,
        connection: u64,
        span: &Span,
        most: Most,
        of: Option<Arc<Declaration>>,
    ) -> Result<Running, Status> {
        let mut inner = self.inner();
        let entry = inner.entry(span.cookie)?;
        let declaration = of.unwrap_or_else(|| entry.declaration.clone());
        let begun = entry.begin(connection, span, most, &declaration);
        // Before the version, which may take long to drop, or use the owner.
        drop(inner);
        let mut running = Running {
            cookie: span.cookie,
            end: 0,
            segments: begun?,
            declaration,
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
        let used = complete && !revoked && entry.advance(running.end);
        let gone = match (used, revoked && idle) {
            (true, _) => inner.forget(running.cookie, Status::Used),
            (_, true) => inner.forget(running.cookie, Status::Revoked),
            _ => None,
        };
        self.quiet.notify_all();
        drop(inner);
        drop(gone);
        match revoked {
            true => Err(Status::Revoked),
            false => Ok(()),
        }
    }

    /// Lets others use what a connection that has ended has begun to use.
    pub(crate) fn leave(&self, connection: u64) {
        for entry in self.inner().entries.values_mut() {
            if entry.user.is_some_and(|user| user.connection == connection) {
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
                let gone = inner.forget(cookie, Status::Revoked);
                drop(inner);
                drop(gone);
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

    /// Ends a cookie. Returns its entry, to be dropped without the lock: what keeps the bytes of a
    /// version may take long to drop, or use the owner.
    fn forget(&mut self, cookie: Cookie, how: Status) -> Option<Entry> {
        let gone = self.entries.remove(&cookie);
        if self.ended.len() == REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back((cookie, how));
        gone
    }
}

impl Entry {
    /// Begins a transfer of a declaration, which may be an older version. Returns its memory.
    fn begin(
        &mut self,
        connection: u64,
        span: &Span,
        most: Most,
        declaration: &Declaration,
    ) -> Result<Vec<Segment>, Status> {
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
        if declaration.once {
            self.use_once(connection, span)?;
        }
        let len = span.len.min(most.bytes);
        let segments = declaration.layout.window(span.offset, len, most.segments);
        self.running += 1;
        Ok(segments)
    }

    /// Checks that `connection` may go on with a declaration for one use, and notes it.
    fn use_once(&mut self, connection: u64, span: &Span) -> Result<(), Status> {
        let (reached, write) = (span.offset, span.write);
        match self.user {
            Some(user) if user.connection != connection => return Err(Status::Busy),
            _ if reached == 0 => {}
            Some(user) if (user.reached, user.write) == (reached, write) => {}
            _ => return Err(Status::OutOfOrder),
        }
        self.user = Some(Use {
            connection,
            write,
            reached,
        });
        Ok(())
    }

    /// Notes that the bytes before `end` were transferred. Returns true if a declaration for one
    /// use is used.
    fn advance(&mut self, end: u64) -> bool {
        if let Some(user) = &mut self.user {
            user.reached = end;
        }
        self.declaration.once && end == self.declaration.layout.len()
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
