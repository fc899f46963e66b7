//! The cache of opened memory as its users see it.

use crate::cache::Stats;
use crate::ipc::driver::PeerDriver;
use crate::ipc::error::IpcError;
use crate::ipc::exported::Exported;
use crate::ipc::opened::{Mapped, Opened};
use crate::ipc::peer::Peer;
use crate::limits::Limits;
use crate::registrars::Absent;
use crate::state::Entry;
use std::ffi::c_int;
use std::sync::Arc;

/// Keeps device memory of other processes opened.
///
/// Memory is a hit if it is the same allocation of the same process: the handle, the number of the
/// buffer and the random number of the process are equal. If the owner frees memory and allocates
/// other memory at the same address, the next request closes the old one and opens the new one.
///
/// The limits hold for each peer, as in the original ([`Limits`] with their four modes). They count
/// whole allocations. All methods may be called by any thread, but not by signal handlers.
///
/// ```no_run
/// use tcasm_registration::{Exported, Exporter, IpcCache, Limits, Peer};
///
/// # fn owner(address: u64, send: impl Fn(&[u8])) -> Result<(), Box<dyn std::error::Error>> {
/// // In one process:
/// send(&Exporter::load(0)?.export(address, 1 << 20)?.to_bytes());
/// # Ok(())
/// # }
/// # fn peer(received: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
/// // In another one:
/// let cache = IpcCache::load(0, Limits::keep_at_most(64, 1 << 30))?;
/// let memory = cache.open(Peer(3), &Exported::from_bytes(received)?)?;
/// let device_address = memory.device_address();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct IpcCache {
    opened: Arc<Opened<PeerDriver>>,
}

impl IpcCache {
    /// Loads the driver, and takes the device with this number. Memory is opened for its primary
    /// context.
    pub fn load(device: c_int, limits: Limits) -> Result<Self, Absent> {
        let opened = Arc::new(Opened::new(PeerDriver::load(device)?, limits));
        Ok(IpcCache { opened })
    }

    /// Returns memory of a peer: it is opened, unless it is so already.
    ///
    /// A number must stand for the same process until [`IpcCache::forget`] is called.
    pub fn open(&self, peer: Peer, exported: &Exported) -> Result<IpcMemory, IpcError> {
        if exported.is_own() {
            let address = exported.address();
            return Err(IpcError::Own { address });
        }
        let entry = self.opened.open(peer, exported)?;
        let offset = exported.address() - entry.range.start as u64;
        // A peer that lies about its addresses can make this wrap around.
        let address = entry.handle.address.wrapping_add(offset);
        Ok(IpcMemory {
            opened: self.opened.clone(),
            peer,
            address,
            bytes: exported.bytes(),
            entry,
        })
    }

    /// Closes all memory of a peer that nobody uses. Call it when the peer has ended, or before it
    /// frees memory.
    pub fn forget(&self, peer: Peer) {
        self.opened.forget(peer);
    }

    /// Returns numbers about the cache, of all peers together. Memory that its owner has freed is
    /// counted as invalidated. In a forked child all numbers are 0.
    pub fn stats(&self) -> Stats {
        self.opened.stats()
    }
}

impl Drop for IpcCache {
    fn drop(&mut self) {
        self.opened.end();
        self.opened.keep_in_child();
    }
}

/// Memory of another process, which stays opened at least until this is dropped.
#[derive(Debug)]
pub struct IpcMemory {
    opened: Arc<Opened<PeerDriver>>,
    peer: Peer,
    entry: Arc<Entry<Mapped>>,
    address: u64,
    bytes: usize,
}

impl IpcMemory {
    /// Returns the address of the first exported byte, for the device of the cache.
    pub fn device_address(&self) -> u64 {
        self.address
    }

    /// Returns the number of exported bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the owner.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Returns false if a later request has shown that the owner has freed the memory, or if the
    /// peer was forgotten.
    pub fn is_current(&self) -> bool {
        self.entry.is_current()
    }
}

impl Drop for IpcMemory {
    fn drop(&mut self) {
        self.opened.release(self.peer, &self.entry);
        self.opened.keep_in_child();
    }
}
