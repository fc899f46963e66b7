//! Statistics of several fields together.

use std::sync::Arc;
use tcasm_analytics::{Bins, Histogram, Moments, Scalar};

/// Returns the moments of all values of which `each` has the moments of some.
pub fn merged(each: &[Arc<Moments>]) -> Moments {
    let sum = |count: fn(&Moments) -> u64| each.iter().map(|m| count(m)).sum::<u64>();
    let finite = sum(Moments::finite);
    let (mean, m2) = mean_and_squares(each);
    let variance = (finite > 0).then(|| m2 / finite as f64);
    let sample_variance = (finite > 1).then(|| m2 / (finite - 1) as f64);
    let ends = |end: fn(&Moments) -> Option<Scalar>| each.iter().filter_map(move |m| end(m));
    let order = |a: &Scalar, b: &Scalar| a.to_f64().total_cmp(&b.to_f64());
    Moments {
        count: sum(|m| m.count),
        nans: sum(|m| m.nans),
        infinities: sum(|m| m.infinities),
        positive_infinities: sum(|m| m.positive_infinities),
        negative_infinities: sum(|m| m.negative_infinities),
        min: ends(|m| m.min).min_by(order),
        max: ends(|m| m.max).max_by(order),
        mean,
        variance,
        sample_variance,
        std: variance.map(f64::sqrt),
        sample_std: sample_variance.map(f64::sqrt),
    }
}

/// Returns the mean of all finite values, and the sum of the squares of their distances from it.
fn mean_and_squares(each: &[Arc<Moments>]) -> (Option<Scalar>, f64) {
    let mut so_far: Option<(f64, [f64; 2], f64)> = None;
    let mut is_complex = false;
    for moments in each {
        let (Some(mean), Some(variance)) = (moments.mean, moments.variance) else {
            continue; // No value is finite.
        };
        is_complex |= matches!(mean, Scalar::Complex { .. });
        let count = moments.finite() as f64;
        let next = (count, parts(mean), variance * count);
        so_far = Some(so_far.map_or(next, |before| both(before, next)));
    }
    let Some((_, [re, im], m2)) = so_far else {
        return (None, 0.0);
    };
    match is_complex {
        true => (Some(Scalar::Complex { re, im }), m2),
        false => (Some(Scalar::Float(re)), m2),
    }
}

/// Returns the real and the imaginary part.
fn parts(number: Scalar) -> [f64; 2] {
    match number {
        Scalar::Complex { re, im } => [re, im],
        real => [real.to_f64(), 0.0],
    }
}

/// Merges count, mean and sum of squares of two sets, by the formula of Chan, Golub and LeVeque.
fn both(a: (f64, [f64; 2], f64), b: (f64, [f64; 2], f64)) -> (f64, [f64; 2], f64) {
    let share = b.0 / (a.0 + b.0);
    let mean = [0, 1].map(|i| a.1[i] * (1.0 - share) + b.1[i] * share);
    let distance: f64 = [0, 1].map(|i| (b.1[i] - a.1[i]).powi(2)).iter().sum();
    (a.0 + b.0, mean, a.2 + b.2 + distance * a.0 * share)
}

/// Returns the ends of `bins` bins for all finite values, between which there are enough doubles.
pub fn bins_for(moments: &Moments, bins: usize) -> (f64, f64) {
    let (Some(min), Some(max)) = (moments.min, moments.max) else {
        return (0.0, 1.0);
    };
    let (low, high) = (min.to_f64(), max.to_f64());
    if Bins::new(bins, low, high).is_ok() {
        return (low, high);
    }
    let step = low.abs().max(high.abs()) * f64::EPSILON;
    let margin = step.max(f64::from_bits(1)) * bins as f64;
    (low - margin, high + margin)
}

/// Adds the counts of another histogram with the same bins.
pub fn add(sum: &mut Histogram, other: &Histogram) {
    for (count, more) in sum.counts.iter_mut().zip(&other.counts) {
        *count += more;
    }
    sum.below += other.below;
    sum.above += other.above;
    sum.nans += other.nans;
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array1;
    use tcasm_analytics::moments::moments;

    /// Returns the moments of some values.
    fn of(values: &[f64]) -> Arc<Moments> {
        let values = Array1::from_vec(values.to_vec()).into_dyn();
        Arc::new(moments(values.view()))
    }

    #[test]
    fn merged_moments_are_those_of_all_values() {
        let [a, b, c] = [
            vec![1.0, 2.0, f64::NAN],
            vec![f64::NEG_INFINITY],
            vec![10.0, 20.0, 30.0, 40.0, -5.0],
        ];
        let right = of(&[a.clone(), b.clone(), c.clone()].concat());
        let found = merged(&[of(&a), of(&b), of(&c)]);
        let near = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-9;
        let mean = |m: &Moments| m.mean.map(Scalar::to_f64);
        assert!(near(mean(&found), mean(&right)), "{found:?}");
        assert!(near(found.variance, right.variance), "{found:?}");
        assert!(near(found.sample_std, right.sample_std), "{found:?}");
        let exact = |m: &Moments| (m.count, m.nans, m.infinities, m.negative_infinities);
        assert_eq!(exact(&found), exact(&right));
        assert_eq!((found.min, found.max), (right.min, right.max));
    }

    #[test]
    fn merged_moments_of_nothing_have_no_mean() {
        let found = merged(&[of(&[f64::NAN])]);
        assert_eq!((found.count, found.mean, found.std), (1, None, None));
        assert_eq!(merged(&[]).count, 0);
    }

    #[test]
    fn bins_of_values_that_are_very_near_are_wide_enough() {
        let (low, high) = bins_for(&of(&[1e17, 1e17]), 64);
        assert!(low < 1e17 && high > 1e17);
        assert!(Bins::new(64, low, high).is_ok());
    }
}
