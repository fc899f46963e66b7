//! Information about a region besides its versions.

use crate::error::ObserveError;
use crate::session::Session;
use tcasm_core::format::index::IndexError;
use tcasm_core::format::stats::{Counter, Stats};

/// Information about a region besides its versions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionInfo {
    /// Name of the region.
    pub name: String,
    /// The producer's process id, as it sees itself.
    pub pid: u64,
    /// Address of the region in every process.
    pub base: u64,
    /// Bytes of address space of the region.
    pub bytes: u64,
    /// Bytes per page.
    pub page_size: u64,
    /// How writes are tracked: `uffd-async`, `cow` or `compare`.
    pub tracker: String,
    /// When the region was created (nanoseconds of the Unix epoch).
    pub created: u64,
    /// Most versions alive at once.
    pub max_versions: usize,
    /// All counters, by name.
    pub counters: Vec<(&'static str, u64)>,
    /// Duration of publish in microseconds: median, 99th percentile, longest.
    pub publish_us: [f64; 3],
}

impl RegionInfo {
    pub(crate) fn of(session: &Session) -> Result<Self, ObserveError> {
        let index = session.index()?;
        let (info, stats) = (&session.info, Stats::new(index.stats()?));
        let us = |q| stats.publish_quantile_ns(q).map(|ns| ns as f64 / 1e3);
        let read = || {
            let counters = Counter::ALL.iter().map(|c| Ok((c.name(), stats.get(*c)?)));
            let max = stats.get(Counter::PublishMaxNs)? as f64 / 1e3;
            Ok((
                counters.collect::<Result<Vec<_>, _>>()?,
                [us(0.5)?, us(0.99)?, max],
            ))
        };
        let (counters, publish_us) = read().map_err(IndexError::OutOfRange)?;
        Ok(RegionInfo {
            name: info.name.clone(),
            pid: info.pid,
            base: info.base,
            bytes: index.layout().region_bytes() as u64,
            page_size: index.layout().page_size as u64,
            tracker: info.tracker.clone(),
            created: info.created,
            max_versions: index.layout().slots,
            counters,
            publish_us,
        })
    }

    /// Returns a counter by the name that it has in `Counter` of `tcasm_core::format::stats`, for
    /// example `HeldBytes`. Returns `None` if there is none of that name.
    pub fn counter(&self, name: &str) -> Option<u64> {
        let found = self.counters.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_is_found_by_its_exact_name() {
        let info = RegionInfo {
            counters: vec![("Skips", 3), ("HeldBytes", 0)],
            ..RegionInfo::default()
        };
        assert_eq!(info.counter("Skips"), Some(3));
        assert_eq!(info.counter("HeldBytes"), Some(0));
        assert_eq!(info.counter("skips"), None);
    }
}
