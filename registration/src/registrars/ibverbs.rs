//! Memory regions of RDMA adapters, soft-RoCE among them. The library is loaded at run time.
#![allow(unsafe_code)]

use super::{Absent, function, limit, load, refused};
use crate::error::RegisterError;
use crate::registrar::{Memory, Registrar};
use libloading::Library;
use nix::errno::Errno;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr::{NonNull, null_mut};

const DRIVER: &str = "libibverbs.so.1";
const LOCAL_WRITE: c_int = 1;
const REMOTE_WRITE: c_int = 2;
const REMOTE_READ: c_int = 4;

type Devices = unsafe extern "C" fn(*mut c_int) -> *mut *mut c_void;
type FreeDevices = unsafe extern "C" fn(*mut *mut c_void);
type Open = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type End = unsafe extern "C" fn(*mut c_void) -> c_int;
type RegMr = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, c_int) -> *mut Region;

/// The beginning of `struct ibv_mr`.
#[repr(C)]
struct Region {
    _context: *mut c_void,
    _domain: *mut c_void,
    _addr: *mut c_void,
    _length: usize,
    _handle: u32,
    local: u32,
    remote: u32,
}

/// The keys of a registered range.
#[derive(Debug)]
pub struct MemoryRegion {
    /// The key for work requests of this process.
    pub local_key: u32,
    /// The key for peers.
    pub remote_key: u32,
    /// The address of the library's structure.
    at: usize,
}

/// Registers memory with a protection domain of one adapter, for local and remote access.
#[derive(Debug)]
pub struct Ibverbs {
    domain: usize,
    register: RegMr,
    deregister: End,
    /// The adapter, unless the domain is that of the program.
    adapter: Option<Adapter>,
    /// Last, because the functions are in it.
    _library: Library,
}

/// An adapter that was opened for a registrar.
#[derive(Debug)]
struct Adapter {
    context: usize,
    end_domain: End,
    close: End,
}

impl Ibverbs {
    /// Loads the library, and opens the adapter with this number.
    pub fn load(number: usize) -> Result<Self, Absent> {
        let library = load(DRIVER)?;
        // SAFETY: the types are those of the library's header.
        let (alloc, end_domain, close) = unsafe {
            let alloc: Open = function(&library, DRIVER, "ibv_alloc_pd")?;
            let end_domain: End = function(&library, DRIVER, "ibv_dealloc_pd")?;
            let close: End = function(&library, DRIVER, "ibv_close_device")?;
            (alloc, end_domain, close)
        };
        let (register, deregister) = registering(&library)?;
        let context = open(&library, number)?;
        // SAFETY: the adapter is open.
        let domain = unsafe { alloc(context.as_ptr()) };
        if domain.is_null() {
            let error = Errno::last();
            // SAFETY: nothing else uses the adapter.
            unsafe { close(context.as_ptr()) };
            return Err(Absent::new(
                DRIVER,
                format!("no protection domain: {error}"),
            ));
        }
        Ok(Ibverbs {
            domain: domain as usize,
            register,
            deregister,
            adapter: Some(Adapter {
                context: context.as_ptr() as usize,
                end_domain,
                close,
            }),
            _library: library,
        })
    }

    /// Registers memory with a protection domain of the program (`struct ibv_pd *`), whose queue
    /// pairs use the keys.
    ///
    /// # Safety
    /// The domain must be one of `libibverbs.so.1`, and stay allocated as long as this value lives.
    pub unsafe fn in_domain(domain: NonNull<c_void>) -> Result<Self, Absent> {
        let library = load(DRIVER)?;
        let (register, deregister) = registering(&library)?;
        Ok(Ibverbs {
            domain: domain.as_ptr() as usize,
            register,
            deregister,
            adapter: None,
            _library: library,
        })
    }

    /// Returns the protection domain (`struct ibv_pd *`). Queue pairs that use the keys must be
    /// made in it, and end before this value.
    pub fn domain(&self) -> *mut c_void {
        self.domain as *mut c_void
    }
}

/// Returns the functions that register memory, and end that.
fn registering(library: &Library) -> Result<(RegMr, End), Absent> {
    // SAFETY: the types are those of the library's header.
    unsafe {
        let register = function(library, DRIVER, "ibv_reg_mr")?;
        Ok((register, function(library, DRIVER, "ibv_dereg_mr")?))
    }
}

/// Opens an adapter.
fn open(library: &Library, number: usize) -> Result<NonNull<c_void>, Absent> {
    // SAFETY: the types are those of the library's header.
    let (devices, free, open) = unsafe {
        let devices: Devices = function(library, DRIVER, "ibv_get_device_list")?;
        let free: FreeDevices = function(library, DRIVER, "ibv_free_device_list")?;
        let open: Open = function(library, DRIVER, "ibv_open_device")?;
        (devices, free, open)
    };
    let mut count = 0;
    // SAFETY: the library writes the number of adapters, and returns a list of as many.
    let list = unsafe { devices(&raw mut count) };
    if list.is_null() {
        return Err(Absent::new(DRIVER, Errno::last()));
    }
    let context = if number < usize::try_from(count).unwrap_or(0) {
        // SAFETY: the list has more than `number` entries, and lives until it is freed.
        unsafe { open(*list.add(number)) }
    } else {
        null_mut()
    };
    // SAFETY: the list is not used any more. An open adapter does not need it.
    unsafe { free(list) };
    let none = || format!("adapter {number} of {count} cannot be opened");
    NonNull::new(context).ok_or_else(|| Absent::new(DRIVER, none()))
}

impl Registrar for Ibverbs {
    type Handle = MemoryRegion;

    fn register(&self, range: &Range<usize>) -> Result<MemoryRegion, RegisterError> {
        let access = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ;
        let (domain, at) = (self.domain as *mut c_void, range.start as *mut c_void);
        // SAFETY: the domain is open. The kernel checks that the memory is mapped, and pins it.
        let region = unsafe { (self.register)(domain, at, range.len(), access) };
        // SAFETY: a pointer that is not null leads to a structure that lives until it is
        // deregistered.
        let Some(found) = (unsafe { region.as_ref() }) else {
            return Err(match Errno::last() {
                error @ Errno::ENOMEM => limit(range, "RLIMIT_MEMLOCK", error),
                error => refused(range, "ibv_reg_mr", error.into()),
            });
        };
        Ok(MemoryRegion {
            local_key: found.local,
            remote_key: found.remote,
            at: region as usize,
        })
    }

    fn deregister(&self, _range: &Range<usize>, region: &MemoryRegion, _memory: Memory) {
        // SAFETY: the region was registered here, and is deregistered once.
        unsafe { (self.deregister)(region.at as *mut c_void) };
    }

    /// Before Linux 5.12 the pages of a parent were copied after a fork, and the adapter kept the
    /// old ones.
    fn survives_fork(&self) -> bool {
        false
    }
}

impl Drop for Ibverbs {
    fn drop(&mut self) {
        let Some(adapter) = &self.adapter else {
            return;
        };
        // SAFETY: all regions are deregistered: the cache that had them has ended. The program has
        // ended what it made in the domain.
        unsafe {
            (adapter.end_domain)(self.domain as *mut c_void);
            (adapter.close)(adapter.context as *mut c_void);
        }
    }
}
