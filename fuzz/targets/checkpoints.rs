//! Any damage to files of checkpoints.
#![no_main]

#[allow(dead_code)] // the other target's
#[path = "../src/checkpoints.rs"]
mod checkpoints;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checkpoints::read_checkpoint(data));
