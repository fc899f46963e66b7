//! Switches for tests and measurements: faults at named points, guards that are switched off, and
//! mechanisms that are left out. Without the features that enable them, none of it remains in a
//! program.

pub mod ablation;
pub mod fault;
pub mod sabotage;
