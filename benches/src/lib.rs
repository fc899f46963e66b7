//! What the benches share: workloads, the reference to measure against, and facts of the machine.

pub mod reference;
pub mod workload;
