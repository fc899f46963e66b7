//! Host memory that is registered with CUDA. The driver is loaded at run time.
#![allow(unsafe_code)]

use super::{Absent, function, limit, load, refused};
use crate::error::RegisterError;
use crate::registrar::{Memory, Registrar};
use libloading::Library;
use nix::errno::Errno;
use std::ffi::{c_int, c_uint, c_void};
use std::io;
use std::ops::Range;
use std::ptr::null_mut;

const DRIVER: &str = "libcuda.so.1";
const PORTABLE: c_uint = 1;
const DEVICE_MAP: c_uint = 2;
const OUT_OF_MEMORY: c_int = 2;

type Init = unsafe extern "C" fn(c_uint) -> c_int;
type DeviceGet = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
type Retain = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
type GiveBack = unsafe extern "C" fn(c_int) -> c_int;
type Push = unsafe extern "C" fn(*mut c_void) -> c_int;
type Pop = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
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
    device: c_int,
    /// The address of the context, which the driver owns.
    context: usize,
    push: Push,
    pop: Pop,
    register: HostRegister,
    pointer: HostPointer,
    unregister: HostUnregister,
    give_back: GiveBack,
    /// Last, because the functions are in it.
    _library: Library,
}

fn check(name: &str, result: c_int) -> Result<(), Absent> {
    match result {
        0 => Ok(()),
        code => Err(Absent::new(
            DRIVER,
            format!("{name} returned CUDA error {code}"),
        )),
    }
}

impl Cuda {
    /// Loads the driver, and takes the device with this number.
    pub fn load(number: c_int) -> Result<Self, Absent> {
        let library = load(DRIVER)?;
        let (mut device, mut context) = (0, null_mut());
        // SAFETY: the types are those of the driver's header, and the functions write to variables
        // that live during the calls. The context is retained last, and given back when the value
        // is dropped.
        unsafe {
            let init: Init = function(&library, DRIVER, "cuInit")?;
            let get: DeviceGet = function(&library, DRIVER, "cuDeviceGet")?;
            let retain: Retain = function(&library, DRIVER, "cuDevicePrimaryCtxRetain")?;
            let push = function(&library, DRIVER, "cuCtxPushCurrent_v2")?;
            let pop = function(&library, DRIVER, "cuCtxPopCurrent_v2")?;
            let register = function(&library, DRIVER, "cuMemHostRegister_v2")?;
            let pointer = function(&library, DRIVER, "cuMemHostGetDevicePointer_v2")?;
            let unregister = function(&library, DRIVER, "cuMemHostUnregister")?;
            let give_back = function(&library, DRIVER, "cuDevicePrimaryCtxRelease_v2")?;
            check("cuInit", init(0))?;
            check("cuDeviceGet", get(&raw mut device, number))?;
            check("cuDevicePrimaryCtxRetain", retain(&raw mut context, device))?;
            Ok(Cuda {
                device,
                context: context as usize,
                push,
                pop,
                register,
                pointer,
                unregister,
                give_back,
                _library: library,
            })
        }
    }

    /// Runs `work` with the context, and gives the thread its own back.
    fn within(&self, work: impl FnOnce() -> c_int) -> c_int {
        // SAFETY: the context was retained, and lives as long as this value.
        let pushed = unsafe { (self.push)(self.context as *mut c_void) };
        if pushed != 0 {
            return pushed;
        }
        let result = work();
        let mut popped = null_mut();
        // SAFETY: the driver writes the address of the context that it pops.
        unsafe { (self.pop)(&raw mut popped) };
        result
    }
}

fn error(range: &Range<usize>, code: c_int) -> RegisterError {
    if code == OUT_OF_MEMORY {
        return limit(range, "of the CUDA driver", Errno::ENOMEM);
    }
    let text = format!("CUDA error {code}");
    refused(range, "cuMemHostRegister", io::Error::other(text))
}

impl Registrar for Cuda {
    type Handle = CudaMemory;

    fn register(&self, range: &Range<usize>) -> Result<CudaMemory, RegisterError> {
        let at = range.start as *mut c_void;
        let mut device_address = 0;
        let code = self.within(|| {
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
            code => Err(error(range, code)),
        }
    }

    fn deregister(&self, range: &Range<usize>, _handle: &CudaMemory, _memory: Memory) {
        // SAFETY: the memory was registered at this address. The driver knows it by the address,
        // and unpins the pages that it has, whatever is mapped there now.
        self.within(|| unsafe { (self.unregister)(range.start as *mut c_void) });
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // SAFETY: the context was retained once.
        unsafe { (self.give_back)(self.device) };
    }
}
