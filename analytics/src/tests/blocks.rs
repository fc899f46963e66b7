use super::sample::{Sample, samples};
use crate::blocks::{self, BlocksError, Span};
use crate::dynamic::AnalyticsError;
use ndarray::{ArrayD, Dimension, IxDyn};
use proptest::prelude::*;
use tcasm_core::field::{DType, FieldDesc, Order};

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
    match points.iter().all(|v| v.is_finite()) {
        true => points.iter().sum::<f64>() / points.len() as f64,
        false => f64::NAN,
    }
}

/// Returns the number of values of the window that are not finite.
fn not_finite(all: &ArrayD<f64>, window: &[Span]) -> u64 {
    let inside = |at: &IxDyn| {
        let mut axes = at.slice().iter().zip(window);
        axes.all(|(at, span)| span.window.contains(at))
    };
    let values = all.indexed_iter();
    values
        .filter(|(at, v)| inside(at) && !v.is_finite())
        .count() as u64
}

fn close(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan()) || a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

proptest! {
    #[test]
    fn sample_is_the_mean_of_its_block_or_nan_if_a_value_is_not_finite(
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
        prop_assert_eq!(got.not_finite, not_finite(&all, &window));
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
    let desc = FieldDesc::new("t", DType::U8, &[2, 3]);
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

fn spans_of<const N: usize>(parts: [(usize, usize); N]) -> [Span; N] {
    parts.map(|(len, most)| Span {
        window: 0..len,
        most,
    })
}

#[test]
fn one_value_that_is_not_finite_marks_its_block_and_no_other() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut values = vec![1.0_f32; 512 * 512];
        values[77 * 512 + 301] = bad;
        let desc = FieldDesc::new("t", DType::F32, &[512, 512]);
        let window = spans_of([(512, 128), (512, 128)]);
        let got = blocks::blocks(&desc, bytemuck::cast_slice(&values), None, &window).unwrap();
        assert_eq!((got.block, got.not_finite), (vec![4, 4], 1), "{bad}");
        let marked = got.samples.indexed_iter().filter(|(_, v)| !v.is_finite());
        let marked: Vec<_> = marked.map(|(at, _)| at.slice().to_vec()).collect();
        assert_eq!(marked, [[77 / 4, 301 / 4]], "{bad}");
    }
}

#[test]
fn last_block_has_fewer_points() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let values = [[1.0, 3.0, nan, 5.0, 7.0], [5.0, 7.0, 1.0, inf, 1.0]];
    let desc = FieldDesc::new("t", DType::F64, &[2, 5]);
    let bytes = bytemuck::cast_slice(values.as_flattened());
    let window = spans_of([(2, 1), (5, 3)]);
    let got = blocks::blocks(&desc, bytes, None, &window).unwrap();
    assert_eq!(got.samples.shape(), [1, 3]);
    assert_eq!((got.samples[[0, 0]], got.samples[[0, 2]]), (4.0, 4.0));
    assert!(got.samples[[0, 1]].is_nan(), "{}", got.samples);
    assert_eq!(got.not_finite, 2);
}

#[test]
fn envelope_has_every_spike_of_a_line() {
    let mut values = vec![1.0_f64; 1000];
    (values[500], values[733], values[999]) = (9.0, f64::NAN, -3.0);
    let desc = FieldDesc::new("t", DType::F64, &[1000]);
    let bytes = bytemuck::cast_slice(&values);
    let ends = blocks::envelope(&desc, bytes, None, &spans_of([(1000, 10)])).unwrap();
    let right = |i: usize| match i {
        5 => [1.0, 9.0],
        9 => [-3.0, 1.0],
        _ => [1.0, 1.0],
    };
    assert_eq!(ends, (0..10).map(right).collect::<Vec<_>>());
    let none = [f64::NAN; 4];
    let desc = FieldDesc::new("t", DType::F64, &[4]);
    let ends = blocks::envelope(
        &desc,
        bytemuck::cast_slice(&none),
        None,
        &spans_of([(4, 2)]),
    );
    assert!(ends.unwrap().as_flattened().iter().all(|v| v.is_nan()));
}

#[test]
fn envelope_of_a_line_through_a_vector_field_is_that_of_the_component() {
    let mut desc = FieldDesc::new("v", DType::I32, &[3, 4]);
    desc.components = 2;
    let values: Vec<i32> = (0..24).collect(); // component c at (j, i): 8 j + 2 i + c
    let window = [Span::at(1), spans_of([(4, 2)])[0].clone()];
    let bytes = bytemuck::cast_slice(&values);
    let ends = blocks::envelope(&desc, bytes, Some(1), &window).unwrap();
    assert_eq!(ends, [[9.0, 11.0], [13.0, 15.0]]);
}
