//! Sections in the memory of a device, as a program uses them.

use crate::buffer::HostBuffer;
use crate::error::HostBufferError;
use crate::layout::Backing;

/// A section in the memory of a device. Its address is the same in all processes, and means
/// something only to the device: the processor cannot read or write there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSection {
    /// The device pointer (`CUdeviceptr`) of the first byte.
    pub address: u64,
    /// The size in bytes.
    pub bytes: usize,
    /// The device, as the driver of this process counts it.
    pub device: u32,
}

impl HostBuffer {
    /// Returns the address of a section in the memory of a device. It is valid as long as this
    /// buffer lives: wait for the work of the device before the buffer is dropped.
    pub fn device_section(&self, name: &str) -> Result<DeviceSection, HostBufferError> {
        let layout = self.layout();
        let i = layout.find(name)?;
        let section = &layout.sections[i];
        if section.regions.is_some() {
            return Err(HostBufferError::ForRegions(name.to_owned()));
        }
        match section.backing {
            Backing::Device(device) => Ok(DeviceSection {
                address: (self.address() + layout.places[i].start) as u64,
                bytes: section.bytes,
                device,
            }),
            Backing::Memory => Err(HostBufferError::Backing {
                section: name.to_owned(),
                is: "ordinary memory",
            }),
        }
    }
}
