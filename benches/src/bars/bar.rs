//! A measured value and its limit, as a row of a table.

use crate::samples::Samples;
use std::fmt;

/// A measured value with its limit.
#[derive(Clone)]
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
#[derive(Clone, Copy)]
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
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figure = |x: f64| match self.unit {
            Unit::Us => format!("{x:.1} us"),
            Unit::Ratio => format!("{x:.4}")
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned(),
            Unit::Percent => format!("{x:.1} %"),
            Unit::Count => format!("{x:.0}"),
            Unit::MBs => format!("{x:.2} MB/s"),
        };
        let times = matches!(self.unit, Unit::Us);
        let sample = |x: f64| figure(if times { x / 1e3 } else { x });
        let [p99, max] = match &self.samples {
            Some(s) => [s.quantile(0.99), s.quantile(1.0)].map(sample),
            None => [String::new(), String::new()],
        };
        let met = match (self.bar, self.met()) {
            (None, _) if self.samples.is_none() || !times => "",
            (None, _) => "limit",
            (_, true) => "met",
            (_, false) => "**missed**",
        };
        let (seen, bar) = (figure(self.seen), self.bar.map_or(String::new(), figure));
        write!(
            f,
            "| {} | {seen} | {p99} | {max} | {bar} | {met} |",
            self.what
        )
    }
}

/// Heading of the table of bars.
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
}
