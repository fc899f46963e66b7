//! The CUDA driver, which is loaded at run time, and the primary context of one device.
#![allow(unsafe_code)]

use super::{Absent, function, load};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use tcasm_core::sys::fork::Process;

const DRIVER: &str = "libcuda.so.1";

/// The code of a driver that has no room.
pub(crate) const OUT_OF_MEMORY: c_int = 2;

type Init = unsafe extern "C" fn(c_uint) -> c_int;
type DeviceGet = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
type Retain = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
type GiveBack = unsafe extern "C" fn(c_int) -> c_int;
type Push = unsafe extern "C" fn(*mut c_void) -> c_int;
type Pop = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type ErrorName = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

/// The primary context of a device, until it is dropped.
#[derive(Debug)]
pub(crate) struct CudaContext {
    device: c_int,
    /// The address of the context, which the driver owns.
    context: usize,
    push: Push,
    pop: Pop,
    give_back: GiveBack,
    error_name: ErrorName,
    process: Process,
    /// Last, because the functions are in it.
    library: Library,
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

impl CudaContext {
    /// Loads the driver, and takes the device with this number.
    pub(crate) fn load(number: c_int) -> Result<Self, Absent> {
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
            let give_back = function(&library, DRIVER, "cuDevicePrimaryCtxRelease_v2")?;
            let error_name = function(&library, DRIVER, "cuGetErrorName")?;
            check("cuInit", init(0))?;
            check("cuDeviceGet", get(&raw mut device, number))?;
            check("cuDevicePrimaryCtxRetain", retain(&raw mut context, device))?;
            Ok(CudaContext {
                device,
                context: context as usize,
                push,
                pop,
                give_back,
                error_name,
                process: Process::current(),
                library,
            })
        }
    }

    /// Returns a further function of the driver. It must not be called after this was dropped.
    ///
    /// # Safety
    /// `T` must be the type of the function.
    pub(crate) unsafe fn function<T: Copy>(&self, name: &str) -> Result<T, Absent> {
        // SAFETY: the caller vouches for the type.
        unsafe { function(&self.library, DRIVER, name) }
    }

    /// Runs `work` with the context, and gives the thread its own back.
    pub(crate) fn within(&self, work: impl FnOnce() -> c_int) -> c_int {
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

    /// Returns the text of an error of the driver.
    pub(crate) fn describe(&self, code: c_int) -> String {
        let mut name = null();
        // SAFETY: the driver writes the address of a string that lives as long as the driver, or
        // null.
        let name = unsafe {
            (self.error_name)(code, &raw mut name);
            (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        };
        match name {
            Some(name) => format!("CUDA error {code} ({name})"),
            None => format!("CUDA error {code}"),
        }
    }

    /// Returns false in a forked child, where the driver cannot be used.
    pub(crate) fn is_usable(&self) -> bool {
        self.process.is_current()
    }
}

impl Drop for CudaContext {
    fn drop(&mut self) {
        if self.is_usable() {
            // SAFETY: the context was retained once, and is not used any more.
            unsafe { (self.give_back)(self.device) };
        }
    }
}
