//! Switches for tests and measurements: faults at named points, guards that are switched off,
//! mechanisms that are left out, and machines with several nodes of memory. Without the features
//! that enable them, none of it remains in a program.

pub mod ablation;
pub mod fault;
#[cfg(any(test, feature = "fault-points"))]
pub mod nodes;
pub mod sabotage;
