//! Capture that goes on after `publish` has returned.
//!
//! `publish` write-protects whole chunks of live memory (a [`Gate`]) and returns. Copier threads ([`Copiers`]) save
//! one chunk after the other into planes and release each. A store that comes too early waits in a page fault until a
//! fault thread has saved its chunk. A [`Sweep`] is all chunks of one version: when the last is saved, the version
//! becomes visible.
//!
//! What must stay true:
//! 1. A piece is released only after it was copied, and only by the thread that copied it ([`Progress`]).
//! 2. A sweep ends only when every piece is released; no other begins before.
//! 3. Nothing of ours can leave a store waiting: a copy that fails still releases its piece, and where even that fails,
//!    or a thread dies, the gate is given up as a whole. The version is then given up too, and its pages go into the next.
//! 4. The threads allocate nothing and take no lock that the program may hold while it stores: they would wait for the
//!    program, and it for them.

mod copiers;
mod gate;
mod job;
mod newest;
mod progress;
mod sweep;

pub use copiers::{Copiers, Settings};
pub use gate::Gate;
pub use job::{Compare, Job};
pub use newest::Newest;
pub use progress::Progress;
pub use sweep::{Finish, Outcome, Sweep};
