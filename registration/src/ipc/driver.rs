//! The functions of the CUDA driver for memory of other processes.
#![allow(unsafe_code)]

use crate::ipc::exported::HANDLE;
use crate::ipc::opener::{Opener, Refusal};
use crate::registrars::Absent;
use crate::registrars::cuda_context::{CudaContext, OUT_OF_MEMORY};
use std::ffi::{c_int, c_uint, c_void};

/// `CU_POINTER_ATTRIBUTE_BUFFER_ID`
const BUFFER_ID: c_int = 7;
/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`, the only allowed flag.
const LAZY_PEER_ACCESS: c_uint = 1;
/// `CUDA_ERROR_ALREADY_MAPPED`
const ALREADY_MAPPED: c_int = 208;
/// `CUDA_ERROR_TOO_MANY_PEERS`
const TOO_MANY_PEERS: c_int = 711;

/// `CUipcMemHandle`
#[repr(C)]
#[derive(Clone, Copy)]
struct Handle([u8; HANDLE]);

type AddressRange = unsafe extern "C" fn(*mut u64, *mut usize, u64) -> c_int;
type Attribute = unsafe extern "C" fn(*mut c_void, c_int, u64) -> c_int;
type GetHandle = unsafe extern "C" fn(*mut Handle, u64) -> c_int;
type OpenHandle = unsafe extern "C" fn(*mut u64, Handle, c_uint) -> c_int;
type CloseHandle = unsafe extern "C" fn(u64) -> c_int;

/// The name of a function of the driver, and its error.
pub(crate) type Failure = (&'static str, String);

/// The owner's functions.
#[derive(Debug)]
pub(crate) struct OwnerDriver {
    address_range: AddressRange,
    attribute: Attribute,
    get_handle: GetHandle,
    context: CudaContext,
}

impl OwnerDriver {
    pub(crate) fn load(device: c_int) -> Result<Self, Absent> {
        let context = CudaContext::load(device)?;
        // SAFETY: the types are those of the driver's header. The functions are called by methods
        // of the new value, which has the context.
        unsafe {
            Ok(OwnerDriver {
                address_range: context.function("cuMemGetAddressRange_v2")?,
                attribute: context.function("cuPointerGetAttribute")?,
                get_handle: context.function("cuIpcGetMemHandle")?,
                context,
            })
        }
    }

    /// Returns false in a forked child.
    pub(crate) fn is_usable(&self) -> bool {
        self.context.is_usable()
    }

    fn call(&self, name: &'static str, work: impl FnOnce() -> c_int) -> Result<(), Failure> {
        match self.context.within(work) {
            0 => Ok(()),
            code => Err((name, self.context.describe(code))),
        }
    }

    /// Returns the first address and the length of the allocation with this address.
    pub(crate) fn allocation(&self, address: u64) -> Result<(u64, usize), Failure> {
        let (mut base, mut len) = (0, 0);
        // SAFETY: the driver writes to two variables that live during the call. It looks the
        // address up, and reads nothing there.
        let call = || unsafe { (self.address_range)(&raw mut base, &raw mut len, address) };
        self.call("cuMemGetAddressRange", call)?;
        Ok((base, len))
    }

    /// Returns the number of the allocation with this address.
    pub(crate) fn buffer_id(&self, address: u64) -> Result<u64, Failure> {
        let mut id = 0u64;
        // SAFETY: for this attribute the driver writes a number of 64 bits.
        let call = || unsafe { (self.attribute)((&raw mut id).cast(), BUFFER_ID, address) };
        self.call("cuPointerGetAttribute", call)?;
        Ok(id)
    }

    /// Returns the handle of the allocation that begins at this address.
    pub(crate) fn handle(&self, base: u64) -> Result<[u8; HANDLE], Failure> {
        let mut handle = Handle([0; HANDLE]);
        // SAFETY: the driver writes a handle to a variable that lives during the call.
        let call = || unsafe { (self.get_handle)(&raw mut handle, base) };
        self.call("cuIpcGetMemHandle", call)?;
        Ok(handle.0)
    }
}

/// The functions of those who open handles.
#[derive(Debug)]
pub(crate) struct PeerDriver {
    open: OpenHandle,
    close: CloseHandle,
    context: CudaContext,
}

impl PeerDriver {
    pub(crate) fn load(device: c_int) -> Result<Self, Absent> {
        let context = CudaContext::load(device)?;
        // SAFETY: the types are those of the driver's header, where both names for opening have the
        // same one. The functions are called by methods of the new value, which has the context.
        unsafe {
            // Drivers before CUDA 11 have the second name only.
            let open = context.function("cuIpcOpenMemHandle_v2");
            let open = open.or_else(|_| context.function("cuIpcOpenMemHandle"))?;
            Ok(PeerDriver {
                open,
                close: context.function("cuIpcCloseMemHandle")?,
                context,
            })
        }
    }
}

impl Opener for PeerDriver {
    fn open(&self, handle: &[u8; HANDLE]) -> Result<u64, Refusal> {
        let mut address = 0;
        // SAFETY: the driver checks the handle, and writes an address to a variable that lives
        // during the call.
        let call = || unsafe { (self.open)(&raw mut address, Handle(*handle), LAZY_PEER_ACCESS) };
        match self.context.within(call) {
            0 => Ok(address),
            code @ (ALREADY_MAPPED | OUT_OF_MEMORY | TOO_MANY_PEERS) => {
                Err(Refusal::Occupied(self.context.describe(code)))
            }
            code => Err(Refusal::Other(self.context.describe(code))),
        }
    }

    fn close(&self, address: u64) {
        // SAFETY: the caller has the address from `open`, and nobody uses it any more. An error
        // means that the driver is shutting down, and closes everything.
        self.context.within(|| unsafe { (self.close)(address) });
    }
}
