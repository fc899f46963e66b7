//! A simulator of jobs of many ranks. It runs the real agents of `tcasm-agent` over virtual ranks
//! and a virtual network, and checks the invariants of the agreement after every event.
//!
//! | module | contents |
//! |---|---|
//! | [`random`] | random numbers from a seed |
//! | [`work`] | when each rank publishes each step |
//! | [`node`] | the virtual regions of a node |
//! | [`network`] | rounds over a virtual network |
//! | [`job`] | nodes with their agents; [`checker`] has the invariants |
//! | [`checkpoints`] | the agreed steps that nodes write |
//! | [`world`] | the events of a job in the order of time, with [`failures`] |
//! | [`parity`] | volumes and times of redundancy |
//! | [`report`] | what comes out |

#![deny(unsafe_code)]

pub mod checker;
pub mod checkpoints;
pub mod failures;
pub mod job;
pub mod network;
pub mod node;
pub mod parity;
pub mod plan;
pub mod random;
pub mod report;
pub mod work;
pub mod world;

/// Virtual time in nanoseconds.
pub type Nanos = u64;

/// One millisecond.
pub const MILLISECOND: Nanos = 1_000_000;
