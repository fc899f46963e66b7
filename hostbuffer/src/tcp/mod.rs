//! Agreement among hosts over TCP: a rendezvous that a launcher starts, and its clients.
//!
//! Both ends know a secret, which is never sent. Each end sends a random nonce. From the secret and
//! both nonces follows the key of the connection, and each message carries an HMAC-SHA256 of
//! itself, its direction and its number. So a program without the secret can neither take part nor
//! change, repeat or drop a message unnoticed. It can read them: names of hosts, of programs and of
//! mappings.

mod channel;
mod client;
mod loss;
mod newcomers;
mod rounds;
mod secret;
mod server;

pub use client::Rendezvous;
pub use secret::Secret;
pub use server::{Event, Server};

use serde::{Deserialize, Serialize};

/// A message of a host to the rendezvous.
#[derive(Debug, Serialize, Deserialize)]
enum ToServer {
    /// A host of this job is there.
    Join { job: String, host: String },
    /// The message of the host in this round.
    Gather { message: Vec<u8> },
    /// The host gives up.
    Leave { why: String },
}

/// A message of the rendezvous to a host.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ToHost {
    /// The rendezvous knows the secret.
    Welcome,
    /// All hosts of the job are there.
    Begin,
    /// The messages of all hosts in this round.
    All { messages: Vec<Vec<u8>> },
    /// A host has left.
    Ended { why: String },
}

/// Decodes bytes as each kind of message.
pub(crate) fn decode_any(bytes: &[u8]) {
    let _: Result<ToServer, _> = rmp_serde::from_slice(bytes);
    let _: Result<ToHost, _> = rmp_serde::from_slice(bytes);
}
