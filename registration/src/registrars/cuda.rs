//! Host memory that is registered with CUDA. The driver is loaded at run time.
#![allow(unsafe_code)]

use super::cuda_context::{CudaContext, OUT_OF_MEMORY};
use super::{Absent, limit, refused};
use crate::error::RegisterError;
use crate::registrar::{Memory, Registrar};
use nix::errno::Errno;
use std::ffi::{c_int, c_uint, c_void};
use std::io;
use std::ops::Range;

const PORTABLE: c_uint = 1;
const DEVICE_MAP: c_uint = 2;

type HostRegister = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> c_int;
type HostPointer = unsafe extern "C" fn(*mut u64, *mut c_void, c_uint) -> c_int;
type HostUnregister = unsafe extern "C" fn(*mut c_void) -> c_int;

/// The facts that a kernel on the device needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaMemory {
    /// The address of the first byte on the device.
    pub device_address: u64,
}

/// Registers memory with the primary context of one device, for all contexts.
///
/// CUDA refuses memory that overlaps a registration which is still in use.
#[derive(Debug)]
pub struct Cuda {
    register: HostRegister,
    pointer: HostPointer,
    unregister: HostUnregister,
    context: CudaContext,
}

impl Cuda {
    /// Loads the driver, and takes the device with this number.
    pub fn load(number: c_int) -> Result<Self, Absent> {
        let context = CudaContext::load(number)?;
        // SAFETY: the types are those of the driver's header. The functions are called by methods
        // of the new value, which has the context.
        unsafe {
            Ok(Cuda {
                register: context.function("cuMemHostRegister_v2")?,
                pointer: context.function("cuMemHostGetDevicePointer_v2")?,
                unregister: context.function("cuMemHostUnregister")?,
                context,
            })
        }
    }

    fn error(&self, range: &Range<usize>, code: c_int) -> RegisterError {
        if code == OUT_OF_MEMORY {
            return limit(range, "of the CUDA driver", Errno::ENOMEM);
        }
        let source = io::Error::other(self.context.describe(code));
        refused(range, "cuMemHostRegister", source)
    }
}

impl Registrar for Cuda {
    type Handle = CudaMemory;

    fn register(&self, range: &Range<usize>) -> Result<CudaMemory, RegisterError> {
        let at = range.start as *mut c_void;
        let mut device_address = 0;
        let code = self.context.within(|| {
            // SAFETY: the driver checks that the memory is mapped, and pins it. The second function
            // writes to a variable that lives during the call.
            unsafe {
                match (self.register)(at, range.len(), PORTABLE | DEVICE_MAP) {
                    0 => match (self.pointer)(&raw mut device_address, at, 0) {
                        0 => 0,
                        code => {
                            (self.unregister)(at);
                            code
                        }
                    },
                    code => code,
                }
            }
        });
        match code {
            0 => Ok(CudaMemory { device_address }),
            code => Err(self.error(range, code)),
        }
    }

    fn deregister(&self, range: &Range<usize>, _handle: &CudaMemory, _memory: Memory) {
        let at = range.start as *mut c_void;
        // SAFETY: the memory was registered at this address. The driver knows it by the address,
        // and unpins the pages that it has, whatever is mapped there now.
        self.context.within(|| unsafe { (self.unregister)(at) });
    }
}
