use super::sample::samples;
use crate::moments::{Moments, moments};
use crate::number::{Scalar, modulus};
use crate::{PerComponent, Running, dynamic};
use ndarray::{Array1, Array3, ArrayD, array, s};
use num_complex::Complex;
use proptest::prelude::*;
use std::cmp::Ordering;

/// Returns the real and the imaginary part of a number.
fn parts(v: Scalar) -> (f64, f64) {
    match v {
        Scalar::Complex { re, im } => (re, im),
        other => (other.to_f64(), 0.0),
    }
}

fn is_nan(v: &Scalar) -> bool {
    let (re, im) = parts(*v);
    re.is_nan() || im.is_nan()
}

fn is_finite(v: &Scalar) -> bool {
    let (re, im) = parts(*v);
    re.is_finite() && im.is_finite()
}

fn order(a: &Scalar, b: &Scalar) -> Ordering {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => a.cmp(b),
        (Scalar::UInt(a), Scalar::UInt(b)) => a.cmp(b),
        _ => a.to_f64().partial_cmp(&b.to_f64()).unwrap(),
    }
}

/// Returns the modulus of a complex number, and any other number unchanged.
fn key(v: Scalar) -> Scalar {
    match v {
        Scalar::Complex { .. } => Scalar::Float(v.to_f64()),
        other => other,
    }
}

/// Checks moments against counts, extrema, mean and variance that are each computed on their own.
fn check(got: &Moments, lane: &[Scalar]) {
    let finite: Vec<Scalar> = lane.iter().copied().filter(is_finite).collect();
    let nans = lane.iter().filter(|v| is_nan(v)).count();
    assert_eq!(got.count, lane.len() as u64);
    assert_eq!(got.nans, nans as u64);
    assert_eq!(got.infinities, (lane.len() - finite.len() - nans) as u64);
    let keys = || finite.iter().copied().map(key);
    assert_eq!(got.min, keys().min_by(order));
    assert_eq!(got.max, keys().max_by(order));
    assert_eq!(got.mean.is_some(), !finite.is_empty());
    assert_eq!(got.sample_variance.is_some(), finite.len() > 1);
    let Some(mean) = got.mean else {
        assert_eq!((got.variance, got.std), (None, None));
        return;
    };
    check_mean_and_variance(got, parts(mean), &finite);
}

fn check_mean_and_variance(got: &Moments, mean: (f64, f64), finite: &[Scalar]) {
    let n = finite.len() as f64;
    let average = |of: &dyn Fn(Scalar) -> f64| finite.iter().map(|v| of(*v) / n).sum::<f64>();
    let expected = (average(&|v| parts(v).0), average(&|v| parts(v).1));
    let largest = finite
        .iter()
        .map(|v| parts(*v).0.abs().max(parts(*v).1.abs()))
        .fold(0.0, f64::max);
    let rounding = 1e-14 * n * largest;
    assert!(
        (mean.0 - expected.0).abs() <= rounding,
        "mean {mean:?}, expected {expected:?}"
    );
    assert!(
        (mean.1 - expected.1).abs() <= rounding,
        "mean {mean:?}, expected {expected:?}"
    );
    let square = |v| modulus(parts(v).0 - expected.0, parts(v).1 - expected.1).powi(2);
    let variance = average(&|v| square(v));
    let sample_variance = got.sample_variance.unwrap_or(got.variance.unwrap());
    assert_close(got.variance.unwrap(), variance, rounding);
    assert_close(sample_variance, variance * n / (n - 1.0).max(1.0), rounding);
    assert_eq!(got.std.unwrap(), got.variance.unwrap().sqrt());
    assert_eq!(got.sample_std, got.sample_variance.map(f64::sqrt));
}

fn assert_close(got: f64, expected: f64, rounding: f64) {
    if expected > 1e300 {
        return assert!(got > 1e290, "variance {got}, expected {expected}");
    }
    let tolerance = 1e-11 * expected + rounding * rounding + f64::MIN_POSITIVE;
    assert!(
        (got - expected).abs() <= tolerance,
        "variance {got}, expected {expected}"
    );
}

fn on_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
        .install(run)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn moments_of_a_field_are_those_of_its_interior(sample in samples()) {
        let moments = dynamic::moments(&sample.desc, sample.bytes()).unwrap();
        let PerComponent {
            components,
            magnitude,
        } = moments;
        let lanes = sample.lanes();
        prop_assert_eq!(magnitude.is_some(), sample.desc.components > 1);
        prop_assert_eq!(components.len(), sample.desc.components);
        for (got, lane) in components.iter().chain(&magnitude).zip(&lanes) {
            check(got, lane);
        }
    }

    #[test]
    fn merged_moments_of_two_parts_equal_those_of_the_whole(
        values in proptest::collection::vec(-1e6..1e6f64, 0..60),
        cut in 0usize..60,
    ) {
        let (left, right) = values.split_at(cut.min(values.len()));
        let (mut a, mut b) = (Running::default(), Running::default());
        a.add(left);
        b.add(right);
        a.merge(&b);
        let lane: Vec<Scalar> = values.iter().map(|v| Scalar::Float(*v)).collect();
        check(&a.finish(), &lane);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn number_of_threads_does_not_change_the_result(sample in samples()) {
        let run = || dynamic::moments(&sample.desc, sample.bytes()).unwrap();
        let one = on_threads(1, run);
        prop_assert_eq!(&one, &on_threads(2, run));
        prop_assert_eq!(&one, &on_threads(5, run));
    }
}

#[test]
fn empty_array_has_no_mean_and_no_extrema() {
    let empty = moments(ArrayD::<f64>::zeros(vec![3, 0]).view());
    assert_eq!(empty, Running::<f64>::default().finish());
    assert_eq!(
        (empty.count, empty.min, empty.mean, empty.variance),
        (0, None, None, None)
    );
}

#[test]
fn single_value_is_its_own_mean_and_has_no_sample_variance() {
    let one = moments(ArrayD::from_elem(vec![], 0.1f32).view());
    let value = Some(Scalar::Float(0.1f32.into()));
    assert_eq!((one.min, one.max, one.mean), (value, value, value));
    assert_eq!((one.variance, one.sample_variance), (Some(0.0), None));
}

#[test]
fn extremes_of_64_bit_integers_are_exact() {
    let signed = moments(
        array![i64::MAX - 1, i64::MIN + 1, 0, i64::MAX - 2]
            .into_dyn()
            .view(),
    );
    assert_eq!(signed.min, Some(Scalar::Int(i64::MIN + 1)));
    assert_eq!(signed.max, Some(Scalar::Int(i64::MAX - 1)));
    let unsigned = moments(array![u64::MAX - 1, u64::MAX - 3].into_dyn().view());
    assert_eq!(unsigned.min, Some(Scalar::UInt(u64::MAX - 3)));
    assert_eq!(unsigned.max, Some(Scalar::UInt(u64::MAX - 1)));
}

#[test]
fn small_noise_on_a_large_offset_keeps_its_variance() {
    let noisy = Array1::from_shape_fn(1000, |i| 1e9 + (i % 2) as f64).into_dyn();
    let m = moments(noisy.view());
    assert!((m.mean.unwrap().to_f64() - (1e9 + 0.5)).abs() < 1e-6);
    assert!((m.variance.unwrap() - 0.25).abs() < 1e-7);
}

#[test]
fn constant_field_has_almost_no_variance() {
    let m = moments(ArrayD::from_elem(vec![1001], 0.1).view());
    assert_eq!(m.mean, Some(Scalar::Float(0.1)));
    assert!(m.variance.unwrap() < 1e-32);
}

#[test]
fn infinities_and_nans_are_counted_and_do_not_hide_the_rest() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let m = moments(array![1.0, inf, 3.0, nan, -inf, nan].into_dyn().view());
    assert_eq!((m.count, m.nans, m.infinities), (6, 2, 2));
    assert_eq!((m.finite(), m.positive_infinities), (2, 1));
    assert_eq!(
        (m.min, m.max),
        (Some(Scalar::Float(1.0)), Some(Scalar::Float(3.0)))
    );
    assert_eq!((m.mean, m.variance), (Some(Scalar::Float(2.0)), Some(1.0)));
}

#[test]
fn infinities_are_counted_by_their_sign_also_when_merged() {
    let negative = [f64::NEG_INFINITY; 3];
    let (mut a, mut b) = (Running::default(), Running::default());
    a.add(&negative);
    b.add(&[1.0, f64::INFINITY, f64::NAN]);
    a.merge(&b);
    a.add(&negative);
    let m = a.finish();
    assert_eq!((m.count, m.nans, m.finite()), (9, 1, 1));
    assert_eq!((m.positive_infinities, m.negative_infinities), (1, 6));
    let z = array![Complex::new(f64::NEG_INFINITY, 0.0)].into_dyn();
    let m = moments(z.view());
    assert_eq!((m.positive_infinities, m.negative_infinities), (1, 0));
}

#[test]
fn mean_of_huge_values_is_finite() {
    let huge = moments(
        array![f64::MAX, f64::MAX, -f64::MAX, 1e308]
            .into_dyn()
            .view(),
    );
    let mean = huge.mean.unwrap().to_f64();
    assert!(
        (mean / (f64::MAX / 4.0 + 1e308 / 4.0) - 1.0).abs() < 1e-12,
        "{mean}"
    );
    assert_eq!((huge.infinities, huge.variance), (0, Some(f64::INFINITY)));
    for n in 1..200 {
        let same = moments(ArrayD::from_elem(vec![n], f64::MAX).view());
        let mean = same.mean.unwrap().to_f64();
        assert!(
            mean > f64::MAX * (1.0 - 1e-12) && mean.is_finite(),
            "{n} values: {mean}"
        );
    }
}

#[test]
fn pieces_with_huge_means_of_opposite_sign_merge_to_a_finite_mean() {
    let (mut a, mut b) = (Running::default(), Running::default());
    a.add(&[f64::MAX; 3]);
    b.add(&[-f64::MAX; 9]);
    a.merge(&b);
    let mean = a.finish().mean.unwrap().to_f64();
    assert!((mean / (f64::MAX / -2.0) - 1.0).abs() < 1e-12, "{mean}");
}

#[test]
fn complex_moments_equal_those_of_numpy() {
    let z = array![Complex::new(1.0, 2.0), Complex::new(3.0, -1.0)].into_dyn();
    let m = moments(z.view());
    assert_eq!(m.mean, Some(Scalar::Complex { re: 2.0, im: 0.5 }));
    assert_eq!(m.variance, Some(3.25));
    assert_eq!(m.min, Some(Scalar::Float(5f64.sqrt())));
}

#[test]
fn reversed_sparse_and_broadcast_views_have_the_right_moments() {
    let cube = Array3::from_shape_fn((9, 8, 7), |(i, j, k)| (i * 100 + j * 10 + k) as i32);
    let part = cube.slice(s![2..;-3, ..;-1, 1..;2]);
    let lane: Vec<Scalar> = part.iter().map(|v| Scalar::Int((*v).into())).collect();
    check(&moments(part.into_dyn()), &lane);
    let spread = cube.broadcast((2, 9, 8, 7)).unwrap();
    let lane: Vec<Scalar> = spread.iter().map(|v| Scalar::Int((*v).into())).collect();
    check(&moments(spread.into_dyn()), &lane);
}

#[test]
fn modulus_neither_overflows_nor_loses_digits() {
    for scale in [1e-320, 1e-200, 1.0, 1e200, 3e307] {
        let (got, right) = (
            modulus(3.0 * scale, 4.0 * scale),
            (3.0 * scale).hypot(4.0 * scale),
        );
        assert!(
            (got - right).abs() <= right * 4e-16,
            "{got} instead of {right}"
        );
    }
    assert!(modulus(f64::INFINITY, f64::NAN).is_nan());
    assert_eq!(modulus(f64::NEG_INFINITY, 1.0), f64::INFINITY);
    assert_eq!(modulus(0.0, 0.0), 0.0);
}
