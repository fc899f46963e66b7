//! Fuzz target: any bytes as a message of a transfer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tcasm_fuzz::decode_transfers(data));
