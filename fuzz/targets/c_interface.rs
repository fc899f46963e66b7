//! Fuzz target: calls of the library for C, in any order, with any handles.
#![no_main]

use std::sync::OnceLock;
// The functions that the program in C calls.
use tcasm_c as _;

unsafe extern "C" {
    /// Makes calls, which the bytes choose, and ends all objects that they have made.
    fn tcasm_random_calls(data: *const u8, size: usize);
}

/// The folder of the sockets.
static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();

libfuzzer_sys::fuzz_target!(init: {
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("a folder for sockets"));
    // SAFETY: the fuzzer has no other thread yet.
    unsafe { std::env::set_var("TCASM_RUNTIME_DIR", folder.path()) };
}, |data: &[u8]| {
    // SAFETY: the function reads `size` bytes from `data` on, keeps no pointer, and only one thread
    // of the fuzzer calls it.
    unsafe { tcasm_random_calls(data.as_ptr(), data.len()) }
});
