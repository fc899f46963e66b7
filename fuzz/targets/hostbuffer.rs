//! Fuzz target: messages among the processes and hosts of a host buffer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tcasm_hostbuffer::decode_any(data));
