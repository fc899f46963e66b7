//! The change of a value by leaving out a mechanism.

use crate::measure::Measured;
use crate::rounds::Row;
use crate::variant::Variant;

/// Less than so many per cent is no gain.
const LEAST_GAIN: f64 = 5.0;

/// A value of a run that is compared. Less of it is better.
pub type Value = fn(&Measured) -> f64;

/// The changes of a value in all rounds, in per cent. A positive change is a gain by the mechanism.
#[derive(Debug, PartialEq)]
pub struct Changes(Vec<f64>);

impl Changes {
    /// Returns the changes of `value` in those rounds in which both variants ran.
    pub fn of(rows: &[Row], workload: &str, variant: Variant, value: Value) -> Changes {
        let runs = |variant: Variant| {
            let here = move |r: &&Row| r.workload == workload && r.variant == variant.name();
            rows.iter().filter(here)
        };
        let change = |with: &Row, without: &Row| {
            let change = value(&without.measured) / value(&with.measured) - 1.0;
            (change * 100.0).is_finite().then_some(change * 100.0)
        };
        let pairs = runs(Variant::Everything).filter_map(|with| {
            let mut other = runs(variant);
            let without = other.find(|r| r.round == with.round)?;
            change(with, without)
        });
        Changes(pairs.collect())
    }

    /// Returns the median of all rounds, or none if there was no round.
    pub fn median(&self) -> Option<f64> {
        median(&self.0)
    }

    /// Returns true if the value was larger without the mechanism in each round, by at least 5 %
    /// and by more than equal runs differ.
    pub fn is_gain(&self, noise: &Changes) -> bool {
        let noise = noise.0.iter().fold(0.0, |most: f64, n| most.max(n.abs()));
        let gains = |change: &f64| *change >= LEAST_GAIN && *change > noise;
        !self.0.is_empty() && self.0.iter().all(gains)
    }
}

/// Returns the median, which is the mean of the two middle values if their number is even.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let high = *sorted.get(sorted.len() / 2)?;
    let low = sorted[(sorted.len() - 1) / 2];
    Some((low + high) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::testing::ablation::Mechanism;

    fn row(variant: Variant, round: u32, held: f64) -> Row {
        Row {
            workload: "w",
            variant: variant.name(),
            round,
            measured: Measured {
                held_bytes_p50: held,
                ..Measured::default()
            },
        }
    }

    #[test]
    fn changes_compare_runs_of_the_same_round() {
        let doubts = Variant::Without(Mechanism::Doubts);
        let rows = [
            row(Variant::Everything, 0, 100.0),
            row(doubts, 0, 110.0),
            row(doubts, 1, 90.0),
            row(Variant::Everything, 1, 60.0),
            row(Variant::Everything, 2, 60.0),
        ];
        let of = |workload| Changes::of(&rows, workload, doubts, |m| m.held_bytes_p50);
        let median = of("w").median().unwrap();
        assert!((median - 30.0).abs() < 1e-9, "{median}");
        assert_eq!(of("other").median(), None);
        let none = Changes::of(&rows, "w", doubts, |m| m.publish_us_p50);
        assert_eq!(none.median(), None, "nothing is compared with zero");
    }

    #[test]
    fn gain_must_exceed_five_per_cent_and_the_noise_in_every_round() {
        let changes = |of: &[f64]| Changes(of.to_vec());
        let noise = changes(&[-8.0, 2.0]);
        assert!(changes(&[9.0, 30.0]).is_gain(&noise));
        assert!(!changes(&[7.0, 30.0]).is_gain(&noise));
        assert!(!changes(&[4.0, 30.0]).is_gain(&changes(&[1.0])));
        assert!(!changes(&[]).is_gain(&noise));
    }

    #[test]
    fn median_of_an_even_number_of_values_lies_between_the_middle_ones() {
        assert_eq!(median(&[3.0, 1.0]), Some(2.0));
        assert_eq!(median(&[3.0, 1.0, 9.0]), Some(3.0));
        assert_eq!(median(&[]), None);
    }
}
