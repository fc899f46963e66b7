//! Fuzz target: damaged files of checkpoints.
#![no_main]

#[allow(dead_code)] // some functions are used by the other target only
#[path = "../src/checkpoints.rs"]
mod checkpoints;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checkpoints::read_checkpoint(data));
