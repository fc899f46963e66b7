//! Fuzz target: any bytes as a manifest of checkpoints.
#![no_main]

#[allow(dead_code)] // some functions are used by the other target only
#[path = "../src/checkpoints.rs"]
mod checkpoints;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checkpoints::read_manifest(data));
