//! Why a command that follows a region ends.

use crate::signals::Signals;

/// Why the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The producer closed the region.
    OfStream,
    /// The producer died.
    ProducerLost,
    /// SIGTERM: write the newest version and end.
    Finished,
    /// SIGINT: end without another version.
    Interrupted,
}

impl End {
    /// Returns the end that SIGINT or SIGTERM asks for.
    pub fn by_signal(signals: &Signals) -> End {
        match signals.stop() {
            true => End::Interrupted,
            false => End::Finished,
        }
    }

    /// Returns the reason in words, for the last line of the output.
    pub fn reason(self) -> &'static str {
        match self {
            End::OfStream => "the simulation has ended",
            End::ProducerLost => "the simulation has died",
            End::Finished => "asked to end",
            End::Interrupted => "interrupted",
        }
    }
}
