//! Code that the benches share: workloads, the reference to compare with, and measurements.

pub mod bars;
pub mod checkpoints;
pub mod faults;
pub mod kernels;
pub mod outcome;
pub mod pages;
pub mod plain;
pub mod programs;
pub mod reference;
pub mod reserved;
pub mod samples;
pub mod smaps;
pub mod user;
pub mod watch;
pub mod workload;
