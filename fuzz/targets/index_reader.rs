//! Fuzz target: any bytes as an index.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tcasm_fuzz::read_index(data));
