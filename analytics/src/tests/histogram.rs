use super::sample::samples;
use crate::Range;
use crate::dynamic::{self, AnalyticsError};
use crate::histogram::{BinPosition, Bins, Histogram, HistogramError, MAX_BINS, histogram};
use ndarray::{Array1, ArrayD, array};
use proptest::prelude::*;

/// Computes a histogram by comparing each value with each edge.
fn naive(values: &[f64], edges: &[f64]) -> Histogram {
    let (bins, last) = (edges.len() - 1, edges[edges.len() - 1]);
    let inside =
        |i: usize, v: f64| edges[i] <= v && (v < edges[i + 1] || (i + 1 == bins && v == last));
    let count = |is: &dyn Fn(f64) -> bool| values.iter().filter(|v| is(**v)).count() as u64;
    Histogram {
        edges: edges.to_vec(),
        counts: (0..bins).map(|i| count(&|v| inside(i, v))).collect(),
        below: count(&|v| v < edges[0]),
        above: count(&|v| v > last),
        nans: count(&|v| v.is_nan()),
    }
}

/// Returns the same numbers as numpy's `linspace(first, last, bins + 1)`.
fn linspace(first: f64, last: f64, bins: usize) -> Vec<f64> {
    let step = (last - first) / bins as f64;
    let edge = |i| {
        if i == bins {
            last
        } else {
            i as f64 * step + first
        }
    };
    (0..=bins).map(edge).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn counts_in_a_given_range_equal_those_of_a_naive_histogram(
        sample in samples(),
        bins in 1usize..40,
        first in -300.0..300.0f64,
        width in 0.001..900.0f64,
    ) {
        let range = Range::Given(first, first + width);
        let got = dynamic::histogram(&sample.desc, sample.bytes(), bins, range).unwrap();
        let edges = linspace(first, first + width, bins);
        let lanes = sample.lanes();
        for (got, lane) in got.components.iter().chain(&got.magnitude).zip(lanes) {
            let values: Vec<f64> = lane.iter().map(|v| v.to_f64()).collect();
            prop_assert_eq!(got, &naive(&values, &edges));
        }
    }

    #[test]
    fn automatic_range_goes_from_the_least_to_the_greatest_finite_value(
        sample in samples(),
        bins in 1usize..40,
    ) {
        let got = match dynamic::histogram(&sample.desc, sample.bytes(), bins, Range::Auto) {
            Err(AnalyticsError::Histogram {
                source: HistogramError::TooWide { .. },
                ..
            }) => return Ok(()),
            other => other.unwrap(),
        };
        let lanes = sample.lanes();
        for (got, lane) in got.components.iter().chain(&got.magnitude).zip(lanes) {
            let values: Vec<f64> = lane.iter().map(|v| v.to_f64()).collect();
            let finite = || values.iter().copied().filter(|v| v.is_finite());
            let min = finite().fold(f64::INFINITY, f64::min);
            let max = finite().fold(f64::NEG_INFINITY, f64::max);
            prop_assert_eq!(got, &naive(&values, &got.edges));
            prop_assert_eq!(got.counts.iter().sum::<u64>(), finite().count() as u64);
            if max - min > 1e-9 * max.abs().max(min.abs()) {
                prop_assert_eq!(&got.edges, &linspace(min, max, bins));
            }
        }
    }

    #[test]
    fn value_is_placed_by_the_edges_even_in_very_narrow_bins(
        at in -1e18..1e18f64,
        ulps in 1u64..2000,
        bins in 1usize..500,
        steps in proptest::collection::vec(0u64..2100, 1..50),
    ) {
        // The bins are only a few units in the last place wide. So the bin that a division gives
        // may be the wrong one.
        let up = |n: u64| f64::from_bits(at.abs().to_bits() + n);
        if let Ok(bins) = Bins::new(bins, up(0), up(ulps)) {
            for step in steps {
                let v = up(step);
                let (edges, last) = (bins.edges(), up(ulps));
                let right = match edges.iter().rposition(|e| *e <= v) {
                    _ if v > last => BinPosition::Above,
                    Some(i) => BinPosition::Bin(i.min(bins.len() - 1)),
                    None => BinPosition::Below,
                };
                prop_assert_eq!(bins.place(v), right);
            }
        }
    }
}

/// Compares with counts and edges from numpy 2.4.
#[test]
fn histograms_equal_those_of_numpy() {
    let tenths = Array1::from_shape_fn(11, |i| 0.1 * i as f64).into_dyn();
    let h = histogram(tenths.view(), 10, Range::Auto).unwrap();
    assert_eq!(h.counts, [1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    let edges = [
        0.0,
        0.1,
        0.2,
        0.30000000000000004,
        0.4,
        0.5,
        0.6000000000000001,
        0.7000000000000001,
        0.8,
        0.9,
        1.0,
    ];
    assert_eq!(h.edges, edges);
    let close = array![
        0.1,
        0.2,
        0.3,
        0.30000000000000004,
        0.7,
        0.7999999999999999,
        1.0
    ]
    .into_dyn();
    let h = histogram(close.view(), 7, Range::Given(0.1, 1.0)).unwrap();
    assert_eq!(h.counts, [2, 2, 0, 0, 1, 1, 1]);
    let h = histogram(
        array![-1, 0, 1, 2, 5].into_dyn().view(),
        4,
        Range::Given(0.0, 4.0),
    )
    .unwrap();
    assert_eq!((h.counts, h.below, h.above), (vec![1, 1, 1, 0], 1, 1));
}

#[test]
fn range_of_equal_values_reaches_half_a_unit_to_both_sides() {
    let h = histogram(array![3u8, 3].into_dyn().view(), 3, Range::Auto).unwrap();
    assert_eq!(h.edges, [2.5, 2.8333333333333335, 3.1666666666666665, 3.5]);
    assert_eq!(h.counts, [0, 2, 0]);
}

#[test]
fn automatic_range_with_too_few_numbers_is_widened() {
    for v in [1e20, -1e300, 9007199254740993.0] {
        let h = histogram(array![v, v].into_dyn().view(), 10, Range::Auto).unwrap();
        assert_eq!(
            (h.counts.iter().sum::<u64>(), h.below, h.above),
            (2, 0, 0),
            "{v}"
        );
    }
    let tiny = array![0.0, f64::from_bits(1)].into_dyn();
    let h = histogram(tiny.view(), 10, Range::Auto).unwrap();
    assert_eq!(h.counts.iter().sum::<u64>(), 2);
}

#[test]
fn range_without_finite_values_is_0_to_1() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let h = histogram(
        array![nan, inf, -inf, inf].into_dyn().view(),
        2,
        Range::Auto,
    )
    .unwrap();
    let right = Histogram {
        edges: vec![0.0, 0.5, 1.0],
        counts: vec![0, 0],
        below: 1,
        above: 2,
        nans: 1,
    };
    assert_eq!(h, right);
}

#[test]
fn invalid_range_or_number_of_bins_is_refused() {
    let error = |bins, first, last| Bins::new(bins, first, last).unwrap_err();
    assert_eq!(error(0, 0.0, 1.0), HistogramError::BinCount(0));
    assert_eq!(
        error(MAX_BINS + 1, 0.0, 1.0),
        HistogramError::BinCount(MAX_BINS + 1)
    );
    assert_eq!(
        error(3, 2.0, 1.0),
        HistogramError::BadRange {
            first: 2.0,
            last: 1.0
        }
    );
    assert!(matches!(
        error(3, f64::NAN, 1.0),
        HistogramError::BadRange { .. }
    ));
    assert!(matches!(
        error(3, 0.0, f64::INFINITY),
        HistogramError::BadRange { .. }
    ));
    assert!(matches!(
        error(3, -f64::MAX, f64::MAX),
        HistogramError::TooWide { .. }
    ));
    assert!(matches!(
        error(3, 1e20, 1e20),
        HistogramError::TooNarrow { .. }
    ));
    let wide = array![-f64::MAX, f64::MAX].into_dyn();
    assert!(matches!(
        histogram(wide.view(), 3, Range::Auto),
        Err(HistogramError::TooWide { .. })
    ));
    let none = ArrayD::<f64>::zeros(vec![0]);
    assert_eq!(
        histogram(none.view(), 0, Range::Auto),
        Err(HistogramError::BinCount(0))
    );
}
