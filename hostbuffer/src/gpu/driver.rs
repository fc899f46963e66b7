//! The functions of the driver, and contexts of devices.
#![allow(unsafe_code)]

use nix::libc::{RTLD_LOCAL, RTLD_NOW, dlerror, dlopen, dlsym};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;
use tcasm_core::sys::fork::Process;

const LIBRARY: &CStr = c"libcuda.so.1";

/// The functions of the driver that are always used. Their types are those of the CUDA driver API.
#[derive(Clone, Copy, Debug)]
pub(super) struct Driver {
    library: Library,
    device_get: unsafe extern "C" fn(*mut c_int, c_int) -> c_int,
    retain: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int,
    release: unsafe extern "C" fn(c_int) -> c_int,
    push: unsafe extern "C" fn(*mut c_void) -> c_int,
    pop: unsafe extern "C" fn(*mut *mut c_void) -> c_int,
    error_name: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int,
}

/// Returns why this process cannot use a GPU, if it cannot. This loads the driver.
pub(crate) fn absent() -> Option<String> {
    Driver::get().err()
}

impl Driver {
    /// Returns the driver of this process, or why there is none.
    pub(super) fn get() -> Result<Driver, String> {
        static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
        DRIVER.get_or_init(Driver::load).clone()
    }

    fn load() -> Result<Driver, String> {
        let library = Library::open()?;
        // SAFETY: these are the types of the functions in the CUDA driver API, which do not change
        // under these names.
        let (init, driver) = unsafe {
            let init: unsafe extern "C" fn(c_uint) -> c_int = library.symbol(c"cuInit")?;
            let driver = Driver {
                library,
                device_get: library.symbol(c"cuDeviceGet")?,
                retain: library.symbol(c"cuDevicePrimaryCtxRetain")?,
                release: library.symbol(c"cuDevicePrimaryCtxRelease_v2")?,
                push: library.symbol(c"cuCtxPushCurrent_v2")?,
                pop: library.symbol(c"cuCtxPopCurrent_v2")?,
                error_name: library.symbol(c"cuGetErrorName")?,
            };
            (init, driver)
        };
        // SAFETY: 0 is the only allowed argument.
        driver.check("cuInit", unsafe { init(0) })?;
        Ok(driver)
    }

    /// Returns a further function.
    ///
    /// # Safety
    /// `F` must be the type of the function.
    pub(super) unsafe fn symbol<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        // SAFETY: the caller promises the type.
        unsafe { self.library.symbol(name) }
    }

    /// Returns the error of a call, if its code is one.
    pub(super) fn check(&self, what: &str, code: c_int) -> Result<(), String> {
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
}

/// The primary context of a device, until it is dropped.
#[derive(Debug)]
pub(super) struct Context {
    pub driver: Driver,
    /// The device, as the driver counts it.
    pub device: c_int,
    raw: *mut c_void,
    process: Process,
}

// SAFETY: the driver allows every thread to make a context its current one, and to release it.
unsafe impl Send for Context {}
// SAFETY: as for Send. The methods change nothing of the context.
unsafe impl Sync for Context {}

impl Context {
    /// Loads the driver, and retains the context of a device.
    pub(super) fn open(ordinal: u32) -> Result<Self, String> {
        let driver = Driver::get()?;
        let ordinal = c_int::try_from(ordinal).map_err(|e| e.to_string())?;
        let (mut device, mut raw) = (0, ptr::null_mut());
        // SAFETY: the driver writes to both variables, whose types are those of its API.
        driver.check("cuDeviceGet", unsafe {
            (driver.device_get)(&raw mut device, ordinal)
        })?;
        // SAFETY: as above.
        driver.check("cuDevicePrimaryCtxRetain", unsafe {
            (driver.retain)(&raw mut raw, device)
        })?;
        Ok(Context {
            driver,
            device,
            raw,
            process: Process::current(),
        })
    }

    /// Returns false in a forked child, where the driver cannot be used.
    pub(super) fn is_usable(&self) -> bool {
        self.process.is_current()
    }

    /// Calls `f` while the context is the current one of this thread.
    pub(super) fn with(&self, what: &str, f: impl FnOnce() -> c_int) -> Result<(), String> {
        let driver = &self.driver;
        // SAFETY: the context is retained as long as this value lives.
        driver.check("cuCtxPushCurrent", unsafe { (driver.push)(self.raw) })?;
        let result = driver.check(what, f());
        let mut popped = ptr::null_mut();
        // SAFETY: the context was pushed above. The driver writes it to `popped`.
        let pop = unsafe { (driver.pop)(&raw mut popped) };
        result.and(driver.check("cuCtxPopCurrent", pop))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.is_usable() {
            // SAFETY: the context was retained by `open`, and is not used any more.
            unsafe { (self.driver.release)(self.device) };
        }
    }
}

/// The loaded library of the driver, which is never unloaded.
#[derive(Clone, Copy, Debug)]
struct Library(*mut c_void);

// SAFETY: the loader may be asked for symbols of a library by any thread.
unsafe impl Send for Library {}
// SAFETY: as for Send.
unsafe impl Sync for Library {}

impl Library {
    fn open() -> Result<Self, String> {
        // SAFETY: the name is a string with a zero at its end. The library is the driver that the
        // administrator has installed, whose initialisation is safe. It is never unloaded.
        let library = unsafe { dlopen(LIBRARY.as_ptr(), RTLD_NOW | RTLD_LOCAL) };
        match library.is_null() {
            true => Err(loader_error()),
            false => Ok(Library(library)),
        }
    }

    /// Returns a function.
    ///
    /// # Safety
    /// `F` must be the type of the function.
    unsafe fn symbol<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: the library is open, and the name has a zero at its end.
        let found = unsafe { dlsym(self.0, name.as_ptr()) };
        match found.is_null() {
            true => Err(loader_error()),
            // SAFETY: the address is that of a function of type `F`, by the caller's promise, and
            // is not null. Both types have the same size.
            false => Ok(unsafe { std::mem::transmute_copy(&found) }),
        }
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
