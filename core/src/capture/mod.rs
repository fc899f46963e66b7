//! Capture that goes on after `publish` has returned.
//!
//! `publish` write-protects whole chunks of live memory with a [`Gate`] and returns. Copier threads
//! ([`Copiers`]) save one chunk after the other into planes, and release each. A store to a chunk
//! that is not saved yet is an *early store*: it waits in a page fault until the fault thread has
//! saved the chunk. A [`Sweep`] consists of all chunks of one version, which are its *pieces*. When
//! the last piece is saved, the version becomes visible.
//!
//! Rules that always hold:
//! 1. A piece is released only after it was copied, and only by the thread that copied it
//!    ([`Pieces`]).
//! 2. A sweep ends only when every piece is released. No other sweep begins before.
//! 3. No failure of the library leaves a store waiting. A copy that fails still releases its piece.
//!    If releasing fails too, or a thread dies, the gate is given up as a whole. The version is
//!    then given up too, and its pages go into the next one.
//! 4. The threads allocate nothing, and take no lock that the program may hold while it stores.
//!    Otherwise they could wait for the program while the program waits for them.

mod copiers;
mod early;
mod ending;
mod gate;
mod job;
mod newest;
mod pieces;
mod sweep;

pub use copiers::{Copiers, Settings};
pub use ending::{Ending, Outcome};
pub use gate::Gate;
pub use job::{Compare, Job};
pub use newest::Newest;
pub use pieces::Pieces;
pub use sweep::{Finish, Sweep};
