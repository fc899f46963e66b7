//! A measured value and its limit, as a row of a table.

use crate::samples::Samples;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A measured value with its limit.
#[derive(Clone, Serialize, Deserialize)]
pub struct Bar {
    /// Name of the measurement, as in the table.
    pub what: String,
    /// The measured value, in `unit`.
    pub seen: f64,
    /// The largest value allowed, in `unit`. None if the value has no limit of its own. It may then
    /// be the limit of another bar.
    pub bar: Option<f64>,
    /// The unit of both values.
    pub unit: Unit,
    /// The samples, if the value is their median: times in nanoseconds, or values in `unit`.
    pub samples: Option<Samples>,
}

/// The unit of a bar.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub enum Unit {
    /// Microseconds.
    Us,
    /// A multiple of another value.
    Ratio,
    /// Per cent.
    Percent,
    /// A number of things.
    Count,
    /// Millions of bytes per second.
    MBs,
}

impl Bar {
    /// Creates a bar from times, whose median has a limit.
    pub(super) fn time(what: &str, samples: &Samples, bar_us: f64) -> Bar {
        Bar {
            what: what.to_owned(),
            seen: samples.median() / 1e3,
            bar: Some(bar_us),
            unit: Unit::Us,
            samples: Some(samples.clone()),
        }
    }

    /// Creates a bar without a limit from times. The times are a limit for other bars, or only
    /// shown.
    pub(super) fn limit(what: &str, samples: &Samples) -> Bar {
        Bar {
            bar: None,
            ..Bar::time(what, samples, 0.0)
        }
    }

    /// Creates a bar from ratios, whose median may have a limit.
    pub(super) fn ratios(what: &str, ratios: &Samples, bar: Option<f64>) -> Bar {
        Bar {
            what: what.to_owned(),
            seen: ratios.median(),
            bar,
            unit: Unit::Ratio,
            samples: Some(ratios.clone()),
        }
    }

    /// Creates a bar from a value that is not a median of samples.
    pub fn new(what: &str, seen: f64, bar: f64, unit: Unit) -> Bar {
        Bar {
            what: what.to_owned(),
            seen,
            bar: Some(bar),
            unit,
            samples: None,
        }
    }

    /// Creates a bar that only shows a value and has no limit.
    pub fn figure(what: &str, seen: f64, unit: Unit) -> Bar {
        Bar {
            bar: None,
            ..Bar::new(what, seen, 0.0, unit)
        }
    }

    /// Returns true if the value is within its limit, or has no limit.
    pub fn met(&self) -> bool {
        self.bar.is_none_or(|bar| self.seen <= bar)
    }

    /// Returns the measured value, its 99th percentile and its maximum as cells of a table. The
    /// last two are empty if there are no samples.
    pub(super) fn cells(&self) -> [String; 3] {
        let sample = |x: f64| self.text(if self.is_time() { x / 1e3 } else { x });
        let of = |q| {
            let samples = self.samples.as_ref();
            samples.map_or(String::new(), |samples| sample(samples.quantile(q)))
        };
        [self.text(self.seen), of(0.99), of(1.0)]
    }

    /// Returns the largest value allowed as a cell.
    pub(super) fn most(&self) -> String {
        self.bar.map_or(String::new(), |bar| self.text(bar))
    }

    /// Returns as a cell whether the value is within its limit, or is itself one.
    pub(super) fn verdict(&self) -> &'static str {
        match (self.bar, self.met()) {
            (None, _) if self.samples.is_none() || !self.is_time() => "",
            (None, _) => "limit",
            (_, true) => "met",
            (_, false) => "**missed**",
        }
    }

    fn is_time(&self) -> bool {
        matches!(self.unit, Unit::Us)
    }

    fn text(&self, x: f64) -> String {
        match self.unit {
            Unit::Us => format!("{x:.1} us"),
            Unit::Ratio => format!("{x:.4}")
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned(),
            Unit::Percent => format!("{x:.1} %"),
            Unit::Count => format!("{x:.0}"),
            Unit::MBs => format!("{x:.2} MB/s"),
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, [seen, p99, max]) = (&self.what, self.cells());
        let (most, verdict) = (self.most(), self.verdict());
        write!(
            f,
            "| {what} | {seen} | {p99} | {max} | {most} | {verdict} |"
        )
    }
}

/// Heading of a table of bars that were measured as one user.
pub const HEAD: &str =
    "| what | measured (median) | p99 | max | at most | |\n|---|---|---|---|---|---|";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_shown_with_their_p99_and_maximum() {
        let mut ratios = Samples::default();
        [1.5, 1.0, 1.01]
            .into_iter()
            .for_each(|ratio| ratios.add_value(ratio));
        let shown = |bar| Bar::ratios("x", &ratios, bar).to_string();
        assert_eq!(shown(Some(1.02)), "| x | 1.01 | 1.5 | 1.5 | 1.02 | met |");
        let missed = "| x | 1.01 | 1.5 | 1.5 | 1 | **missed** |";
        assert_eq!(shown(Some(1.0)), missed);
        assert_eq!(shown(None), "| x | 1.01 | 1.5 | 1.5 |  |  |");
    }

    #[test]
    fn times_are_shown_in_microseconds() {
        let mut times = Samples::default();
        times.add_ns(2500.0);
        let shown = Bar::limit("x", &times).to_string();
        assert_eq!(shown, "| x | 2.5 us | 2.5 us | 2.5 us |  | limit |");
    }

    #[test]
    fn bars_survive_the_way_from_one_process_to_another() {
        let mut ratios = Samples::default();
        [1.5, 1.25].into_iter().for_each(|r| ratios.add_value(r));
        let bars = [
            Bar::ratios("x", &ratios, Some(1.02)),
            Bar::figure("y", 3.0, Unit::MBs),
        ];
        let text = serde_json::to_string(&bars).unwrap();
        let read: Vec<Bar> = serde_json::from_str(&text).unwrap();
        let lines = |bars: &[Bar]| bars.iter().map(Bar::to_string).collect::<Vec<_>>();
        assert_eq!(lines(&read), lines(&bars));
    }
}
