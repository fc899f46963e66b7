//! The history of fields: extrema and means over time, since a client first asked for a field.

use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tcasm_analytics::{Moments, Scalar};
use tcasm_core::format::stamp::Stamp;

/// Maximum number of points in a series. When there are more, every other point is removed.
const POINTS: usize = 2048;
/// Maximum number of series. When there are more, all are removed.
const FIELDS: usize = 256;

/// Version, step, time, then the least, mean and greatest value.
type Point = (u64, u64, f64, Option<f64>, Option<f64>, Option<f64>);

/// The least, mean and greatest value of a field over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// Name of the field.
    pub field: String,
    /// The component (`None`: the magnitude).
    pub component: Option<usize>,
    /// The points: version, step, time, then the least, mean and greatest value.
    pub points: VecDeque<Point>,
}

/// The name of a field, and a component (`None`: the magnitude).
pub type Key = (String, Option<usize>);

/// The series of all fields that clients asked for.
#[derive(Debug, Default)]
pub struct SeriesCache {
    of: HashMap<Key, Arc<Series>>,
}

impl SeriesCache {
    /// Removes all series. Call it when another run begins.
    pub fn clear(&mut self) {
        self.of.clear();
    }

    /// Adds the moments of a version, unless the series has that version or a later one.
    pub fn note(&mut self, key: &Key, stamp: &Stamp, moments: &Moments) {
        if self.of.len() >= FIELDS && !self.of.contains_key(key) {
            self.of.clear();
        }
        let series = self.of.entry(key.clone()).or_insert_with(|| {
            let (field, component) = key.clone();
            let points = VecDeque::new();
            Arc::new(Series {
                field,
                component,
                points,
            })
        });
        let series = Arc::make_mut(series);
        if series
            .points
            .back()
            .is_some_and(|last| last.0 >= stamp.version)
        {
            return;
        }
        let number = |value: Option<Scalar>| value.map(Scalar::to_f64);
        let [least, mean, greatest] = [moments.min, moments.mean, moments.max].map(number);
        series
            .points
            .push_back((stamp.version, stamp.step, stamp.time, least, mean, greatest));
        if series.points.len() > POINTS {
            let mut odd = false;
            series.points.retain(|_| {
                odd = !odd;
                odd
            });
        }
    }

    /// Returns the series of a field.
    pub fn get(&self, key: &Key) -> Option<Arc<Series>> {
        self.of.get(key).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn noted(versions: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut memory = SeriesCache::default();
        let key = ("u".to_owned(), None);
        for version in versions {
            let stamp = Stamp {
                version,
                ..Stamp::default()
            };
            let moments = tcasm_analytics::moments::moments(array![1.0].into_dyn().view());
            memory.note(&key, &stamp, &moments);
        }
        let series = memory.get(&key).unwrap();
        series.points.iter().map(|point| point.0).collect()
    }

    #[test]
    fn long_series_is_thinned_out_and_stays_in_order() {
        let all = noted(1..=20_000);
        assert!((POINTS / 2..=POINTS).contains(&all.len()), "{}", all.len());
        assert!(all.is_sorted() && all[0] == 1 && *all.last().unwrap() > 19_980);
    }

    #[test]
    fn repeated_and_older_versions_are_not_added() {
        assert_eq!(noted([3, 3, 2, 5].into_iter()), [3, 5]);
    }
}
