//! The four modes of a cache: whether it keeps what nobody uses, and how much it may have.

/// The answer to a request that does not fit, although everything that nobody uses was ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtLimit {
    /// The request fails with `GetError::Full`.
    #[default]
    Fail,
    /// The caller waits until others have released enough. A request that exceeds the limits by
    /// itself fails nevertheless.
    Wait,
}

/// The registrations that a cache keeps, and how much it may have registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// True if memory stays registered when nobody uses it any more.
    pub leave_pinned: bool,
    /// The largest number of registrations.
    pub entries: usize,
    /// The largest number of registered bytes, in whole pages. Pages that belong to two
    /// registrations count twice.
    pub bytes: usize,
    /// The answer at these limits.
    pub at_limit: AtLimit,
}

impl Limits {
    /// Mode 1: memory is registered as long as somebody uses it, without a limit.
    pub fn in_use() -> Self {
        Limits {
            leave_pinned: false,
            entries: usize::MAX,
            bytes: usize::MAX,
            at_limit: AtLimit::Fail,
        }
    }

    /// Mode 2: memory is registered as long as somebody uses it, up to these limits.
    pub fn in_use_at_most(entries: usize, bytes: usize) -> Self {
        Limits {
            entries,
            bytes,
            ..Limits::in_use()
        }
    }

    /// Mode 3: memory stays registered as long as it is mapped, without a limit.
    pub fn keep() -> Self {
        Limits {
            leave_pinned: true,
            ..Limits::in_use()
        }
    }

    /// Mode 4: memory stays registered up to these limits. Then what was not used for longest goes.
    pub fn keep_at_most(entries: usize, bytes: usize) -> Self {
        Limits {
            leave_pinned: true,
            ..Limits::in_use_at_most(entries, bytes)
        }
    }

    /// Lets callers wait for room instead of failing.
    #[must_use]
    pub fn or_wait(self) -> Self {
        Limits {
            at_limit: AtLimit::Wait,
            ..self
        }
    }

    /// Returns true if so many registrations with so many bytes are allowed.
    pub(crate) fn allow(&self, entries: usize, bytes: usize) -> bool {
        entries <= self.entries && bytes <= self.bytes
    }
}
