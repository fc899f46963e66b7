//! Wrappers of the system calls that methods and roles need.

pub mod clock;
pub mod faults;
pub mod futex;
pub mod memory;
pub mod process;
pub mod rwlock;
