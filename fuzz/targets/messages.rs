//! Fuzz target: any bytes as a message on the attach socket.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tcasm_fuzz::decode_messages(data));
