//! The transports of transfers that work on this machine.

use serde::Serialize;
use tcasm_transfer::{direct_works, sharing_works};

/// The transports, and why some of them do not work.
#[derive(Debug, Serialize)]
pub struct Transfers {
    /// The reason why processes cannot copy directly from each other, if there is one.
    pub direct_refused: Option<String>,
    /// The reason why they cannot share memory, if there is one.
    pub sharing_refused: Option<String>,
}

impl Transfers {
    /// Tries the transports.
    pub fn check() -> Self {
        Transfers {
            direct_refused: direct_works().err(),
            sharing_refused: sharing_works().err().map(|error| error.to_string()),
        }
    }

    /// Describes the transports in one line.
    pub fn text(&self) -> &'static str {
        match (&self.direct_refused, &self.sharing_refused) {
            (None, None) => "direct (one copy), mapped, ring",
            (Some(_), None) => "mapped, ring (two copies); not direct: see below",
            (None, Some(_)) => "direct (one copy); not mapped, no ring: see below",
            (Some(_), Some(_)) => "none: see below",
        }
    }

    /// Returns what prevents transports.
    pub fn advice(&self) -> Vec<String> {
        let direct = self.direct_refused.iter();
        let direct = direct.map(|reason| format!("for direct transfers: {reason}"));
        let sharing = self.sharing_refused.iter();
        let sharing = sharing.map(|reason| format!("for transfers by shared memory: {reason}"));
        direct.chain(sharing).collect()
    }
}
