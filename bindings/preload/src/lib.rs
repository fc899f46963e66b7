//! `libtcasm_preload.so`, which is loaded with `LD_PRELOAD`: a program that maps a file called
//! `tcasm:NAME` and calls `msync` publishes a version of the region NAME at each call. The program
//! needs no change. `docs/preload.md` describes what its users see.
//!
//! The functions that the library stands in front of are in `interpose`. Most calls are for the
//! next function of that name, and get there after a few comparisons. The rest is in `calls`:
//!
//! ```text
//! interpose   the symbols            real      the functions behind them
//! calls       what the calls mean    guard     errno, panics, calls of the library itself
//! regions     the regions of this process, found by address without a lock
//! region      one of them: creating it, publishing it, ending it
//! object      what a descriptor is   names     names of regions, and patterns of files
//! description fields from a file     clock     where the program keeps step and time
//! spans       the addresses that the program still has mapped
//! ```
#![deny(unsafe_code)]
// The unit tests have no interposed functions, which would be those of the test program.
#![cfg_attr(test, allow(dead_code, unused_imports))]

mod calls;
mod clock;
mod description;
mod exit;
mod guard;
mod memory;
mod names;
mod object;
mod region;
mod regions;
mod say;
mod spans;

#[cfg(not(test))]
mod interpose;
mod real;
