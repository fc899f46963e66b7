//! Versions of regions as messages, and mirror regions that show them on another machine.
//!
//! The sender observes a region, or the ranks of a group. For each step that it relays, it has an
//! [`Outgoing`] per region: its messages are what changed since the step that was sent before. The
//! receiver gives all messages to an [`Incoming`]. It is the producer of a mirror of each region,
//! with the same name, fields and attributes, and publishes a step in all of them when the last
//! message of the step has come. So all that observes, shows, exports or checkpoints a region works
//! with its mirror.
//!
//! This package has no transport. The agents of a job send the messages by MPI, and `tcasm view` to
//! `tcasm mirror` by a WebSocket.
//!
//! Fields whose memory was lost ([`tcasm_core::field::FieldDesc::lost`]) are not in mirrors.

#![deny(unsafe_code)]

mod changes;
mod error;
mod incoming;
mod layout;
mod mirror;
mod outgoing;
mod wire;

pub use error::{BadMessage, MirrorError, RelayError};
pub use incoming::Incoming;
pub use outgoing::Outgoing;
pub use wire::step;
