//! Registration of sections with a GPU, by the CUDA driver of the machine. It is loaded when it is
//! first needed, so that programs start without it.
#![allow(unsafe_code)]

use nix::libc::{RTLD_LOCAL, RTLD_NOW, dlerror, dlopen, dlsym};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;
use tcasm_core::sys::fork::Process;

const LIBRARY: &CStr = c"libcuda.so.1";
/// `CU_MEMHOSTREGISTER_PORTABLE`: the registration holds for all contexts of the process.
const PORTABLE: c_uint = 1;
/// `CU_MEMHOSTREGISTER_READ_ONLY`: the device only reads the memory.
const READ_ONLY: c_uint = 8;

/// The functions of the driver that are used. Their types are those of the CUDA driver API.
#[derive(Clone, Copy, Debug)]
struct Driver {
    device_get: unsafe extern "C" fn(*mut c_int, c_int) -> c_int,
    retain: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int,
    release: unsafe extern "C" fn(c_int) -> c_int,
    push: unsafe extern "C" fn(*mut c_void) -> c_int,
    pop: unsafe extern "C" fn(*mut *mut c_void) -> c_int,
    register: unsafe extern "C" fn(*mut c_void, usize, c_uint) -> c_int,
    unregister: unsafe extern "C" fn(*mut c_void) -> c_int,
    error_name: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int,
}

/// Returns why this process cannot use a GPU, if it cannot. This loads the driver.
pub fn absent() -> Option<String> {
    Driver::get().err()
}

impl Driver {
    /// Returns the driver of this process, or why there is none.
    fn get() -> Result<Driver, String> {
        static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
        DRIVER.get_or_init(Driver::load).clone()
    }

    fn load() -> Result<Driver, String> {
        // SAFETY: the name is a string with a zero at its end. The library is the driver that the
        // administrator has installed, whose initialisation is safe. It is never unloaded.
        let library = unsafe { dlopen(LIBRARY.as_ptr(), RTLD_NOW | RTLD_LOCAL) };
        if library.is_null() {
            return Err(loader_error());
        }
        // SAFETY: these are the types of the functions in the CUDA driver API, which do not change
        // under these names.
        let (init, driver) = unsafe {
            let init: unsafe extern "C" fn(c_uint) -> c_int = symbol(library, c"cuInit")?;
            let driver = Driver {
                device_get: symbol(library, c"cuDeviceGet")?,
                retain: symbol(library, c"cuDevicePrimaryCtxRetain")?,
                release: symbol(library, c"cuDevicePrimaryCtxRelease_v2")?,
                push: symbol(library, c"cuCtxPushCurrent_v2")?,
                pop: symbol(library, c"cuCtxPopCurrent_v2")?,
                register: symbol(library, c"cuMemHostRegister_v2")?,
                unregister: symbol(library, c"cuMemHostUnregister")?,
                error_name: symbol(library, c"cuGetErrorName")?,
            };
            (init, driver)
        };
        // SAFETY: 0 is the only allowed argument.
        driver.check("cuInit", unsafe { init(0) })?;
        Ok(driver)
    }

    fn check(&self, what: &str, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        let mut name = ptr::null();
        // SAFETY: the driver writes the address of a string that lives as long as the driver, or
        // null.
        let name = unsafe {
            (self.error_name)(code, &raw mut name);
            (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        };
        Err(format!("{what}: {} ({code})", name.unwrap_or_default()))
    }

    /// Calls `f` while the context is the current one of this thread.
    fn with(
        &self,
        context: *mut c_void,
        what: &str,
        f: impl FnOnce() -> c_int,
    ) -> Result<(), String> {
        // SAFETY: the caller holds the context.
        self.check("cuCtxPushCurrent", unsafe { (self.push)(context) })?;
        let result = self.check(what, f());
        let mut popped = ptr::null_mut();
        // SAFETY: the context was pushed above. The driver writes it to `popped`.
        let pop = unsafe { (self.pop)(&raw mut popped) };
        result.and(self.check("cuCtxPopCurrent", pop))
    }
}

/// The registration of a section with a GPU, until it is dropped.
///
/// The device pins the memory. Meanwhile the section cannot be sealed.
#[derive(Debug)]
pub struct GpuRegistration<'a> {
    driver: Driver,
    device: c_int,
    context: *mut c_void,
    ptr: *mut c_void,
    process: Process,
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
        let driver = Driver::get()?;
        let ordinal = c_int::try_from(device).map_err(|e| e.to_string())?;
        let (mut device, mut context) = (0, ptr::null_mut());
        // SAFETY: the driver writes to both variables, whose types are those of its API.
        driver.check("cuDeviceGet", unsafe {
            (driver.device_get)(&raw mut device, ordinal)
        })?;
        // SAFETY: as above.
        driver.check("cuDevicePrimaryCtxRetain", unsafe {
            (driver.retain)(&raw mut context, device)
        })?;
        let ptr = ptr.cast::<c_void>();
        let flags = if writable {
            PORTABLE
        } else {
            PORTABLE | READ_ONLY
        };
        // SAFETY: by the caller's promise the memory is mapped until `drop` has given it back.
        let call = || unsafe { (driver.register)(ptr, len, flags) };
        let registered = driver.with(context, "cuMemHostRegister", call);
        if let Err(error) = registered {
            // SAFETY: the context was retained above, and is not used any more.
            unsafe { (driver.release)(device) };
            return Err(error);
        }
        Ok(GpuRegistration {
            driver,
            device,
            context,
            ptr,
            process: Process::current(),
            _buffer: PhantomData,
        })
    }
}

impl Drop for GpuRegistration<'_> {
    fn drop(&mut self) {
        // The driver cannot be used in a forked child, and the registration is the parent's.
        if !self.process.is_current() {
            return;
        }
        let (driver, ptr) = (self.driver, self.ptr);
        // SAFETY: the memory was registered, and is given back once. An error here means that the
        // driver is shutting down.
        let call = || unsafe { (driver.unregister)(ptr) };
        let _ = driver.with(self.context, "cuMemHostUnregister", call);
        // SAFETY: the context was retained by `new`, and is not used any more.
        unsafe { (driver.release)(self.device) };
    }
}

/// Returns a function of a library.
///
/// # Safety
/// `F` must be the type of the function.
unsafe fn symbol<F: Copy>(library: *mut c_void, name: &CStr) -> Result<F, String> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the library is open, and the name has a zero at its end.
    let found = unsafe { dlsym(library, name.as_ptr()) };
    match found.is_null() {
        true => Err(loader_error()),
        // SAFETY: the address is that of a function of type `F`, by the caller's promise, and is
        // not null. Both types have the same size.
        false => Ok(unsafe { std::mem::transmute_copy(&found) }),
    }
}

fn loader_error() -> String {
    // SAFETY: the loader returns a string that is valid until its next call on this thread, or
    // null.
    let text = unsafe {
        let text = dlerror();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    text.unwrap_or_else(|| "the loader does not say why".into())
}
