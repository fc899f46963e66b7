//! The timeouts of the server for pages, and for connections that may not be pages.

use std::time::Duration;

/// The times that the server waits for a page.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Time for the headers of a request. A connection whose headers take longer is closed.
    pub headers: Duration,
    /// Time for the proof that the peer knows the token. A connection without it is closed.
    pub proof: Duration,
    /// Time without a message from a page, after which the server sends a ping. Browsers answer
    /// pings by themselves, even for a hidden page whose timers sleep.
    pub quiet: Duration,
    /// Time without a message from a page, after which the server drops it. The peer may have gone
    /// without closing the connection.
    pub silence: Duration,
    /// Time for a page to take a message. A page that takes longer has stopped reading, and is
    /// dropped.
    pub send: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            headers: Duration::from_secs(10),
            proof: Duration::from_secs(60),
            quiet: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            send: Duration::from_secs(10),
        }
    }
}
