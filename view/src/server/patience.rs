//! How long the server waits for pages, and for those who may be none.

use std::time::Duration;

/// How long pages are waited for.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// A request whose headers take longer is not answered.
    pub headers: Duration,
    /// A connection over which nobody has proven by then that they know the token is closed.
    pub proof: Duration,
    /// A page that says nothing for so long is asked whether it is there. Browsers answer by
    /// themselves, even for a hidden page whose timers sleep.
    pub quiet: Duration,
    /// A page that says nothing for so long is gone, though nobody told.
    pub silence: Duration,
    /// A page that takes nothing for so long has stopped reading.
    pub send: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            headers: Duration::from_secs(10),
            proof: Duration::from_secs(60),
            quiet: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            send: Duration::from_secs(10),
        }
    }
}
