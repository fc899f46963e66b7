//! The settings of a server.

use super::listen::Endpoint;
use super::timeouts::Timeouts;
use crate::hub::Options;

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The region that the page shows first.
    pub name: String,
    /// The region or group that a mirror gets if it asks for none.
    pub mirrored: String,
    /// The port or the Unix socket at which it listens.
    pub endpoint: Endpoint,
    /// The user's secret, from which the token of the address is derived.
    pub secret: String,
    /// The limits on how often its hubs work.
    pub options: Options,
    /// The times that it waits for pages.
    pub timeouts: Timeouts,
}
