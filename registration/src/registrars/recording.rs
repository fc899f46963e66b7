//! A registrar for tests, which writes down what it is asked.

use crate::error::RegisterError;
use crate::registrar::{Memory, Registrar};
use nix::errno::Errno;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Names one registration of a [`Recording`]. No other has the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// Registers nothing, and knows what would be registered.
#[derive(Debug, Default)]
pub struct Recording {
    state: Mutex<Record>,
    most: Option<usize>,
    ends_at_fork: bool,
}

#[derive(Debug, Default)]
struct Record {
    last: u64,
    live: BTreeMap<Token, Range<usize>>,
    ended: Vec<(Token, Memory)>,
}

impl Recording {
    /// Refuses more than so many registrations at a time, as a device with a small table does.
    #[must_use]
    pub fn with_at_most(most: usize) -> Self {
        Recording {
            most: Some(most),
            ..Recording::default()
        }
    }

    /// Stands for a device whose registrations do not survive a fork.
    #[must_use]
    pub fn that_ends_at_a_fork() -> Self {
        Recording {
            ends_at_fork: true,
            ..Recording::default()
        }
    }

    /// Returns what is registered.
    pub fn live(&self) -> BTreeMap<Token, Range<usize>> {
        self.record().live.clone()
    }

    /// Returns the registrations that have ended, in order.
    pub fn ended(&self) -> Vec<(Token, Memory)> {
        self.record().ended.clone()
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registrar for Recording {
    type Handle = Token;

    fn register(&self, range: &Range<usize>) -> Result<Token, RegisterError> {
        let mut record = self.record();
        if self.most.is_some_and(|most| record.live.len() >= most) {
            return Err(super::limit(range, "of the test", Errno::ENOSPC));
        }
        record.last += 1;
        let token = Token(record.last);
        record.live.insert(token, range.clone());
        Ok(token)
    }

    fn deregister(&self, _range: &Range<usize>, token: &Token, memory: Memory) {
        let mut record = self.record();
        record.live.remove(token);
        record.ended.push((*token, memory));
    }

    fn survives_fork(&self) -> bool {
        !self.ends_at_fork
    }
}
