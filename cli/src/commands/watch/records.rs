//! The moments of each field, and their history.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tcasm_analytics::Moments;
use tcasm_view::frame::Of;

/// The name of a field, and the component; `None` for the magnitude.
pub type Part = (String, Option<usize>);

/// The number of points that are kept per field. When there are more, every other one is dropped.
const POINTS: usize = 1024;

#[derive(Debug, Default)]
pub struct Records {
    of: HashMap<Part, Record>,
}

/// The moments of a field, and the mean over time.
#[derive(Debug)]
pub struct Record {
    pub moments: Arc<Moments>,
    /// Version numbers and means.
    trend: VecDeque<(u64, f64)>,
}

impl Records {
    pub fn clear(&mut self) {
        self.of.clear();
    }

    pub fn get(&self, field: &str, component: Option<usize>) -> Option<&Record> {
        self.of.get(&(field.to_owned(), component))
    }

    /// Records the moments of a version. If `live`, also adds their mean to the history.
    pub fn note(&mut self, part: Part, (stamp, moments): &Of<Moments>, live: bool) {
        let record = self.of.entry(part).or_insert_with(|| Record {
            moments: moments.clone(),
            trend: VecDeque::new(),
        });
        record.moments = moments.clone();
        if live {
            let mean = moments.mean.map_or(f64::NAN, |mean| mean.to_f64());
            record.push(stamp.version, mean);
        }
    }
}

impl Record {
    fn push(&mut self, version: u64, mean: f64) {
        match self.trend.back() {
            Some((last, _)) if *last == version => return,
            // The recorded versions are from an earlier run.
            Some((last, _)) if *last > version => self.trend.clear(),
            _ => {}
        }
        self.trend.push_back((version, mean));
        if self.trend.len() > POINTS {
            let mut keep = false;
            self.trend.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }

    /// Draws the mean over time, from the first recorded version to the last, as a line of at most
    /// `width` characters.
    pub fn sparkline(&self, width: usize) -> String {
        const BARS: [char; 8] = [
            '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}',
            '\u{2588}',
        ];
        let means = self.columns(width);
        let finite = || means.iter().filter(|mean| mean.is_finite());
        let low = finite().copied().fold(f64::INFINITY, f64::min);
        let high = finite().copied().fold(f64::NEG_INFINITY, f64::max);
        let bar = |mean: &f64| {
            let share = if high > low {
                (mean - low) / (high - low)
            } else {
                0.5
            };
            let bar = (share * (BARS.len() - 1) as f64).round() as usize;
            if mean.is_finite() {
                BARS[bar.min(BARS.len() - 1)]
            } else {
                ' '
            }
        };
        means.iter().map(bar).collect()
    }

    /// Returns at most `width` values: the points, or means of several of them.
    fn columns(&self, width: usize) -> Vec<f64> {
        let count = self.trend.len().min(width);
        let column = |i: usize| {
            let points = i * self.trend.len() / count..(i + 1) * self.trend.len() / count;
            let means = self.trend.range(points.clone()).map(|(_, mean)| mean);
            means.sum::<f64>() / points.len() as f64
        };
        (0..count).map(column).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(means: &[f64]) -> Record {
        let values = ndarray::array![0.0].into_dyn();
        let mut record = Record {
            moments: Arc::new(tcasm_analytics::moments::moments(values.view())),
            trend: VecDeque::new(),
        };
        for (version, mean) in (1..).zip(means) {
            record.push(version, *mean);
        }
        record
    }

    #[test]
    fn sparkline_covers_the_range_of_the_means() {
        let line = record(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).sparkline(20);
        assert_eq!(
            line,
            "\u{2581}\u{2582}\u{2583}\u{2584}\u{2585}\u{2586}\u{2587}\u{2588}"
        );
        assert_eq!(
            record(&[7.0, f64::NAN, 0.0]).sparkline(20),
            "\u{2588} \u{2581}"
        );
        assert_eq!(record(&[3.0, 3.0]).sparkline(20), "\u{2585}\u{2585}");
        assert_eq!(record(&[]).sparkline(20), "");
        assert_eq!(record(&[1.0, 2.0]).sparkline(0), "");
    }

    #[test]
    fn long_series_fills_the_width_and_keeps_its_ends() {
        let means: Vec<f64> = (0..5000).map(f64::from).collect();
        let record = record(&means);
        assert!(record.trend.len() <= POINTS);
        assert_eq!(record.trend[0].0, 1);
        let line: Vec<char> = record.sparkline(16).chars().collect();
        assert_eq!(
            (line.len(), line[0], line[15]),
            (16, '\u{2581}', '\u{2588}')
        );
        assert!(line.is_sorted());
    }

    #[test]
    fn older_version_begins_a_new_series() {
        let mut record = record(&[1.0, 2.0, 3.0]);
        record.push(3, 9.0);
        assert_eq!(record.trend.len(), 3);
        record.push(1, 5.0);
        assert_eq!(record.trend, [(1, 5.0)]);
    }
}
