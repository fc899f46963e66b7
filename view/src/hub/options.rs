//! The options of a hub.

use std::time::Duration;

/// The limits on how often a hub works.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Least time between the starts of two frames.
    pub frame: Duration,
    /// Least time between two passes over whole fields (moments, histograms, volumes).
    pub whole: Duration,
    /// Least time between two queries of the region's state.
    pub region: Duration,
    /// Length of the pause after a frame, in multiples of the time that the frame took. The same
    /// factor holds for passes over whole fields. The pause leaves most of a processor to others.
    pub pause: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            frame: Duration::from_millis(33),
            whole: Duration::from_millis(300),
            region: Duration::from_millis(500),
            pause: 3,
        }
    }
}
