//! The state that the hub, its clients and its thread share.

use super::clients::Clients;

/// The state that the hub, its clients and its thread share.
#[derive(Debug)]
pub struct Common {
    /// The name of the region.
    pub name: String,
    /// The clients.
    pub clients: Clients,
}
