//! Registration of sections in ordinary memory with a GPU.
#![allow(unsafe_code)]

use super::driver::Context;
use std::ffi::{c_int, c_uint, c_void};
use std::marker::PhantomData;

/// `CU_MEMHOSTREGISTER_PORTABLE`: the registration holds for all contexts of the process.
const PORTABLE: c_uint = 1;
/// `CU_MEMHOSTREGISTER_READ_ONLY`: the device only reads the memory.
const READ_ONLY: c_uint = 8;

/// The registration of a section with a GPU, until it is dropped.
///
/// The device pins the memory. Meanwhile the section cannot be sealed.
#[derive(Debug)]
pub struct GpuRegistration<'a> {
    context: Context,
    unregister: unsafe extern "C" fn(*mut c_void) -> c_int,
    ptr: *mut c_void,
    /// The buffer stays mapped.
    _buffer: PhantomData<&'a ()>,
}

impl GpuRegistration<'_> {
    /// Registers `len` bytes at `ptr` with a device.
    ///
    /// # Safety
    /// The memory must stay mapped during the lifetime of the result.
    pub(crate) unsafe fn new(
        ptr: *mut u8,
        len: usize,
        device: u32,
        writable: bool,
    ) -> Result<Self, String> {
        let context = Context::open(device)?;
        type Register = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> c_int;
        // SAFETY: these are the types of the functions in the CUDA driver API, which do not change
        // under these names.
        let (register, unregister): (Register, _) = unsafe {
            let driver = &context.driver;
            let register = driver.symbol(c"cuMemHostRegister_v2")?;
            (register, driver.symbol(c"cuMemHostUnregister")?)
        };
        let ptr = ptr.cast::<c_void>();
        let flags = match writable {
            true => PORTABLE,
            false => PORTABLE | READ_ONLY,
        };
        // SAFETY: by the caller's promise the memory is mapped until `drop` has given it back.
        let call = || unsafe { register(ptr, len, flags) };
        context.with("cuMemHostRegister", call)?;
        Ok(GpuRegistration {
            context,
            unregister,
            ptr,
            _buffer: PhantomData,
        })
    }
}

impl Drop for GpuRegistration<'_> {
    fn drop(&mut self) {
        // The driver cannot be used in a forked child, and the registration is the parent's.
        if !self.context.is_usable() {
            return;
        }
        // SAFETY: the memory was registered, and is given back once. An error here means that the
        // driver is shutting down.
        let call = || unsafe { (self.unregister)(self.ptr) };
        let _ = self.context.with("cuMemHostUnregister", call);
    }
}
