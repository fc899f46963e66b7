//! In transit: agreed steps go to analysis nodes, where mirror regions show them to all observers.
//!
//! Some agents of the job are on analysis nodes, and have no ranks. The others send them the pages
//! of each agreed step that changed since the step that was sent before. There the receiver is the
//! producer of a mirror region per rank, with the name of the rank's own region. So all that
//! observes, shows, exports or checkpoints a region or a group works there unchanged.
//!
//! Each step is pinned in the mirrors of a node until the next one is there, as ranks' versions are
//! on their hosts. So an analysis node has agreed steps, too.
//!
//! A step is relayed when all nodes have finished the one before: steps that are agreed meanwhile
//! are skipped by all nodes alike. So all mirrors have the same steps, and a slow receiver makes
//! them fewer. It never makes a rank wait.
//!
//! Rank `r` of `R` goes to analysis node `r * A / R` of `A`.

mod layout;
mod receiver;
mod sender;
mod shown;
mod uses;

pub use shown::Shown;
pub use uses::{Relay, RelayStats};
