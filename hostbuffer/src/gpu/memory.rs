//! Memory of a device at the same address in several processes, by the virtual memory management of
//! the CUDA driver.
//!
//! A process creates the memory and exports it as a descriptor. Each process imports it from there,
//! and maps it at addresses that it has reserved.
#![allow(unsafe_code)]

use super::driver::{Context, Driver};
use crate::error::Obstacle;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use tcasm_core::sys::mem::HUGE_PAGE;

/// `CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED`
const HAS_MANAGEMENT: c_int = 102;
/// `CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED`
const HAS_DESCRIPTORS: c_int = 103;
/// `CU_MEM_ALLOCATION_TYPE_PINNED`
const PINNED: c_int = 1;
/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`
const DESCRIPTOR: c_int = 1;
/// `CU_MEM_LOCATION_TYPE_DEVICE`
const DEVICE: c_int = 1;
/// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`
const READ_WRITE: c_int = 3;
/// `CU_MEM_ALLOC_GRANULARITY_MINIMUM`
const MINIMUM: c_int = 0;

/// `CUmemLocation`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Location {
    kind: c_int,
    id: c_int,
}

/// `CUmemAllocationProp`
#[repr(C)]
#[derive(Debug)]
struct Properties {
    kind: c_int,
    handles: c_int,
    location: Location,
    windows: *mut c_void,
    flags: [u8; 8],
}

/// `CUmemAccessDesc`
#[repr(C)]
#[derive(Debug)]
struct Access {
    location: Location,
    flags: c_int,
}

/// The functions of virtual memory management, which older drivers lack. A device pointer and a
/// handle of memory are numbers of 64 bits.
#[derive(Clone, Copy, Debug)]
struct Calls {
    attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int,
    granularity: unsafe extern "C" fn(*mut usize, *const Properties, c_int) -> c_int,
    reserve: unsafe extern "C" fn(*mut u64, usize, usize, u64, u64) -> c_int,
    free: unsafe extern "C" fn(u64, usize) -> c_int,
    create: unsafe extern "C" fn(*mut u64, usize, *const Properties, u64) -> c_int,
    export: unsafe extern "C" fn(*mut c_void, u64, c_int, u64) -> c_int,
    import: unsafe extern "C" fn(*mut u64, *mut c_void, c_int) -> c_int,
    properties: unsafe extern "C" fn(*mut Properties, u64) -> c_int,
    release: unsafe extern "C" fn(u64) -> c_int,
    map: unsafe extern "C" fn(u64, usize, usize, u64, u64) -> c_int,
    unmap: unsafe extern "C" fn(u64, usize) -> c_int,
    access: unsafe extern "C" fn(u64, usize, *const Access, usize) -> c_int,
}

impl Calls {
    fn of(driver: &Driver) -> Result<Self, String> {
        // SAFETY: these are the types of the functions in the CUDA driver API, which do not change
        // under these names.
        unsafe {
            Ok(Calls {
                attribute: driver.symbol(c"cuDeviceGetAttribute")?,
                granularity: driver.symbol(c"cuMemGetAllocationGranularity")?,
                reserve: driver.symbol(c"cuMemAddressReserve")?,
                free: driver.symbol(c"cuMemAddressFree")?,
                create: driver.symbol(c"cuMemCreate")?,
                export: driver.symbol(c"cuMemExportToShareableHandle")?,
                import: driver.symbol(c"cuMemImportFromShareableHandle")?,
                properties: driver.symbol(c"cuMemGetAllocationPropertiesFromHandle")?,
                release: driver.symbol(c"cuMemRelease")?,
                map: driver.symbol(c"cuMemMap")?,
                unmap: driver.symbol(c"cuMemUnmap")?,
                access: driver.symbol(c"cuMemSetAccess")?,
            })
        }
    }
}

/// Addresses of a device that this process has reserved, with the memory that is mapped there.
/// Dropping it gives both back.
#[derive(Debug)]
pub(crate) struct DeviceRange {
    context: Context,
    calls: Calls,
    address: u64,
    len: usize,
    mapped: bool,
}

impl DeviceRange {
    /// Reserves addresses of a device. `address` and `len` must be multiples of 2 MiB.
    pub(crate) fn reserve(ordinal: u32, address: u64, len: usize) -> Result<Self, Obstacle> {
        let (context, calls) = usable(ordinal).map_err(Obstacle::everywhere)?;
        let mut at = 0;
        // SAFETY: the driver writes the address. Where it cannot reserve the one that it was asked
        // for, it reserves others.
        let call = || unsafe { (calls.reserve)(&raw mut at, len, 0, address, 0) };
        let reserved = context.with("cuMemAddressReserve", call);
        reserved.map_err(|why| Obstacle::here(format!("{why} at {address:#x}")))?;
        let range = DeviceRange {
            context,
            calls,
            address: at,
            len,
            mapped: false,
        };
        match at == address {
            true => Ok(range),
            false => Err(Obstacle::here(format!(
                "device {ordinal} has no addresses {address:#x}..{:#x} free, and offers {at:#x}",
                address + len as u64
            ))),
        }
    }

    /// Creates memory of the size of this range. The descriptor keeps it, and each process can map
    /// it.
    pub(crate) fn create(&self) -> Result<OwnedFd, String> {
        let properties = properties(&self.context);
        let mut raw = 0;
        // SAFETY: the driver reads the properties, and writes the handle.
        let call =
            || unsafe { (self.calls.create)(&raw mut raw, self.len, &raw const properties, 0) };
        self.context.with("cuMemCreate", call)?;
        let handle = Handle { range: self, raw };
        let mut fd: c_int = -1;
        // SAFETY: for this type of handle, the driver writes a descriptor.
        let call =
            || unsafe { (self.calls.export)((&raw mut fd).cast(), handle.raw, DESCRIPTOR, 0) };
        self.context.with("cuMemExportToShareableHandle", call)?;
        if fd < 0 {
            return Err("cuMemExportToShareableHandle returned no descriptor".into());
        }
        // SAFETY: the descriptor is new, and nothing else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // Programs that this one starts must not keep the memory.
        let closed = fcntl(&fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
        closed.map(|_| fd).map_err(|error| error.to_string())
    }

    /// Maps memory of a device here.
    pub(crate) fn map(&mut self, memory: BorrowedFd<'_>) -> Result<(), String> {
        let handle = self.import(memory)?;
        // SAFETY: the range is reserved, and nothing is mapped there. The handle is valid.
        let call = || unsafe { (self.calls.map)(self.address, self.len, 0, handle.raw, 0) };
        self.context.with("cuMemMap", call)?;
        // The mapping keeps the memory.
        drop(handle);
        self.mapped = true;
        let access = Access {
            location: location(&self.context),
            flags: READ_WRITE,
        };
        // SAFETY: the range is mapped. The driver reads one description.
        let call = || unsafe { (self.calls.access)(self.address, self.len, &raw const access, 1) };
        self.context.with("cuMemSetAccess", call)
    }

    /// Takes memory from its descriptor. Fails if it is that of another device: each process may
    /// count the devices in its own order.
    fn import(&self, memory: BorrowedFd<'_>) -> Result<Handle<'_>, String> {
        let os = ptr::without_provenance_mut(memory.as_raw_fd() as usize);
        let mut raw = 0;
        // SAFETY: for this type of handle, the driver takes a descriptor in place of a pointer. It
        // does not close it. It writes the handle.
        let call = || unsafe { (self.calls.import)(&raw mut raw, os, DESCRIPTOR) };
        self.context.with("cuMemImportFromShareableHandle", call)?;
        let handle = Handle { range: self, raw };
        let mut found = properties(&self.context);
        // SAFETY: the handle is valid, and the driver writes its properties.
        let call = || unsafe { (self.calls.properties)(&raw mut found, handle.raw) };
        self.context
            .with("cuMemGetAllocationPropertiesFromHandle", call)?;
        match found.location == location(&self.context) {
            true => Ok(handle),
            false => Err(format!(
                "the memory is that of another device, {}, and not of {}; give all processes the \
                 same devices in the same order (CUDA_VISIBLE_DEVICES)",
                found.location.id, self.context.device
            )),
        }
    }
}

impl Drop for DeviceRange {
    fn drop(&mut self) {
        if !self.context.is_usable() {
            return;
        }
        if self.mapped {
            // SAFETY: the memory is mapped there, and this process gives it back once.
            let call = || unsafe { (self.calls.unmap)(self.address, self.len) };
            let _ = self.context.with("cuMemUnmap", call);
        }
        // SAFETY: the range is reserved, and this process gives it back once.
        let call = || unsafe { (self.calls.free)(self.address, self.len) };
        let _ = self.context.with("cuMemAddressFree", call);
    }
}

/// A handle of memory, until it is dropped.
struct Handle<'a> {
    range: &'a DeviceRange,
    raw: u64,
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is valid, and is released once. Mappings and descriptors of the memory
        // keep it.
        let call = || unsafe { (self.range.calls.release)(self.raw) };
        let _ = self.range.context.with("cuMemRelease", call);
    }
}

/// Returns a device that has what is needed, or why there is none.
fn usable(ordinal: u32) -> Result<(Context, Calls), String> {
    let context = Context::open(ordinal)?;
    let calls = Calls::of(&context.driver)?;
    for (attribute, what) in [
        (HAS_MANAGEMENT, "virtual memory management"),
        (HAS_DESCRIPTORS, "memory that can be shared by descriptors"),
    ] {
        let mut has = 0;
        // SAFETY: the driver writes the attribute.
        let code = unsafe { (calls.attribute)(&raw mut has, attribute, context.device) };
        context.driver.check("cuDeviceGetAttribute", code)?;
        if has == 0 {
            return Err(format!("device {ordinal} has no {what}"));
        }
    }
    let (mut unit, wanted) = (0, properties(&context));
    // SAFETY: the driver reads the properties, and writes a size.
    let call = || unsafe { (calls.granularity)(&raw mut unit, &raw const wanted, MINIMUM) };
    context.with("cuMemGetAllocationGranularity", call)?;
    match unit != 0 && HUGE_PAGE.is_multiple_of(unit) {
        true => Ok((context, calls)),
        false => Err(format!(
            "device {ordinal} has memory in units of {unit} bytes, not 2 MiB"
        )),
    }
}

fn location(context: &Context) -> Location {
    Location {
        kind: DEVICE,
        id: context.device,
    }
}

fn properties(context: &Context) -> Properties {
    Properties {
        kind: PINNED,
        handles: DESCRIPTOR,
        location: location(context),
        windows: ptr::null_mut(),
        flags: [0; 8],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_driver() {
        assert_eq!(size_of::<Properties>(), 32);
        assert_eq!(std::mem::offset_of!(Properties, flags), 24);
        assert_eq!(size_of::<Access>(), 12);
    }
}
