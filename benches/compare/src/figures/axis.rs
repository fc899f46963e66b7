//! Axes: they convert numbers to positions.

/// An axis with its title and marks.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The quantity that the axis shows, with its unit.
    pub title: String,
    /// The value and the label of each mark.
    pub marks: Vec<(f64, String)>,
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    /// Creates a logarithmic axis with marks at these numbers, which must ascend. A number that is
    /// too close to the next has a mark without a label.
    pub fn log(title: &str, numbers: &[f64]) -> Self {
        let low = numbers.first().copied().unwrap_or(1.0) * 0.85;
        let high = numbers.last().copied().unwrap_or(10.0) * 1.18;
        let crowded = |i: usize| {
            numbers
                .get(i + 1)
                .is_some_and(|next| next / numbers[i] < 1.4)
        };
        let text = |i: usize| {
            if crowded(i) {
                String::new()
            } else {
                number(numbers[i])
            }
        };
        let marks = numbers.iter().enumerate().map(|(i, n)| (*n, text(i)));
        Axis {
            title: title.to_owned(),
            marks: marks.collect(),
            low,
            high,
            log: true,
        }
    }

    /// Creates a logarithmic axis with a mark for each decade. It encloses all `values`, where
    /// those below `floor` count as `floor`.
    pub fn decades(title: &str, values: impl Iterator<Item = f64>, floor: f64) -> Self {
        let exponent = |v: f64| v.max(floor).log10();
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(exponent(v)), high.max(exponent(v)))
        });
        let (low, high) = match low.is_finite() {
            true => (
                low.floor() as i32,
                (high.ceil() as i32).max(low.floor() as i32 + 1),
            ),
            false => (0, 1),
        };
        Axis {
            title: title.to_owned(),
            marks: (low..=high)
                .map(|e| (10f64.powi(e), number(10f64.powi(e))))
                .collect(),
            low: 10f64.powi(low),
            high: 10f64.powi(high),
            log: true,
        }
    }

    /// Creates an axis with marks at equal distances, one for each name.
    pub fn categories(title: &str, names: &[String]) -> Self {
        let marks = names
            .iter()
            .enumerate()
            .map(|(i, name)| (i as f64, name.clone()));
        Axis {
            title: title.to_owned(),
            marks: marks.collect(),
            low: -0.25,
            high: names.len() as f64 - 0.75,
            log: false,
        }
    }

    /// Returns the position of a number, from 0 at the low end to 1 at the high end. Numbers
    /// outside the axis get the position of the nearer end.
    pub fn place(&self, value: f64) -> f64 {
        let of = |v: f64| {
            if self.log {
                v.max(f64::MIN_POSITIVE).ln()
            } else {
                v
            }
        };
        ((of(value) - of(self.low)) / (of(self.high) - of(self.low))).clamp(0.0, 1.0)
    }

    /// Returns true if a number lies below the low end. It is drawn at that end then.
    pub fn is_below(&self, value: f64) -> bool {
        value < self.low
    }
}

/// Formats a number as people write it.
fn number(n: f64) -> String {
    let digits = (-n.log10()).ceil().max(0.0) as usize;
    format!("{n:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_enclose_the_values_and_lower_values_lie_at_the_edge() {
        let axis = Axis::decades("", [0.0, 0.03, 250.0].into_iter(), 0.001);
        let marks: Vec<_> = axis.marks.iter().map(|m| m.1.as_str()).collect();
        assert_eq!(marks, ["0.001", "0.01", "0.1", "1", "10", "100", "1000"]);
        assert_eq!((axis.place(0.0), axis.place(1000.0)), (0.0, 1.0));
        assert!(axis.is_below(-1.0) && !axis.is_below(0.001));
        assert!((axis.place(1.0) - 0.5).abs() < 1e-9);
    }
}
