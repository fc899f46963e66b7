//! What the benches share: workloads, the reference to measure against, and facts of the machine.

pub mod bars;
pub mod checkpoints;
pub mod faults;
pub mod pages;
pub mod plain;
pub mod programs;
pub mod reference;
pub mod samples;
pub mod workload;
