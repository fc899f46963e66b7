//! A driver for tests that opens nothing, and knows what is open.

use crate::ipc::exported::HANDLE;
use crate::ipc::opener::{Opener, Refusal};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

pub(super) type Handle = [u8; HANDLE];

/// The memory that a driver has opened, and that owners have freed.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) open: BTreeMap<u64, Handle>,
    pub(super) freed: BTreeSet<Handle>,
    next: u64,
}

/// A driver that opens nothing. An old one refuses what is open already.
#[derive(Debug, Default)]
pub(super) struct Counting {
    pub(super) facts: Mutex<Facts>,
    pub(super) old: bool,
    /// The most handles that can be open, or 0.
    pub(super) most: usize,
}

impl Counting {
    pub(super) fn has_freed(&self, handle: &Handle) -> bool {
        self.facts.lock().unwrap().freed.contains(handle)
    }
}

impl Opener for Counting {
    fn open(&self, handle: &Handle) -> Result<u64, Refusal> {
        let mut facts = self.facts.lock().unwrap();
        if facts.freed.contains(handle) {
            return Err(Refusal::Other("freed".into()));
        }
        let twice = self.old && facts.open.values().any(|open| open == handle);
        if twice || self.most > 0 && facts.open.len() >= self.most {
            return Err(Refusal::Occupied("in the way".into()));
        }
        facts.next += 1;
        let address = facts.next << 32;
        facts.open.insert(address, *handle);
        Ok(address)
    }

    fn close(&self, address: u64) {
        let closed = self.facts.lock().unwrap().open.remove(&address);
        assert!(closed.is_some(), "{address:#x} is not open");
    }
}
