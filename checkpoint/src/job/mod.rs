//! Checkpoints of a whole job: one file per node, redundancy between nodes, and a manifest line as
//! the commit.
//!
//! # Phases
//!
//! All nodes have the versions of one step pinned. Then:
//!
//! 1. Each node writes all blocks of its ranks to one file: everything, or what has changed. The
//!    file is sealed, read back, synced and renamed. The versions can go.
//! 2. Nodes of a set, which do not fail together, make parity of each other's files.
//! 3. Each node enters its part into its own list (it is *prepared*), and sends it to node 0.
//! 4. When node 0 has the parts of all nodes, it appends one line to the manifest on the slow tier:
//!    the *commit*. If the line is not whole, the checkpoint does not exist.
//! 5. The nodes learn of it by the rounds of their agents. Then they copy it to the slow tier, if
//!    that is due, and remove what is no longer kept.
//!
//! # Invariants
//!
//! - J1: What is committed stays readable until a newer checkpoint is committed, unless more nodes
//!   are lost than the redundancy allows for.
//! - J2: Only what is committed is ever offered, and only if all of it can be read. Whoever chooses
//!   a step checks all hashes first. The others check that of each file before they read it.
//! - J3: Retention is a function of what all nodes know, so all nodes keep the same steps.
//!   For this, the files of a step build on the same step on all nodes, or on none.
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | `connect`, `writer`, `committed` | the phases on one node |
//! | `base` | what the next increments build on |
//! | `removal` | files that no checkpoint needs any more |
//! | `recover`, `returned` | its files after a start, and a return to an earlier step |
//! | `find`, `find_with`, `places`, `files` | the newest readable checkpoint, and its files |
//! | `bring`, `plan`, `carry`, `received` | files that come by messages |
//! | `job_checkpoint`, `arrays`, `load` | its values |
//! | `choice` | what all ranks of a run continue from |
//! | `protect`, `lost_file`, `rebuild` | parity of a set's files, and files from parity |
//! | `scheme`, `code`, `parity_file`, `sets` | stripes, codes, the file of parity, sets of nodes |
//! | `manifest`, `prepared`, `record`, `sound` | lines about what is committed and prepared |
//! | `node_file`, `open_files`, `names`, `hashed` | files of nodes, their names and hashes |
//! | `messages`, `collective` | how nodes talk |
//! | `vtkhdf` | the file for ParaView |

mod arrays;
mod base;
mod bring;
mod carry;
mod choice;
mod code;
mod collective;
mod committed;
mod connect;
mod error;
mod files;
mod find;
mod find_with;
mod hashed;
mod job_checkpoint;
mod load;
mod lost_file;
mod manifest;
mod messages;
mod names;
mod node_file;
mod open_files;
mod parity_file;
mod places;
mod plan;
mod prepared;
mod protect;
mod rebuild;
mod received;
mod record;
mod recover;
mod removal;
mod retention;
mod returned;
mod scheme;
mod sets;
mod settings;
mod sound;
mod vtkhdf;
mod writer;

pub use error::JobError;
pub use find::committed;
pub use job_checkpoint::JobCheckpoint;
pub use manifest::groups;
pub use messages::{Channels, Lost, Messages, channels};
pub use node_file::{NodeSnapshot, Rank};
pub use places::Places;
pub use record::{Block, Commit, Committed, FileEntry, Level, Part};
pub use scheme::Redundancy;
pub use settings::JobSettings;
pub use writer::{Changed, JobWriter};
