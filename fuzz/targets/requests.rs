//! Fuzz target: any bytes as a message of a page in a browser.
#![no_main]

#[path = "../src/requests.rs"]
mod requests;

libfuzzer_sys::fuzz_target!(|data: &[u8]| requests::receive(data));
