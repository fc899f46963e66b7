use super::sample::{Sample, samples};
use crate::blocks::{self, BlocksError, Span};
use crate::dynamic::AnalyticsError;
use ndarray::{ArrayD, Dimension, IxDyn};
use proptest::prelude::*;
use tcasm_core::field::Order;

/// Returns for 4 axes the two numbers that choose a window, as fractions of the length of the axis,
/// and the maximum number of samples.
fn spans() -> impl Strategy<Value = Vec<(f64, f64, usize)>> {
    proptest::collection::vec((0.0..1.0, 0.0..1.0, 1usize..7), 4)
}

/// Returns the windows that `parts` choose in an array of this shape.
fn window(shape: &[usize], parts: &[(f64, f64, usize)]) -> Vec<Span> {
    let span = |(len, (a, b, most)): (&usize, &(f64, f64, usize))| {
        let start = (a * *len as f64) as usize;
        let end = start + 1 + (b * (len - start - 1) as f64).round() as usize;
        let window = start..end;
        Span {
            window,
            most: *most,
        }
    };
    shape.iter().zip(parts).map(span).collect()
}

/// Returns the numbers of a lane as an array with x last.
fn array(sample: &Sample, lane: usize) -> ArrayD<f64> {
    let numbers: Vec<f64> = sample.lanes()[lane].iter().map(|v| v.to_f64()).collect();
    let array = ArrayD::from_shape_vec(sample.desc.interior_shape(), numbers).unwrap();
    match sample.desc.order {
        Order::C => array,
        Order::F => array.reversed_axes(),
    }
}

/// Computes the sample at `index`. Finds its points by checking each point of the field.
fn naive(all: &ArrayD<f64>, window: &[Span], index: &[usize]) -> f64 {
    let inside = |at: &IxDyn| {
        let axes = at.slice().iter().zip(window).zip(index);
        axes.into_iter().all(|((at, span), number)| {
            let most = span.window.len().div_ceil(span.most);
            span.window.contains(at) && (at - span.window.start) / most == *number
        })
    };
    let points: Vec<f64> = all
        .indexed_iter()
        .filter(|(at, _)| inside(at))
        .map(|(_, v)| *v)
        .collect();
    if let [value] = points[..]
        && window.iter().all(|e| e.window.len() <= e.most)
    {
        return value;
    }
    let finite: Vec<f64> = points.into_iter().filter(|v| v.is_finite()).collect();
    finite.iter().sum::<f64>() / finite.len() as f64
}

fn close(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan()) || a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

proptest! {
    #[test]
    fn sample_is_the_mean_of_the_finite_values_of_its_block(
        sample in samples(),
        parts in spans(),
        lane in any::<prop::sample::Index>(),
    ) {
        let lanes = sample.lanes().len();
        let lane = lane.index(lanes);
        let component = (lane < sample.desc.components).then_some(lane);
        let component = if lanes == 1 && lane == 0 {
            None
        } else {
            component
        };
        let all = array(&sample, lane);
        prop_assert_eq!(blocks::shape(&sample.desc), all.shape());
        let window = window(all.shape(), &parts);
        let got = blocks::blocks(&sample.desc, sample.bytes(), component, &window).unwrap();
        for (span, n) in window.iter().zip(got.samples.shape()) {
            prop_assert!(*n <= span.most);
        }
        for (index, value) in got.samples.indexed_iter() {
            let right = naive(&all, &window, index.slice());
            // Sums of numbers near the largest double may overflow if they are added in one order
            // and not if they are added in another.
            prop_assume!(right.is_finite() || right.is_nan());
            prop_assume!(value.abs() < 1e300 || value.is_nan());
            prop_assert!(close(*value, right), "{:?}: {} instead of {}", index, value, right);
        }
    }

    #[test]
    fn point_has_the_value_of_the_field(
        sample in samples(),
        at in any::<[prop::sample::Index; 4]>(),
    ) {
        let shape = blocks::shape(&sample.desc);
        let at: Vec<usize> = shape
            .iter()
            .zip(at)
            .map(|(len, at)| at.index(*len))
            .collect();
        let mut own = at.clone();
        if sample.desc.order == Order::F {
            own.reverse();
        }
        let number = own
            .iter()
            .zip(sample.desc.interior_shape())
            .fold(0, |n, (i, len)| n * len + i);
        let got = blocks::point(&sample.desc, sample.bytes(), &at).unwrap();
        prop_assert_eq!(format!("{got:?}"), format!("{:?}", sample.points()[number]));
    }
}

#[test]
fn windows_that_do_not_fit_are_refused() {
    let desc = tcasm_core::field::FieldDesc::new("t", tcasm_core::field::DType::U8, &[2, 3]);
    let blocks =
        |component, window: &[Span]| match blocks::blocks(&desc, &[0; 6], component, window) {
            Err(AnalyticsError::Blocks { source, .. }) => Some(source),
            other => panic!("{other:?}"),
        };
    let axes = blocks(None, &[Span::at(0)]).unwrap();
    assert!(matches!(axes, BlocksError::Axes { given: 1, .. }), "{axes}");
    for wrong in [2..3, 0..3, 1..1, usize::MAX - 1..usize::MAX] {
        let window = [
            Span {
                window: wrong,
                most: 1,
            },
            Span::at(0),
        ];
        let error = blocks(None, &window).unwrap();
        assert!(
            matches!(error, BlocksError::Outside { axis: 0, .. }),
            "{error}"
        );
    }
    let component = blocks(Some(1), &[Span::at(0), Span::at(0)]).unwrap();
    assert!(matches!(
        component,
        BlocksError::Component { component: 1, .. }
    ));
}

#[test]
fn block_mean_ignores_non_finite_values_and_is_nan_without_finite_values() {
    use tcasm_core::field::{DType, FieldDesc};
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let values = [
        [1.0, nan, 3.0, inf, -inf, nan],
        [5.0, 7.0, inf, nan, nan, -inf],
    ];
    let desc = FieldDesc::new("t", DType::F64, &[2, 6]);
    let window = [(2, 1), (6, 2)].map(|(len, most)| Span {
        window: 0..len,
        most,
    });
    let got = blocks::blocks(
        &desc,
        bytemuck::cast_slice(values.as_flattened()),
        None,
        &window,
    );
    let got = got.unwrap().samples;
    assert_eq!(got.shape(), [1, 2]);
    assert_eq!(got[[0, 0]], 4.0);
    assert!(got[[0, 1]].is_nan(), "{got}");
}
