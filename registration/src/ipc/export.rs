//! The owner's side: memory that is exported to other processes.

use crate::ipc::driver::{Failure, OwnerDriver};
use crate::ipc::error::IpcError;
use crate::ipc::exported::{Exported, Identity, own_process, span};
use crate::registrars::Absent;
use std::ffi::c_int;

/// Exports memory of a device, for other processes of this machine.
#[derive(Debug)]
pub struct Exporter {
    driver: OwnerDriver,
    process: [u8; 16],
}

impl Exporter {
    /// Loads the driver, and takes the device with this number.
    pub fn load(device: c_int) -> Result<Self, Absent> {
        let process = own_process().map_err(|e| Absent::new("getrandom", e))?;
        let driver = OwnerDriver::load(device)?;
        Ok(Exporter { driver, process })
    }

    /// Exports `len` bytes of the device at `address`. They must be in one allocation that
    /// `cuMemAlloc` has made, and that nobody frees meanwhile.
    ///
    /// The other process gets the right to read and write the whole allocation.
    pub fn export(&self, address: u64, len: usize) -> Result<Exported, IpcError> {
        if !self.driver.is_usable() {
            return Err(IpcError::Forked);
        }
        let refused = |(call, reason): Failure| IpcError::Driver {
            call,
            address,
            len,
            reason,
        };
        let (base, allocated) = self.driver.allocation(address).map_err(refused)?;
        let ranges = span(base, allocated as u64).zip(span(address, len as u64));
        let inside = ranges.filter(|(all, own)| all.start <= own.start && own.end <= all.end);
        let (allocation, wanted) = inside.ok_or(IpcError::Outside {
            address,
            len,
            base,
            allocated,
        })?;
        let identity = Identity {
            process: self.process,
            handle: self.driver.handle(base).map_err(refused)?,
            buffer: self.driver.buffer_id(base).map_err(refused)?,
        };
        Ok(Exported::new(identity, allocation, wanted))
    }
}
