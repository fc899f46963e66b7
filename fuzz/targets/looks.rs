//! Any bytes as a message of a page.
#![no_main]

#[path = "../src/looks.rs"]
mod looks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| looks::hear(data));
