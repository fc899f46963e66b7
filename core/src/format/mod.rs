//! The format of the shared objects, and the protocol between producer and observers: the index
//! with its ring and its page maps, leases, messages and counters.

pub mod bell;
pub mod index;
pub mod layout;
pub mod lease;
pub mod pagemap;
pub mod protocol;
pub mod report;
pub mod stamp;
pub mod stats;
pub mod wire;
pub mod words;
