//! The kinds of trackers, and their names.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The kinds of trackers, best first. Their names in text are `uffd-async`, `cow` and `compare`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrackerKind {
    /// userfaultfd write-protection in asynchronous mode, harvested by PAGEMAP_SCAN (Linux >= 6.7).
    UffdAsync,
    /// A private mapping of a memfd. A page that has become anonymous was written.
    Cow,
    /// No tracking: every page is a candidate, and the capture compares its bytes with the last
    /// version.
    Compare,
}

impl TrackerKind {
    /// All kinds, best first.
    pub const ALL: [TrackerKind; 3] = [
        TrackerKind::UffdAsync,
        TrackerKind::Cow,
        TrackerKind::Compare,
    ];

    /// Returns the name that users see and write.
    pub fn name(self) -> &'static str {
        match self {
            TrackerKind::UffdAsync => "uffd-async",
            TrackerKind::Cow => "cow",
            TrackerKind::Compare => "compare",
        }
    }
}

impl fmt::Display for TrackerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a name that no tracker has.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("there is no tracker {0:?}; the trackers are uffd-async, cow and compare")]
pub struct UnknownTracker(String);

impl FromStr for TrackerKind {
    type Err = UnknownTracker;

    fn from_str(name: &str) -> Result<Self, UnknownTracker> {
        let kind = TrackerKind::ALL.into_iter().find(|k| k.name() == name);
        kind.ok_or_else(|| UnknownTracker(name.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracker_name_is_the_same_in_text_and_in_files() {
        for kind in TrackerKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            let stored = rmp_serde::to_vec(&kind).unwrap();
            assert_eq!(
                rmp_serde::from_slice::<String>(&stored).unwrap(),
                kind.name()
            );
        }
    }

    #[test]
    fn error_for_an_unknown_name_lists_the_known_names() {
        let error = "soft-dirty".parse::<TrackerKind>().unwrap_err().to_string();
        assert!(error.contains("soft-dirty"), "{error}");
        assert!(
            TrackerKind::ALL.iter().all(|k| error.contains(k.name())),
            "{error}"
        );
    }
}
