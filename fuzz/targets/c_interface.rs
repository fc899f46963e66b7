//! Fuzz target: calls of the library for C, in any order, with any handles.
#![no_main]

// The functions that the program in C calls.
use tcasm_c as _;

// The build script compiles bindings/c/tests/c/random.c.
#[link(name = "random_calls", kind = "static")]
unsafe extern "C" {
    /// Makes calls, which the bytes choose, and ends all objects that they have made.
    fn tcasm_random_calls(data: *const u8, size: usize);
}

libfuzzer_sys::fuzz_target!(init: {
    let folder = std::env::var_os("TCASM_RUNTIME_DIR");
    assert!(folder.is_some(), "set TCASM_RUNTIME_DIR to a folder for sockets, as ci/fuzz.sh does");
}, |data: &[u8]| {
    // SAFETY: the function reads `size` bytes from `data` on, keeps no pointer, and only one thread
    // of the fuzzer calls it.
    unsafe { tcasm_random_calls(data.as_ptr(), data.len()) }
});
